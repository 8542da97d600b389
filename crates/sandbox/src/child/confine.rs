//! What a child takes away from itself. Limits of the kernel, because those of the languages are best effort.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::request::{GRACE_MS, MOST_MEMORY_MB, Request};

const MIB: u64 = 1024 * 1024;
/// For the allocator's own pages and the line that is read, beside what the program may have.
const SLACK: u64 = 64 * MIB;

/// The limits that change with every question are set anew for each.
pub(super) struct Confinement {
    /// Address space in use before the first question.
    base: u64,
}

impl Confinement {
    /// Nothing can be opened, started or written to disk afterwards.
    pub fn enter() -> io::Result<Self> {
        let base = address_space()?;
        limit(Resource::As, base + SLACK + MOST_MEMORY_MB * MIB)?;
        limit(Resource::Core, 0)?;
        limit(Resource::Fsize, 0)?;
        limit(Resource::Nproc, 0)?;
        limit(Resource::Nofile, 0)?;
        Ok(Self { base })
    }

    /// The memory and the processor time of one question. Below the hard limits, so that the next can have more.
    pub fn allow(&self, request: &Request) -> io::Result<()> {
        soft(Resource::As, self.base + SLACK + request.max_memory_mb() * MIB)?;
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let used_ms = used.tv_sec.unsigned_abs() * 1000 + used.tv_nsec.unsigned_abs() / 1_000_000;
        // The kernel counts whole seconds: less than one more than the question may take.
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

/// Bytes of address space this process has, which the kernel limits.
fn address_space() -> io::Result<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: Option<u64> = pages.split(' ').next().and_then(|field| field.parse().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm cannot be read"))?;
    Ok(pages * rustix::param::page_size() as u64)
}
