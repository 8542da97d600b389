//! Sends several statements as one transaction in one round trip. All are sent before the first answer is
//! read. So a refusal must come from the server (`expect`), which then refuses the rest, COMMIT included.

use futures_util::future::{BoxFuture, FutureExt, join_all};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::Param;
use crate::postgres::connection::session::Session;
use crate::postgres::sql::Sql;

pub type Owned<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Boxes the parameters of one statement.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$(Box::new($value) as $crate::postgres::connection::pipeline::Owned<'_>),*]
    };
}
pub(crate) use params;

pub struct Pipeline<'a> {
    session: &'a Session,
    steps: Vec<(Statement, Vec<Owned<'a>>)>,
}

impl<'a> Pipeline<'a> {
    pub fn new(session: &'a Session) -> Self {
        Self { session, steps: Vec::new() }
    }

    /// Adds a statement. Returns the index of its answer.
    pub async fn add(&mut self, sql: Sql, params: Vec<Owned<'a>>) -> Result<usize, StatementError> {
        self.steps.push((self.session.prepare(sql).await?, params));
        Ok(self.steps.len() - 1)
    }

    /// Sends everything as one transaction. A single statement is one already.
    pub async fn commit(self) -> Result<Vec<Vec<Row>>, StatementError> {
        if self.steps.len() == 1 && !self.session.has_settings() {
            return self.send("", "").await;
        }
        let opening = self.session.opening();
        self.send(&opening, "COMMIT").await
    }

    /// Sends everything within a transaction that is open already.
    pub async fn go_on(self) -> Result<Vec<Vec<Row>>, StatementError> {
        self.send("", "").await
    }

