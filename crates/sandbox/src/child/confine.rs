//! Limits that a child sets for its own process. The kernel enforces them, because the limits of the
//! languages are best effort.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::request::{GRACE_MS, MOST_MEMORY_MB, Request};

const MIB: u64 = 1024 * 1024;
/// Memory for the allocator's own pages and for the request line, in addition to the program's memory.
const SLACK: u64 = 64 * MIB;

/// The confined process. Sets the limits of memory and processor time for each request.
pub(super) struct Confinement {
    /// Bytes of address space in use before the first request.
    base: u64,
}

impl Confinement {
    /// Sets the fixed limits. Afterwards the process can open no file, start no thread or process and write
    /// no file.
    pub fn enter() -> io::Result<Self> {
        let base = address_space()?;
        limit(Resource::As, base + SLACK + MOST_MEMORY_MB * MIB)?;
        limit(Resource::Core, 0)?;
        limit(Resource::Fsize, 0)?;
        limit(Resource::Nproc, 0)?;
        limit(Resource::Nofile, 0)?;
        Ok(Self { base })
    }

    /// Sets the memory and processor time of one request. These soft limits stay below the hard ones, so that
    /// the next request can have more.
    pub fn allow(&self, request: &Request) -> io::Result<()> {
        soft(Resource::As, self.base + SLACK + request.max_memory_mb() * MIB)?;
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let used_ms = used.tv_sec.unsigned_abs() * 1000 + used.tv_nsec.unsigned_abs() / 1_000_000;
        // The kernel counts whole seconds: rounding up allows less than one second too much.
        soft(Resource::Cpu, (used_ms + request.timeout_ms() + GRACE_MS).div_ceil(1000))
    }
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

fn soft(resource: Resource, most: u64) -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(resource);
    let current = maximum.map_or(most, |maximum| most.min(maximum));
    Ok(setrlimit(resource, Rlimit { current: Some(current), maximum })?)
}

/// Returns the bytes of address space in use, the amount that `RLIMIT_AS` limits.
fn address_space() -> io::Result<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: Option<u64> = pages.split(' ').next().and_then(|field| field.parse().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm cannot be read"))?;
    Ok(pages * rustix::param::page_size() as u64)
}
