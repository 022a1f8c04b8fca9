//! Parts of conditions that decide nothing. Only facts that always hold count, and the outcome is advice: a second guard may be meant.

use serde_json::Value;

use crate::analysis::Analysis;
use crate::expression::{clauses, not, permit_when, text_of};
use crate::facts::Lasting;
use crate::ground::applies;
use crate::reasons;
use crate::report::FindingKind;
use crate::solver::Answer;

/// The most parts of one policy that are looked at.
const MAX_PARTS: usize = 60;

/// A part, with what is true where it is asked.
struct Part {
    before: Vec<Value>,
    own: Value,
}

/// The first part of a policy that is never true or always true, and why.
pub fn idle(analysis: &mut Analysis<'_, '_>, at: usize) -> Option<(FindingKind, String)> {
    let subject = analysis.subject(at)?;
    let json = subject.policy().to_json().ok()?;
    for part in parts(&json) {
        if is_never(analysis, at, &json, &part.before, &part.own) {
            return Some((FindingKind::PartNeverTrue, why(analysis, at, &json, &part)));
        }
        if is_never(analysis, at, &json, &part.before, &not(&part.own)) {
            return Some((FindingKind::PartAlwaysTrue, format!("`{}`", text_of(&part.own)?)));
        }
    }
    None
}

/// True if a part is true for no message of any kind, where it is asked.
fn is_never(
    analysis: &mut Analysis<'_, '_>,
    at: usize,
    scope: &Value,
    before: &[Value],
    own: &Value,
) -> bool {
    let Some(subject) = analysis.subject(at) else { return false };
    let (kinds, mentions) = (subject.kinds.clone(), subject.mentions.clone());
    let conditions: Vec<Value> = before.iter().chain([own]).cloned().collect();
    let Some(policy) = permit_when(scope, &conditions) else { return false };
    !kinds.is_empty()
        && kinds.into_iter().all(|kind| {
            let facts = analysis.facts(&mentions, kind, Lasting::Always);
            let Some(compiled) = analysis.ground.compile(&policy, kind) else { return false };
            let mut terms = applies(&compiled);
            terms.extend(analysis.ground.facts(&facts, kind));
            analysis.ground.ask(terms, kind) == Answer::Never
        })
}

fn why(analysis: &mut Analysis<'_, '_>, at: usize, scope: &Value, part: &Part) -> String {
    let Some(subject) = analysis.subject(at) else { return String::new() };
    let (kind, mentions) = (subject.kinds.first().copied(), subject.mentions.clone());
    let Some(kind) = kind else { return String::new() };
    let facts = analysis.facts(&mentions, kind, Lasting::Always);
    let conditions = part.before.iter().chain([&part.own]).cloned().collect();
    reasons::core(analysis, scope, conditions, facts, kind)
}

/// The parts of all conditions, outer ones first. A literal is meant, and the conjuncts of a `when` were looked at with the whole policy.
fn parts(policy: &Value) -> Vec<Part> {
    let (mut all, mut before) = (Vec::new(), Vec::new());
    for clause in clauses(policy) {
        let body = clause.get("body").unwrap_or(&Value::Null);
        walk(body, &before, &mut all);
        let unless = clause.get("kind").and_then(Value::as_str) == Some("unless");
        before.push(if unless { not(body) } else { body.clone() });
    }
    all.truncate(MAX_PARTS);
    all
}

fn walk(expression: &Value, before: &[Value], all: &mut Vec<Part>) {
    if expression.get("Value").is_some() {
        return;
    }
    all.push(Part { before: before.to_vec(), own: expression.clone() });
    let after = |one: Value| before.iter().cloned().chain([one]).collect::<Vec<_>>();
    let side = |name: &str, sides: &Value| sides.get(name).cloned().unwrap_or(Value::Null);
    if let Some(both) = expression.get("&&") {
        let left = side("left", both);
        walk(&left, before, all);
        walk(&side("right", both), &after(left), all);
    } else if let Some(either) = expression.get("||") {
        let left = side("left", either);
        walk(&left, before, all);
        walk(&side("right", either), &after(not(&left)), all);
    } else if let Some(inner) = expression.get("!") {
        walk(&side("arg", inner), before, all);
    } else if let Some(choice) = expression.get("if-then-else") {
        let test = side("if", choice);
        walk(&test, before, all);
        walk(&side("then", choice), &after(test.clone()), all);
        walk(&side("else", choice), &after(not(&test)), all);
    }
}
