//! Annotations: the closed set of what a policy may say beside its condition, each with its rule. An annotation that is not one of
//! these is an error, since it would be accepted and do nothing.

use std::sync::Arc;

use cedar_policy::pst::Clause;
use cedar_policy::{Effect, Policy, ResourceConstraint};

use semgate_contexts::{Digest, schema::is_unseen};

use crate::approval::{Approval, ApproveWhen, Words};
use crate::fields::{FieldPath, MAX_LEVELS};
use crate::rate::{Rate, RateKey};
use crate::reads::Reads;
use crate::suggest::closest;

/// Every annotation besides those of [`Words::ALL`].
const KNOWN: [&str; 6] = ["id", "notice", "limit", "limit_key", "redact", "approve"];

/// Characters of a text that people read: a sentence or two, which also fit a header.
const MAX_TEXT: usize = 512;

/// Members that one policy takes out of replies.
const MAX_PATHS: usize = 32;

/// The obligations of a permit beyond letting a message pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obligation {
    /// The policy, `file#id`.
    pub policy: Arc<str>,
    /// By what its limit is counted over reloads: the id that `@id` gives. Of a policy without one it is the file and what the policy says,
    /// since its place moves with every policy above it.
    pub bucket: Arc<str>,
    /// The name of the limit for outsiders: `policy-` and eight digits of a hash of `bucket`. It is the same in every answer and tells
    /// nothing of the policy.
    pub quota: Arc<str>,
    /// `@limit` and `@limit_key`: how often, and counted for whom.
    pub limit: Option<(Rate, RateKey)>,
    /// `@redact`: what is taken out of a reply before it passes.
    pub redact: Box<[FieldPath]>,
    /// `@approve`: the demand that a person decides first.
    pub approve: Option<Arc<Approval>>,
    /// `@confidence` and `@steps`: the messages for which `approve` holds.
    pub when: ApproveWhen,
    /// `@notice`: what a refusal for one of these reasons tells outsiders.
    pub notice: Option<Arc<str>>,
}

/// The annotations of one policy, read and checked as far as that goes without contexts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    pub id: Option<String>,
    pub notice: Option<Arc<str>>,
    pub limit: Option<(Rate, RateKey)>,
    pub redact: Vec<FieldPath>,
    pub approve: Option<Arc<str>>,
    pub words: Words,
}

/// The fault of a `@redact` that may be about a request.
pub(crate) const REQUESTS_TOO: &str = "applies to replies, but this policy also permits requests: write `when { context.direction == \"reply\" }`";

/// The fault of one annotation: its name, and the reason.
pub(crate) type Fault = (String, String);

impl Annotations {
    /// Reads the annotations of a policy.
    pub fn of(policy: &Policy) -> Result<Self, Vec<Fault>> {
        let mut resolved = Self::default();
        let mut faults: Vec<Fault> = Vec::new();
        let (mut limit, mut key) = (None, None);
        for (name, value) in policy.annotations() {
            let read = match name {
                "id" => policy_id(value).map(|id| resolved.id = Some(id)),
                "notice" => words(name, value).map(|text| resolved.notice = Some(text)),
                "approve" => words(name, value).map(|text| resolved.approve = Some(text)),
                "limit" => Rate::parse(value).map(|rate| limit = Some(rate)),
                "limit_key" => RateKey::parse(value).map(|read| key = Some(read)),
                "redact" => paths(value).map(|read| resolved.redact = read),
                other => resolved.words.read(other, value).unwrap_or_else(|| Err(unknown(other))),
            };
            if let Err(why) = read {
                faults.push((name.to_owned(), why));
            }
        }
        resolved.limit = limit.map(|rate| (rate, key.unwrap_or_default()));
        let has = |name: &str| policy.annotation(name).is_some();
        for (name, why) in rules(policy, &has) {
            faults.push((name.to_owned(), why.to_owned()));
        }
        let contradictions = resolved.words.contradictions().into_iter();
        faults.extend(contradictions.map(|(name, why)| (name.to_owned(), why)));
        faults.sort();
        if faults.is_empty() { Ok(resolved) } else { Err(faults) }
    }

