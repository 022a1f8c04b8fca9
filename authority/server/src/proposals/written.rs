//! The form of a proposal on the disk.

use semgate_contexts::{ContextUrn, Line, Prefix, Version};
use semgate_statement::statement::check_reason;
use semgate_statement::{Act, SignedPermission};
use serde::{Deserialize, Serialize};

use super::{Proposal, Target};

/// A proposal as stored on the disk.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    id: String,
    by: String,
    at: u64,
    until: u64,
    act: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    urn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recognised: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    /// Each as `line:v1.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<String>>,
}

impl Written {
    pub fn of(proposal: &Proposal) -> Self {
        let Proposal { id, by, at, until, target } = proposal.clone();
        let mut written = Self { id, by, at, until, act: target.name().to_owned(), ..Self::default() };
        match target {
            Target::Change { urn, reason, ends, .. } => {
                written.index = ends;
                (written.urn, written.reason) = (Some(urn.as_str().to_owned()), Some(reason));
            }
            Target::Floor { line, min, reason } => {
                (written.line, written.min) = (Some(line.as_str().to_owned()), Some(min.to_string()));
                written.reason = Some(reason);
            }
            Target::Override(permission) => written.permission = Some(permission.as_str().to_owned()),
            Target::Withdraw { recognised, index, lines, reason } => {
                (written.recognised, written.reason) = (Some(recognised), Some(reason));
                written.index = Some(index);
                let lines = lines.iter().map(|(line, version)| format!("{}:{version}", line.as_str()));
                written.lines = Some(lines.collect());
            }
        }
        written
    }

    pub fn read(self, prefix: &Prefix) -> Option<Proposal> {
        let target = match self.withdrawal() {
            Some(target) => target,
            None => self.about_one(prefix)?,
        };
        Some(Proposal { id: self.id, by: self.by, at: self.at, until: self.until, target })
    }

    fn withdrawal(&self) -> Option<Target> {
        let named = (self.act.as_str(), &self.recognised, self.index, &self.lines);
        let ("withdraw", Some(recognised), Some(index), Some(lines)) = named else { return None };
        let lines = lines.iter().map(|text| {
            let (line, version) = text.rsplit_once(':')?;
            Some((Line::parse(line).ok()?, Version::parse(version).ok()?))
        });
        let reason = check_reason(self.reason.as_deref()?).ok()?.to_owned();
        Some(Target::Withdraw {
            recognised: recognised.clone(),
            index,
            lines: lines.collect::<Option<Vec<_>>>()?,
            reason,
        })
    }

    fn about_one(&self, prefix: &Prefix) -> Option<Target> {
        Some(match (self.act.as_str(), &self.urn, &self.line, &self.min, &self.permission) {
            ("override", None, None, None, Some(text)) => {
                Target::Override(Box::new(SignedPermission::read(text.as_bytes(), prefix).ok()?))
            }
            ("floor", None, Some(line), Some(min), None) => Target::Floor {
                line: Line::parse(line).ok()?,
                min: Version::parse(min).ok()?,
                reason: check_reason(self.reason.as_deref()?).ok()?.to_owned(),
            },
            // one that does not name its suspension would end any
            ("resume", ..) if self.index.is_none() => return None,
            (act, Some(urn), None, None, None) => Target::Change {
                act: Act::parse(act)?,
                urn: ContextUrn::parse(urn, prefix).ok()?,
                reason: check_reason(self.reason.as_deref()?).ok()?.to_owned(),
                ends: self.index,
            },
            _ => return None,
        })
    }
}
