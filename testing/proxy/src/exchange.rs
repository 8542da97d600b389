//! Follows a PostgreSQL conversation to detect commits. Each question of the client (a simple query, or an
//! extended query up to its sync) is answered by messages that end with "ready for query". The answer to a
//! question that may commit is held back until then, because only then is the commit certain.

use std::collections::{HashMap, VecDeque};

use crate::framing::{Frames, Message, text};
use crate::kinds::{Kinds, Rank};

const WANT_SSL: u32 = 80_877_103;
const WANT_GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;

/// Effect a question may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Intent {
    #[default]
    Other,
    /// Writes, so it commits when it is outside of a transaction.
    Writes,
    Commits,
}

/// A complete question, or the part of one sent so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Question {
    intent: Intent,
    kind: Rank,
}

impl Question {
    fn of(sql: &[u8], kinds: Kinds) -> Self {
        Self { intent: intent(sql), kind: kinds.rank(sql) }
    }

    fn other(kinds: Kinds) -> Self {
        Self { intent: Intent::Other, kind: kinds.others() }
    }

    fn and(self, next: Self) -> Self {
        Self { intent: self.intent.max(next.intent), kind: self.kind.min(next.kind) }
    }
}

/// Bytes to pass on to the client.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub bytes: Vec<u8>,
    /// Set when these bytes are the answer to a commit that was made; the kind of that commit.
    pub commit: Option<&'static str>,
}

#[derive(Debug)]
pub struct Conversation {
    from_client: Frames,
    from_server: Frames,
    /// Questions without an answer so far.
    asked: VecDeque<Question>,
    /// The question that ends with the next sync.
    asking: Question,
    statements: HashMap<Vec<u8>, Question>,
    portals: HashMap<Vec<u8>, Question>,
    /// Number of requests for encryption, each answered by a single byte.
    bare_answers: usize,
    /// True when the connection is encrypted or not PostgreSQL: bytes are passed on unread.
    opaque: bool,
    answer: Answer,
    /// Transaction status in the server's last message; `I` is outside of any transaction.
    status: u8,
    kinds: Kinds,
    /// Kind of the open transaction as known so far.
    open: Rank,
}

/// The answer being received.
#[derive(Debug, Default)]
struct Answer {
    kept: Vec<u8>,
    completed: bool,
    committed: bool,
    failed: bool,
}

impl Conversation {
    /// Follows a PostgreSQL conversation and tells these kinds of commits apart.
    pub fn telling(kinds: Kinds) -> Self {
        Self {
            from_client: Frames::default(),
            from_server: Frames::typed(),
            asked: VecDeque::new(),
            asking: Question::other(kinds),
            statements: HashMap::new(),
            portals: HashMap::new(),
            bare_answers: 0,
            opaque: false,
            answer: Answer::default(),
            status: b'I',
            open: kinds.others(),
            kinds,
        }
    }

    /// Follows a conversation in an unknown protocol.
    pub fn unknown() -> Self {
        Self { opaque: true, ..Self::telling(Kinds::default()) }
    }

    /// Reads bytes of the client. Call it before the server gets them.
    pub fn client_says(&mut self, piece: &[u8]) {
        if self.opaque {
            return;
        }
        self.from_client.push(piece);
        while let Some(message) = self.from_client.next() {
            if message.kind == 0 {
                self.first_words(&message);
            } else {
                self.question(&message);
            }
        }
    }

    fn first_words(&mut self, message: &Message) {
        let code =
            message.body().get(..4).and_then(|code| code.try_into().ok()).map_or(0, u32::from_be_bytes);
        match code {
            WANT_SSL | WANT_GSS => self.bare_answers += 1,
            CANCEL => self.opaque = true,
            _ => {
                self.from_client.typed = true;
                // The server sends its first "ready for query" after authentication.
                self.asked.push_back(Question::other(self.kinds));
            }
        }
    }

    fn question(&mut self, message: &Message) {
        let other = Question::other(self.kinds);
        match message.kind {
            b'Q' => self.asked.push_back(Question::of(message.text(), self.kinds)),
            b'P' => {
                let (name, rest) = text(message.body());
                self.statements.insert(name.to_owned(), Question::of(text(rest).0, self.kinds));
            }
            b'B' => {
                let (portal, rest) = text(message.body());
                let known = self.statements.get(text(rest).0).copied().unwrap_or(other);
                self.portals.insert(portal.to_owned(), known);
            }
            b'E' => {
                let known = self.portals.get(message.text()).copied().unwrap_or(other);
                self.asking = self.asking.and(known);
            }
            b'S' => self.asked.push_back(std::mem::replace(&mut self.asking, other)),
            b'F' => self.asked.push_back(other),
            _ => {}
        }
    }

