//! Questions out of an audit record, asked of another policy set. What the record did not keep is not known, and says so.

use std::collections::BTreeSet;

use semgate_contexts::json::{Json, Object};
use semgate_contexts::{Digest, Performative};

use super::matrix::{Cell, settled};
use super::truth::{Members, Truth, Unknown};
use super::{Against, Explainer, Explanation, deciding};
use crate::ask::Found;
use crate::catalogue::{ShapeInfo, TypeInfo};
use crate::{Circumstances, Credentials, Obligations, Question, Scores, Session, Texts, Verdict};

/// Who said it to whom, as the record has it.
#[derive(Debug, Clone, Copy)]
pub struct Parties<'a> {
    /// The id of the sender.
    pub sender: &'a str,
    /// The id of the receiver.
    pub receiver: &'a str,
    /// The binding.
    pub binding: &'a str,
    /// `request` or `reply`.
    pub direction: &'a str,
}

/// What a policy set makes of a recorded question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recalled {
    /// What was said, as policies name it.
    pub concept: String,
    /// What was decided then: `permitted`, `denied`, `approval`, `error`.
    pub then: String,
    /// The policies that decided then.
    pub then_by: BTreeSet<String>,
    /// What these policies decide, in the same words; none if that depends on what was not kept.
    pub now: Option<&'static str>,
    /// The policies that decide now.
    pub now_by: BTreeSet<String>,
    /// What was not kept and decides.
    pub missing: BTreeSet<String>,
    /// Why.
    pub explanation: Explanation,
}

/// The pieces of a recorded question.
struct Pieces<'a> {
    action: Performative,
    shape: &'a ShapeInfo,
    info: &'a TypeInfo,
    question: Question<'a>,
    unknown: Unknown,
    free_text: bool,
}

