//! Several statements in one transaction and one round trip: all are sent before the first answer is read, so a
//! refusal has to come from the server (`expect`), which then refuses the rest, COMMIT included.

use futures_util::future::{BoxFuture, FutureExt, join_all};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::errors::Fault;
use super::link::{Param, Session};
use super::sql::Sql;

pub type Owned<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Boxes the parameters of one statement.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$(Box::new($value) as $crate::postgres::pipeline::Owned<'_>),*]
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

    /// Adds a statement; the answer to it will be at the returned place.
    pub async fn add(&mut self, sql: Sql, params: Vec<Owned<'a>>) -> Result<usize, Fault> {
        self.steps.push((self.session.prepare(sql).await?, params));
        Ok(self.steps.len() - 1)
    }

    /// Sends everything as one transaction.
    pub async fn commit(self) -> Result<Vec<Vec<Row>>, Fault> {
        self.send("BEGIN", "COMMIT").await
    }

    /// Sends everything within a transaction that is open already.
    pub async fn go_on(self) -> Result<Vec<Vec<Row>>, Fault> {
        self.send("", "").await
    }

    async fn send(self, first: &str, last: &str) -> Result<Vec<Vec<Row>>, Fault> {
        let params: Vec<Vec<Param<'_>>> = self
            .steps
            .iter()
            .map(|(_, params)| params.iter().map(|param| &**param as Param<'_>).collect())
            .collect();
        let client = &self.session.client;
        let plain = |text: &str| -> Option<BoxFuture<'_, Result<Vec<Row>, Fault>>> {
            let text = text.to_owned();
            let wanted = !text.is_empty();
            let sent = async move { Ok(client.batch_execute(&text).await.map(|()| Vec::new())?) };
            wanted.then(|| sent.boxed())
        };
        let (opening, closing) = (plain(first), plain(last));
        let opened = usize::from(opening.is_some());
        // Futures are polled in order, and the first poll sends.
        let mut calls: Vec<BoxFuture<'_, Result<Vec<Row>, Fault>>> = opening.into_iter().collect();
        for ((statement, _), params) in self.steps.iter().zip(&params) {
            calls.push(async move { Ok(client.query(statement, params).await?) }.boxed());
        }
        calls.extend(closing);
        let all = async { Ok::<_, Fault>(join_all(calls).await) };
        let answers = self.session.answered(all).await?;
        // The first error is the cause; those behind it only say that the transaction was aborted.
        let mut rows = answers.into_iter().collect::<Result<Vec<_>, Fault>>()?;
        rows.drain(..opened);
        rows.truncate(self.steps.len());
        Ok(rows)
    }
}
