//! Stored form of blobs: compressed if that makes them smaller, and checked against their hash when read.

use std::sync::Arc;

use rhythm_core::BlobRef;
use rhythm_engine::world::{WorldError, WorldResult};

const RAW: u8 = 0;
const ZSTD: u8 = 1;

/// Returns the stored form: one byte that names the encoding, then the content.
pub fn pack(content: &[u8]) -> Vec<u8> {
    match zstd::bulk::compress(content, 3) {
        Ok(small) if small.len() < content.len() => prefixed(ZSTD, &small),
        _ => prefixed(RAW, content),
    }
}

fn prefixed(encoding: u8, bytes: &[u8]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(bytes.len() + 1);
    stored.push(encoding);
    stored.extend_from_slice(bytes);
    stored
}

/// Limit in bytes for decompressing a blob of unknown size. Values have a limit of their own.
const LARGEST: usize = 64 * 1024 * 1024;

/// Returns the content of a stored blob. Fails with `Corrupt` if it does not match its hash.
pub fn unpack(blob: &BlobRef, stored: &[u8]) -> WorldResult<Arc<[u8]>> {
    let damaged = |what: &str| WorldError::Corrupt(format!("blob {}: {what}", blob.hash));
    let size = match blob.bytes {
        BlobRef::UNKNOWN_SIZE => LARGEST,
        bytes => usize::try_from(bytes).map_err(|_| damaged("impossible size"))?,
    };
    let content = match stored.split_first() {
        Some((&RAW, bytes)) => bytes.to_vec(),
        Some((&ZSTD, bytes)) => {
            zstd::bulk::decompress(bytes, size).map_err(|_| damaged("cannot be decompressed"))?
        }
        _ => return Err(damaged("unknown encoding")),
    };
    let found = BlobRef::of(&content);
    let is_it = if blob.bytes == BlobRef::UNKNOWN_SIZE { found.hash == blob.hash } else { found == *blob };
    if !is_it {
        return Err(damaged("content does not match its hash"));
    }
    Ok(content.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_comes_back_small_or_not() {
        for content in [Vec::new(), vec![7; 100_000], (0..=255).collect::<Vec<u8>>()] {
            let stored = pack(&content);
            assert!(stored.len() <= content.len() + 1);
            assert_eq!(&unpack(&BlobRef::of(&content), &stored).unwrap()[..], &content[..]);
        }
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let content = vec![7; 100_000];
        let stored = pack(&content);
        for place in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[place] ^= 1;
            assert!(
                matches!(unpack(&BlobRef::of(&content), &damaged), Err(WorldError::Corrupt(_))),
                "{place}"
            );
        }
    }
}
