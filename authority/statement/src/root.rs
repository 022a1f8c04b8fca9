//! Statements of the root: the keys that count, compromised keys, lowered floors, and recognitions. A threshold of root keys signs each
//! (TUF specification §4.3, §5.3); they are numbered and logged. [`Anchors`] is their fold, by which everything is judged.

mod anchors;
mod suspects;

#[cfg(test)]
mod tests;

pub use anchors::{Anchors, RootFault};
pub(crate) use suspects::Suspects;

use crate::format::{FormatFault, Members, is_name};
use crate::recognition::Recognition;
use crate::statement::{StatementFault, check_reason};
use semgate_certs::encoding::{from_base64, to_base64};
use semgate_certs::{CertificateDer, KeyId, Thumbprint};
use semgate_contexts::{Line, Version};
use serde_json::{Value, json};

/// Root keys of one authority: people with smart cards, not machines. Each costs some 600 bytes of certificate in each trust list.
pub const MAX_ROOT_KEYS: usize = 16;
/// Issuing certificates in a trust list: one a year, and delegations, for decades.
pub const MAX_ISSUING: usize = 256;
/// Log keys at one time: the old, the new, and a prepared one.
pub const MAX_LOG_KEYS: usize = 4;
/// Root statements of one authority. Each is a ceremony of several people; a follower reads all of them at its first start.
pub const MAX_ROOT_STATEMENTS: usize = 256;
/// Bytes of one certificate in a trust list, as in [`semgate_certs::ChainLimits`].
const MAX_CERTIFICATE_BYTES: usize = 16 * 1024;

/// A statement of the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootStatement {
    /// The authority of the statement: one root may stand above several.
    pub authority: String,
    /// Its number among the root statements of this authority, from 1: excludes replays, gaps and repetitions.
    pub number: u64,
    /// The act.
    pub act: RootAct,
    /// The reason, for people.
    pub reason: String,
}

/// An act of the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RootAct {
    /// The trust list: these keys count from now on, and no others.
    Keys(KeyList),
    /// A compromised key: its signatures from this log index on are INVALID, under any certificate. For an issuing certificate's key, those
    /// of everyone below it too.
    Compromised {
        /// A certificate of the key, of a role or an issuing one.
        key: Thumbprint,
        /// The key itself. None in statements from before keys were named, which cover one certificate alone.
        spki: Option<KeyId>,
        /// The first index that is not believed.
        from: u64,
    },
    /// The floor of a line falls.
    LowerFloor {
        /// The line.
        line: Line,
        /// The lowest version that counts from now on, below the floor before.
        min: Version,
    },
    /// Another authority speaks for some lines too, for some time.
    Recognise(Recognition),
}

/// The trust list: the keys that followers accept, signed by a threshold of root keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyList {
    /// Number of different root keys that must sign the next root statement.
    pub threshold: u64,
    /// Root certificates, sorted by thumbprint, each once.
    pub roots: Vec<CertificateDer<'static>>,
    /// Accepted issuing certificates of the contexts family, sorted, each once.
    pub issuing: Vec<Thumbprint>,
    /// Verifier keys of the log (`vkey`), sorted, each once; any of them signs checkpoints.
    pub log: Vec<String>,
}

impl RootStatement {
    /// Every `kind` that is accepted.
    pub const KINDS: [&'static str; 4] = ["key", "signer_compromised", "lower_floor", "recognise"];

    /// The `kind` member.
    pub fn kind(&self) -> &'static str {
        match self.act {
            RootAct::Keys(_) => "key",
            RootAct::Compromised { .. } => "signer_compromised",
            RootAct::LowerFloor { .. } => "lower_floor",
            RootAct::Recognise(_) => "recognise",
        }
    }

