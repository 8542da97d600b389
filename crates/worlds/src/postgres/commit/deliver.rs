//! Delivers messages from outside.

use std::collections::{HashMap, HashSet};

use rhythm_engine::world::{Deliver, Delivered, Delivery, INBOX_LIMIT};

use crate::postgres::commit::columns::MessageColumns;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::pipeline::{Pipeline, params};
use crate::postgres::connection::session::Session;
use crate::postgres::sql;

/// Delivers the messages of several requests in one transaction.
pub async fn deliver(
    session: &Session,
    now: Option<i64>,
    requests: &[Deliver],
) -> Result<Vec<Vec<Delivered>>, StatementError> {
    let session = session.alone().await?;
    session.transact(deliver_within(&session, now, requests)).await
}

async fn deliver_within(
    session: &Session,
    now: Option<i64>,
    requests: &[Deliver],
) -> Result<Vec<Vec<Delivered>>, StatementError> {
    let all: Vec<(&str, &Delivery)> = requests
        .iter()
        .flat_map(|request| request.deliveries.iter().map(|delivery| (request.tenant.as_str(), delivery)))
        .collect();
    let targets = find_targets(session, &all).await?;
    let mut inboxes = look_inside(session, &all, &targets).await?;
    let mut accepted = Marks::default();
    let mut messages = MessageColumns::default();
    let mut answers = Vec::with_capacity(all.len());
    for (tenant, delivery) in &all {
        let Delivery { to, message } = delivery;
        let answer = match targets.get(&(*tenant, to.as_str())) {
            None => Delivered::NotFound,
            Some(Target { open: false, .. }) => Delivered::Ended,
            Some(target) => {
                let inbox = inboxes.entry(((*tenant).to_owned(), to.0.clone())).or_default();
                if inbox.known.contains(message.id.as_str()) {
                    Delivered::Duplicate
                } else if inbox.waiting >= INBOX_LIMIT && message.body.signal_name().is_some() {
                    Delivered::Full
                } else {
                    inbox.known.insert(message.id.0.clone());
                    inbox.waiting += 1;
                    accepted.push(tenant, to.as_str(), message.id.as_str(), target.born);
                    messages.push(tenant, to.as_str(), message);
                    Delivered::Accepted
                }
            }
        };
        answers.push(answer);
    }
    if !messages.is_empty() {
        let mut pipeline = Pipeline::new(session);
        let Marks { tenant, run, id, born } = accepted;
        pipeline.add(sql::MARK_DELIVERED, params![now, tenant, run, id, born]).await?;
        pipeline.add(sql::PUT_DORMANT, messages.params(now)).await?;
        pipeline.add(sql::PUT_MESSAGES, messages.params(now)).await?;
        pipeline.go_on().await?;
    }
    let mut answers = answers.into_iter();
    Ok(requests.iter().map(|request| answers.by_ref().take(request.deliveries.len()).collect()).collect())
}

struct Target {
    /// Takes messages: it is live, or it has failed and may be reopened.
    open: bool,
    born: i32,
}

#[derive(Default)]
struct Inbox {
    known: HashSet<String>,
    waiting: u64,
}

#[derive(Default)]
struct Marks<'a> {
    tenant: Vec<&'a str>,
    run: Vec<&'a str>,
    id: Vec<&'a str>,
    born: Vec<i32>,
}

impl<'a> Marks<'a> {
    fn push(&mut self, tenant: &'a str, run: &'a str, id: &'a str, born: i32) {
        self.tenant.push(tenant);
        self.run.push(run);
        self.id.push(id);
        self.born.push(born);
    }
}

/// Locks the live targets and finds the ended ones, by tenant and run.
async fn find_targets<'a>(
    session: &Session,
    all: &[(&'a str, &'a Delivery)],
) -> Result<HashMap<(&'a str, &'a str), Target>, StatementError> {
    let mut keys: Vec<(&str, &str)> =
        all.iter().map(|(tenant, delivery)| (*tenant, delivery.to.as_str())).collect();
    keys.sort_unstable();
    keys.dedup();
    let (tenants, runs): (Vec<&str>, Vec<&str>) = keys.iter().copied().unzip();
    let live = session.query(sql::LOCK_RUNS, &[&tenants, &runs]).await?;
    let found: HashMap<(String, String), i32> =
        live.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect();
    let mut targets = HashMap::new();
    let mut missing = Vec::new();
    for key in keys {
        match found.get(&(key.0.to_owned(), key.1.to_owned())) {
            Some(born) => drop(targets.insert(key, Target { open: true, born: *born })),
            None => missing.push(key),
        }
    }
    if !missing.is_empty() {
        let (tenants, runs): (Vec<&str>, Vec<&str>) = missing.iter().copied().unzip();
        for row in session.query(sql::LOOKUP_ENDED, &[&tenants, &runs]).await? {
            let key = (row.get::<_, &str>(0), row.get::<_, &str>(1));
            if let Some(key) = missing.iter().find(|missing| **missing == key) {
                let target = Target { open: row.get::<_, &str>(2) == "failed", born: row.get(3) };
                targets.insert(*key, target);
            }
        }
    }
    Ok(targets)
}

/// Reads which of these messages arrived before, and the number of messages that wait for each target.
async fn look_inside(
    session: &Session,
    all: &[(&str, &Delivery)],
    targets: &HashMap<(&str, &str), Target>,
) -> Result<HashMap<(String, String), Inbox>, StatementError> {
    let mut asked = Marks::default();
    for (tenant, delivery) in all {
        if let Some(target) = targets.get(&(*tenant, delivery.to.as_str())) {
            asked.push(tenant, delivery.to.as_str(), delivery.message.id.as_str(), target.born);
        }
    }
    let (tenants, runs): (Vec<&str>, Vec<&str>) = targets.keys().copied().unzip();
    let mut pipeline = Pipeline::new(session);
    let Marks { tenant, run, id, born } = asked;
    pipeline.add(sql::KNOWN_DELIVERED, params![tenant, run, id, born]).await?;
    pipeline.add(sql::COUNT_INBOX, params![tenants, runs]).await?;
    let answers = pipeline.go_on().await?;
    let mut inboxes: HashMap<(String, String), Inbox> = HashMap::new();
    for row in &answers[0] {
        inboxes.entry((row.get(0), row.get(1))).or_default().known.insert(row.get(2));
    }
    for row in &answers[1] {
        inboxes.entry((row.get(0), row.get(1))).or_default().waiting =
            crate::postgres::read::rows::count(row.get(2));
    }
    Ok(inboxes)
}