    /// The obligation of the policy with this id, if it has one; its limit is counted by `bucket`.
    pub fn obligation(
        &self,
        policy: &Arc<str>,
        bucket: impl FnOnce() -> Arc<str>,
    ) -> Option<Arc<Obligation>> {
        let asks = self.limit.is_some() || !self.redact.is_empty() || self.approve.is_some();
        asks.then(|| {
            let bucket = if self.id.is_some() { Arc::clone(policy) } else { bucket() };
            Arc::new(Obligation {
                policy: Arc::clone(policy),
                quota: quota(&bucket),
                bucket,
                limit: self.limit,
                redact: self.redact.clone().into(),
                approve: self.approve.as_ref().map(|question| self.words.approval(policy, question)),
                when: self.words.when.clone(),
                notice: self.notice.clone(),
            })
        })
    }
}

fn quota(bucket: &str) -> Arc<str> {
    let digest = Digest::of(bucket.as_bytes());
    let digits: String = digest.as_bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("policy-{digits}").into()
}

/// The rules of an annotation about its neighbours and its policy.
fn rules(policy: &Policy, has: &dyn Fn(&str) -> bool) -> Vec<(&'static str, &'static str)> {
    let mut broken = Vec::new();
    if policy.effect() == Effect::Forbid {
        let of_permits = ["limit", "limit_key", "redact", "approve"].into_iter().chain(Words::ALL);
        for name in of_permits.filter(|name| has(name)) {
            broken.push((name, "is allowed on a `permit` only: a `forbid` lets nothing pass"));
        }
        return broken;
    }
    if has("limit_key") && !has("limit") {
        broken.push(("limit_key", "needs a `@limit` on the same policy"));
    }
    for name in Words::ALL.into_iter().filter(|name| has(name) && !has("approve")) {
        broken.push((name, "needs an `@approve` on the same policy"));
    }
    if has("confidence") && !matches!(policy.resource_constraint(), ResourceConstraint::Is(_)) {
        broken.push(("confidence", "names a member of one type: write `resource is …` in the scope"));
    }
    if has("notice") && !has("limit") && !has("approve") {
        broken.push((
            "notice",
            "is the hint of a refusal: write it on a `forbid`, or on a `permit` with `@limit` or `@approve`",
        ));
    }
    if has("redact") {
        if !matches!(policy.resource_constraint(), ResourceConstraint::Is(_)) {
            broken.push(("redact", "names members of one type: write `resource is …` in the scope"));
        }
        // whether what asks for it shuts requests out is judged beside the schema
        if !asks_for_direction(policy) {
            broken.push(("redact", REQUESTS_TOO));
        }
    }
    broken
}

/// Returns true if a condition asks which way the message goes.
fn asks_for_direction(policy: &Policy) -> bool {
    let Ok(tree) = policy.to_pst() else { return false };
    let clauses: Vec<Clause> = tree.body().clauses().to_vec();
    Reads::of(&clauses).context.wants("direction")
}

fn unknown(name: &str) -> String {
    let all = || KNOWN.into_iter().chain(Words::ALL);
    let names: Vec<String> = all().map(|name| format!("`@{name}`")).collect();
    let known = format!("no annotation of this name: there are {}", names.join(", "));
    match closest(name, all()) {
        Some(near) => format!("{known} (did you mean `@{near}`?)"),
        None => known,
    }
}

pub(crate) fn policy_id(id: &str) -> Result<String, String> {
    let plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if plain && (1..=64).contains(&id.len()) {
        return Ok(id.to_owned());
    }
    Err("an `@id` is 1 to 64 letters, digits, `.`, `_` and `-`".to_owned())
}

fn words(name: &str, text: &str) -> Result<Arc<str>, String> {
    let length = text.chars().count();
    if text.trim().is_empty() || length > MAX_TEXT || text.chars().any(is_unseen) {
        return Err(format!("`@{name}` holds one line of at most {MAX_TEXT} visible characters"));
    }
    Ok(text.into())
}

fn paths(text: &str) -> Result<Vec<FieldPath>, String> {
    let mut all: Vec<FieldPath> = Vec::new();
    for path in text.split(',').map(str::trim) {
        let names: Vec<Box<str>> = path.split('.').map(Box::from).collect();
        if names.iter().any(|name| name.is_empty()) || names.len() > MAX_LEVELS {
            return Err("`@redact` holds members separated by commas, as in `memo, parties.iban`".to_owned());
        }
        let names: FieldPath = names.into();
        let within = |one: &FieldPath, other: &FieldPath| other.starts_with(one) || one.starts_with(other);
        if all.iter().any(|other| within(&names, other)) {
            return Err(format!("`{path}` is redacted twice"));
        }
        all.push(names);
    }
    if all.len() > MAX_PATHS {
        return Err(format!("`@redact` names more than {MAX_PATHS} members"));
    }
    Ok(all)
}
