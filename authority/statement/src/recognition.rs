//! Recognition of another authority by a root: for some lines, for some time, with the cross-certificates that confine it to these lines.
//! One-way, and never passed on. `docs/spec/recognition.md`.

mod judge;

#[cfg(test)]
mod tests;

pub(crate) use judge::{Grant, RecognisedView};
pub use judge::{NotRecognised, Recogniser, UnrecognisedLine};

use crate::format::{FormatFault, Members, is_name};
use crate::status::Status;
use semgate_certs::encoding::{from_base64, to_base64};
use semgate_certs::{CertificateDer, ChainLimits, CrossCertificate, CrossFault, RootKey, Roots, Thumbprint};
use semgate_contexts::{Line, Version};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The most lines in the scope of one recognition: an industry's, not a whole world's. Each is a name that every leaf is compared with.
pub const MAX_RECOGNISED_LINES: usize = 32;
/// The most cross-certificates in one recognition: the other authority's issuing keys, old and new. Each takes some 700 bytes, and all fit
/// a log entry.
pub const MAX_CROSS: usize = 8;
/// The longest maximum age of the other's heads, in seconds: a day, as for a follower.
pub const MAX_STATUS_AGE: u64 = 86_400;
/// The most authorities that one authority recognises at a time: every publication checks each.
pub const MAX_RECOGNISED: usize = 64;
const MAX_CERTIFICATE_BYTES: usize = 16 * 1024;

/// A line of the scope, with all lines below it: as name constraints express it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopedLine {
    /// The line.
    pub line: Line,
    /// The lowest version that counts, whatever the floor of the other authority; none leaves that floor alone.
    pub min: Option<Version>,
}

/// A recognition: another authority speaks for some lines too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recognition {
    /// The recognised authority, as its heads name it.
    pub recognised: String,
    /// The origin of its log.
    pub origin: String,
    /// The lines that it may speak for, sorted, each once.
    pub lines: Vec<ScopedLine>,
    /// Seconds for which one of its heads counts, at most.
    pub max_status_age: u64,
    /// The second at which it ends.
    pub until: u64,
    /// Its issuing keys, certified by a root of the recognising authority for exactly these lines; sorted by thumbprint, each once.
    pub cross: Vec<CertificateDer<'static>>,
}

/// Reason for refusing a recognition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecognitionFault {
    /// There is no trust list yet: without one, every certificate of a root would count for the recognising authority itself.
    NoList,
    /// An authority recognises itself.
    Itself,
    /// It has ended before it is logged.
    Ended,
    /// More authorities than [`MAX_RECOGNISED`].
    TooMany,
    /// The trust list holds one of its cross-certificates: the other authority would then count for every line of the list.
    Listed,
    /// A cross-certificate.
    Cross(CrossFault),
}

impl RecognitionFault {
    /// A short stable name, such as `no_list`.
    pub fn as_str(&self) -> &'static str {
        match self {
            RecognitionFault::NoList => "no_list",
            RecognitionFault::Itself => "itself",
            RecognitionFault::Ended => "ended",
            RecognitionFault::TooMany => "too_many",
            RecognitionFault::Listed => "listed",
            RecognitionFault::Cross(fault) => fault.as_str(),
        }
    }
}

impl fmt::Display for RecognitionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecognitionFault::NoList => f.write_str("recognition without a trust list in effect"),
            RecognitionFault::Itself => f.write_str("recognition of the authority itself"),
            RecognitionFault::Ended => f.write_str("recognition that has ended already"),
            RecognitionFault::TooMany => f.write_str("more recognised authorities than the limit"),
            RecognitionFault::Listed => f.write_str("cross-certificate in the trust list"),
            RecognitionFault::Cross(fault) => write!(f, "recognition: {fault}"),
        }
    }
}

impl std::error::Error for RecognitionFault {}

impl Recognition {
    /// Builds a recognition in canonical order.
    pub fn new(
        recognised: impl Into<String>,
        origin: impl Into<String>,
        mut lines: Vec<ScopedLine>,
        (max_status_age, until): (u64, u64),
        mut cross: Vec<CertificateDer<'static>>,
    ) -> Recognition {
        lines.sort_by(|a, b| a.line.as_str().cmp(b.line.as_str()));
        lines.dedup();
        cross.sort_by_key(|der| Thumbprint::of(der));
        cross.dedup();
        Recognition {
            recognised: recognised.into(),
            origin: origin.into(),
            lines,
            max_status_age,
            until,
            cross,
        }
    }

    /// Members of the payload beside those of every statement of the root.
    pub(crate) fn to_json(&self) -> Value {
        let lines = self.lines.iter().map(|scoped| match scoped.min {
            Some(min) => json!({"line": scoped.line.as_str(), "min": min.to_string()}),
            None => json!({"line": scoped.line.as_str()}),
        });
        json!({
            "recognised": self.recognised,
            "origin": self.origin,
            "lines": lines.collect::<Vec<_>>(),
            "max_status_age": self.max_status_age,
            "until": self.until,
            "cross": self.cross.iter().map(to_base64).collect::<Vec<_>>(),
        })
    }

