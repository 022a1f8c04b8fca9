//! One authority's view by what another one says of it: a foreign context counts only while both feeds are fresh, the recognition holds,
//! its line is in the scope and its signers stand below a cross-certificate.

use super::{Recognition, Vouched};
use crate::follower::Lines;
use crate::status::Status;
use crate::view::{LoadedContext, View};
use semgate_certs::{Chain, ChainFault, Thumbprint};
use semgate_contexts::{Line, Version};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Why the authority of a context is not recognised for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotRecognised {
    /// The operator of this reader distrusts it, or the one that must recognise it.
    Distrusted,
    /// Nothing is said of it.
    Absent,
    /// The recognition was withdrawn.
    Withdrawn,
    /// The recognition has ended.
    Ended,
    /// The one that recognises counts only by a recognition itself: that is never passed on.
    Indirect,
    /// The recognition is of another log.
    OtherLog,
    /// The line is not in its scope.
    OutsideScope,
    /// The line belongs to the one that recognises.
    OwnLine,
    /// A signer does not stand below a cross-certificate.
    Signer(ChainFault),
}

impl NotRecognised {
    /// A short stable name, such as `outside_scope`.
    pub fn as_str(self) -> &'static str {
        match self {
            NotRecognised::Distrusted => "distrusted",
            NotRecognised::Absent => "absent",
            NotRecognised::Withdrawn => "withdrawn",
            NotRecognised::Ended => "ended",
            NotRecognised::Indirect => "indirect",
            NotRecognised::OtherLog => "other_log",
            NotRecognised::OutsideScope => "outside_scope",
            NotRecognised::OwnLine => "own_line",
            NotRecognised::Signer(_) => "signer",
        }
    }
}

impl fmt::Display for NotRecognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRecognised::Distrusted => {
                f.write_str("the operator distrusts its authority, or the one that recognises it")
            }
            NotRecognised::Absent => f.write_str("there is no recognition of its authority"),
            NotRecognised::Withdrawn => f.write_str("the recognition of its authority was withdrawn"),
            NotRecognised::Ended => f.write_str("the recognition of its authority has ended"),
            NotRecognised::Indirect => {
                f.write_str("its authority is recognised by one that is recognised itself")
            }
            NotRecognised::OtherLog => f.write_str("the recognition of its authority is of another log"),
            NotRecognised::OutsideScope => {
                f.write_str("its line is not one that its authority is recognised for")
            }
            NotRecognised::OwnLine => {
                f.write_str("its line belongs to the authority that recognises, and no other signs it")
            }
            NotRecognised::Signer(fault) => {
                write!(f, "its signer does not stand below a cross-certificate: {fault}")
            }
        }
    }
}

/// What a view is judged by beside itself.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    by: Arc<str>,
    /// When the feed of the one that recognises turns stale.
    heard_until: u64,
    granted: Result<Granted, NotRecognised>,
}

#[derive(Clone, Debug)]
struct Granted {
    recognition: Arc<Recognition>,
    /// Lines of the one that recognises.
    own: Lines,
    signers: BTreeMap<Thumbprint, Result<(), ChainFault>>,
}

/// What of a line counts for nothing: see [`View::unrecognised_lines`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnrecognisedLine {
    /// Why its lowest version of these does not count.
    pub why: NotRecognised,
    /// How many contexts of it do not.
    pub contexts: u64,
}

/// What the recognition makes of one context.
pub(crate) enum Grants {
    Counts,
    /// Nobody can know: the feed of the one that recognises is stale.
    Unknown,
    Not(NotRecognised),
}

impl Foreign {
    pub(crate) fn judge(&self, loaded: &LoadedContext, now: u64) -> Grants {
        let granted = match &self.granted {
            Ok(granted) => granted,
            // what was never said may have been said since it was last heard
            Err(NotRecognised::Absent) if now >= self.heard_until => return Grants::Unknown,
            Err(why) => return Grants::Not(*why),
        };
        match granted.judge(loaded, now) {
            Ok(()) => Grants::Counts,
            Err(why) => Grants::Not(why),
        }
    }

    pub(crate) fn by(&self) -> &str {
        &self.by
    }

    /// The recognition in effect, or why there is none.
    pub(crate) fn recognition(&self) -> Result<&Recognition, NotRecognised> {
        self.granted.as_ref().map(|granted| &*granted.recognition).map_err(|why| *why)
    }
}

impl Granted {
    fn judge(&self, loaded: &LoadedContext, now: u64) -> Result<(), NotRecognised> {
        if now >= self.recognition.until {
            return Err(NotRecognised::Ended);
        }
        let line = loaded.urn.line();
        if self.own.holds(line).is_some() {
            return Err(NotRecognised::OwnLine);
        }
        self.recognition.holds(line).ok_or(NotRecognised::OutsideScope)?;
        for signer in [Some(loaded.signer), loaded.publisher].into_iter().flatten() {
            match self.signers.get(&signer) {
                Some(Ok(())) => {}
                Some(Err(fault)) => return Err(NotRecognised::Signer(*fault)),
                None => return Err(NotRecognised::Signer(ChainFault::UnknownIssuer)),
            }
        }
        Ok(())
    }
}

/// Judges the views of one recognised authority by those of the one that recognises it. Remembers which signers were checked: each costs
/// two signatures, once for each recognition.
#[derive(Debug, Default)]
pub struct Recogniser {
    /// The recognition that the verdicts are of.
    index: Option<u64>,
    verdicts: BTreeMap<Thumbprint, Result<(), ChainFault>>,
}

