//! The questions about whole policies, cheap ones first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::{Effect, Policy, PrincipalConstraint, Schema};
use cedar_policy_symcc::term::Term;
use semgate_policies::ParsedPolicy;

use crate::expression::{Mentions, conjuncts};
use crate::facts::{Fact, Lasting, Setting, World};
use crate::ground::{Ground, Kind, applies, applies_not};
use crate::report::{Finding, FindingKind, Level, Report};
use crate::solver::{Answer, Solver};
use crate::{parts, reasons};

/// Annotations that change nothing but a name and a text.
const HARMLESS: [&str; 2] = ["id", "notice"];

/// A policy with all that questions about it need.
pub(crate) struct Subject<'p> {
    pub parsed: &'p ParsedPolicy,
    pub mentions: Mentions,
    pub kinds: Vec<Kind>,
    /// The kinds in which some message may be one of it, as far as was found out.
    alive: Vec<Kind>,
}

impl Subject<'_> {
    pub const fn policy(&self) -> &Policy {
        &self.parsed.policy
    }

    /// True if it does more than let pass or stop.
    fn has_obligations(&self) -> bool {
        self.policy().annotations().any(|(name, _)| !HARMLESS.contains(&name))
    }

    fn finding(&self, level: Level, kind: FindingKind, why: String) -> Finding {
        let ParsedPolicy { id, location, .. } = self.parsed;
        Finding { level, kind, policy: id.to_string(), file: location.file.clone(), line: location.line, why }
    }
}

/// The other policies that may cover one, and what it means if they do.
struct Cover {
    rivals: Vec<usize>,
    kind: FindingKind,
    proven: Level,
}

/// All that is known about contexts and agents, compiled once for any number of policy sets.
pub struct Analyser<'s> {
    ground: Ground<'s>,
    world: World,
}

impl<'s> Analyser<'s> {
    /// Compiles what is known.
    ///
    /// # Errors
    /// Cedar does not take the schema of [`Setting::types`].
    pub fn of(setting: &Setting<'_>, solver: &'s mut Solver) -> Result<Self, String> {
        let schema =
            Schema::from_json_value(setting.types.schema().clone()).map_err(|why| why.to_string())?;
        Ok(Self { ground: Ground::of(schema, solver)?, world: World::of(setting) })
    }

    /// Puts every question about a set to the solver.
    pub fn analyse(&mut self, policies: &[ParsedPolicy]) -> Report {
        self.run(policies, true)
    }

    /// Puts the questions about whole policies alone, and finds no reasons: a small part of the time.
    pub fn verdicts(&mut self, policies: &[ParsedPolicy]) -> Report {
        self.run(policies, false)
    }

    fn run(&mut self, policies: &[ParsedPolicy], in_full: bool) -> Report {
        let mut named = Mentions::default();
        let mentions: Vec<Mentions> = policies.iter().map(|parsed| Mentions::of(&parsed.policy)).collect();
        mentions.iter().for_each(|one| named.add(one));
        self.world.choose(&named);
        let subjects = policies.iter().zip(mentions).map(|(parsed, mentions)| {
            let kinds = self.ground.in_scope(&parsed.policy);
            Subject { parsed, mentions, kinds, alive: Vec::new() }
        });
        let mut analysis = Analysis {
            subjects: subjects.collect(),
            world: &self.world,
            applying: HashMap::new(),
            report: Report {
                solver: self.ground.solver().name().to_owned(),
                queries: self.ground.solver().asked(),
                ..Report::default()
            },
            idle: BTreeSet::new(),
            in_full,
            ground: &mut self.ground,
        };
        let all = 0..policies.len();
        all.clone().for_each(|at| analysis.never_applies(at));
        all.clone().for_each(|at| analysis.covered(at));
        if in_full {
            all.for_each(|at| analysis.parts(at));
        }
        analysis.finish()
    }
}

/// An analysis that is under way.
pub(crate) struct Analysis<'a, 's> {
    pub ground: &'a mut Ground<'s>,
    world: &'a World,
    subjects: Vec<Subject<'a>>,
    applying: HashMap<(usize, Kind), Option<Arc<[Term]>>>,
    report: Report,
    /// Policies that were found to do nothing, and so cover nothing.
    idle: BTreeSet<usize>,
    /// Reasons and parts too.
    in_full: bool,
}

