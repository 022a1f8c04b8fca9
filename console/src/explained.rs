//! Explanation of a recorded decision by the console's policy directory. It decides nothing and shows whose policies explain.

use semgate_contexts::json::{self, Json, Object};
use semgate_contexts::{ContextUrn, Prefix};
use semgate_policies::Parties;
use semgate_policy_analysis::{Condition, Explainer, Holds, Part, Recalled, Recorded};

/// Bounds of one record: a gateway keeps at most 32 KiB of what policies were asked.
const LIMITS: json::Limits = json::Limits {
    max_bytes: 256 * 1024,
    max_depth: 64,
    max_nodes: 100_000,
    max_string_bytes: 256 * 1024,
    max_key_bytes: 4 << 10,
    large_integers: true,
};

/// The explanation of one record.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    /// The policy set that explains, beside the one that decided.
    pub(crate) sets: String,
    /// The reason that no policy is shown, if so.
    pub(crate) untold: Option<String>,
    pub(crate) questions: Vec<Recalled>,
}

impl Explained {
    /// Explains a record, which is one line of an audit log.
    pub(crate) fn of(explainer: &Explainer, line: &str) -> Self {
        let untold = |why: &str| Self { untold: Some(why.to_owned()), ..Self::default() };
        let Ok(read) = json::read(line.as_bytes(), &LIMITS) else {
            return untold("the record cannot be read");
        };
        let Some(record) = read.as_object() else { return untold("the record cannot be read") };
        let text = |name: &str| record.get(name).and_then(Json::as_str);
        let explains = explainer.policies().digest().to_string();
        let decided = text("policy_digest");
        let redacted: Vec<&str> = names(record, "redacted").collect();
        let recorded = Recorded { redacted: &redacted, by_these: decided == Some(explains.as_str()) };
        let parties = Parties {
            sender: text("sender").unwrap_or_default(),
            receiver: text("receiver").unwrap_or_default(),
            binding: text("protocol").unwrap_or_default(),
            direction: text("direction").unwrap_or_default(),
        };
        let questions = match record.get("asked").and_then(Json::as_object) {
            Some(asked) => explainer.recall(parties, asked, recorded),
            None => refused_line(explainer, record).ok_or_else(|| not_asked(text("code")).to_owned()),
        };
        let (questions, untold) = match questions {
            Ok(questions) => (questions, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Self { sets: sets(decided, &explains), untold, questions }
    }
}

/// The premise of an explanation.
fn sets(decided: Option<&str>, explains: &str) -> String {
    match decided {
        Some(decided) if decided == explains => {
            format!("Explained by the policies that decided it, {explains}.")
        }
        Some(decided) => format!(
            "Other policies decided it: {decided}. The console's policies, {explains}, would decide as follows."
        ),
        None => format!(
            "The record names no policy set. The console's policies, {explains}, would decide as follows."
        ),
    }
}

/// The permits of a line that was refused to its sender as a whole, before any condition was evaluated.
fn refused_line(explainer: &Explainer, record: &Object<'_>) -> Option<Vec<Recalled>> {
    let text = |name: &str| record.get(name).and_then(Json::as_str);
    let is_closed = text("code") == Some("policy_denied") && text("digest").is_none();
    let urn = text("context").filter(|_| is_closed)?;
    let urn = ContextUrn::parse(urn, &Prefix::default()).ok()?;
    let sender = text("sender").unwrap_or_default();
    explainer.policies().may_use_line(sender, urn.line()).err()?;
    let performative = text("performative").and_then(|name| name.parse().ok());
    Some(explainer.refused_line(sender, urn.line(), performative))
}

/// The reason that a record holds no question.
fn not_asked(code: Option<&str>) -> &'static str {
    match code {
        Some("policy_denied" | "approval_required" | "reply_refused" | "policy_error") | None => {
            "The record does not hold what policies were asked. A gateway keeps it with `[audit_values]` in firewall.toml."
        }
        Some(_) => "The message was refused before policies were asked, so none decided.",
    }
}

fn names<'a>(record: &'a Object<'a>, name: &str) -> impl Iterator<Item = &'a str> {
    record.get(name).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str)
}

/// The part of a policy in a verdict, in words.
pub(crate) const fn part(part: Part) -> &'static str {
    match part {
        Part::Decided => "decided",
        Part::Applies => "applies too",
        Part::Open => "depends on values that were not kept",
        Part::Near => "came near",
    }
}

/// The truth of a condition, in words.
pub(crate) fn holds(condition: &Condition) -> String {
    match &condition.holds {
        Holds::Yes => "true".to_owned(),
        Holds::No => "false".to_owned(),
        Holds::Fails => "cannot be evaluated".to_owned(),
        Holds::Unknown(members) => format!("not known without {}", members.join(", ")),
        Holds::Unasked => "was not evaluated".to_owned(),
    }
}

#[cfg(test)]
mod tests;
