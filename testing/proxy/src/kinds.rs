//! Kinds of commits: a heartbeat that is lost proves less than the commit of what a client asked for.

/// Commits that belong together, told by the SQL they are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    /// A commit is of this kind if one of its statements contains any of these words.
    pub marks: &'static [&'static str],
}

/// The name of all commits that are of no kind.
pub const OTHER: &str = "other";

/// The kinds a proxy tells apart, first come first: a transaction is of the first kind that any of its statements is of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kinds(pub &'static [Kind]);

/// A place among the kinds; behind the last one are the others.
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
