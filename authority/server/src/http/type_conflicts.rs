//! Checks that policies can type a new version beside the others of its major. Otherwise gateways would refuse every message of it, or of
//! the others, whatever their policies say.

use std::collections::BTreeSet;
use std::sync::Arc;

use semgate_contexts::compare::Comparison;
use semgate_contexts::{Context, ContextUrn, Version};
use semgate_policies::{Clash, clashes, untyped};
use serde_json::Value;

use super::App;
use super::problem::Problem;
use super::references::References;
use super::storage::broken;
use crate::submit::index_of;

/// A part that gateways would leave out once this document is published, and the version with which it clashes, if it is one.
pub(super) struct TypeConflict {
    /// The part that is left out, and the reason.
    pub why: String,
    /// The clashing version.
    pub with: Option<Arc<Context>>,
}

/// Compares a new document with published versions of its major, revoked ones too: gateways also type those, since policies may name them.
///
/// # Errors
/// A published document cannot be read.
pub(super) fn first_conflict<'u>(
    referred: &References<'_>,
    document: &Arc<Context>,
    others: impl IntoIterator<Item = &'u ContextUrn>,
) -> Result<Option<TypeConflict>, Problem> {
    let others: Vec<Arc<Context>> =
        others.into_iter().map(|other| referred.published(other)).collect::<Result<_, _>>()?;
    let Some(first) = untyped(document, &others).into_iter().next() else { return Ok(None) };
    let with = others.into_iter().find(|other| !clashes(other, document).is_empty());
    Ok(Some(TypeConflict { why: first.to_string(), with }))
}

/// The newest versions of its line and of each line that could share its namespace in policies, at most `limits.compared_versions` of each.
/// Empty if there is no such line. Considers its own major and the newest other majors.
///
/// # Errors
/// The index cannot be read.
pub(super) fn namesakes(app: &App, document: &Context) -> Result<Vec<ContextUrn>, Problem> {
    let (urn, index) = (document.urn(), index_of(&app.index));
    let versions = |urn: &ContextUrn| -> Result<Vec<ContextUrn>, Problem> {
        let all = index.of_line(urn).map_err(|fault| broken(app, &fault))?;
        let mut all: Vec<ContextUrn> = all.into_iter().map(|(urn, _)| urn).collect();
        all.sort_by_key(|urn| std::cmp::Reverse(urn.version()));
        all.truncate(app.config.limits.compared_versions);
        Ok(all)
    };
    // a line may have thousands of versions, so they are read only if another line could meet one of its majors
    let mut majors = BTreeSet::new();
    for major in index.majors_followed_by_lines(urn).map_err(|fault| broken(app, &fault))? {
        let first = ContextUrn::new(&app.config.prefix, urn.line().clone(), Version::new(major, 0));
        let published = || index.has_major(&first).map_err(|fault| broken(app, &fault));
        if major == urn.version().major || published()? {
            majors.insert(major);
        }
    }
    // each is another line to read
    while majors.len() > app.config.limits.compared_versions {
        let oldest = majors.iter().copied().find(|major| *major != urn.version().major);
        let Some(oldest) = oldest else { break };
        majors.remove(&oldest);
    }
    let mut others = Vec::new();
    for line in semgate_policies::namesakes(urn.line(), &majors) {
        others.extend(versions(&ContextUrn::new(&app.config.prefix, line, urn.version()))?);
    }
    Ok(if others.is_empty() { others } else { versions(urn)?.into_iter().chain(others).collect() })
}

/// The members of a new document whose types differ in these versions: what policies lose of each, and beside which version.
///
/// # Errors
/// A published document cannot be read.
pub(super) fn warnings<'u>(
    referred: &References<'_>,
    document: &Context,
    others: impl IntoIterator<Item = &'u ContextUrn>,
) -> Result<Vec<Value>, Problem> {
    let mut warnings = Vec::new();
    for other in others {
        let published = referred.published(other)?;
        for clash in clashes(&published, document) {
            let mut warning = clash.to_value();
            if let Some(members) = warning.as_object_mut() {
                members.insert("rule".to_owned(), "untyped".into());
                members.insert("beside".to_owned(), other.as_str().into());
            }
            warnings.push(warning);
        }
    }
    warnings.truncate(MOST_WARNINGS);
    Ok(warnings)
}

/// Warnings in one answer: whoever fixes so many compares again.
const MOST_WARNINGS: usize = 64;

/// A comparison as JSON, with the members whose types differ (`untyped`).
pub(super) fn comparison_json(comparison: &Comparison, old: &Context, new: &Context) -> Value {
    let conflicts = clashes(old, new);
    let mut value = comparison.to_value();
    if let (false, Some(members)) = (conflicts.is_empty(), value.as_object_mut()) {
        members.insert("untyped".to_owned(), conflicts.iter().map(Clash::to_value).collect());
    }
    value
}