impl Explainer {
    /// Asks these policies every question of a record's member `asked`.
    ///
    /// # Errors
    /// It is not of the documented form, its questions were not kept, or the context of one is not loaded: in words for the operator.
    pub fn recall(&self, parties: Parties<'_>, asked: &Object<'_>) -> Result<Vec<Recalled>, String> {
        if asked.get("too_large").is_some() {
            return Err("its questions were too large to be kept".to_owned());
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
            },
        };
        let one = |question: &Json<'_>| {
            let kept = question.as_object().ok_or("a question that is no object")?;
            self.recall_one(parties, circumstances, kept)
        };
        questions.iter().map(one).collect()
    }

    fn recall_one(
        &self,
        parties: Parties<'_>,
        circumstances: Circumstances<'_>,
        kept: &Object<'_>,
    ) -> Result<Recalled, String> {
        let pieces = self.pieces(parties, circumstances, kept)?;
        let asker = self.policies.asker();
        let found = Found {
            shape: pieces.shape,
            info: pieces.info,
            sender: asker.agents.list.position(parties.sender),
            receiver: asker.agents.list.position(parties.receiver),
            free_text: pieces.free_text,
        };
        let scene = self
            .scene(&pieces.question, &found, pieces.unknown.clone())
            .map_err(|verdict| format!("{verdict:?}"))?;
        let all: Vec<Against<'_>> =
            self.near(parties.sender, pieces.action, &found, &scene).filter(Against::in_scope).collect();
        let (verdict, missing) = if self.disabled(&found) {
            (Some(Verdict::Denied { policies: Texts::default(), notices: Texts::default() }), BTreeSet::new())
        } else {
            match settled(&all) {
                Ok(cell) => (Some(self.verdict(&all, &cell)), BTreeSet::new()),
                Err(open) => (None, open.reads),
            }
        };
        let then_by = kept.get("policies").and_then(Json::as_array).unwrap_or_default();
        Ok(Recalled {
            concept: pieces.info.name.clone(),
            then: text(kept, "verdict")?.to_owned(),
            then_by: then_by.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            now: verdict.as_ref().map(crate::record::answer),
            now_by: verdict.as_ref().map(ids).unwrap_or_default(),
            missing,
            explanation: self.told(&pieces.question, &found, verdict, &scene),
        })
    }

    fn pieces<'a>(
        &'a self,
        parties: Parties<'a>,
        circumstances: Circumstances<'a>,
        kept: &'a Object<'a>,
    ) -> Result<Pieces<'a>, String> {
        let digest: Digest = Digest::parse(text(kept, "digest")?).map_err(|_| "a digest that is none")?;
        let (urn, name) = (text(kept, "context")?, text(kept, "shape")?);
        let learnt = kept.get("learnt").and_then(Json::as_bool).unwrap_or_default();
        let action: Performative =
            text(kept, "performative")?.parse().map_err(|_| "a performative that is none")?;
        let catalogue = &self.policies.asker().catalogue;
        let mut shapes =
            self.contexts.iter().flat_map(|context| context.shapes().map(move |shape| (&**context, shape)));
        let (of, found) = if learnt {
            let nothing = || format!("no policy names `learnt::{name}`");
            (shapes.next(), catalogue.learnt(name).ok_or_else(nothing)?)
        } else {
            let here = shapes.find(|(context, shape)| *context.digest() == digest && shape.name() == name);
            let missing = || {
                format!(
                    "the document of `{urn}` with this digest is not loaded: name its file with `--context`"
                )
            };
            (here, catalogue.shape(&digest, name).ok_or_else(missing)?)
        };
        let (context, shape) = of.ok_or("there is no context")?;
        let info = catalogue.types.get(found.of_type).ok_or("a concept without a type")?;
        let value = kept.get("values").and_then(Json::as_object).ok_or("it has no `values`")?;
        let unkept = kept.get("unkept").and_then(Json::as_array).ok_or("it has no `unkept`")?;
        let unkept: BTreeSet<String> = unkept.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let digests = kept.get("digests").and_then(Json::as_object);
        let digests = digests.into_iter().flat_map(Object::iter);
        let digests =
            digests.filter_map(|(name, one)| Some((name.to_owned(), Digest::parse(one.as_str()?).ok()?)));
        let free_text = kept.get("free_text").and_then(Json::as_bool).unwrap_or(true);
        // the length of text is measured of the whole instance
        let measured = unkept.is_empty() || !shape.may_have_free_text();
        let unknown = Unknown {
            context: if measured {
                Members::Known
            } else {
                Members::But(BTreeSet::from(["scores".to_owned()]))
            },
            digests: digests.collect(),
            resource: if unkept.is_empty() { Members::Known } else { Members::But(unkept) },
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
        Ok(Pieces { action, shape: found, info, question, unknown, free_text })
    }

    /// The verdict, where nothing is open that matters.
    fn verdict(&self, all: &[Against<'_>], cell: &Cell) -> Verdict {
        let of = |permits: bool| {
            all.iter().filter(move |one| one.written.permits() == permits && one.truth == Truth::True)
        };
        let failed = || all.iter().filter(|one| matches!(one.truth, Truth::Error(_)));
        let texts = |ids: &mut dyn Iterator<Item = &Against<'_>>| -> Texts {
            ids.map(|one| one.written.id.to_string()).collect()
        };
        if failed().next().is_some() {
            return Verdict::Errored { policies: texts(&mut failed()), why: "it cannot be evaluated".into() };
        }
        match cell {
            Cell::Always => {
                let obligations: Obligations =
                    of(true).filter_map(|one| one.written.obligation.clone()).collect();
                Verdict::Permitted { policies: texts(&mut of(true)), obligations }
            }
            _ => Verdict::Denied { policies: texts(&mut of(false)), notices: Texts::default() },
        }
    }
}

fn ids(verdict: &Verdict) -> BTreeSet<String> {
    deciding(verdict).iter().map(str::to_owned).collect()
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
