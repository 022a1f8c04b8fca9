//! Questions out of an audit record, asked of another policy set. What the record did not keep is not known, and says so.

mod approval;
mod text_scores;

use std::collections::BTreeSet;

use semgate_contexts::json::{Json, Object};
use semgate_contexts::{Digest, Performative, Term};
use semgate_policies::{
    Circumstances, Credentials, FieldPath, Obligations, Parties, Question, Scores, Session, TEXT_SCORES,
    Texts, TypedShape, Verdict, dotted, has_field,
};

use super::matrix::{Cell, settled};
use super::recorded::{self, Recorded};
use super::truth::{Members, Truth, Unknown};
use super::{Against, Explainer, Explanation, digests};

/// A measurement that records keep only with the whole instance.
const TEXT_LENGTH: &str = "scores.text_length";
/// The verdict of what passed.
const PERMITTED: &str = "permitted";

/// The verdict of a policy set on a recorded question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recalled {
    /// The concept, as policies name it.
    pub concept: String,
    /// The recorded verdict: `permitted`, `denied`, `approval`, `error`, or `untypable` for a refusal before any policy was asked.
    pub then: String,
    /// The policies that decided then.
    pub then_by: BTreeSet<String>,
    /// The decision of these policies, in the same words; none if it depends on members that were not kept.
    pub now: Option<&'static str>,
    /// The policies that decide now.
    pub now_by: BTreeSet<String>,
    /// Members redacted then, as `concept.member`.
    pub then_redacted: BTreeSet<String>,
    /// Members that these policies redact where they let it pass.
    pub now_redacted: BTreeSet<String>,
    /// Members that were not kept and decide.
    pub missing: BTreeSet<String>,
    /// Why.
    pub explanation: Explanation,
}

/// The pieces of a recorded question.
struct Pieces<'a> {
    typed: TypedShape<'a>,
    question: Question<'a>,
    /// The concept, as records name what is redacted of it.
    concept: &'a str,
    unknown: Unknown,
    free_text: bool,
    /// Steps of the sender in its session before the message.
    steps: u64,
}

/// The verdict of these policies on one look at a question.
struct Look {
    verdict: Option<Verdict>,
    missing: BTreeSet<String>,
    explanation: Explanation,
}

