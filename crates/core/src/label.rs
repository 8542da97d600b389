//! Display names of work: its label or its name, and the list item it works on.

use crate::task::TaskOptions;

/// Maximum length of a label in characters.
pub const MAX_LABEL: usize = 100;

/// Name of the run label that holds the label of the step that started a child. Listings show it and filter by it.
pub const CHILD_LABEL: &str = "label";

/// Returns whether a text can be a label: not empty and at most [`MAX_LABEL`] characters.
pub fn fits(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_LABEL
}

/// Returns ` [3]`, or ` [3: order-77]` with the item's key. Returns an empty text for work without an item.
pub fn item_mark(item: Option<u64>, key: Option<&str>) -> String {
    match (item, key) {
        (None, _) => String::new(),
        (Some(item), None) => format!(" [{item}]"),
        (Some(item), Some(key)) => format!(" [{item}: {key}]"),
    }
}

/// Returns the name for listings: `Charge the card [3] (charge)`, `charge [3]`, `charge`.
pub fn shown(name: &str, label: Option<&str>, item: Option<u64>, key: Option<&str>) -> String {
    let mark = item_mark(item, key);
    match label {
        Some(label) => format!("{label}{mark} ({name})"),
        None => format!("{name}{mark}"),
    }
}

/// Returns the name for use in a sentence: `"Charge the card" [3] (task charge, r:4)` or
/// `task charge [3] (r:4)`.
pub fn told((kind, name, id): (&str, &str, &str), label: Option<&str>, mark: &str) -> String {
    match label {
        Some(label) => format!("\"{label}\"{mark} ({kind} {name}, {id})"),
        None => format!("{kind} {name}{mark} ({id})"),
    }
}

impl TaskOptions {
    /// Returns the task's name for listings.
    pub fn shown(&self, name: &str) -> String {
        shown(name, self.label.as_deref(), self.item, self.key.as_deref())
    }

    /// Returns the task's item in the form of [`item_mark`].
    pub fn item_mark(&self) -> String {
        item_mark(self.item, self.key.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_before_the_name_and_the_item_after_what_it_is_called() {
        assert_eq!(shown("charge", None, None, Some("k")), "charge");
        assert_eq!(shown("charge", None, Some(0), None), "charge [0]");
        assert_eq!(shown("charge", Some("Pay"), Some(3), Some("o-7")), "Pay [3: o-7] (charge)");
        assert_eq!(told(("task", "charge", "r:4"), Some("Pay"), ""), "\"Pay\" (task charge, r:4)");
        assert_eq!(told(("task", "charge", "r:4"), None, " [3]"), "task charge [3] (r:4)");
    }

    #[test]
    fn a_label_is_counted_in_characters() {
        assert!(fits(&"ü".repeat(MAX_LABEL)));
        assert!(!fits(&"u".repeat(MAX_LABEL + 1)) && !fits(""));
    }
}
