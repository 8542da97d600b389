//! How heavy and deep a value is.

use crate::limits::{Limit, MAX_VALUE_BYTES, MAX_VALUE_DEPTH};

/// What a value weighs as a tree, how deep it nests, and whether it holds something special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// About the bytes of memory of an unshared copy; saturates.
    pub weight: u64,
    /// 0 for what is neither list nor object.
    pub depth: u16,
    holds: u8,
}

const HANDLES: u8 = 1;
const BLOBS: u8 = 2;

impl Bulk {
    pub const SCALAR: Self = Self { weight: 24, depth: 0, holds: 0 };
    pub const HANDLE: Self = Self { weight: 24, depth: 0, holds: HANDLES };
    /// What it refers to counts once it is loaded. A reference is written as an object.
    pub const BLOB: Self = Self { weight: 128, depth: 1, holds: BLOBS };
    /// A segment of a list or object: at least one item lies in it.
    pub const SEGMENT: Self = Self { weight: 128, depth: 2, holds: BLOBS };
    /// A list or object without members.
    pub const EMPTY: Self = Self { weight: 64, depth: 1, holds: 0 };

    pub fn text(text: &str) -> Self {
        Self { weight: 40 + text.len() as u64, ..Self::SCALAR }
    }

    pub fn holds_handles(self) -> bool {
        self.holds & HANDLES != 0
    }

    pub fn holds_blobs(self) -> bool {
        self.holds & BLOBS != 0
    }

    /// The container's bulk with one more member, which also brings `extra` bytes.
    pub fn with(self, member: Self, extra: u64) -> Result<Self, Limit> {
        let weight = self.weight.saturating_add(member.weight).saturating_add(extra);
        let depth = self.depth.max(member.depth.saturating_add(1));
        Self { weight, depth, holds: self.holds | member.holds }.checked()
    }

    /// The container's bulk with more of the same container.
    pub fn beside(self, more: Self) -> Result<Self, Limit> {
        let weight = self.weight.saturating_add(more.weight);
        Self { weight, depth: self.depth.max(more.depth), holds: self.holds | more.holds }.checked()
    }

    /// Whether a container may shrink in depth or lose a mark when `old` is replaced by `new`: then all its members
    /// must be looked at again.
    pub fn may_lose(self, old: Self, new: Self) -> bool {
        let deepest = old.depth + 1 == self.depth && new.depth < old.depth;
        deepest || old.holds & !new.holds != 0
    }

    /// The container's bulk after a member was replaced, when nothing was lost by it.
    pub fn replacing(self, old: Self, new: Self) -> Result<Self, Limit> {
        let weight = self.weight.saturating_sub(old.weight).saturating_add(new.weight);
        let depth = self.depth.max(new.depth.saturating_add(1));
        Self { weight, depth, holds: self.holds | new.holds }.checked()
    }

    /// One more level and some bytes around it.
    pub fn wrapped(self, extra: u64) -> Self {
        Self { weight: self.weight.saturating_add(extra), depth: self.depth.saturating_add(1), ..self }
    }

    pub fn checked(self) -> Result<Self, Limit> {
        if self.depth > MAX_VALUE_DEPTH {
            return Err(Limit::Depth);
        }
        if self.weight > MAX_VALUE_BYTES {
            return Err(Limit::Memory);
        }
        Ok(self)
    }
}