    /// Reads these members; refuses lines out of order or repeated, also if they differ only in case.
    pub(crate) fn read(m: &Members<'_, '_>) -> Result<Recognition, FormatFault> {
        let name = |text: &str| is_name(text).then(|| text.to_owned());
        let lines = bounded(m, "lines", MAX_RECOGNISED_LINES)?.iter().map(|item| {
            let m = Members::closed(item, &["line"], &["min"])?;
            let min = match m.get("min") {
                Ok(_) => Some(m.parsed("min", |text| Version::parse(text).ok())?),
                Err(_) => None,
            };
            Ok(ScopedLine { line: m.parsed("line", |text| Line::parse(text).ok())?, min })
        });
        let lines = lines.collect::<Result<Vec<_>, FormatFault>>()?;
        let cross = bounded(m, "cross", MAX_CROSS)?.iter().map(|item| {
            let der = item.as_str().and_then(from_base64).filter(|der| der.len() <= MAX_CERTIFICATE_BYTES);
            der.map(CertificateDer::from).ok_or(FormatFault::Member("cross"))
        });
        let read = Recognition {
            recognised: m.parsed("recognised", name)?,
            origin: m.parsed("origin", name)?,
            lines,
            max_status_age: m.integer("max_status_age")?,
            until: m.integer("until")?,
            cross: cross.collect::<Result<_, _>>()?,
        };
        if !(1..=MAX_STATUS_AGE).contains(&read.max_status_age) {
            return Err(FormatFault::Member("max_status_age"));
        }
        let once: BTreeSet<String> = read.lines.iter().map(|scoped| scoped.line.folded()).collect();
        if once.len() != read.lines.len() {
            return Err(FormatFault::Member("lines"));
        }
        let again = Recognition::new(
            read.recognised.clone(),
            read.origin.clone(),
            read.lines.clone(),
            (read.max_status_age, read.until),
            read.cross.clone(),
        );
        if again == read { Ok(read) } else { Err(FormatFault::NotCanonical) }
    }

    /// The lines without their floors.
    pub fn names(&self) -> Vec<Line> {
        self.lines.iter().map(|scoped| scoped.line.clone()).collect()
    }

    /// The part of the scope that holds a line, in the same spelling; none outside of it.
    pub fn holds(&self, line: &Line) -> Option<&ScopedLine> {
        self.lines.iter().find(|scoped| is_within(line.as_str(), scoped.line.as_str()).is_some())
    }

    /// The highest floor of the scope that a line is under.
    pub fn floor(&self, line: &Line) -> Option<Version> {
        let over = self.lines.iter().filter(|one| is_within(line.as_str(), one.line.as_str()).is_some());
        over.filter_map(|scoped| scoped.min).max()
    }

    /// Checks the cross-certificates: by these root keys, for these lines, until the end.
    pub(crate) fn check(
        &self,
        keys: &[RootKey],
        limits: &ChainLimits,
    ) -> Result<Vec<CrossCertificate>, RecognitionFault> {
        let lines = self.names();
        let each =
            self.cross.iter().map(|der| CrossCertificate::check(der, keys, &lines, self.until, limits));
        each.collect::<Result<_, _>>().map_err(RecognitionFault::Cross)
    }
}

fn bounded<'j, 'a>(
    m: &Members<'j, 'a>,
    name: &'static str,
    most: usize,
) -> Result<&'j [semgate_contexts::json::Json<'a>], FormatFault> {
    let list = m.list(name)?;
    if list.is_empty() || list.len() > most { Err(FormatFault::Member(name)) } else { Ok(list) }
}

/// Returns `Some` if a line is this one or below it.
fn is_within(line: &str, tree: &str) -> Option<()> {
    let rest = line.strip_prefix(tree)?;
    (rest.is_empty() || rest.starts_with('.')).then_some(())
}

/// Returns `Some` if two lines, with all below each, overlap. Ignores case, as DNS does.
pub(crate) fn meet(a: &str, b: &str) -> Option<()> {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    is_within(&a, &b).or_else(|| is_within(&b, &a))
}

/// An accepted recognition, with its log index.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// Log index of the statement, which is its status index: INVALID there means withdrawn.
    pub index: u64,
    /// The recognition.
    pub recognition: Arc<Recognition>,
    /// The checked cross-certificates.
    pub(crate) cross: Arc<[CrossCertificate]>,
}

/// A recognition in a view, with its status and the roots of its cross-certificates.
#[derive(Clone, Debug)]
pub struct RecognitionState {
    /// The recognition.
    pub recognised: Recognised,
    /// Its status; none when no list is at hand.
    pub status: Option<Status>,
    pub(crate) roots: Roots,
}
