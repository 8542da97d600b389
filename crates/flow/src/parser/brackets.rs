//! Which bracket closes which, found before the parse, so that looking past a bracket never costs a search.

use crate::token::{Token, TokenKind};

pub(super) struct Partners {
    /// For each token the index of its partner, or its own where it has none.
    of: Vec<usize>,
}

impl Partners {
    /// A closing bracket of the wrong kind closes whatever of its kind is still open, and what was opened in between
    /// stays without a partner; when nothing of its kind is open, it has none itself.
    pub(super) fn find(tokens: &[Token]) -> Self {
        let mut of: Vec<usize> = (0..tokens.len()).collect();
        let mut open: Vec<(usize, TokenKind)> = Vec::new();
        let mut counts = [0_usize; 3];
        for (index, token) in tokens.iter().enumerate() {
            let Some(rank) = rank(token.kind) else { continue };
            if token.kind.opens() {
                open.push((index, token.kind));
                counts[rank] += 1;
                continue;
            }
            while counts[rank] > 0
                && let Some((opened, kind)) = open.pop()
            {
                if let Some(popped) = self::rank(kind) {
                    counts[popped] -= 1;
                }
                if self::rank(kind) == Some(rank) {
                    of[opened] = index;
                    of[index] = opened;
                    break;
                }
            }
        }
        Self { of }
    }

    /// The index of the token that closes the one at `index`.
    pub(super) fn close_of(&self, index: usize) -> Option<usize> {
        self.of.get(index).copied().filter(|partner| *partner > index)
    }

    /// The index of the token that the one at `index` closes.
    pub(super) fn open_of(&self, index: usize) -> Option<usize> {
        self.of.get(index).copied().filter(|partner| *partner < index)
    }

    /// Nothing opened it.
    pub(super) fn is_stray(&self, index: usize) -> bool {
        self.of.get(index).is_none_or(|partner| *partner >= index)
    }
}

fn rank(kind: TokenKind) -> Option<usize> {
    match kind {
        TokenKind::LeftParen | TokenKind::RightParen => Some(0),
        TokenKind::LeftBracket | TokenKind::RightBracket => Some(1),
        TokenKind::LeftBrace | TokenKind::RightBrace => Some(2),
        _ => None,
    }
}