    /// Reads bytes of the server and returns the parts to pass on now.
    pub fn server_says(&mut self, piece: &[u8]) -> Vec<Part> {
        if self.opaque {
            return vec![Part { bytes: piece.to_owned(), commit: None }];
        }
        self.from_server.push(piece);
        let mut now = Part::default();
        let mut parts = Vec::new();
        while self.bare_answers > 0
            && let Some(answer) = self.from_server.next_byte()
        {
            self.bare_answers -= 1;
            now.bytes.push(answer);
            if answer != b'N' {
                self.opaque = true;
                now.bytes.extend(self.from_server.rest());
                return vec![now];
            }
        }
        while let Some(message) = self.from_server.next() {
            let question = self.asked.front().copied().unwrap_or(Question::other(self.kinds));
            if question.intent == Intent::Other {
                now.bytes.extend_from_slice(&message.wire);
            } else {
                self.answer.kept.extend_from_slice(&message.wire);
            }
            if let Some(kind) = self.hear(&message, question) {
                let kept = std::mem::take(&mut self.answer).kept;
                parts.push(std::mem::take(&mut now));
                parts.push(Part { bytes: kept, commit: Some(self.kinds.name(kind)) });
            } else if message.kind == b'Z' {
                now.bytes.append(&mut self.answer.kept);
                self.answer = Answer::default();
            }
        }
        parts.push(now);
        parts.retain(|part| !part.bytes.is_empty());
        parts
    }

    /// Reads one message. Returns the kind of the commit it completes, if a commit was made.
    fn hear(&mut self, message: &Message, question: Question) -> Option<Rank> {
        match message.kind {
            b'C' => {
                self.answer.completed = true;
                self.answer.committed |= message.text() == b"COMMIT";
            }
            b'E' => self.answer.failed = true,
            b'Z' => {
                self.asked.pop_front();
                let before =
                    std::mem::replace(&mut self.status, message.body().first().copied().unwrap_or(b'I'));
                let kind = self.kind_so_far(question);
                let made = match question.intent {
                    Intent::Other => false,
                    Intent::Writes => before == b'I' && self.answer.completed,
                    Intent::Commits => self.answer.committed,
                };
                return (made && !self.answer.failed && self.status == b'I').then_some(kind);
            }
            _ => {}
        }
        None
    }

    /// Returns the kind of the transaction including this question. A new transaction begins when the server
    /// is outside of one.
    fn kind_so_far(&mut self, question: Question) -> Rank {
        let kind = self.open.min(question.kind);
        self.open = if self.status == b'I' { self.kinds.others() } else { kind };
        kind
    }

    /// Returns the bytes held back when the server has closed.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.answer.kept);
        rest.extend(self.from_server.rest());
        rest
    }
}

