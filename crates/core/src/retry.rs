//! Retries of failed attempts and their delays. Owns the policy and its arithmetic; others count
//! attempts and wait. Everything here is a function of its arguments, so every engine and every replay
//! computes the same delay.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::duration;
use crate::time::Millis;

/// Maximum number of attempts a policy may ask for.
pub const MAX_ATTEMPTS: u32 = 10_000;

/// Factors are held in millionths, so that delays use integer arithmetic and are the same on every platform.
const MILLION: u64 = 1_000_000;

/// Growth of the delay from one attempt to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    Constant,
    Linear,
    #[default]
    Exponential,
}

/// Number of attempts of a task and the delays between them. In JSON a bare number means `max_attempts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// All attempts count, the first too: 1 means no retry.
    pub max_attempts: u32,
    pub backoff: Backoff,
    #[serde(with = "duration::lenient")]
    pub initial_delay: Millis,
    #[serde(with = "duration::lenient")]
    pub max_delay: Millis,
    /// Growth factor of the exponential backoff, precise to a millionth.
    pub multiplier: f64,
    /// Share by which a delay varies: 0.1 spreads it by up to 10 % either way.
    pub jitter: f64,
    /// Failure codes or types that are not retried.
    pub no_retry_on: Vec<String>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            backoff: Backoff::Exponential,
            initial_delay: Millis::from_secs(1),
            max_delay: Millis::from_secs(3600),
            multiplier: 2.0,
            jitter: 0.1,
            no_retry_on: Vec::new(),
        }
    }
}

/// Reasons a policy is refused. Each message says what to write instead.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PolicyError {
    #[error("max_attempts is {0}: write a number from 1 (no retry) to {MAX_ATTEMPTS}")]
    MaxAttempts(u32),
    #[error("multiplier is {0}: write a number of at least 1, such as 2.0")]
    Multiplier(f64),
    #[error("jitter is {0}: write a share from 0 to 1, such as 0.1 for 10 %")]
    Jitter(f64),
    #[error("max_delay {max} is below initial_delay {initial}: raise max_delay or lower initial_delay")]
    MaxDelay { initial: Millis, max: Millis },
}

/// Decision about a task whose attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Retry { delay: Millis },
    Exhausted,
}

impl RetryPolicy {
    /// Checks the limits of a policy and returns the first violation. Parsing does not check them, so call
    /// this for every policy that comes from a user. The functions below also work for unchecked policies.
    pub fn check(&self) -> Result<(), PolicyError> {
        if !(1..=MAX_ATTEMPTS).contains(&self.max_attempts) {
            return Err(PolicyError::MaxAttempts(self.max_attempts));
        }
        if !self.multiplier.is_finite() || self.multiplier < 1.0 {
            return Err(PolicyError::Multiplier(self.multiplier));
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(PolicyError::Jitter(self.jitter));
        }
        if self.max_delay < self.initial_delay {
            return Err(PolicyError::MaxDelay { initial: self.initial_delay, max: self.max_delay });
        }
        Ok(())
    }

    /// Decides whether attempt number `attempt` (the first is 1) is retried after this failure.
    pub fn verdict(
        &self,
        task_key: &str,
        attempt: u32,
        failure_code: &str,
        failure_type: &str,
        retryable: bool,
    ) -> Verdict {
        let listed = self.no_retry_on.iter().any(|name| name == failure_code || name == failure_type);
        if attempt >= self.max_attempts || !retryable || listed {
            return Verdict::Exhausted;
        }
        Verdict::Retry { delay: self.delay_after(task_key, attempt) }
    }

    /// Returns the delay after attempt number `attempt` (the first is 1) failed. It is never above
    /// `max_delay`.
    pub fn delay_after(&self, task_key: &str, attempt: u32) -> Millis {
        let retries = attempt.clamp(1, MAX_ATTEMPTS);
        let delay = match self.backoff {
            Backoff::Constant => self.initial_delay,
            Backoff::Linear => self.initial_delay.saturating_mul(u64::from(retries)),
            Backoff::Exponential => self.exponential(retries - 1),
        };
        let delay = delay.min(self.max_delay).as_u64();
        let jitter = millionths(self.jitter).min(MILLION);
        let span = u128::from(delay) * u128::from(jitter) / u128::from(MILLION);
        let offset = (u128::from(spread(task_key, attempt)) * (2 * span + 1)) >> 32;
        let jittered = u128::from(delay) - span + offset;
        Millis(u64::try_from(jittered).unwrap_or(u64::MAX)).min(self.max_delay)
    }

    fn exponential(&self, steps: u32) -> Millis {
        let factor = u128::from(millionths(self.multiplier).max(MILLION));
        let scale = u128::from(MILLION);
        let cap = u128::from(self.max_delay.as_u64()) * scale;
        // Kept in millionths of a millisecond: rounding each step to whole milliseconds would keep 1 ms at 1
        // ms with factor 1.5.
        let mut delay = u128::from(self.initial_delay.as_u64()) * scale;
        for _ in 0..steps {
            let grown = delay.saturating_mul(factor) / scale;
            if delay >= cap || grown == delay {
                break;
            }
            delay = grown;
        }
        Millis(u64::try_from(delay.min(cap) / scale).unwrap_or(u64::MAX))
    }
}

/// NaN and negative numbers become 0, too large numbers become `u64::MAX`, because `as` saturates.
fn millionths(number: f64) -> u64 {
    (number * MILLION as f64).round() as u64
}

/// Returns a uniform 32-bit number that depends only on the task and its attempt.
fn spread(task_key: &str, attempt: u32) -> u32 {
    let digest = Sha256::new().chain_update(task_key).chain_update(attempt.to_le_bytes()).finalize();
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

impl Serialize for RetryPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RetryPolicy::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for RetryPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrMap)
    }
}

struct NumberOrMap;

impl<'de> Visitor<'de> for NumberOrMap {
    type Value = RetryPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of attempts such as 5, or a retry policy such as {\"max_attempts\": 5}")
    }

    fn visit_u64<E: serde::de::Error>(self, attempts: u64) -> Result<RetryPolicy, E> {
        match u32::try_from(attempts) {
            Ok(max_attempts) => Ok(RetryPolicy { max_attempts, ..RetryPolicy::default() }),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(attempts), &self)),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, attempts: i64) -> Result<RetryPolicy, E> {
        match u64::try_from(attempts) {
            Ok(attempts) => self.visit_u64(attempts),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(attempts), &self)),
        }
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<RetryPolicy, M::Error> {
        RetryPolicy::deserialize(MapAccessDeserializer::new(map)).map_err(M::Error::custom)
    }
}

#[cfg(test)]
mod tests;
