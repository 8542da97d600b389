//! The reference world and the world under test side by side: two processes each, and one clock.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::resume_unwind;
use std::sync::Arc;

use rhythm_core::{Actor, Millis, TenantId, Timestamp, WorkerId};
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::*;

use super::super::Stage;
use super::super::play::{HOLD, card};
use super::ledger::Ledger;
use super::moves::Who;

/// The workers, each with its process.
pub const WORKERS: [(&str, usize); 3] = [("w1", 0), ("w2", 1), ("w3", 0)];
/// Heartbeat timeout of the last worker; the others have none.
const SILENCE: Millis = Millis(60_000);
pub const TENANTS: [&str; 2] = ["default", "other"];

pub struct Pair {
    pub model: [MemoryWorld; 2],
    pub world: [Arc<dyn World>; 2],
    pub ledger: Ledger,
    /// Number of answers of each kind.
    pub tally: BTreeMap<String, u64>,
    clock: Arc<ManualClock>,
    stage: Box<dyn Stage>,
}

/// Sends one request to both worlds and returns the answer they agree on.
macro_rules! both {
    ($pair:expr, $process:expr, $method:ident, $request:expr) => {{
        let request = $request;
        let expected = $pair.model[$process].$method(request.clone()).await;
        let found = $pair.world[$process].$method(request.clone()).await;
        $crate::model::pair::agree(stringify!($method), &request, &expected, &found);
        expected
    }};
}
pub(super) use both;

/// Errors are equal if their codes are: the texts are up to each world.
pub fn agree<Q: Debug, A: Debug>(what: &str, request: &Q, expected: &WorldResult<A>, found: &WorldResult<A>) {
    let show = |answer: &WorldResult<A>| match answer {
        Ok(answer) => format!("{answer:#?}"),
        Err(error) => format!("refused with {}", error.code()),
    };
    let (expected_text, found_text) = (show(expected), show(found));
    if expected_text != found_text {
        let words = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let difference = first_difference(&expected_text, &found_text);
        // This does not print the panic: most panics only lead to a smaller sequence.
        resume_unwind(Box::new(format!("{what} of {request:?}: {difference}{words}")));
    }
}

/// Returns the first difference of two long texts, with the lines before it.
fn first_difference(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let same = expected.iter().zip(&found).take_while(|(expected, found)| expected == found).count();
    let before = expected[same.saturating_sub(12)..same].join("\n");
    let next = |lines: &[&str]| lines[same..].iter().take(4).copied().collect::<Vec<_>>().join("\n");
    format!("\n{before}\nthe reference goes on\n{}\nthis world goes on\n{}\n", next(&expected), next(&found))
}

impl Pair {
    pub async fn on(stage: Box<dyn Stage>) -> Pair {
        let clock = ManualClock::at(stage.clock().now());
        let model = MemoryWorld::new(Some(Arc::clone(&clock) as Arc<dyn Clock>));
        let model = [model.handle(), model];
        let world = [stage.handle().await, stage.handle().await];
        let mut pair = Pair { model, world, ledger: Ledger::default(), tally: BTreeMap::new(), clock, stage };
        for worker in 0..WORKERS.len() {
            pair.beat(Who { tenant: 0, worker }).await;
        }
        pair
    }

    pub async fn now(&mut self) -> Timestamp {
        let expected = self.model[0].now().await;
        agree("now", &(), &expected, &self.world[0].now().await);
        expected.expect("memory answers")
    }

    pub fn tick(&mut self) {
        self.clock.advance(Millis(1));
        self.stage.clock().advance(Millis(1));
    }

    pub fn set_clock(&mut self, to: Timestamp) {
        self.clock.set(to);
        self.stage.clock().set(to);
    }

    pub fn card(&self, who: Who) -> WorkerRegistration {
        let card = card(WORKERS[who.worker].0);
        let last = who.worker == WORKERS.len() - 1;
        WorkerRegistration { silence: if last { SILENCE } else { card.silence }, ..card }
    }

    /// Sends a plain heartbeat. It is also a write, so both worlds store the time.
    pub async fn beat(&mut self, who: Who) {
        let card = self.card(who);
        let tenant = self.tenant(who);
        let request = Extend { tenant, card, running: 0, hold: HOLD, tasks: vec![], leaving: false };
        let _ = both!(self, self.process(who), extend, request);
    }

    /// Replaces one process before its absence is noticed.
    pub async fn reenter(&mut self, process: usize) {
        // Worlds that use a server's clock store no time: a new process must not see it gone back.
        let now = self.now().await;
        self.set_clock(now);
        self.model[process] = self.model[1 - process].handle();
        self.world[process] = self.stage.handle().await;
        for (worker, (_, lives_in)) in WORKERS.iter().enumerate() {
            if *lives_in == process {
                for tenant in 0..TENANTS.len() {
                    self.beat(Who { tenant, worker }).await;
                }
            }
        }
    }

    pub async fn order(&mut self, who: Who, control: Control) {
        let tenant = self.tenant(who);
        let request = ControlRequest { tenant, actor: Actor("user:ann".to_owned()), control };
        let text = format!("{:?}", request.control);
        let name = text.split([' ', '(']).next().unwrap_or_default().to_owned();
        let answer = both!(self, self.process(who), control, request);
        self.saw(&name, [answer.map_err(|error| error.code())]);
    }

    /// Counts the answers.
    pub fn saw<T: Debug>(&mut self, what: &str, answers: impl IntoIterator<Item = T>) {
        for answer in answers {
            *self.tally.entry(format!("{what} {answer:?}").replace('"', "")).or_default() += 1;
        }
    }

    pub fn process(&self, who: Who) -> usize {
        WORKERS[who.worker].1
    }

    pub fn tenant(&self, who: Who) -> TenantId {
        TenantId::new(TENANTS[who.tenant])
    }

    pub fn worker(&self, who: Who) -> WorkerId {
        WorkerId::new(WORKERS[who.worker].0)
    }
}
