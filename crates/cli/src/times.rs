//! Times and durations for people.

use rhythm_core::{Millis, Timestamp};

/// Formats a time relative to now: `3m ago`, `in 5s`, `now`.
pub fn relative(now: Timestamp, at: Timestamp) -> String {
    if at > now {
        return match length(at.since(now)) {
            text if text == "0s" => "now".to_owned(),
            text => format!("in {text}"),
        };
    }
    match length(now.since(at)) {
        text if text == "0s" => "now".to_owned(),
        text => format!("{text} ago"),
    }
}

pub fn relative_or(now: Timestamp, at: Option<Timestamp>, otherwise: &str) -> String {
    at.map_or_else(|| otherwise.to_owned(), |at| relative(now, at))
}

/// Formats a length in one unit, rounded down. The JSON output has exact times.
fn length(length: Millis) -> String {
    let seconds = length.as_u64() / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Formats a duration: `0.4s`, `12s`, `3m20s`.
pub fn lasted(took: Millis) -> String {
    match took.as_u64() {
        millis @ 0..10_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        millis => Millis(millis / 1000 * 1000).to_string(),
    }
}

/// Formats a time in UTC: `2026-11-15 20:30:00.123`.
pub fn exact(at: Timestamp) -> String {
    at.to_string().replace('T', " ").trim_end_matches('Z').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_one_unit() {
        let now = Timestamp(1_000_000_000_000);
        let ago = |millis: i64| relative(now, Timestamp(now.millis() - millis));
        assert_eq!(ago(0), "now");
        assert_eq!(ago(999), "now");
        assert_eq!(ago(59_000), "59s ago");
        assert_eq!(ago(200_000), "3m ago");
        assert_eq!(ago(47 * 3_600_000), "47h ago");
        assert_eq!(ago(72 * 3_600_000), "3d ago");
        assert_eq!(ago(-5_000), "in 5s");
    }

    #[test]
    fn what_took_long_is_told_in_whole_seconds() {
        for (millis, told) in
            [(0, "0.0s"), (449, "0.4s"), (9_999, "9.9s"), (12_300, "12s"), (200_500, "3m20s")]
        {
            assert_eq!(lasted(Millis(millis)), told);
        }
    }
}
