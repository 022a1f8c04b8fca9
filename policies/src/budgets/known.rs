//! `limits.json` beside the contexts that there are: what names nothing that can be said, and what could never be counted.

use std::sync::Arc;

use semgate_contexts::{Context, Performative, PerformativeSet, Term};

use super::read::{FILE, Read};
use super::{Selector, Spoken};
use crate::check::{Texts, closest};
use crate::parse::Written;
use crate::sense::World;
use crate::sense::protocols::is_asked;
use crate::spots::Spots;
use crate::{Place, PolicyFault, spots};

/// Lines, concepts and performatives that no context has, or that are never requests; costs that no budget pays, and budgets that nothing costs anything of.
/// `bytes` are those that were read.
pub(crate) fn known(read: &Read, bytes: &[u8], contexts: &[Arc<Context>]) -> Vec<PolicyFault> {
    let named = || read.costs.iter().chain(read.paid.iter().flat_map(|(_, of)| of));
    let unknown: Vec<(&str, (String, Option<String>))> =
        named().filter_map(|(at, selector)| Some((at.as_str(), unknown(selector, contexts)?))).collect();
    // what is counted in vain is said of what exists
    let found = if unknown.is_empty() { idle(read, contexts) } else { unknown };
    if found.is_empty() {
        return Vec::new();
    }
    let pointers: Vec<&str> = found.iter().map(|(at, _)| *at).collect();
    let spots = Spots::of(FILE, bytes, &pointers);
    let fault = |(at, (why, hint)): (&str, (String, Option<String>))| {
        let place: Place = spots.at(at);
        PolicyFault::UnknownToContexts { place, why: format!("at `{at}`: {why}"), hint }
    };
    found.into_iter().map(fault).collect()
}

/// Budgets for agents of whom no permit lets anybody request something: requests alone are counted, so that these are never spent. That it may
/// be otherwise once somebody is put into a group is no fault, and it is told.
pub(crate) fn unspent(read: &Read, bytes: &[u8], texts: &Texts<'_>, world: &World<'_>) -> Vec<PolicyFault> {
    // nobody is in it yet, or everybody is disabled, which is told
    let mut some = read.whom.iter().filter(|(_, whom)| !whom.is_empty()).peekable();
    if some.peek().is_none() || !texts.written.iter().any(Written::permits) {
        return Vec::new();
    }
    let Some(may) = texts.may_request(world) else { return Vec::new() };
    let never = some.filter(|(_, whom)| whom.is_disjoint(&may)).map(|(at, _)| at.clone());
    let fault = |pointer| PolicyFault::Limits {
        place: spots::unplaced(FILE),
        pointer,
        why: "no permit lets anybody whom it names request anything, so that it is never spent".to_owned(),
    };
    let mut told: Vec<PolicyFault> = never.map(fault).collect();
    spots::placed(FILE, bytes, &mut told);
    told
}

/// What a selector names and no context has, and what was meant.
fn unknown(selector: &Selector, contexts: &[Arc<Context>]) -> Option<(String, Option<String>)> {
    let did_you_mean = |near: Option<&str>| near.map(|near| format!("did you mean `{near}`?"));
    let of_line = |context: &&Arc<Context>| {
        selector.line.as_deref().is_none_or(|line| context.urn().line().as_str() == line)
    };
    let held: Vec<&Arc<Context>> = contexts.iter().filter(of_line).collect();
    if let Some(line) = selector.line.as_deref().filter(|_| held.is_empty()) {
        let near = closest(line, contexts.iter().map(|context| context.urn().line().as_str()));
        return Some((format!("no context has the line `{line}`"), did_you_mean(near)));
    }
    let terms = || held.iter().flat_map(|context| context.terms());
    if let (Some(line), Some(concept)) = (selector.line.as_deref(), selector.concept.as_deref())
        && !terms().any(|term| term.name() == concept)
    {
        let near = closest(concept, terms().map(Term::name));
        let why = format!("no context has the concept `{concept}` of the line `{line}`");
        return Some((why, did_you_mean(near)));
    }
    let of_concept = |term: &&Term| selector.concept.as_deref().is_none_or(|concept| term.name() == concept);
    let taken = |term: &&Term| selector.performative.is_none_or(|performative| takes(term, performative));
    if terms().filter(of_concept).any(|term| taken(&term)) {
        let asked = |context: &&Arc<Context>| {
            let mut own = context.terms().filter(of_concept);
            own.any(|term| can_be_asked(context, term, selector.performative))
        };
        return (!held.iter().any(asked)).then(|| {
            let hint = "a permit's `@limit` counts replies too".to_owned();
            ("budgets count requests, and these messages are never requests".to_owned(), Some(hint))
        });
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

/// Entries that count nothing: a cost that no budget pays, and a budget all of whose messages are free.
fn idle<'r>(read: &'r Read, contexts: &[Arc<Context>]) -> Vec<(&'r str, (String, Option<String>))> {
    let mut found = Vec::new();
    for (at, selector) in &read.costs {
        let paid =
            |of: &[(String, Selector)]| of.is_empty() || of.iter().any(|(_, other)| selector.meets(other));
        if !read.paid.iter().any(|(_, of)| paid(of)) {
            let hint = "name these messages in `of` of a budget, or leave the cost out".to_owned();
            found.push((
                at.as_str(),
                (
                    "no budget pays for these messages, so what they cost is never counted".to_owned(),
                    Some(hint),
                ),
            ));
        }
    }
    for (at, of) in read.paid.iter().filter(|(_, of)| !of.is_empty()) {
        let pays = |spoken: &Spoken<'_>| of.iter().any(|(_, selector)| selector.takes(spoken));
        if !anything(contexts, |spoken| pays(spoken) && read.budgets.cost(spoken) > 0) {
            let why = "everything that this budget pays for is free, so that it is never spent".to_owned();
            found.push((
                at.as_str(),
                (why, Some("give these messages a cost, or leave the budget out".to_owned())),
            ));
        }
    }
    found
}

/// Whether something of a term can be a request under its context, with this performative: results can be one too, where
/// the agent behind asked for them (`Elicit` of MCP).
fn can_be_asked(context: &Context, term: &Term, performative: Option<Performative>) -> bool {
    let urn = context.urn();
    let taken = |of: PerformativeSet| performative.is_none_or(|performative| of.contains(performative));
    let mut shapes = term.shapes().filter(|shape| taken(shape.performatives()));
    shapes.any(|shape| is_asked(urn.line().as_str(), urn.version(), shape.name()))
}

/// Whether something that can be asked is so.
fn anything(contexts: &[Arc<Context>], is: impl Fn(&Spoken<'_>) -> bool) -> bool {
    contexts.iter().any(|context| {
        let line = context.urn().line().as_str();
        context.terms().any(|term| {
            Performative::ALL.into_iter().any(|performative| {
                can_be_asked(context, term, Some(performative))
                    && is(&Spoken { line, concept: term.name(), performative })
            })
        })
    })
}

fn takes(term: &Term, performative: Performative) -> bool {
    term.shapes().any(|shape| shape.performatives().contains(performative))
}