    /// The payload, not yet canonical bytes.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({
            "kind": self.kind(), "authority": self.authority, "number": self.number, "reason": self.reason,
        });
        let more = match &self.act {
            RootAct::Keys(list) => json!({
                "threshold": list.threshold,
                "roots": list.roots.iter().map(to_base64).collect::<Vec<_>>(),
                "issuing": list.issuing.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "log": list.log,
            }),
            RootAct::Compromised { key, spki: None, from } => json!({"key": key.to_string(), "from": from}),
            RootAct::Compromised { key, spki: Some(spki), from } => {
                json!({"key": key.to_string(), "spki": spki.to_string(), "from": from})
            }
            RootAct::LowerFloor { line, min } => json!({"line": line.as_str(), "min": min.to_string()}),
            RootAct::Recognise(recognition) => recognition.to_json(),
        };
        if let (Some(json), Value::Object(more)) = (json.as_object_mut(), more) {
            json.extend(more);
        }
        json
    }

    /// Reads a payload of one of these kinds; none for another kind.
    pub(crate) fn read(
        kind: &str,
        json: &semgate_contexts::json::Json<'_>,
    ) -> Result<Option<RootStatement>, StatementFault> {
        if !Self::KINDS.contains(&kind) {
            return Ok(None);
        }
        let closed = |names: &[&'static str]| {
            let all = [&["kind", "authority", "number", "reason"], names].concat();
            Members::closed(json, &all, if kind == "signer_compromised" { &["spki"] } else { &[] })
        };
        let (m, act) = match kind {
            "key" => {
                let m = closed(&["threshold", "roots", "issuing", "log"])?;
                let list = RootAct::Keys(KeyList::read(&m)?);
                (m, list)
            }
            "signer_compromised" => {
                let m = closed(&["key", "from"])?;
                let key = m.parsed("key", Thumbprint::parse)?;
                let from = m.integer("from")?;
                let spki = match m.get("spki") {
                    Ok(_) => Some(m.parsed("spki", KeyId::parse)?),
                    Err(_) => None,
                };
                (m, RootAct::Compromised { key, spki, from })
            }
            "lower_floor" => {
                let m = closed(&["line", "min"])?;
                let line = m.parsed("line", |text| Line::parse(text).ok())?;
                let min = m.parsed("min", |text| Version::parse(text).ok())?;
                (m, RootAct::LowerFloor { line, min })
            }
            "recognise" => {
                let m = closed(&["recognised", "origin", "lines", "max_status_age", "until", "cross"])?;
                let recognition = RootAct::Recognise(Recognition::read(&m)?);
                (m, recognition)
            }
            _ => return Ok(None),
        };
        Ok(Some(RootStatement {
            authority: m.parsed("authority", |text| is_name(text).then(|| text.to_owned()))?,
            number: m.integer("number")?,
            act,
            reason: check_reason(m.text("reason")?)?.to_owned(),
        }))
    }
}

impl KeyList {
    /// Builds a list in canonical order.
    pub fn new(
        threshold: u64,
        mut roots: Vec<CertificateDer<'static>>,
        mut issuing: Vec<Thumbprint>,
        mut log: Vec<String>,
    ) -> KeyList {
        roots.sort_by_key(|der| Thumbprint::of(der));
        roots.dedup();
        issuing.sort();
        issuing.dedup();
        log.sort();
        log.dedup();
        KeyList { threshold, roots, issuing, log }
    }

    fn read(m: &Members<'_, '_>) -> Result<KeyList, FormatFault> {
        let texts = |name: &'static str, most: usize| -> Result<Vec<&str>, FormatFault> {
            let list = m.list(name)?;
            if list.is_empty() || list.len() > most {
                return Err(FormatFault::Member(name));
            }
            list.iter().map(|item| item.as_str().ok_or(FormatFault::Member(name))).collect()
        };
        let roots = texts("roots", MAX_ROOT_KEYS)?.into_iter().map(|text| {
            let der = from_base64(text).filter(|der| der.len() <= MAX_CERTIFICATE_BYTES);
            der.map(CertificateDer::from).ok_or(FormatFault::Member("roots"))
        });
        let issuing = texts("issuing", MAX_ISSUING)?.into_iter();
        let issuing = issuing.map(|text| Thumbprint::parse(text).ok_or(FormatFault::Member("issuing")));
        let list = KeyList {
            threshold: m.integer("threshold")?,
            roots: roots.collect::<Result<_, _>>()?,
            issuing: issuing.collect::<Result<_, _>>()?,
            log: texts("log", MAX_LOG_KEYS)?.into_iter().map(str::to_owned).collect(),
        };
        let sorted = KeyList::new(list.threshold, list.roots.clone(), list.issuing.clone(), list.log.clone());
        if sorted != list {
            return Err(FormatFault::NotCanonical);
        }
        if list.threshold == 0 || list.threshold > list.roots.len() as u64 {
            return Err(FormatFault::Member("threshold"));
        }
        Ok(list)
    }
}
