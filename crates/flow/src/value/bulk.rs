//! Weight and depth of values.

use crate::limits::{Limit, MAX_VALUE_BYTES, MAX_VALUE_DEPTH};

/// Weight and depth of a value as a tree, and whether it contains handles or blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Approximate size in bytes of an unshared copy; saturates.
    pub weight: u64,
    /// 0 for values that are neither list nor object.
    pub depth: u16,
    holds: u8,
}

const HANDLES: u8 = 1;
const BLOBS: u8 = 2;

impl Bulk {
    pub const SCALAR: Self = Self { weight: 24, depth: 0, holds: 0 };
    pub const HANDLE: Self = Self { weight: 24, depth: 0, holds: HANDLES };
    /// The value behind the reference counts once it is loaded. A reference is written as an object.
    pub const BLOB: Self = Self { weight: 128, depth: 1, holds: BLOBS };
    /// A segment of a list or object, with at least one item in it.
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

    /// Returns the container's bulk with one more member, plus `extra` bytes. Fails when a limit is exceeded.
    pub fn with(self, member: Self, extra: u64) -> Result<Self, Limit> {
        let weight = self.weight.saturating_add(member.weight).saturating_add(extra);
        let depth = self.depth.max(member.depth.saturating_add(1));
        Self { weight, depth, holds: self.holds | member.holds }.checked()
    }

    /// Returns the container's bulk with the members of another container of the same kind.
    pub fn beside(self, more: Self) -> Result<Self, Limit> {
        let weight = self.weight.saturating_add(more.weight);
        Self { weight, depth: self.depth.max(more.depth), holds: self.holds | more.holds }.checked()
    }

    /// Returns whether replacing `old` by `new` may reduce the container's depth or its marks. If so, the
    /// bulk of all members must be recomputed.
    pub fn may_lose(self, old: Self, new: Self) -> bool {
        let deepest = old.depth + 1 == self.depth && new.depth < old.depth;
        deepest || old.holds & !new.holds != 0
    }

    /// Returns the container's bulk after a member was replaced, if neither depth nor marks shrink.
    pub fn replacing(self, old: Self, new: Self) -> Result<Self, Limit> {
        let weight = self.weight.saturating_sub(old.weight).saturating_add(new.weight);
        let depth = self.depth.max(new.depth.saturating_add(1));
        Self { weight, depth, holds: self.holds | new.holds }.checked()
    }

    /// Returns the bulk of a container around this value, plus `extra` bytes.
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