impl Recogniser {
    /// The view as it counts by what `by` says of its authority: its freshness is that of both, its floors are the higher ones, and its
    /// contexts count inside of the scope alone. Nothing of `by` is changed by it, and nothing of its own authority.
    pub fn judge(&mut self, view: &View, by: &View) -> View {
        let granted = self.granted(view, by);
        let mut judged = view.clone();
        judged.next_update = view.next_update.min(by.next_update);
        judged.issued_at = view.issued_at.max(by.issued_at);
        if let Ok(granted) = &granted {
            let oldest = view.issued_at.saturating_add(granted.recognition.max_status_age);
            judged.next_update = judged.next_update.min(oldest);
            judged.floors = Arc::new(floors(view, &granted.recognition));
        }
        judged.foreign =
            Some(Arc::new(Foreign { by: Arc::clone(&by.authority), heard_until: by.next_update, granted }));
        judged
    }

    fn granted(&mut self, view: &View, by: &View) -> Result<Granted, NotRecognised> {
        if by.distrusted {
            return Err(NotRecognised::Distrusted);
        }
        if by.foreign.is_some() {
            return Err(NotRecognised::Indirect);
        }
        let vouched = by.recognitions.get(&*view.authority).ok_or(NotRecognised::Absent)?;
        if vouched.status == Some(Status::Invalid) {
            return Err(NotRecognised::Withdrawn);
        }
        let recognition = &vouched.recognised.recognition;
        if view.size > 0 && recognition.origin != *view.origin {
            return Err(NotRecognised::OtherLog);
        }
        if self.index != Some(vouched.recognised.index) {
            self.index = Some(vouched.recognised.index);
            self.verdicts.clear();
        }
        // who does not sign any more is forgotten
        self.verdicts.retain(|signer, _| view.signers.contains_key(signer));
        for (signer, chain) in view.signers.iter() {
            self.verdicts.entry(*signer).or_insert_with(|| counts(chain, vouched));
        }
        let (recognition, signers) = (Arc::clone(recognition), self.verdicts.clone());
        Ok(Granted { recognition, own: by.lines.clone(), signers })
    }
}

/// Whether a signer stands below one of the cross-certificates; of several faults that of the last one tried.
fn counts(chain: &Chain, vouched: &Vouched) -> Result<(), ChainFault> {
    let mut judged = Err(ChainFault::UnknownIssuer);
    for cross in vouched.recognised.cross.iter() {
        judged = cross.leaf(chain, &vouched.roots).map(drop);
        if judged.is_ok() {
            break;
        }
    }
    judged
}

/// The floors of the recognised authority, raised to those of the recognition.
fn floors(view: &View, recognition: &Recognition) -> BTreeMap<Line, Version> {
    let mut floors = (*view.floors).clone();
    for loaded in view.contexts.values().chain(view.references.values()) {
        let line = loaded.urn.line();
        if let Some(min) = recognition.floor(line) {
            let floor = floors.entry(line.clone()).or_insert(min);
            *floor = (*floor).max(min);
        }
    }
    floors
}

impl View {
    /// What this authority says of others, by their names; nothing of it counts for anyone but who is configured to ask this authority.
    pub fn recognitions(&self) -> impl Iterator<Item = (&str, &Vouched)> {
        self.recognitions.iter().map(|(name, vouched)| (name.as_str(), vouched))
    }

    /// The authority that this view was judged by, and the recognition in effect or why there is none; none for an authority that is
    /// configured by itself.
    pub fn recognised(&self) -> Option<(&str, Result<&Recognition, NotRecognised>)> {
        self.foreign.as_ref().map(|foreign| (foreign.by(), foreign.recognition()))
    }

    /// The lines of which contexts are published that count for nothing at `now`, although their authority is recognised: how many, and why
    /// the first of them by its version does not. Empty where nothing of the authority counts, which [`View::recognised`] says.
    pub fn unrecognised_lines(&self, now: u64) -> BTreeMap<&Line, UnrecognisedLine> {
        let mut lines: BTreeMap<&Line, (Version, UnrecognisedLine)> = BTreeMap::new();
        let recognised = matches!(self.recognised(), Some((_, Ok(said))) if now < said.until);
        for (loaded, why) in self.unrecognised(now).filter(|_| recognised) {
            let version = loaded.urn.version();
            let first = UnrecognisedLine { why, contexts: 0 };
            let (known, line) = lines.entry(loaded.urn.line()).or_insert((version, first));
            line.contexts += 1;
            if version < *known {
                (*known, line.why) = (version, why);
            }
        }
        lines.into_iter().map(|(line, (_, told))| (line, told)).collect()
    }

    /// How many contexts count for nothing at `now` since no recognition covers them: those of [`View::unrecognised_lines`], and all where
    /// the authority is not recognised at all. None of one that is distrusted, which says it already.
    pub fn unrecognised_contexts(&self, now: u64) -> u64 {
        self.unrecognised(now).count() as u64
    }

    fn unrecognised(&self, now: u64) -> impl Iterator<Item = (&LoadedContext, NotRecognised)> {
        let loaded = self.contexts.values().filter(|_| !self.distrusted);
        loaded.filter_map(move |loaded| match self.grants(loaded, now) {
            Grants::Not(why) => Some((loaded.as_ref(), why)),
            Grants::Counts | Grants::Unknown => None,
        })
    }

    /// The second at which it stops to count as a whole: it turns stale, or its recognition ends.
    pub fn counts_until(&self) -> u64 {
        let ends = match self.recognised() {
            Some((_, Ok(recognition))) => recognition.until,
            _ => u64::MAX,
        };
        self.next_update.min(ends)
    }

    pub(crate) fn grants(&self, loaded: &LoadedContext, now: u64) -> Grants {
        match &self.foreign {
            Some(foreign) => foreign.judge(loaded, now.max(self.issued_at)),
            None => Grants::Counts,
        }
    }
}