impl Explainer {
    /// Asks these policies every question of a record's member `asked`. What it keeps of a question is the instance without the members
    /// that policies took out of it then, which it names. What was untypable then is so to every policy set, whether or not the value was kept.
    ///
    /// # Errors
    /// It is not of the documented form, its questions were not kept, or the context of one is not loaded: in words for the operator.
    pub fn recall(
        &self,
        parties: Parties<'_>,
        asked: &Object<'_>,
        recorded: Recorded<'_>,
    ) -> Result<Vec<Recalled>, String> {
        if asked.get("too_large").is_some() {
            return Err("its questions were too large for the record".to_owned());
        }
        let around = asked.get("around").and_then(Json::as_object).ok_or("it has no `around`")?;
        let questions = asked.get("questions").and_then(Json::as_array).ok_or("it has no `questions`")?;
        let shown = (credentials(around, "sender_shows")?, credentials(around, "receiver_shows")?);
        let session = match around.get("session_expires") {
            None | Some(Json::Null) => None,
            Some(_) => Some(Session { expires_at: number(around, "session_expires")? }),
        };
        let circumstances = Circumstances {
            sender_holds: &shown.0,
            receiver_holds: &shown.1,
            protocol_version: text(around, "protocol_version")?,
            session,
            now: number(around, "now")?,
            scores: Scores {
                message_bytes: number(around, "message_bytes")?,
                concepts: number(around, "concepts")?,
                ambiguous: number(around, "ambiguous")?,
                beside: around.get("beside").map_or(Ok(0), |_| number(around, "beside"))?,
                ..Scores::default()
            },
        };
        let one = |question: &Json<'_>| {
            let kept = question.as_object().ok_or("a question that is not an object")?;
            let scores = Scores { text: text_scores::of(kept)?, ..circumstances.scores };
            let circumstances = Circumstances { scores, ..circumstances };
            let steps = around.get("steps").map_or(Ok(0), |_| number(around, "steps"))?;
            let pieces = Pieces { steps, ..self.pieces(parties, circumstances, kept)? };
            self.recall_one(pieces, kept, recorded)
        };
        questions.iter().map(one).collect()
    }

    fn recall_one(
        &self,
        pieces: Pieces<'_>,
        kept: &Object<'_>,
        recorded: Recorded<'_>,
    ) -> Result<Recalled, String> {
        let of_concept =
            |name: &&str| name.strip_prefix(pieces.concept)?.strip_prefix('.').map(str::to_owned);
        let gone: BTreeSet<String> = match kept.get("redacted").and_then(Json::as_array) {
            Some(own) => own.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            None => recorded.redacted.iter().filter_map(of_concept).collect(),
        };
        let named = |members: &BTreeSet<String>| -> BTreeSet<String> {
            members.iter().map(|member| format!("{}.{member}", pieces.concept)).collect()
        };
        let then_by = kept.get("policies").and_then(Json::as_array).unwrap_or_default();
        let then_by: BTreeSet<String> = then_by.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let then = text(kept, "verdict")?.to_owned();
        let passed = then == PERMITTED;
        let decided = if recorded.by_these { self.decided(&then, &then_by) } else { None };
        let stands = decided.as_ref().and_then(|_| recorded::word(&then));
        let (mut look, taken) = if then == recorded::UNTYPABLE {
            (self.look_unfit(&pieces), BTreeSet::new())
        } else if decided.is_some() {
            let absent = gone.iter().filter(|path| !path.contains('.')).cloned().collect();
            let look = self.look(&pieces, &BTreeSet::new(), &absent, decided)?;
            (look, if passed { gone.clone() } else { BTreeSet::new() })
        } else {
            self.looked(&pieces, &gone)?
        };
        let now = match stands {
            Some(word) => Some(word),
            None => pieces.word(&mut look),
        };
        Ok(Recalled {
            concept: pieces.typed.concept.name().to_owned(),
            then,
            then_by,
            now,
            now_by: look.verdict.iter().flat_map(|verdict| verdict.policies().to_vec()).collect(),
            then_redacted: if passed { named(&gone) } else { BTreeSet::new() },
            now_redacted: named(&taken),
            missing: look.missing,
            explanation: look.explanation,
        })
    }

    /// Decides as a gateway does: where policies redact the reply as the agent wrote it, they decide again on the rest. Returns the
    /// redacted members too.
    fn looked(
        &self,
        pieces: &Pieces<'_>,
        gone: &BTreeSet<String>,
    ) -> Result<(Look, BTreeSet<String>), String> {
        let first = self.look(pieces, gone, &BTreeSet::new(), None)?;
        let Some(Verdict::Permitted { obligations, .. }) = &first.verdict else {
            return Ok((first, BTreeSet::new()));
        };
        let (mut taken, mut missing) = (BTreeSet::new(), BTreeSet::new());
        for path in obligations.iter().flat_map(|one| one.redact.iter()) {
            match pieces.holds(path, gone) {
                Some(true) => {
                    taken.insert(dotted(path));
                }
                Some(false) => {}
                None => missing.extend(path.first().map(|name| format!("resource.{name}"))),
            }
        }
        if !missing.is_empty() {
            return Ok((Look { verdict: None, missing, ..first }, BTreeSet::new()));
        }
        if taken.is_empty() {
            return Ok((first, taken));
        }
        let changed = taken.symmetric_difference(gone).cloned().collect();
        let absent = taken.difference(gone).filter(|path| !path.contains('.')).cloned().collect();
        let second = self.look(pieces, &changed, &absent, None)?;
        let passes = matches!(second.verdict, Some(Verdict::Permitted { .. }));
        Ok((second, if passes { taken } else { BTreeSet::new() }))
    }

    /// A value that policies cannot hold, with its place where it was kept.
    fn look_unfit(&self, pieces: &Pieces<'_>) -> Look {
        let nothing = BTreeSet::new();
        let look = self.look(pieces, &nothing, &nothing, None).ok();
        look.filter(|look| matches!(look.verdict, Some(Verdict::Untypable { .. })))
            .unwrap_or_else(|| unfit(None))
    }

    /// Decides the question with members that are `changed` since it was kept, some of them `absent`. A verdict in `decided` stands, and
    /// the rest follows from it.
    fn look(
        &self,
        pieces: &Pieces<'_>,
        changed: &BTreeSet<String>,
        absent: &BTreeSet<String>,
        decided: Option<Verdict>,
    ) -> Result<Look, String> {
        let (question, typed) = (&pieces.question, pieces.typed);
        let mut unknown = pieces.unknown_but(changed);
        unknown.digests.extend(absent.iter().map(|name| (name.clone(), digests::nothing())));
        let scene = match self.scene(question, typed, pieces.free_text, unknown) {
            Ok(scene) => scene,
            Err(Verdict::Untypable { path, rule }) => return Ok(unfit(Some((path, rule)))),
            Err(Verdict::Errored { why, .. }) => return Err(format!("it cannot be asked: {why}")),
            Err(_) => return Err("it cannot be asked".to_owned()),
        };
        let mut against = self.against(question, typed, &scene);
        if let Some(decided) = &decided {
            against.iter_mut().for_each(|one| one.settle(decided));
        }
        let all: Vec<Against<'_>> = against.iter().filter(|one| one.in_scope()).cloned().collect();
        let (verdict, missing) = if decided.is_some() {
            (decided, BTreeSet::new())
        } else if self.disabled(question.sender) || self.disabled(question.receiver) {
            (Some(Verdict::Denied { policies: Texts::default(), notices: Texts::default() }), BTreeSet::new())
        } else {
            match settled(&all) {
                Ok(Cell::Always) if !undecided(&all).is_empty() => (None, undecided(&all)),
                Ok(cell) => (Some(self.verdict(&all, &cell)), BTreeSet::new()),
                Err(open) => (None, open.reads),
            }
        };
        let explanation = self.report(question, verdict.clone(), &scene, &against);
        Ok(Look { verdict, missing, explanation })
    }

    fn pieces<'a>(
        &'a self,
        parties: Parties<'a>,
        circumstances: Circumstances<'a>,
        kept: &'a Object<'a>,
    ) -> Result<Pieces<'a>, String> {
        let digest: Digest = Digest::parse(text(kept, "digest")?).map_err(|_| "an invalid digest")?;
        let (urn, name) = (text(kept, "context")?, text(kept, "shape")?);
        let learnt = kept.get("learnt").and_then(Json::as_bool).unwrap_or_default();
        let action: Performative =
            text(kept, "performative")?.parse().map_err(|_| "an unknown performative")?;
        let mut shapes =
            self.contexts.iter().flat_map(|context| context.shapes().map(move |shape| (&**context, shape)));
        let (of, typed) = if learnt {
            let nothing = || format!("no policy names `learnt::{name}`");
            (shapes.next(), self.policies.learnt_shape(name).ok_or_else(nothing)?)
        } else {
            let here = shapes.find(|(context, shape)| *context.digest() == digest && shape.name() == name);
            let missing = || {
                format!(
                    "the document of `{urn}` with this digest is not loaded: name its file with `--context`"
                )
            };
            (here, self.policies.typed_shape(&digest, name).ok_or_else(missing)?)
        };
        let (context, shape) = of.ok_or("there is no context")?;
        let concept = context.terms().find(|term| term.shapes().any(|one| one.name() == name));
        let value = kept.get("values").and_then(Json::as_object).ok_or("it has no `values`")?;
        let unkept = kept.get("unkept").and_then(Json::as_array).ok_or("it has no `unkept`")?;
        let unkept: BTreeSet<String> = unkept.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let digests = kept.get("digests").and_then(Json::as_object);
        let digests = digests.into_iter().flat_map(Object::iter);
        let digests =
            digests.filter_map(|(name, one)| Some((name.to_owned(), Digest::parse(one.as_str()?).ok()?)));
        let free_text = kept.get("free_text").and_then(Json::as_bool).unwrap_or(true);
        // the length of text is measured of the whole instance, and kept of none
        let unmeasured = !unkept.is_empty() && shape.may_have_free_text();
        let unknown = Unknown {
            context: Members::Known.without(unmeasured.then(|| TEXT_LENGTH.to_owned())),
            digests: digests.collect(),
            resource: Members::Known.without(unkept),
            ..Unknown::default()
        };
        let question = Question {
            sender: parties.sender,
            receiver: parties.receiver,
            action,
            context,
            shape,
            value,
            without: None,
            binding: parties.binding,
            direction: parties.direction,
            circumstances,
        };
        let concept = concept.map_or(name, Term::name);
        Ok(Pieces { typed, question, concept, unknown, free_text, steps: 0 })
    }

    /// The verdict, where nothing is open that matters.
    fn verdict(&self, all: &[Against<'_>], cell: &Cell) -> Verdict {
        let of = |permits: bool| {
            all.iter().filter(move |one| one.parsed.permits() == permits && one.truth == Truth::True)
        };
        let failed = || all.iter().filter(|one| matches!(one.truth, Truth::Error(_)));
        let texts = |ids: &mut dyn Iterator<Item = &Against<'_>>| -> Texts {
            ids.map(|one| one.parsed.id.to_string()).collect()
        };
        if failed().next().is_some() {
            return Verdict::Errored { policies: texts(&mut failed()), why: "it cannot be evaluated".into() };
        }
        match cell {
            Cell::Always => {
                let obligations: Obligations =
                    of(true).filter_map(|one| one.parsed.obligation.clone()).collect();
                Verdict::Permitted { policies: texts(&mut of(true)), obligations }
            }
            _ => Verdict::Denied { policies: texts(&mut of(false)), notices: Texts::default() },
        }
    }
}

