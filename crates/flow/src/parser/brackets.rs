//! Matches brackets before the parse, so that jumping over a bracket needs no search.

use crate::token::{Token, TokenKind};

pub(super) struct Partners {
    /// For each token the index of its partner, or its own index if it has none.
    of: Vec<usize>,
}

impl Partners {
    /// Matches the brackets. A closing bracket of the wrong kind closes the last open bracket of its own
    /// kind; brackets opened in between have no partner. If none of its kind is open, it has none itself.
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

    /// Returns the index of the token that closes the one at `index`.
    pub(super) fn close_of(&self, index: usize) -> Option<usize> {
        self.of.get(index).copied().filter(|partner| *partner > index)
    }

    /// Returns the index of the token that the one at `index` closes.
    pub(super) fn open_of(&self, index: usize) -> Option<usize> {
        self.of.get(index).copied().filter(|partner| *partner < index)
    }

    /// Returns whether a closing bracket has no opening one.
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
