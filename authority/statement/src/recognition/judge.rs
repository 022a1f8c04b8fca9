//! Judges one authority's view by another's recognition. A foreign context counts only while both feeds are fresh and the recognition
//! holds. Its line must be in the scope, and its signers below a cross-certificate.

use super::{Recognition, RecognitionState};
use crate::follower::Lines;
use crate::status::Status;
use crate::view::{LoadedContext, View};
use semgate_certs::{Chain, ChainFault, Thumbprint};
use semgate_contexts::{Line, Version};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Reason why an authority is not recognised for a context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotRecognised {
    /// The operator of this reader distrusts it, or the recognising authority.
    Distrusted,
    /// There is no recognition of it.
    Absent,
    /// The recognition was withdrawn.
    Withdrawn,
    /// The recognition has ended.
    Ended,
    /// The recognising authority itself counts only by a recognition, which is never passed on.
    Indirect,
    /// The recognition is of another log.
    OtherLog,
    /// The line is not in its scope.
    OutsideScope,
    /// The line belongs to the recognising authority.
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
            NotRecognised::OtherLog => f.write_str("the recognition of its authority names another log"),
            NotRecognised::OutsideScope => f.write_str("its authority is not recognised for its line"),
            NotRecognised::OwnLine => {
                f.write_str("its line belongs to the recognising authority, and no other authority signs it")
            }
            NotRecognised::Signer(fault) => {
                write!(f, "no cross-certificate certifies its signer: {fault}")
            }
        }
    }
}

/// The state of the recognising authority by which a view is judged.
#[derive(Clone, Debug)]
pub(crate) struct RecognisedView {
    by: Arc<str>,
    /// Time at which the feed of the recognising authority turns stale.
    fresh_until: u64,
    granted: Result<GrantedRecognition, NotRecognised>,
}

#[derive(Clone, Debug)]
struct GrantedRecognition {
    recognition: Arc<Recognition>,
    /// Lines of the recognising authority.
    own: Lines,
    signers: BTreeMap<Thumbprint, Result<(), ChainFault>>,
}

/// The contexts of a line that do not count: see [`View::unrecognised_lines`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnrecognisedLine {
    /// Reason why the lowest of these versions does not count.
    pub why: NotRecognised,
    /// Number of contexts that do not count.
    pub contexts: u64,
}

/// The effect of the recognition on one context.
pub(crate) enum Grant {
    Counts,
    /// Unknown: the feed of the recognising authority is stale.
    Unknown,
    Not(NotRecognised),
}

impl RecognisedView {
    pub(crate) fn judge(&self, loaded: &LoadedContext, now: u64) -> Grant {
        let granted = match &self.granted {
            Ok(granted) => granted,
            // a recognition may have been logged since the last fresh head
            Err(NotRecognised::Absent) if now >= self.fresh_until => return Grant::Unknown,
            Err(why) => return Grant::Not(*why),
        };
        match granted.judge(loaded, now) {
            Ok(()) => Grant::Counts,
            Err(why) => Grant::Not(why),
        }
    }

    pub(crate) fn by(&self) -> &str {
        &self.by
    }

    /// The recognition in effect, or the reason why there is none.
    pub(crate) fn recognition(&self) -> Result<&Recognition, NotRecognised> {
        self.granted.as_ref().map(|granted| &*granted.recognition).map_err(|why| *why)
    }
}

impl GrantedRecognition {
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

/// Judges the views of one recognised authority by those of the recognising one. Caches the checked signers, once for each recognition:
/// each check costs two signatures.
#[derive(Debug, Default)]
pub struct Recogniser {
    /// Log index of the recognition behind the verdicts.
    index: Option<u64>,
    verdicts: BTreeMap<Thumbprint, Result<(), ChainFault>>,
}

impl Recogniser {
    /// The view as it counts under the recognition in `by`. Fresh only while both are fresh, with the higher floors; its contexts count
    /// only inside the scope. Takes nothing else from `by`.
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
        judged.foreign = Some(Arc::new(RecognisedView {
            by: Arc::clone(&by.authority),
            fresh_until: by.next_update,
            granted,
        }));
        judged
    }

    fn granted(&mut self, view: &View, by: &View) -> Result<GrantedRecognition, NotRecognised> {
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
        // drops signers that no longer sign
        self.verdicts.retain(|signer, _| view.signers.contains_key(signer));
        for (signer, chain) in view.signers.iter() {
            self.verdicts.entry(*signer).or_insert_with(|| counts(chain, vouched));
        }
        let (recognition, signers) = (Arc::clone(recognition), self.verdicts.clone());
        Ok(GrantedRecognition { recognition, own: by.lines.clone(), signers })
    }
}

/// Checks that a signer stands below one of the cross-certificates; returns the fault of the last one tried.
fn counts(chain: &Chain, vouched: &RecognitionState) -> Result<(), ChainFault> {
    let mut judged = Err(ChainFault::UnknownIssuer);
    for cross in vouched.recognised.cross.iter() {
        judged = cross.leaf(chain, &vouched.roots).map(drop);
        if judged.is_ok() {
            break;
        }
    }
    judged
}

/// The floors of the recognised authority, raised to those in the recognition.
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
    /// The recognitions by this authority, by name. They count only for readers configured to ask this authority.
    pub fn recognitions(&self) -> impl Iterator<Item = (&str, &RecognitionState)> {
        self.recognitions.iter().map(|(name, vouched)| (name.as_str(), vouched))
    }

    /// The authority that judged this view, and the recognition in effect or the reason why there is none. None for an authority that is
    /// configured directly.
    pub fn recognised(&self) -> Option<(&str, Result<&Recognition, NotRecognised>)> {
        self.foreign.as_ref().map(|foreign| (foreign.by(), foreign.recognition()))
    }

    /// The lines with contexts that do not count at `now` although their authority is recognised: their number, and the reason for the
    /// lowest version. Empty if nothing of the authority counts, which [`View::recognised`] tells.
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

    /// Number of contexts that do not count at `now` for lack of a recognition: those of [`View::unrecognised_lines`], or all if the
    /// authority is not recognised. 0 for a distrusted one, which reports that itself.
    pub fn unrecognised_contexts(&self, now: u64) -> u64 {
        self.unrecognised(now).count() as u64
    }

    fn unrecognised(&self, now: u64) -> impl Iterator<Item = (&LoadedContext, NotRecognised)> {
        let loaded = self.contexts.values().filter(|_| !self.distrusted);
        loaded.filter_map(move |loaded| match self.grants(loaded, now) {
            Grant::Not(why) => Some((loaded.as_ref(), why)),
            Grant::Counts | Grant::Unknown => None,
        })
    }

    /// The second at which the whole view stops counting: it turns stale, or its recognition ends.
    pub fn counts_until(&self) -> u64 {
        let ends = match self.recognised() {
            Some((_, Ok(recognition))) => recognition.until,
            _ => u64::MAX,
        };
        self.next_update.min(ends)
    }

    pub(crate) fn grants(&self, loaded: &LoadedContext, now: u64) -> Grant {
        match &self.foreign {
            Some(foreign) => foreign.judge(loaded, now.max(self.issued_at)),
            None => Grant::Counts,
        }
    }
}
