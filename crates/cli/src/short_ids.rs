//! Ids of runs and tasks in tables: a generated id is shortened to its last 8 characters where no other id of the table ends so.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_engine::client::base;

/// Length of a generated id, and of what a table shows of it.
const WHOLE: usize = 36;
const KEPT: usize = 8;

/// The ids of one table.
#[derive(Default)]
pub struct ShortIds {
    /// By what it would be shortened to, each generated id and each chosen one that ends so.
    by_end: BTreeMap<String, BTreeSet<String>>,
}

impl ShortIds {
    pub fn of<T: AsRef<str>>(ids: impl IntoIterator<Item = T>) -> Self {
        let mut by_end: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for id in ids {
            let base = base(id.as_ref());
            let letters: Vec<char> = base.chars().collect();
            let end = letters[letters.len().saturating_sub(KEPT)..].iter().collect();
            by_end.entry(end).or_default().insert(base.to_owned());
        }
        Self { by_end }
    }

    /// The id as the table shows it. The numbers of children and tasks, and the mark of a fork, stay.
    pub fn show(&self, id: impl AsRef<str>) -> String {
        let id = id.as_ref();
        let base = base(id);
        let end = base.get(WHOLE - KEPT..).filter(|_| is_generated(base));
        match end.filter(|end| self.by_end.get(*end).is_none_or(|ids| ids.len() == 1)) {
            Some(_) => id[WHOLE - KEPT..].to_owned(),
            None => id.to_owned(),
        }
    }
}

/// An id that a person chose says something as a whole.
fn is_generated(base: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    base.len() == WHOLE
        && base.bytes().enumerate().all(|(at, byte)| match dashes.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0199c5d0-7b1e-7000-8000-00000f3a9c11";
    const B: &str = "0199c5d0-7b1e-7000-8000-00020f3a9c11";
    const C: &str = "0199c5d0-7b1e-7000-8000-00020f3a9c12";

    #[test]
    fn an_id_is_shortened_where_no_other_ends_so() {
        let ids = ShortIds::of([A, C, "order-17"]);
        assert_eq!([A, C, "order-17"].map(|id| ids.show(id)), ["0f3a9c11", "0f3a9c12", "order-17"]);
        let ids = ShortIds::of([A, B, C]);
        assert_eq!([A, B, C].map(|id| ids.show(id)), [A, B, "0f3a9c12"]);
        let chosen = format!("my-{}", &A[28..]);
        assert_eq!(ShortIds::of([A, &chosen[3..]]).show(A), A);
        assert_eq!(ShortIds::of([A, &chosen]).show(A), A);
    }

    #[test]
    fn children_tasks_and_forks_keep_what_follows() {
        let ids = [format!("{A}.3"), format!("{A}:12"), format!("{C}~f.1:2"), A.to_owned()];
        let short = ShortIds::of(&ids);
        assert_eq!(ids.map(|id| short.show(id)), ["0f3a9c11.3", "0f3a9c11:12", "0f3a9c12~f.1:2", "0f3a9c11"]);
    }
}
