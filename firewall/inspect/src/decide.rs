//! Fourth stage: policy decisions about every concept.

mod refusals;

use crate::{
    Code, Facts, Refusal,
    approval::{self, Demands},
    conform::{Conformed, Definition, Origin, too_complex, without},
    inspection::{Inspection, Look},
    joined_texts::{self, Part},
    meter::AMBIGUOUS,
    resolve::Resolved,
    scan::{self, Appended},
    shadow::{Differs, compare, cut_of},
    tools,
};
pub(crate) use refusals::unmet;
use refusals::{bounds, denied, errored};
use semgate_contexts::{InstanceFault, WorkBudget, json};
use semgate_policies::{
    Circumstances, Keeper, Obligation, Obligations, Policies, Question, Scores, Session, Texts, Verdict,
    demands, has_field,
};
use semgate_protocol::Instance;
use std::sync::Arc;

/// A message whose every concept is permitted by a policy and forbidden by none. Only this stage builds one.
#[derive(Debug)]
pub struct Decided<'c, 'j> {
    conformed: Conformed<'c, 'j>,
    policies: Vec<Texts>,
    shadow: Option<Box<Differs>>,
    /// Recorded policy questions, if the operator keeps them.
    asked: Option<Arc<str>>,
    /// Obligations of the permits by instance position; instances without obligations are absent.
    obliged: Vec<(usize, Obligations)>,
}

/// Asks the policies about every instance. A number outside the policies' bounds answers before any denial.
///
/// # Errors
/// `content_invalid`, `policy_denied`, `policy_error`. `status_stale` for a context that the policies are not
/// compiled with yet.
pub(crate) fn decide<'c, 'j>(conformed: Conformed<'c, 'j>) -> Result<Decided<'c, 'j>, Refusal> {
    let asked = ask(&conformed, conformed.case().generation.policies());
    let (shadow, kept) = match conformed.case().look {
        Look::Decides => {
            let shadow = compare(&conformed, &asked);
            scan::count(&conformed);
            (shadow, kept(&conformed, None))
        }
        Look::Beforehand => (None, None),
    };
    match asked {
        Ok((policies, obliged)) => Ok(Decided { conformed, policies, shadow, asked: kept, obliged }),
        Err((refusal, policies)) => {
            let refusal = match conformed.case().look {
                Look::Decides => approval::asking(refusal, &conformed),
                Look::Beforehand => refusal,
            };
            let facts = Facts { policies, shadow, asked: kept, ..conformed.facts() };
            let terms = conformed.instances().map(|(definition, _)| (definition.context, definition.term));
            let call = tools::visible_call(conformed.resolved(), terms);
            Err(refusal.of_tool_call(call).with_facts(facts))
        }
    }
}

type Stopped = (Refusal, Vec<Texts>);

/// The permits of a message and their obligations.
type Permitted = (Vec<Texts>, Vec<(usize, Obligations)>);

/// Decision of a policy set on a whole message: permits with obligations, or the refusal with the policies
/// that caused it.
pub(crate) type Asked = Result<Permitted, Stopped>;

pub(crate) fn ask(conformed: &Conformed<'_, '_>, policies: &Policies) -> Asked {
    let case = conformed.case();
    let mut tally = Tally::default();
    let (around, steps) = (circumstances(conformed), || approval::steps(conformed));
    for (position, (definition, instance)) in conformed.instances().enumerate() {
        let question = question(case, definition, instance, around);
        let question = match scan::alone(conformed, policies, position, question) {
            Ok(question) => question,
            Err(refusal) => {
                tally.deny(refusal, Texts::default());
                continue;
            }
        };
        let verdict = match definition.origin {
            Origin::Signed => policies.decide(&question),
            Origin::Learnt => policies.decide_learnt(&question),
        };
        match verdict {
            Verdict::Permitted { policies, obligations } => {
                if tally.demands.add(definition, &question, &obligations, &steps) {
                    tally.demanding.push(policies.clone());
                }
                if !obligations.is_empty() {
                    tally.obliged.push((position, obligations));
                }
                tally.permit(policies);
            }
            Verdict::Untypable { path, rule } => {
                let path = instance.pointer.join(&path);
                let (why, hint) = bounds(rule);
                let refusal = Refusal::new(
                    Code::ContentInvalid,
                    format!("`{path}` does not fit the rule `{rule}`: {why}"),
                );
                return Err((refusal.with_hint(hint), Vec::new()));
            }
            // the first denial answers, once all content is known to be valid
            Verdict::Denied { policies, notices } => {
                tally.deny(denied(definition, instance, &notices, ""), policies)
            }
            Verdict::Errored { policies: by, why } => tally.deny(errored(policies, definition, &why), by),
        }
    }
    if tally.denial.is_none() {
        let asked =
            joined_texts::each(
                conformed,
                Some(policies),
                around,
                |last, part, question| match scan::together(conformed, policies, last, *question) {
                    Ok(question) => tally.whole(policies, part, &question, &steps),
                    Err(refusal) => tally.deny(refusal, Texts::default()),
                },
            );
        if let Err(refusal) = asked {
            tally.deny(refusal, Texts::default());
        }
    }
    tally.outcome(conformed)
}

