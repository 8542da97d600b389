//! Splits a stream of bytes into PostgreSQL's messages: a kind, a length, a body. Only the first message of a
//! client has no kind.

/// One message, with the bytes it had on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// 0 for the first message of a client.
    pub kind: u8,
    pub wire: Vec<u8>,
}

impl Message {
    pub fn body(&self) -> &[u8] {
        let head = if self.kind == 0 { 4 } else { 5 };
        self.wire.get(head..).unwrap_or_default()
    }

    /// Returns the first string of the body, without its zero byte.
    pub fn text(&self) -> &[u8] {
        text(self.body()).0
    }
}

/// Splits off a string that ends with a zero byte.
pub fn text(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// Collects pieces until a message is complete.
#[derive(Debug, Default)]
pub struct Frames {
    gathered: Vec<u8>,
    /// True once messages have a kind.
    pub typed: bool,
}

impl Frames {
    pub fn typed() -> Self {
        Self { typed: true, ..Self::default() }
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.gathered.extend_from_slice(piece);
    }

    pub fn next(&mut self) -> Option<Message> {
        let head = if self.typed { 5 } else { 4 };
        let length: [u8; 4] = self.gathered.get(head - 4..head)?.try_into().ok()?;
        // The length counts itself, but not the kind.
        let whole = (u32::from_be_bytes(length) as usize).max(4) + head - 4;
        if self.gathered.len() < whole {
            return None;
        }
        let rest = self.gathered.split_off(whole);
        let wire = std::mem::replace(&mut self.gathered, rest);
        let kind = if self.typed { wire[0] } else { 0 };
        Some(Message { kind, wire })
    }

    /// Returns one byte outside of any message: the answer to a request for encryption.
    pub fn next_byte(&mut self) -> Option<u8> {
        (!self.gathered.is_empty()).then(|| self.gathered.remove(0))
    }

    /// Returns the bytes of the incomplete message.
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.gathered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_out_whole_however_it_came_in() {
        let wire = b"C\x00\x00\x00\x0bCOMMIT\x00Z\x00\x00\x00\x05I";
        let mut frames = Frames::typed();
        let mut seen = Vec::new();
        for byte in wire {
            frames.push(&[*byte]);
            seen.extend(frames.next());
        }
        assert_eq!(seen.iter().map(|message| message.kind).collect::<Vec<_>>(), [b'C', b'Z']);
        assert_eq!(seen[0].text(), b"COMMIT");
        assert_eq!(seen[1].body(), b"I");
    }

    #[test]
    fn first_words_have_no_kind() {
        let mut frames = Frames::default();
        frames.push(&[0, 0, 0, 8, 4, 210, 22, 47, 9]);
        let asked = frames.next().unwrap();
        assert_eq!((asked.kind, asked.body()), (0, &[4, 210, 22, 47][..]));
        assert_eq!(frames.rest(), [9]);
    }

    #[test]
    fn a_nonsense_length_does_not_panic() {
        let mut frames = Frames::typed();
        frames.push(&[1, 0, 0, 0, 0]);
        assert_eq!(frames.next().unwrap().wire.len(), 5);
    }
}
