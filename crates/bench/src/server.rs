//! Settings that decide the durability of a PostgreSQL server.

use std::fmt;

use tokio_postgres::{Client, Error};

pub struct Server {
    version: String,
    fsync: String,
    synchronous_commit: String,
    full_page_writes: String,
}

impl Server {
    pub async fn of(db: &Client) -> Result<Self, Error> {
        let row = db.query_one(include_str!("sql/server.sql"), &[]).await?;
        Ok(Self {
            version: row.get(0),
            fsync: row.get(1),
            synchronous_commit: row.get(2),
            full_page_writes: row.get(3),
        })
    }

    /// Returns whether commits are durable. All values of `synchronous_commit` except `off` wait for this
    /// server's disk.
    pub fn is_durable(&self) -> bool {
        ![&self.fsync, &self.synchronous_commit, &self.full_page_writes]
            .iter()
            .any(|setting| *setting == "off")
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, fsync, synchronous_commit, full_page_writes } = self;
        write!(
            f,
            "PostgreSQL {version} (fsync {fsync}, synchronous_commit {synchronous_commit}, \
             full_page_writes {full_page_writes})"
        )
    }
}