/// Decisions so far.
#[derive(Default)]
struct Tally {
    permits: Vec<Texts>,
    obliged: Vec<(usize, Obligations)>,
    denial: Option<Stopped>,
    demands: Demands,
    /// Policies that demand an approval.
    demanding: Vec<Texts>,
}

impl Tally {
    fn permit(&mut self, policies: Texts) {
        if !self.permits.contains(&policies) {
            self.permits.push(policies);
        }
    }

    fn deny(&mut self, refusal: Refusal, policies: Texts) {
        self.denial.get_or_insert((refusal, vec![policies]));
    }

    /// Adds the decision on joined texts. Nothing is counted again, since each part was.
    fn whole(
        &mut self,
        asked: &Policies,
        part: Part<'_, '_, '_>,
        question: &Question<'_>,
        steps: &dyn Fn() -> u64,
    ) {
        let (definition, instance) = part;
        let holds = |one: &Obligation| one.redact.iter().any(|path| has_field(question.value, path));
        match asked.decide(question) {
            Verdict::Permitted { policies, obligations } => {
                if self.demands.add(definition, question, &obligations, steps) {
                    self.demanding.push(policies.clone());
                }
                if let Some(one) = obligations.iter().find(|one| holds(one)) {
                    self.deny(unmet(one), policies);
                } else {
                    self.permit(policies);
                }
            }
            Verdict::Denied { policies, notices } => {
                self.deny(
                    denied(definition, instance, &notices, ", when its parts are read as one text"),
                    policies,
                );
            }
            Verdict::Errored { policies, why } => self.deny(errored(asked, definition, &why), policies),
            Verdict::Untypable { rule, .. } => self.deny(errored(asked, definition, rule), Texts::default()),
        }
    }

    /// The outcome. A denial takes precedence over a missing approval.
    fn outcome(self, conformed: &Conformed<'_, '_>) -> Asked {
        if let Some(stopped) = self.denial {
            return Err(stopped);
        }
        match self.demands.unmet(conformed) {
            Some(refusal) => Err((refusal, self.demanding)),
            None => Ok((self.permits, self.obliged)),
        }
    }
}

/// The recorded questions of a message; none for a message without instances.
///
/// The same policies are asked once more for the record, so these answers match the decision. `last` is a
/// question that was asked later.
fn kept(conformed: &Conformed<'_, '_>, last: Option<(&Question<'_>, &Verdict)>) -> Option<Arc<str>> {
    let case = conformed.case();
    let keeper = Keeper::new(case.state.keep.as_ref()?);
    conformed.instances().next()?;
    let mut keeper = keeper.after_steps(approval::steps(conformed));
    let (policies, around) = (case.generation.policies(), circumstances(conformed));
    let id = conformed.resolved().message().message_id;
    for (position, (definition, instance)) in conformed.instances().enumerate() {
        let cut = cut_of(case.before, id, instance);
        let question = question(case, definition, instance, around);
        // a text that is too long is recorded by its refusal
        let Ok(question) = scan::alone(conformed, policies, position, question) else { continue };
        let learnt = definition.origin == Origin::Learnt;
        let verdict = if learnt { policies.decide_learnt(&question) } else { policies.decide(&question) };
        keeper.add(policies, &question, learnt, &verdict, cut.as_ref());
    }
    let add = |last: usize, _: Part<'_, '_, '_>, question: &Question<'_>| {
        if let Ok(question) = scan::together(conformed, policies, last, *question) {
            keeper.add(policies, &question, false, &policies.decide(&question), None);
        }
    };
    // a joined text over the limit is recorded by its refusal
    let _ = joined_texts::each(conformed, None, around, add);
    if let Some((question, verdict)) = last {
        keeper.add(policies, question, false, verdict, None);
    }
    let scored = !conformed.scans().all().is_empty();
    let keeper = keeper.scored_by(scored.then(|| case.generation.scanner().model()));
    Some(keeper.finish().into())
}

/// Circumstances shared by every instance of the message.
fn circumstances<'q>(conformed: &'q Conformed<'_, '_>) -> Circumstances<'q> {
    let around = conformed.case().circumstances();
    let session = conformed.resolved().session().map(|session| Session { expires_at: session.until });
    let counted = Scores {
        concepts: conformed.instances().count() as u64,
        ambiguous: ambiguous(conformed) as u64,
        beside: conformed.resolved().message().prose,
        ..around.scores
    };
    Circumstances { session, scores: counted, ..around }
}

/// Number of ambiguous questions: instances of the control vocabulary, and those that content of a format asks.
fn ambiguous(conformed: &Conformed<'_, '_>) -> usize {
    let control = conformed.case().generation.control_line();
    let asks = |definition: &Definition<'_>| {
        definition.term.name() == AMBIGUOUS && definition.context.urn().line() == control
    };
    let questions = conformed.resolved().message().questions;
    conformed.instances().filter(|(definition, _)| asks(definition)).count() + questions
}