impl Analysis<'_, '_> {
    fn finish(self) -> Report {
        let mut report = self.report;
        let solver = self.ground.solver();
        report.queries = solver.asked() - report.queries;
        report.cut_off = solver.cut_off();
        report.solver_failed = solver.failed();
        report.undecided.sort();
        report.undecided.dedup();
        report.findings.sort_by(|a, b| {
            (&a.file, a.line, &a.policy, std::cmp::Reverse(a.level)).cmp(&(
                &b.file,
                b.line,
                &b.policy,
                std::cmp::Reverse(b.level),
            ))
        });
        report
    }

    /// The facts that count for a question about a kind of request.
    pub fn facts(&self, mentions: &Mentions, kind: Kind, most: Lasting) -> Vec<Fact> {
        let (of_type, action) = self.ground.names(kind);
        self.world.about(&of_type, &action, mentions, most)
    }

    /// The terms of a policy that applies.
    fn terms(&mut self, at: usize, kind: Kind) -> Option<Arc<[Term]>> {
        if let Some(known) = self.applying.get(&(at, kind)) {
            return known.clone();
        }
        let policy = self.subjects.get(at)?.policy();
        let terms: Option<Arc<[Term]>> = self.ground.compile(policy, kind).map(|one| applies(&one).into());
        self.applying.insert((at, kind), terms.clone());
        terms
    }

    /// True if a policy can apply to a kind of request, by facts up to this kind.
    fn can_apply(&mut self, at: usize, kind: Kind, most: Lasting) -> Answer {
        let Some(terms) = self.terms(at, kind) else { return Answer::Undecided };
        let Some(subject) = self.subjects.get(at) else { return Answer::Undecided };
        let facts = self.facts(&subject.mentions, kind, most);
        let mut all = terms.to_vec();
        all.extend(self.ground.facts(&facts, kind));
        self.ground.ask(all, kind)
    }

    fn never_applies(&mut self, at: usize) {
        let Some(kinds) = self.subjects.get(at).map(|subject| subject.kinds.clone()) else { return };
        let (mut possible, mut undecided, mut dead) = (Vec::new(), false, Vec::new());
        for kind in kinds {
            match self.can_apply(at, kind, Lasting::Today) {
                Answer::Never => dead.push(kind),
                Answer::Possible => possible.push(kind),
                Answer::Undecided => {
                    undecided = true;
                    possible.push(kind);
                }
            }
        }
        let Some(subject) = self.subjects.get_mut(at) else { return };
        if possible.is_empty() {
            let lasting =
                dead.iter().all(|kind| self.can_apply(at, *kind, Lasting::Contexts) == Answer::Never);
            let (level, most) =
                if lasting { (Level::Fault, Lasting::Contexts) } else { (Level::Warning, Lasting::Today) };
            let why = if self.in_full { reasons::never(self, at, most) } else { String::new() };
            self.record(at, level, FindingKind::NeverApplies, why);
            return;
        }
        subject.alive = possible;
        if undecided {
            self.report.undecided.push(subject.parsed.id.to_string());
        }
    }

    fn record(&mut self, at: usize, level: Level, kind: FindingKind, why: String) {
        if let Some(subject) = self.subjects.get(at) {
            self.report.findings.push(subject.finding(level, kind, why));
        }
        if level > Level::Advice {
            self.idle.insert(at);
        }
    }

