//! What people know a piece of work by: its label, or its name, and the item of a list it is about.

use crate::task::TaskOptions;

/// The most characters of a label.
pub const MAX_LABEL: usize = 100;

/// Name of the run label in which a child keeps the label of the step that started it. Listings show it and filter by it.
pub const CHILD_LABEL: &str = "label";

/// Whether a text can be a label.
pub fn fits(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_LABEL
}

/// ` [3]`, ` [3: order-77]` with the key of the item; nothing for work that is about no item.
pub fn item_mark(item: Option<u64>, key: Option<&str>) -> String {
    match (item, key) {
        (None, _) => String::new(),
        (Some(item), None) => format!(" [{item}]"),
        (Some(item), Some(key)) => format!(" [{item}: {key}]"),
    }
}

/// A name as listings show it: `Charge the card [3] (charge)`, `charge [3]`, `charge`.
pub fn shown(name: &str, label: Option<&str>, item: Option<u64>, key: Option<&str>) -> String {
    let mark = item_mark(item, key);
    match label {
        Some(label) => format!("{label}{mark} ({name})"),
        None => format!("{name}{mark}"),
    }
}

/// As a sentence names it: `"Charge the card" [3] (task charge, r:4)`, `task charge [3] (r:4)`.
pub fn told((kind, name, id): (&str, &str, &str), label: Option<&str>, mark: &str) -> String {
    match label {
        Some(label) => format!("\"{label}\"{mark} ({kind} {name}, {id})"),
        None => format!("{kind} {name}{mark} ({id})"),
    }
}

impl TaskOptions {
    /// The name of such a task as listings show it.
    pub fn shown(&self, name: &str) -> String {
        shown(name, self.label.as_deref(), self.item, self.key.as_deref())
    }

    /// The item it is about, as [`item_mark`].
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
