//! Kinds of commits. The loss of a client's commit proves more than the loss of a heartbeat.

/// A group of commits, recognised by their SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    /// Texts to look for. A commit is of this kind when one of its statements contains any of them.
    pub marks: &'static [&'static str],
}

/// Name for all commits of no kind.
pub const OTHER: &str = "other";

/// Kinds a proxy tells apart. A transaction has the first of these kinds that any of its statements has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kinds(pub &'static [Kind]);

/// Index among the kinds; the number of kinds stands for all others.
pub type Rank = usize;

impl Kinds {
    pub fn rank(self, sql: &[u8]) -> Rank {
        let sql = String::from_utf8_lossy(sql);
        let is = |kind: &Kind| kind.marks.iter().any(|mark| sql.contains(mark));
        self.0.iter().position(is).unwrap_or(self.others())
    }

    pub fn others(self) -> Rank {
        self.0.len()
    }

    pub fn name(self, rank: Rank) -> &'static str {
        self.0.get(rank).map_or(OTHER, |kind| kind.name)
    }
}
