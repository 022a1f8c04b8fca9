//! Reasons: the fewest parts, facts or policies that are enough for a proof.

use serde_json::Value;

use crate::analysis::Analysis;
use crate::expression::{conjuncts, permit_when, text_of};
use crate::facts::{Fact, Lasting};
use crate::ground::{Kind, applies};
use crate::solver::Answer;

/// The most things that are taken away one by one.
const MAX_PARTS: usize = 40;
/// The longest text of a fact or of a part that is shown whole.
const MAX_SHOWN: usize = 160;

/// Leaves out each thing without which the answer stays [`Answer::Never`]. A list that is too long stays as it is, and so does the rest of
/// one at the first query that takes too long.
pub fn fewest<T: Clone>(things: &mut Vec<T>, mut ask: impl FnMut(&[T]) -> Answer) {
    if things.len() > MAX_PARTS {
        return;
    }
    let mut at = 0;
    while at < things.len() {
        let mut fewer = things.clone();
        fewer.remove(at);
        match ask(&fewer) {
            Answer::Never => *things = fewer,
            Answer::Possible => at += 1,
            Answer::Undecided => return,
        }
    }
}

/// Why a policy never applies, for the first kind of request that its scope lets in.
pub fn never(analysis: &mut Analysis<'_, '_>, at: usize, most: Lasting) -> String {
    let Some(subject) = analysis.subject(at) else { return String::new() };
    let Ok(json) = subject.policy().to_json() else { return String::new() };
    let (kinds, mentions) = (subject.kinds.clone(), subject.mentions.clone());
    let Some(kind) = kinds.first().copied() else {
        return "no concept of its scope takes these performatives".to_owned();
    };
    let facts = analysis.facts(&mentions, kind, most);
    let mut types: Vec<String> = kinds.iter().map(|kind| analysis.ground.names(*kind).0).collect();
    types.sort();
    types.dedup();
    let why = core(analysis, &json, conjuncts(&json), facts, kind);
    match types.as_slice() {
        [_] => why,
        _ => format!(
            "of `{}`: {why}; of {} more types likewise",
            analysis.ground.names(kind).0,
            types.len() - 1
        ),
    }
}

/// The fewest parts, with the fewest facts, that no request satisfies, as words. `scope` is the policy whose scope counts.
pub fn core(
    analysis: &mut Analysis<'_, '_>,
    scope: &Value,
    mut parts: Vec<Value>,
    facts: Vec<Fact>,
    kind: Kind,
) -> String {
    let (theorems, mut facts): (Vec<Fact>, Vec<Fact>) = facts.into_iter().partition(|fact| fact.theorem);
    let mut never = |parts: &[Value], facts: &[Fact]| {
        let compiled = permit_when(scope, parts).and_then(|policy| analysis.ground.compile(&policy, kind));
        // without what guards a member, a part may have no type
        compiled.map_or(Answer::Possible, |compiled| {
            let mut terms = applies(&compiled);
            terms.extend(analysis.ground.facts(&theorems, kind));
            terms.extend(analysis.ground.facts(facts, kind));
            analysis.ground.ask(terms, kind)
        })
    };
    fewest(&mut parts, |fewer| never(fewer, &facts));
    fewest(&mut facts, |fewer| never(&parts, fewer));
    words(&parts, &facts)
}

fn words(parts: &[Value], facts: &[Fact]) -> String {
    let parts: Vec<String> = parts.iter().filter_map(text_of).map(|text| shown(&text)).collect();
    let known: Vec<String> = facts.iter().map(|fact| shown(&fact.text)).collect();
    let parts = match parts.as_slice() {
        [] => "no message reaches its scope".to_owned(),
        [one] if known.is_empty() => format!("{one} is never true"),
        [one] => one.clone(),
        _ => format!("{} exclude one another", parts.join(" and ")),
    };
    if known.is_empty() { parts } else { format!("{parts}, given {}", known.join(" and ")) }
}

fn shown(text: &str) -> String {
    if text.chars().count() <= MAX_SHOWN {
        return format!("`{text}`");
    }
    let head: String = text.chars().take(MAX_SHOWN).collect();
    format!("`{head}…`")
}