fn unfit(at: Option<(String, &'static str)>) -> Look {
    let explanation = recorded::unfit(at);
    Look { verdict: explanation.verdict.clone(), missing: BTreeSet::new(), explanation }
}

/// The unknown members that decide whether further permits apply. Such permits change no verdict, but they ask for an approval or for
/// redactions that no other permit asks for.
fn undecided(all: &[Against<'_>]) -> BTreeSet<String> {
    let asked = |of: &Against<'_>| of.parsed.obligation.clone().filter(|_| of.parsed.permits());
    let applying = || all.iter().filter(|one| one.truth == Truth::True).filter_map(asked);
    let (approved, redacted): (bool, BTreeSet<FieldPath>) = (
        applying().any(|one| one.approve.is_some()),
        applying().flat_map(|one| one.redact.to_vec()).collect(),
    );
    let more = |of: &&Against<'_>| {
        asked(of).is_some_and(|one| {
            (one.approve.is_some() && !approved) || one.redact.iter().any(|path| !redacted.contains(path))
        })
    };
    let reads = |of: &Against<'_>| match &of.truth {
        Truth::Open(open) => open.reads.clone(),
        _ => BTreeSet::new(),
    };
    all.iter().filter(more).flat_map(reads).collect()
}

impl Pieces<'_> {
    fn is_unkept(&self, top: &str) -> bool {
        matches!(&self.unknown.resource, Members::But(names) if names.contains(top))
    }

    /// The unknown members where these have changed since they were kept: with them go the measurements of the whole instance.
    fn unknown_but(&self, changed: &BTreeSet<String>) -> Unknown {
        if changed.is_empty() {
            return self.unknown.clone();
        }
        let tops = changed.iter().filter_map(|path| path.split('.').next()).map(str::to_owned);
        let tops: BTreeSet<String> = tops.collect();
        let digests = self.unknown.digests.iter().filter(|(name, _)| !tops.contains(*name));
        let texts: &[&str] =
            if self.question.shape.may_have_free_text() { &["free_text", TEXT_LENGTH] } else { &[] };
        let measured = texts.iter().chain(&["scores.message_bytes"]).map(|name| (*name).to_owned());
        let measured = measured.chain(TEXT_SCORES.map(|score| format!("scores.{score}")));
        Unknown {
            resource: self.unknown.resource.clone().without(tops.clone()),
            context: self.unknown.context.clone().without(measured),
            digests: digests.map(|(name, digest)| (name.clone(), *digest)).collect(),
            ..self.unknown.clone()
        }
    }

    /// Returns true if the reply held this member as the agent wrote it; none where what was kept does not say.
    fn holds(&self, path: &FieldPath, gone: &BTreeSet<String>) -> Option<bool> {
        let top = path.first()?;
        match (gone.contains(&dotted(path)), self.is_unkept(top), path.len()) {
            (true, ..) | (_, true, 1) => Some(true),
            (_, true, _) => None,
            _ => Some(has_field(self.question.value, path)),
        }
    }
}

fn text<'a>(of: &'a Object<'a>, name: &str) -> Result<&'a str, String> {
    of.get(name).and_then(Json::as_str).ok_or_else(|| format!("it has no text `{name}`"))
}

fn number(of: &Object<'_>, name: &str) -> Result<u64, String> {
    let number = of.get(name).and_then(Json::as_number).and_then(|number| number.as_i64_exact());
    number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| format!("it has no number `{name}`"))
}

fn credentials(of: &Object<'_>, name: &str) -> Result<Credentials, String> {
    let held = of.get(name).and_then(Json::as_object).ok_or_else(|| format!("it has no `{name}`"))?;
    let all = held.iter().map(|(credential, _)| Ok((credential.to_owned(), number(held, credential)?)));
    Ok(Credentials::new(all.collect::<Result<Vec<_>, String>>()?))
}