/// Classifies SQL with as little parsing as possible: by commit statements and by words that write.
fn intent(sql: &[u8]) -> Intent {
    let sql = String::from_utf8_lossy(sql).to_ascii_uppercase();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let mut intent = Intent::Other;
    for statement in sql.split(';').map(words) {
        match statement.first().map(String::as_str) {
            Some("COMMIT" | "END") => return Intent::Commits,
            _ if statement
                .iter()
                .any(|word| matches!(word.as_str(), "INSERT" | "UPDATE" | "DELETE" | "MERGE")) =>
            {
                intent = Intent::Writes;
            }
            _ => {}
        }
    }
    intent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{Kind, OTHER};

    const KINDS: &[Kind] =
        &[Kind { name: "moves", marks: &["SET seq"] }, Kind { name: "beats", marks: &["beat"] }];

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    fn greeted() -> Conversation {
        let mut talk = Conversation::telling(Kinds(KINDS));
        talk.client_says(&[&9u32.to_be_bytes()[..], &196_608u32.to_be_bytes(), &[0]].concat());
        assert_eq!(talk.server_says(&message(b'Z', b"I")).len(), 1);
        talk
    }

    fn commits(parts: &[Part]) -> usize {
        parts.iter().filter(|part| part.commit.is_some()).count()
    }

    #[test]
    fn a_commit_is_told_from_everything_around_it() {
        let mut talk = greeted();
        for sql in ["BEGIN\0", "UPDATE run SET x = 1\0", "COMMIT\0"] {
            talk.client_says(&message(b'Q', sql.as_bytes()));
        }
        let pipelined = [
            message(b'C', b"BEGIN\0"),
            message(b'Z', b"T"),
            message(b'C', b"UPDATE 1\0"),
            message(b'Z', b"T"),
        ];
        let parts = talk.server_says(&pipelined.concat());
        assert_eq!(commits(&parts), 0, "a write inside a transaction commits nothing");
        assert_eq!(parts.concat_bytes(), pipelined.concat());
        let answer = message(b'C', b"COMMIT\0");
        assert_eq!(talk.server_says(&answer), [], "kept until the server is done");
        let parts = talk.server_says(&message(b'Z', b"I"));
        assert_eq!(parts, [Part { bytes: [answer, message(b'Z', b"I")].concat(), commit: Some(OTHER) }]);
    }

    #[test]
    fn a_commit_that_rolled_back_is_none() {
        let mut talk = greeted();
        talk.client_says(&message(b'Q', b"commit;\0"));
        let answer = [message(b'C', b"ROLLBACK\0"), message(b'Z', b"I")].concat();
        let parts = talk.server_says(&answer);
        assert_eq!((commits(&parts), parts.concat_bytes()), (0, answer));
    }

    #[test]
    fn a_prepared_statement_that_writes_outside_a_transaction_commits_at_its_sync() {
        let mut talk = greeted();
        talk.client_says(&message(b'P', b"s1\0WITH a AS (INSERT INTO t VALUES (1)) SELECT 1\0\0\0"));
        talk.client_says(&message(b'S', b""));
        let prepared = [message(b'1', b""), message(b'Z', b"I")].concat();
        assert_eq!(commits(&talk.server_says(&prepared)), 0);
        for (kind, body) in [(b'B', &b"\0s1\0\0\0\0\0\0\0"[..]), (b'E', b"\0\0\0\0\0"), (b'S', b"")] {
            talk.client_says(&message(kind, body));
        }
        let answer = [message(b'2', b""), message(b'D', b"\0\0"), message(b'C', b"SELECT 1\0")].concat();
        assert_eq!(talk.server_says(&answer), []);
        assert_eq!(commits(&talk.server_says(&message(b'Z', b"I"))), 1);
    }

    #[test]
    fn a_transaction_is_of_the_first_kind_of_its_statements_and_the_next_one_starts_anew() {
        let mut talk = greeted();
        let told = |talk: &mut Conversation, sql: &str, answer: &[u8], status: &[u8]| {
            talk.client_says(&message(b'Q', [sql.as_bytes(), b"\0"].concat().as_slice()));
            let parts = talk.server_says(&[message(b'C', answer), message(b'Z', status)].concat());
            parts.iter().find_map(|part| part.commit)
        };
        for sql in ["BEGIN", "UPDATE t SET beat = 1", "UPDATE t SET seq = 1"] {
            assert_eq!(told(&mut talk, sql, b"UPDATE 1\0", b"T"), None);
        }
        assert_eq!(told(&mut talk, "COMMIT", b"COMMIT\0", b"I"), Some("moves"));
        assert_eq!(told(&mut talk, "UPDATE t SET beat = 2", b"UPDATE 1\0", b"I"), Some("beats"));
        assert_eq!(told(&mut talk, "UPDATE t SET x = 2", b"UPDATE 1\0", b"I"), Some(OTHER));
    }

    #[test]
    fn a_write_that_failed_and_a_plain_read_commit_nothing() {
        let mut talk = greeted();
        talk.client_says(&message(b'Q', b"DELETE FROM t\0"));
        talk.client_says(&message(b'Q', b"SELECT 1\0"));
        let failed = [message(b'E', b"\0"), message(b'Z', b"I")].concat();
        let read = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
        assert_eq!(commits(&talk.server_says(&[failed, read].concat())), 0);
    }

    #[test]
    fn encrypted_and_half_said_things_pass() {
        let mut talk = Conversation::telling(Kinds::default());
        talk.client_says(&[&8u32.to_be_bytes()[..], &WANT_SSL.to_be_bytes()].concat());
        assert_eq!(talk.server_says(b"Sabc").concat_bytes(), b"Sabc");
        assert_eq!(talk.server_says(b"anything").concat_bytes(), b"anything");
        let mut talk = greeted();
        talk.client_says(&message(b'Q', b"COMMIT\0"));
        assert_eq!(talk.server_says(b"C\0\0"), []);
        assert_eq!(talk.rest(), b"C\0\0");
    }

    trait Concat {
        fn concat_bytes(&self) -> Vec<u8>;
    }

    impl Concat for Vec<Part> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|part| part.bytes.clone()).collect()
        }
    }
}