pub(crate) fn question<'q>(
    case: &Inspection<'q>,
    definition: &Definition<'q>,
    instance: &Instance<'q>,
    circumstances: Circumstances<'q>,
) -> Question<'q> {
    Question {
        sender: case.sender.id(),
        receiver: case.receiver,
        action: instance.performative,
        context: definition.context,
        shape: definition.shape,
        value: instance.object,
        without: without(instance),
        binding: case.route.binding.as_str(),
        direction: case.direction.as_str(),
        circumstances,
    }
}

/// Checks an instance that continues earlier text against schema and policies again, with the whole text in
/// it. A policy refusal carries the facts of this question, not those of the piece alone.
///
/// # Errors
/// `content_invalid`, `too_complex`, `policy_denied`, `policy_error`, `status_stale`.
pub(crate) fn again(
    decided: &Decided<'_, '_>,
    definition: &Definition<'_>,
    instance: &Instance<'_>,
    member: &str,
    appended: &Appended,
) -> Result<(), Refusal> {
    let unfit = |rule: &str| {
        Refusal::new(
            Code::ContentInvalid,
            format!("`{}` does not fit the rule `{rule}` together with the text before it", instance.pointer),
        )
        .with_hint("send less text in one artifact")
    };
    let mut value = instance.object.to_value_without(None);
    if let Some(text) = value.get_mut(member) {
        *text = appended.whole().into();
    }
    let text = value.to_string();
    let (limits, work) = (&decided.case().state.limits.json, WorkBudget::of_message());
    let json = json::read(text.as_bytes(), limits).map_err(|_| unfit("size"))?;
    let Some(object) = json.as_object() else { return Err(unfit("type")) };
    definition.shape.conform_within(object, without(instance), &work).map_err(|why| match why {
        InstanceFault::Content(fault) => unfit(&fault.rule),
        InstanceFault::Spent => too_complex(&instance.pointer.to_string()),
    })?;
    let around = circumstances(&decided.conformed);
    let question = Question { value: object, ..question(decided.case(), definition, instance, around) };
    let live = decided.case().generation.policies();
    let question = scan::appended(&decided.conformed, live, question, appended)?;
    let verdict = live.decide(&question);
    let (refusal, policies) = match &verdict {
        // its pieces were counted one by one
        Verdict::Permitted { obligations, policies } => {
            let asked = demands(&question, obligations, &|| approval::steps(&decided.conformed));
            let unasked = approval::required(definition, &question, obligations, &asked);
            let cut = || obligations.iter().find(|one| !one.redact.is_empty()).map(|one| unmet(one));
            match unasked.or_else(cut) {
                None => return Ok(()),
                Some(refusal) => (refusal, policies.clone()),
            }
        }
        Verdict::Untypable { rule, .. } => return Err(unfit(rule)),
        Verdict::Denied { notices, policies } => {
            (denied(definition, instance, notices, ""), policies.clone())
        }
        Verdict::Errored { why, policies } => (errored(live, definition, why), policies.clone()),
    };
    let asked = kept(&decided.conformed, Some((&question, &verdict)));
    Err(refusal.with_facts(Facts { policies: vec![policies], asked, ..decided.facts() }))
}

impl<'c, 'j> Decided<'c, 'j> {
    pub(crate) fn instances(&self) -> impl Iterator<Item = (&Definition<'c>, &Instance<'j>)> {
        self.conformed.instances()
    }

    /// The first obligation that redacts a member still present.
    pub(crate) fn unredacted(&self) -> Option<Arc<Obligation>> {
        let still = |(_, instance): (&Definition<'_>, &Instance<'_>), one: &Obligation| {
            one.redact.iter().any(|path| has_field(instance.object, path))
        };
        self.obliged().find_map(|(definition, all)| all.iter().find(|one| still(definition, one)).cloned())
    }

    /// Instances with obligations.
    pub(crate) fn obliged(&self) -> impl Iterator<Item = ((&Definition<'c>, &Instance<'j>), &Obligations)> {
        self.obliged.iter().filter_map(|(at, obligations)| Some((self.instances().nth(*at)?, obligations)))
    }

    pub(crate) fn case(&self) -> &'c Inspection<'c> {
        self.conformed.case()
    }

    pub(crate) fn conformed(&self) -> &Conformed<'c, 'j> {
        &self.conformed
    }

    pub(crate) fn resolved(&self) -> &Resolved<'c, 'j> {
        self.conformed.resolved()
    }

    /// Number of ambiguous questions.
    pub(crate) fn ambiguous(&self) -> usize {
        ambiguous(&self.conformed)
    }

    /// Facts known about the message.
    pub fn facts(&self) -> Facts {
        Facts {
            policies: self.policies.clone(),
            shadow: self.shadow.clone(),
            asked: self.asked.clone(),
            ..self.conformed.facts()
        }
    }
}
