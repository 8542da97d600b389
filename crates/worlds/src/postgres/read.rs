//! Listings and single records, and how rows become values.

pub mod records;
pub mod rows;
