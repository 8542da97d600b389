//! FNV-1a hash: the same result on every machine and with every compiler.

use std::fmt::Write;

pub struct Fnv(pub u64);

impl Fnv {
    pub const START: u64 = 0xcbf2_9ce4_8422_2325;

    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}
