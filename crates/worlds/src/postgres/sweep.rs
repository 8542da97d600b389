//! Background duties: due timers, expired claims, retention, schedules.

pub mod clock;
pub mod expiry_cursor;
pub mod retention;
pub mod schedules;
pub mod upkeep;
