//! Compresses handles that differ only in their number, such as those of a fan-out. They are written as one
//! crowd: `{"task":"echo","step":3,"open":"2-20001"}`, or `{"kept":"2-900"}` if their outcomes are in
//! segments. A crowd written last with only `kept` covers every number of its range that is not written
//! elsewhere, so open handles need no exceptions in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::handle::{Handle, Kind, Manner, State};
use crate::numbers::Numbers;

/// Fewer handles than this are written one by one, which is easier to read.
const MANY: u64 = 6;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Crowd {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<Arc<str>>,
    /// Distances from the handle's number down to the number of the awaited handle and to that of its timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<(u64, u64)>,
    #[serde(skip_serializing_if = "is_false")]
    settle: bool,
    #[serde(skip_serializing_if = "is_false")]
    cancel: bool,
    #[serde(skip_serializing_if = "is_false")]
    cancelled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    #[serde(skip_serializing_if = "Numbers::is_empty")]
    open: Numbers,
    #[serde(skip_serializing_if = "is_false")]
    failed: bool,
    #[serde(skip_serializing_if = "Numbers::is_empty")]
    kept: Numbers,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The properties that all handles of a crowd share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Common<'a> {
    Task(&'a str, u8, u32),
    Child(&'a str, u8, u32, Option<&'a str>),
    Timer(Timestamp, u32, Option<&'a str>),
    Signal(&'a str, u32, Option<&'a str>),
    Timeout(u64, u64, u32),
    Kept { settle: bool, failed: bool },
}

impl<'a> Common<'a> {
    fn of(number: u64, handle: &'a Handle) -> Option<Self> {
        let label = handle.label.as_deref();
        match (&handle.state, &handle.kind) {
            (State::Done(..) | State::Failed(..), _) => None,
            (State::Kept { failed }, _) => Some(Self::Kept { settle: handle.settles(), failed: *failed }),
            (State::Open, Kind::Task { name, how }) => Some(Self::Task(name, bits(*how), handle.step)),
            (State::Open, Kind::Child { workflow, how, again: None }) => {
                Some(Self::Child(workflow, bits(*how), handle.step, label))
            }
            (State::Open, Kind::Timer { at }) => Some(Self::Timer(*at, handle.step, label)),
            (State::Open, Kind::Signal { name }) => Some(Self::Signal(name, handle.step, label)),
            (State::Open, Kind::Timeout { of, timer }) => {
                Some(Self::Timeout(number - of, number - timer, handle.step))
            }
            (State::Open, Kind::Child { .. } | Kind::Group(_) | Kind::Map(_)) => None,
        }
    }
}

fn bits(how: Manner) -> u8 {
    u8::from(how.settle) | u8::from(how.cancel) << 1 | u8::from(how.cancelled) << 2
}

/// Splits the handles into crowds and single ones. A handle whose outcome is in a segment is always in a
/// crowd.
pub fn gather(handles: &BTreeMap<u64, Handle>) -> (Vec<Crowd>, Vec<(u64, &Handle)>) {
    if handles.len() < MANY as usize && !handles.values().any(Handle::is_kept) {
        return (Vec::new(), handles.iter().map(|(number, handle)| (*number, handle)).collect());
    }
    let mut places: BTreeMap<Common<'_>, usize> = BTreeMap::new();
    let mut crowds: Vec<(Common<'_>, Numbers)> = Vec::new();
    let mut of_each = Vec::with_capacity(handles.len());
    // Neighbours are mostly alike, so compare with the crowd of the previous handle first.
    let mut last = 0;
    for (number, handle) in handles {
        let common = Common::of(*number, handle);
        if let Some(common) = common {
            if crowds.get(last).is_none_or(|(of_last, _)| *of_last != common) {
                last = *places.entry(common).or_insert(crowds.len());
                if last == crowds.len() {
                    crowds.push((common, Numbers::default()));
                }
            }
            crowds[last].1.push(*number);
        }
        of_each.push(common.map(|_| last));
    }
    let is_crowd = |(common, numbers): &(Common<'_>, Numbers)| {
        matches!(common, Common::Kept { .. }) || numbers.len() >= MANY
    };
    let is_single = |of: &Option<usize>| of.is_none_or(|place| !is_crowd(&crowds[place]));
    let singles = handles.iter().zip(&of_each).filter(|(_, of)| is_single(of));
    let singles = singles.map(|((number, handle), _)| (*number, handle)).collect();
    let crowds = crowds.into_iter().filter(is_crowd);
    let mut crowds: Vec<Crowd> = crowds.map(|(common, numbers)| Crowd::new(common, numbers)).collect();
    let fewest_said = crowds.iter().position(Crowd::is_plainly_kept);
    if let Some(place) = fewest_said {
        let mut rest = crowds.remove(place);
        if let (Some(first), Some(last)) = (rest.kept.first(), rest.kept.last()) {
            rest.kept = handles.range(first..=last).map(|(number, _)| *number).collect();
        }
        crowds.push(rest);
    }
    (crowds, singles)
}

/// Restores all handles from crowds and single ones; `None` if they contradict each other.
pub fn scatter(crowds: Vec<Crowd>, singles: Vec<(u64, Handle)>) -> Option<BTreeMap<u64, Handle>> {
    let count = singles.len();
    let mut handles: BTreeMap<u64, Handle> = singles.into_iter().collect();
    if handles.len() != count {
        return None;
    }
    let plainly_kept = crowds.iter().position(Crowd::is_plainly_kept);
    if plainly_kept.is_some_and(|place| place + 1 < crowds.len()) {
        return None;
    }
    let mut all: Vec<(u64, Handle)> = Vec::new();
    let mut rest = Vec::new();
    for crowd in crowds {
        match crowd.is_plainly_kept() {
            true => rest = crowd.handles()?,
            false => all.extend(crowd.handles()?),
        }
    }
    let count = all.len() + handles.len();
    if handles.is_empty() {
        handles = all.into_iter().collect();
    } else {
        handles.extend(all);
    }
    if handles.len() != count {
        return None;
    }
    if !rest.is_empty() {
        // `rest` is in order, and handles that are already known replace those in it because they come later.
        rest.extend(handles);
        handles = rest.into_iter().collect();
    }
    Some(handles)
}

impl Crowd {
    fn new(common: Common<'_>, numbers: Numbers) -> Self {
        let crowd = match common {
            Common::Task(name, how, step) => {
                Self { task: Some(name.into()), step: Some(step), ..Self::managed(how) }
            }
            Common::Child(name, how, step, label) => {
                Self { child: Some(name.into()), ..Self::managed(how).labelled(step, label) }
            }
            Common::Timer(at, step, label) => {
                Self { timer: Some(at), ..Self::default().labelled(step, label) }
            }
            Common::Signal(name, step, label) => {
                Self { signal: Some(name.into()), ..Self::default().labelled(step, label) }
            }
            Common::Timeout(of, timer, step) => {
                Self { timeout: Some((of, timer)), step: Some(step), ..Self::default() }
            }
            Common::Kept { settle, failed } => {
                return Self { settle, failed, kept: numbers, ..Self::default() };
            }
        };
        Self { open: numbers, ..crowd }
    }

    fn managed(how: u8) -> Self {
        Self { settle: how & 1 > 0, cancel: how & 2 > 0, cancelled: how & 4 > 0, ..Self::default() }
    }

    fn labelled(self, step: u32, label: Option<&str>) -> Self {
        Self { step: Some(step), label: label.map(Arc::from), ..self }
    }

    fn is_plainly_kept(&self) -> bool {
        self.has_kept() && !self.settle && !self.failed
    }

    fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Returns the handles of a crowd; `None` if the crowd is not valid.
    fn handles(self) -> Option<Vec<(u64, Handle)>> {
        let how = Manner { settle: self.settle, cancel: self.cancel, cancelled: self.cancelled };
        let step = self.step.unwrap_or_default();
        if self.has_kept() {
            let state = State::Kept { failed: self.failed };
            let kind = Kind::Task { name: Arc::from(""), how };
            let handle = Handle { kind, step, label: None, state };
            return self.open.is_empty().then(|| self.kept.iter().map(|n| (n, handle.clone())).collect());
        }
        let label = self.label;
        let open = |kind: Kind| Handle { kind, step, label: label.clone(), state: State::Open };
        let alike = match (self.task, self.child, self.timer, self.signal, self.timeout) {
            (Some(name), None, None, None, None) => open(Kind::Task { name, how }),
            (None, Some(workflow), None, None, None) => open(Kind::Child { workflow, how, again: None }),
            (None, None, Some(at), None, None) => open(Kind::Timer { at }),
            (None, None, None, Some(name), None) => open(Kind::Signal { name }),
            (None, None, None, None, Some((of, timer))) => {
                let timeout = |number: u64| {
                    let before = |less: u64| number.checked_sub(less).filter(|other| *other < number);
                    let kind = Kind::Timeout { of: before(of)?, timer: before(timer)? };
                    Some((number, open(kind)))
                };
                return self.open.iter().map(timeout).collect();
            }
            _ => return None,
        };
        Some(self.open.iter().map(|number| (number, alike.clone())).collect())
    }
}
