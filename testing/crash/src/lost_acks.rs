//! Kinds of lost answers. A scenario about lost commits must lose answers to transitions: losing the answer
//! to a heartbeat or an empty claim has no effect.

use std::collections::BTreeMap;

use rhythm_proxy::{Kind, OTHER};

pub const TRANSITIONS: &str = "lost answers to transitions";
pub const RESULTS: &str = "lost answers to results of tasks";
pub const CALLS: &str = "lost answers to calls";
pub const CLAIMS: &str = "lost answers to claims";
pub const BEATS: &str = "lost answers to heartbeats";
pub const OTHERS: &str = "other lost answers";

/// Number of losses by kind.
pub type Losses = BTreeMap<&'static str, u64>;

/// Texts in the SQL of the PostgreSQL world that identify each kind.
pub const KINDS: &[Kind] = &[
    Kind { name: TRANSITIONS, marks: &["last_commit = i.commit"] },
    Kind {
        name: RESULTS,
        marks: &[
            "DELETE FROM task AS t",
            "attempt = t.attempt + 1",
            "SET state = 3",
            "delivery = t.delivery - 1",
        ],
    },
    Kind { name: CLAIMS, marks: &["claim = r.claim + 1", "claim = t.claim + 1"] },
    Kind { name: BEATS, marks: &["INSERT INTO worker"] },
    // A sweep also inserts messages, so it must be recognised before `CALLS`.
    Kind { name: OTHERS, marks: &["pg_postmaster_start_time"] },
    Kind { name: CALLS, marks: &["INSERT INTO live_run", "INSERT INTO task", "INSERT INTO inbox"] },
];

/// Returns the losses caused by these proxies.
pub fn cut(proxies: &[&rhythm_proxy::Proxy]) -> Losses {
    let mut losses = Losses::new();
    for (kind, commits) in proxies.iter().flat_map(|proxy| proxy.commits()) {
        let kind = if kind == OTHER { OTHERS } else { kind };
        *losses.entry(kind).or_default() += commits.cut;
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! sql {
        ($file:literal) => {
            include_str!(concat!("../../../crates/worlds/src/postgres/sql/", $file, ".sql"))
        };
    }

    #[test]
    fn the_statements_of_the_world_are_of_the_kinds_they_are_counted_as() {
        let kind = |sql: &str| {
            let is = |kind: &&Kind| kind.marks.iter().any(|mark| sql.contains(mark));
            KINDS.iter().find(is).map_or(OTHERS, |kind| kind.name)
        };
        let expected = [
            (TRANSITIONS, vec![sql!("commit")]),
            (
                RESULTS,
                vec![
                    sql!("finish_remove"),
                    sql!("finish_retry"),
                    sql!("finish_hold"),
                    sql!("finish_release"),
                ],
            ),
            (CLAIMS, vec![sql!("claim_runs"), sql!("claim_tasks"), sql!("claim_overdue")]),
            (BEATS, vec![sql!("extend")]),
            (CALLS, vec![sql!("insert_runs"), sql!("insert_tasks"), sql!("put_messages")]),
            (
                OTHERS,
                vec![
                    sql!("sweep"),
                    sql!("find_due"),
                    sql!("register"),
                    sql!("put_blob"),
                    sql!("release_runs"),
                ],
            ),
        ];
        for (name, statements) in expected {
            for sql in statements {
                assert_eq!(kind(sql), name, "{sql}");
            }
        }
    }
}