    /// The policy at a position.
    pub fn subject(&self, at: usize) -> Option<&Subject<'_>> {
        self.subjects.get(at)
    }

    fn covered(&mut self, at: usize) {
        if self.idle.contains(&at) {
            return;
        }
        let Some(subject) = self.subjects.get(at) else { return };
        let mut covers = Vec::new();
        let others = |effect: Effect| self.others(at, effect);
        if subject.parsed.permits() {
            let kind = FindingKind::Covered;
            covers.push(Cover { rivals: others(Effect::Forbid), kind, proven: Level::Fault });
            if self.in_full && !subject.has_obligations() {
                let kind = FindingKind::DoesNothing;
                covers.push(Cover { rivals: others(Effect::Permit), kind, proven: Level::Advice });
            }
        } else if subject.policy().annotation("notice").is_none() {
            let kind = FindingKind::DoesNothing;
            covers.push(Cover { rivals: others(Effect::Forbid), kind, proven: Level::Fault });
        }
        for cover in covers {
            if self.is_covered(at, &cover) {
                break;
            }
        }
    }

    /// Other policies of an effect that may apply to the same messages.
    fn others(&self, at: usize, effect: Effect) -> Vec<usize> {
        let Some(own) = self.subjects.get(at) else { return Vec::new() };
        let meets = |other: &Subject<'_>| {
            other.policy().effect() == effect
                && other.kinds.iter().any(|kind| own.alive.contains(kind))
                && !apart(own.policy(), other.policy())
                && !is_stop(other.policy())
        };
        let all = self.subjects.iter().enumerate();
        let all = all.filter(|(other, subject)| *other != at && !self.idle.contains(other) && meets(subject));
        all.map(|(other, _)| other).collect()
    }

    fn is_covered(&mut self, at: usize, cover: &Cover) -> bool {
        if cover.rivals.is_empty() {
            return false;
        }
        match self.escapes(at, &cover.rivals, Lasting::Today) {
            Answer::Possible => return false,
            Answer::Undecided => {
                let id = self.subjects.get(at).map(|subject| subject.parsed.id.to_string());
                if cover.proven > Level::Advice {
                    self.report.undecided.extend(id);
                }
                return false;
            }
            Answer::Never => {}
        }
        let lasting = self.escapes(at, &cover.rivals, Lasting::Contexts) == Answer::Never;
        let most = if lasting { Lasting::Contexts } else { Lasting::Today };
        let level = if lasting { cover.proven } else { cover.proven.min(Level::Warning) };
        if !lasting && cover.kind == FindingKind::DoesNothing {
            // a group may be part of another today
            return false;
        }
        let mut rivals = cover.rivals.clone();
        if self.in_full {
            reasons::fewest(&mut rivals, |rivals| self.escapes(at, rivals, most));
        }
        let ids: Vec<String> = rivals
            .iter()
            .filter_map(|rival| self.subjects.get(*rival))
            .map(|subject| format!("`{}`", subject.parsed.id))
            .collect();
        self.record(at, level, cover.kind, ids.join(", "));
        true
    }

    /// True if all rivals leave some message that a policy applies to.
    fn escapes(&mut self, at: usize, rivals: &[usize], most: Lasting) -> Answer {
        let Some(subject) = self.subjects.get(at) else { return Answer::Undecided };
        let mut worst = Answer::Never;
        for kind in subject.alive.clone() {
            match self.escapes_in(at, rivals, kind, most) {
                Answer::Possible => return Answer::Possible,
                Answer::Undecided => worst = Answer::Undecided,
                Answer::Never => {}
            }
        }
        worst
    }

    fn escapes_in(&mut self, at: usize, rivals: &[usize], kind: Kind, most: Lasting) -> Answer {
        let (Some(subject), Some(terms)) =
            (self.subjects.get(at), self.applying.get(&(at, kind)).cloned().flatten())
        else {
            return Answer::Undecided;
        };
        let mut mentions = subject.mentions.clone();
        let mut all = terms.to_vec();
        for rival in rivals {
            let Some(other) = self.subjects.get(*rival).filter(|other| other.kinds.contains(&kind)) else {
                continue;
            };
            // a rival that does not compile covers nothing
            let Some(compiled) = self.ground.compile(other.policy(), kind) else { continue };
            mentions.add(&other.mentions);
            all.extend(applies_not(&compiled));
        }
        let facts = self.facts(&mentions, kind, most);
        all.extend(self.ground.facts(&facts, kind));
        self.ground.ask(all, kind)
    }

    fn parts(&mut self, at: usize) {
        if self.idle.contains(&at) {
            return;
        }
        if let Some((kind, why)) = parts::idle(self, at) {
            self.record(at, Level::Advice, kind, why);
        }
    }
}

/// True for a forbid whose condition is the literal `true`: a stop of everything in its scope, which is meant.
fn is_stop(policy: &Policy) -> bool {
    let Ok(json) = policy.to_json() else { return false };
    policy.effect() == Effect::Forbid
        && conjuncts(&json).iter().any(|one| one.get("Value") == Some(&true.into()))
}

/// True where two policies are about different senders by their scopes.
fn apart(one: &Policy, other: &Policy) -> bool {
    match (one.principal_constraint(), other.principal_constraint()) {
        (PrincipalConstraint::Eq(one), PrincipalConstraint::Eq(other)) => one != other,
        _ => false,
    }
}
