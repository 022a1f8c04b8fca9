//! Lines, concepts and performatives of `limits.json` that no context has.

use std::sync::Arc;

use semgate_contexts::{Context, Performative, Term};

use super::Selector;
use super::read::FILE;
use crate::suggest::did_you_mean;
use crate::{PolicyFault, json_locations};

/// Lines, concepts and performatives that `limits.json` names and no context has. `bytes` are those of the file.
pub(crate) fn unknown_to_contexts(
    selectors: &[(String, Selector)],
    bytes: &[u8],
    contexts: &[Arc<Context>],
) -> Vec<PolicyFault> {
    let fault = |(at, selector): &(String, Selector)| {
        let (why, hint) = unknown(selector, contexts)?;
        let location = json_locations::at(FILE, bytes, at);
        Some(PolicyFault::UnknownToContexts { location, why: format!("at `{at}`: {why}"), hint })
    };
    selectors.iter().filter_map(fault).collect()
}

/// The name in a selector that no context has, with the likely one.
fn unknown(selector: &Selector, contexts: &[Arc<Context>]) -> Option<(String, Option<String>)> {
    let of_line = |context: &&Arc<Context>| {
        selector.line.as_deref().is_none_or(|line| context.urn().line().as_str() == line)
    };
    let held: Vec<&Arc<Context>> = contexts.iter().filter(of_line).collect();
    if let Some(line) = selector.line.as_deref().filter(|_| held.is_empty()) {
        let hint = did_you_mean(line, contexts.iter().map(|context| context.urn().line().as_str()));
        return Some((format!("no context has the line `{line}`"), hint));
    }
    let terms = || held.iter().flat_map(|context| context.terms());
    if let (Some(line), Some(concept)) = (selector.line.as_deref(), selector.concept.as_deref())
        && !terms().any(|term| term.name() == concept)
    {
        let why = format!("no context has the concept `{concept}` of the line `{line}`");
        return Some((why, did_you_mean(concept, terms().map(Term::name))));
    }
    let of_concept = |term: &&Term| selector.concept.as_deref().is_none_or(|concept| term.name() == concept);
    let taken = |term: &&Term| selector.performative.is_none_or(|performative| takes(term, performative));
    if terms().filter(of_concept).any(|term| taken(&term)) {
        return None;
    }
    let performative = selector.performative?;
    let what = match (selector.line.as_deref(), selector.concept.as_deref()) {
        (Some(line), Some(concept)) => format!("the concept `{concept}` of the line `{line}`"),
        (Some(line), None) => format!("any concept of the line `{line}`"),
        _ => "any concept".to_owned(),
    };
    let others =
        Performative::ALL.into_iter().filter(|one| terms().filter(of_concept).any(|term| takes(term, *one)));
    let others: Vec<String> = others.map(|one| format!("`{one}`")).collect();
    let hint = (!others.is_empty()).then(|| format!("it takes {}", others.join(", ")));
    Some((format!("no context has `{performative}` for {what}"), hint))
}

fn takes(term: &Term, performative: Performative) -> bool {
    term.shapes().any(|shape| shape.performatives().contains(performative))
}
