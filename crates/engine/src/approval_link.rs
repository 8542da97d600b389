//! Signed links that let one person answer one approval, with an expiry time. Opening a link decides nothing.
//! The error for a forged link gives no reason and takes the same time wherever the forgery is.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rhythm_core::{CommandId, RunId, TenantId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;

/// Shorter keys could be guessed.
const MIN_KEY: usize = 32;
/// Longer tokens are never made.
const MAX_TOKEN: usize = 4_096;
/// Domain separation: nothing else signed with the same key passes for a link.
const PURPOSE: &[u8] = b"rhythm approval link 1\n";

/// Content of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalLink {
    pub tenant: TenantId,
    pub run: RunId,
    pub approval: CommandId,
    #[serde(rename = "for")]
    pub person: String,
    pub expires_at: Timestamp,
}

/// Signs links and verifies them.
pub struct LinkKey(hmac::Key);

impl LinkKey {
    /// Creates a key. Fails if the secret is `None` or shorter than 32 characters.
    pub fn new(secret: Option<&str>) -> Result<Self, EngineError> {
        let secret = secret.ok_or(EngineError::LinkKey("is not set"))?;
        if secret.chars().count() < MIN_KEY {
            return Err(EngineError::LinkKey("is too short"));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())))
    }

    /// Returns the link's token: its content and signature, safe in a URL.
    pub fn seal(&self, link: &ApprovalLink) -> String {
        let said = serde_json::to_vec(link).expect("links always serialise");
        let said = URL_SAFE_NO_PAD.encode(said);
        let seal = hmac::sign(&self.0, &signed(&said));
        format!("{said}.{}", URL_SAFE_NO_PAD.encode(seal))
    }

    /// Returns the content of a link. Fails if the signature, tenant or expiry is wrong; the content is
    /// parsed only after the signature was checked.
    pub fn open(&self, token: &str, tenant: &TenantId, now: Timestamp) -> Result<ApprovalLink, EngineError> {
        if token.len() > MAX_TOKEN {
            return Err(EngineError::BadLink);
        }
        let (said, seal) = token.split_once('.').ok_or(EngineError::BadLink)?;
        let seal = URL_SAFE_NO_PAD.decode(seal).map_err(|_| EngineError::BadLink)?;
        hmac::verify(&self.0, &signed(said), &seal).map_err(|_| EngineError::BadLink)?;
        let said = URL_SAFE_NO_PAD.decode(said).map_err(|_| EngineError::BadLink)?;
        let link: ApprovalLink = serde_json::from_slice(&said).map_err(|_| EngineError::BadLink)?;
        if link.tenant != *tenant {
            return Err(EngineError::BadLink);
        }
        if link.expires_at <= now {
            return Err(EngineError::ExpiredLink(link.expires_at));
        }
        Ok(link)
    }
}

fn signed(said: &str) -> Vec<u8> {
    [PURPOSE, said.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn link() -> ApprovalLink {
        ApprovalLink {
            tenant: TenantId::default(),
            run: RunId::new("r/1"),
            approval: CommandId(3),
            person: "ann".into(),
            expires_at: Timestamp(1_000),
        }
    }

    fn key(secret: &str) -> LinkKey {
        LinkKey::new(Some(secret)).unwrap()
    }

    #[test]
    fn a_link_says_what_it_was_made_with_until_it_expires() {
        let token = key(SECRET).seal(&link());
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)), "{token}");
        assert_eq!(key(SECRET).open(&token, &TenantId::default(), Timestamp(999)).unwrap(), link());
        for late in [1_000, 1_001, i64::MAX] {
            let refused = key(SECRET).open(&token, &TenantId::default(), Timestamp(late));
            assert!(matches!(refused, Err(EngineError::ExpiredLink(Timestamp(1_000)))), "{late}");
        }
    }

    #[test]
    fn an_altered_or_foreign_link_is_refused() {
        let token = key(SECRET).seal(&link());
        let (ours, now) = (TenantId::default(), Timestamp(0));
        let refused = |key: &LinkKey, token: &str, tenant: &TenantId| {
            assert!(matches!(key.open(token, tenant, now), Err(EngineError::BadLink)), "{token}");
        };
        for place in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
            refused(&key(SECRET), std::str::from_utf8(&altered).unwrap(), &ours);
        }
        for cut in 0..token.len() {
            refused(&key(SECRET), &token[..cut], &ours);
        }
        refused(&key(SECRET), &format!("{token}A"), &ours);
        refused(&key("another key of thirty-two letters"), &token, &ours);
        refused(&key(SECRET), &token, &TenantId::new("other"));
        // A later expiry under the old signature.
        let later = ApprovalLink { expires_at: Timestamp(i64::MAX), ..link() };
        let said = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&later).unwrap());
        refused(&key(SECRET), &format!("{said}.{}", token.split_once('.').unwrap().1), &ours);
        for odd in ["", ".", "..", "a.b.c", "\u{0}", &"x".repeat(5_000)] {
            refused(&key(SECRET), odd, &ours);
        }
    }

    #[test]
    fn a_key_is_there_and_long_enough() {
        for wrong in [None, Some(""), Some("0123456789abcdef0123456789abcde")] {
            assert!(matches!(LinkKey::new(wrong), Err(EngineError::LinkKey(_))), "{wrong:?}");
        }
    }
}