    async fn send(self, first: &str, last: &str) -> Result<Vec<Vec<Row>>, StatementError> {
        let params: Vec<Vec<Param<'_>>> = self
            .steps
            .iter()
            .map(|(_, params)| params.iter().map(|param| &**param as Param<'_>).collect())
            .collect();
        let client = self.session.client();
        let plain = |text: &str| -> Option<BoxFuture<'_, Result<Vec<Row>, StatementError>>> {
            let text = text.to_owned();
            let wanted = !text.is_empty();
            let sent = async move { Ok(client.batch_execute(&text).await.map(|()| Vec::new())?) };
            wanted.then(|| sent.boxed())
        };
        let (opening, closing) = (plain(first), plain(last));
        let opened = usize::from(opening.is_some());
        // The futures are polled in order, and the first poll of each sends it.
        let mut calls: Vec<BoxFuture<'_, Result<Vec<Row>, StatementError>>> = opening.into_iter().collect();
        for ((statement, _), params) in self.steps.iter().zip(&params) {
            calls.push(async move { Ok(client.query(statement, params).await?) }.boxed());
        }
        calls.extend(closing);
        let all = async { Ok::<_, StatementError>(join_all(calls).await) };
        let answers = self.session.sent(all).await?;
        // The first error is the cause; later ones only report the aborted transaction.
        let mut rows = answers.into_iter().collect::<Result<Vec<_>, StatementError>>()?;
        rows.drain(..opened);
        rows.truncate(self.steps.len());
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::connection::connect::{Dial, Purpose};
    use tokio::sync::watch;

    const PUT: Sql = Sql { name: "put", text: "INSERT INTO kept VALUES (1) RETURNING n" };

    /// Opens a session on a new database.
    async fn session() -> (Dial, Session) {
        let server = std::env::var("RHYTHM_TEST_POSTGRES").expect("run this under scripts/with-postgres.sh");
        let name = format!("pipeline_{}", crate::postgres::connection::reconnecting::random());
        let admin =
            Dial::parse(&server).expect("a url").client(Purpose::Plain).await.expect("the server answers");
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database is made");
        let (base, _) = server.rsplit_once('/').expect("the url names a database");
        let dial = Dial::parse(&format!("{base}/{name}")).expect("a url");
        let session = session_of(&dial).await;
        session.execute("CREATE SCHEMA rhythm; CREATE TABLE kept (n int)").await.expect("a table is made");
        (dial, session)
    }

    async fn session_of(dial: &Dial) -> Session {
        let client = dial.client(Purpose::Plain).await.expect("the server answers");
        Session::new(client, (dial.clone(), dial.suspicion()), Purpose::Plain, watch::channel(false).1)
    }

    #[tokio::test]
    async fn the_rest_of_a_batch_is_not_written_by_a_session_that_was_given_up() {
        let (dial, session) = session().await;
        let mut rest = Pipeline::new(&session);
        rest.add(PUT, Vec::new()).await.expect("the statement is prepared");
        // The first transaction is open when another session reports the server dead.
        let first = session.alone().await.expect("nobody else uses it");
        let done = first.transact(async {
            first.query(PUT, &[]).await?;
            dial.suspicion().raise();
            first.query(PUT, &[]).await
        });
        assert!(done.await.is_err(), "nobody waits for an answer of the dead");
        drop(first);
        assert!(rest.commit().await.is_err(), "the transaction of the first is still open on the server");
        // The server runs everything it received before this.
        session.client().batch_execute("").await.expect("the server was not dead");
        let other = dial.client(Purpose::Plain).await.expect("the server answers");
        let kept = other.query("SELECT n FROM kept", &[]).await.expect("the table is there");
        assert_eq!(kept.len(), 0);
    }

    #[tokio::test]
    async fn a_transaction_of_several_round_trips_has_the_connection_to_itself() {
        let (_, session) = session().await;
        let alone = session.alone().await.expect("nobody else uses it");
        let other = tokio::spawn({
            let session = session.clone();
            async move { session.query(PUT, &[]).await.map(|rows| rows.len()) }
        });
        let refused = alone.transact(async {
            alone.query(PUT, &[]).await?;
            tokio::task::yield_now().await;
            assert!(!other.is_finished(), "it would be undone with the transaction");
            Err::<(), _>(StatementError::Fence)
        });
        assert!(refused.await.is_err());
        drop(alone);
        assert_eq!(other.await.expect("no panic").expect("it is written"), 1);
        let mut all = Pipeline::new(&session);
        let counted = Sql { name: "count", text: "SELECT count(*) FROM kept" };
        all.add(counted, Vec::new()).await.expect("the statement is prepared");
        let rows = all.commit().await.expect("the session works");
        assert_eq!(rows[0][0].get::<_, i64>(0), 1);
    }

    #[tokio::test]
    async fn who_leaves_a_transaction_open_leaves_a_session_nobody_uses() {
        let (_, session) = session().await;
        let alone = session.alone().await.expect("nobody else uses it");
        let left = tokio::time::timeout(std::time::Duration::from_millis(50), async {
            alone.transact(std::future::pending::<Result<(), StatementError>>()).await
        });
        assert!(left.await.is_err());
        drop(alone);
        assert!(!session.is_usable());
    }

    #[tokio::test]
    async fn a_read_beside_heartbeats_gives_way_and_is_tried_again() {
        let (_, session) = session().await;
        let reader = session.with(Purpose::Plain, true);
        let sleep = Sql { name: "sleep", text: "SELECT count(*) FROM (SELECT pg_sleep(1)) AS s" };
        let reading = tokio::spawn(async move { reader.query(sleep, &[]).await.map(|rows| rows.len()) });
        while !session.is_busy() {
            tokio::task::yield_now().await;
        }
        let beat = Sql { name: "beat", text: "SELECT 1" };
        // Prepared before, as heartbeats are, because preparing waits for its turn.
        let began = std::time::Instant::now();
        session.query_urgently(beat, &[]).await.expect("a heartbeat");
        assert!(began.elapsed() < std::time::Duration::from_millis(900), "{:?}", began.elapsed());
        assert_eq!(reading.await.expect("no panic").expect("the read is tried again"), 1);
    }

    #[tokio::test]
    async fn whoever_waits_in_vain_warns_the_other_sessions_of_its_time() {
        let (dial, other) = session().await;
        let silent = session_of(&dial).await;
        let nothing = std::future::pending::<Result<(), tokio_postgres::Error>>();
        let patience = Some(std::time::Duration::from_millis(20));
        assert!(silent.wait(nothing, patience).await.is_err());
        assert!(!silent.is_usable() && !other.is_usable());
        let later = session_of(&dial).await;
        assert!(later.query(PUT, &[]).await.is_ok(), "what is opened afterwards is not suspected");
    }
}
