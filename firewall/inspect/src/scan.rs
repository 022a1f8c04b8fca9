//! Stage `scan`: scores of the text of an instance, made for the policies that read them.
//!
//! [`decide`](crate::decide) asks for it, instance by instance. Where no policy that would be asked reads a score, no text is
//! looked at. A text too long to be scored as a whole has no score: the message is refused, or the policy set that reads the score is said
//! to refuse it.

mod counts;
mod scanner;
mod tail;

#[cfg(test)]
mod tests;

pub use counts::{INJECTION_BUCKETS, InjectionHistogram, ScanCounts};
use scanner::FieldText;
pub use scanner::{FieldBaseline, ScanField, TextScanner};
pub(crate) use tail::Appended;

use crate::{Code, Refusal, conform::Conformed, inspection::Turn, negotiated_terms::VALUE, stream::TEXT};
use semgate_contexts::{
    Shape,
    json::{Json, Object},
    schema::{Spared, TooManyLooks},
};
use semgate_policies::{Policies, Question, TextScores, TextWants};
use semgate_scan::Markers;
use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, HashSet},
};

/// The text of one instance as it was scored, for records and metrics. Never the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The concept as policies name it.
    pub concept: String,
    /// The line of its context.
    pub line: String,
    /// The highest scores of all its readings: alone, joined with other parts, and behind earlier text.
    pub scores: TextScores,
    /// Names of the classes behind `markers`.
    pub classes: Vec<&'static str>,
}

/// The scores that were made for one message.
#[derive(Debug, Default)]
pub(crate) struct Scans {
    made: RefCell<Vec<Scan>>,
    /// The objects of all instances. One inside another instance is scored by itself.
    objects: OnceCell<HashSet<*const ()>>,
}

#[derive(Clone, Debug)]
struct Scan {
    /// Position of the instance in the message.
    position: usize,
    concept: String,
    line: String,
    reading: Reading,
    characters: usize,
    scores: TextScores,
    markers: Markers,
}

/// The text that was read for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The instance as it stands.
    Alone,
    /// With text of other parts or of earlier messages.
    Together,
}

impl Scans {
    /// Scores of an instance as it stands, if they were made for such a question before.
    fn known(&self, position: usize, wants: TextWants) -> Option<TextScores> {
        let all = self.made.borrow();
        let mut same = all.iter().filter(|scan| scan.position == position && scan.reading == Reading::Alone);
        same.find(|scan| scan.scores.made.covers(wants)).map(|scan| scan.scores)
    }

    /// Characters of all other instances whose text was scored.
    fn others(&self, position: usize) -> usize {
        let all = self.made.borrow();
        let others = all.iter().filter(|scan| scan.position != position && scan.reading == Reading::Alone);
        let others: BTreeMap<usize, usize> = others.map(|scan| (scan.position, scan.characters)).collect();
        others.values().fold(0, |sum, one| sum.saturating_add(*one))
    }

    fn is_instance(&self, conformed: &Conformed<'_, '_>, object: &Object<'_>) -> bool {
        let objects = || conformed.instances().map(|(_, instance)| address(instance.object)).collect();
        self.objects.get_or_init(objects).contains(&address(object))
    }

    /// The scores of each instance whose text was looked at, in message order.
    pub(crate) fn all(&self) -> Vec<Scored> {
        let mut scans = self.made.borrow().clone();
        scans.sort_by_key(|scan| scan.position);
        let whole = |of_one: &[Scan]| {
            let first = of_one.first()?;
            let (scores, markers) =
                of_one.iter().fold((TextScores::NONE, Markers::default()), |all, scan| {
                    (highest(all.0, scan.scores), all.1 | scan.markers)
                });
            let classes = markers.names().collect();
            Some(Scored { concept: first.concept.clone(), line: first.line.clone(), scores, classes })
        };
        scans.chunk_by(|a, b| a.position == b.position).filter_map(whole).collect()
    }
}

fn address(object: &Object<'_>) -> *const () {
    std::ptr::from_ref(object).cast()
}

/// The scores of two readings of one text.
fn highest(a: TextScores, b: TextScores) -> TextScores {
    TextScores {
        made: a.made.and(b.made),
        hidden: a.hidden.max(b.hidden),
        markers: a.markers.max(b.markers),
        injection: a.injection.max(b.injection),
        unusual: a.unusual.max(b.unusual),
    }
}

/// Adds the scores that these policies read to a question about an instance as it stands.
///
/// # Errors
/// `content_uninspectable` if the text is too long to be scored with that of the other instances, or takes too many looks to find.
pub(crate) fn alone<'q>(
    conformed: &Conformed<'_, '_>,
    policies: &Policies,
    position: usize,
    question: Question<'q>,
) -> Result<Question<'q>, Refusal> {
    Asked { conformed, policies, position, reading: Reading::Alone }.scored(question, None)
}

/// Adds the scores that these policies read to a question about the joined text of several parts.
///
/// # Errors
/// As [`alone`].
pub(crate) fn together<'q>(
    conformed: &Conformed<'_, '_>,
    policies: &Policies,
    position: usize,
    question: Question<'q>,
) -> Result<Question<'q>, Refusal> {
    Asked { conformed, policies, position, reading: Reading::Together }.scored(question, None)
}

/// Adds the scores that these policies read to a question about text that continues earlier text. Scored is what is new, with the end of
/// the text before it.
///
/// # Errors
/// As [`alone`].
pub(crate) fn appended<'q>(
    conformed: &Conformed<'_, '_>,
    policies: &Policies,
    question: Question<'q>,
    whole: &Appended,
) -> Result<Question<'q>, Refusal> {
    let position = usize::MAX;
    Asked { conformed, policies, position, reading: Reading::Together }.scored(question, Some(whole.fresh()))
}

/// Counts the scores of a message that is judged for the first time.
pub(crate) fn count(conformed: &Conformed<'_, '_>) {
    let case = conformed.case();
    if matches!(case.turn, Turn::First | Turn::Event) {
        conformed.scans().all().iter().for_each(|scored| case.state.scans.add(scored));
    }
}

struct Asked<'a, 'c, 'j> {
    conformed: &'a Conformed<'c, 'j>,
    policies: &'a Policies,
    position: usize,
    reading: Reading,
}

impl Asked<'_, '_, '_> {
    /// `fresh` stands in place of the text of the question's instance.
    fn scored<'q>(&self, question: Question<'q>, fresh: Option<&str>) -> Result<Question<'q>, Refusal> {
        let learnt = self.conformed.is_learnt(self.position);
        let wants = self.policies.text_wants(&question, learnt);
        if !wants.any() {
            return Ok(question);
        }
        let scans = self.conformed.scans();
        let known = scans.known(self.position, wants).filter(|_| self.reading == Reading::Alone);
        let scores = match known {
            Some(scores) => scores,
            None => self.scan(&question, wants, fresh)?,
        };
        let mut question = question;
        question.circumstances.scores.text = scores;
        Ok(question)
    }

    fn scan(
        &self,
        question: &Question<'_>,
        wants: TextWants,
        fresh: Option<&str>,
    ) -> Result<TextScores, Refusal> {
        let case = self.conformed.case();
        let scanner = case.generation.scanner();
        let scans = self.conformed.scans();
        let mut texts = match fresh {
            Some(fresh) => vec![FieldText { at: vec![TEXT], text: fresh }],
            None => texts_of(question, &|object| scans.is_instance(self.conformed, object))
                .map_err(|TooManyLooks| unclear())?,
        };
        // no schema says anything of a term that two agents settled
        let settled = question.value.get(VALUE).and_then(Json::as_str);
        let settled = settled.filter(|_| self.conformed.is_learnt(self.position));
        texts.extend(settled.map(|text| FieldText { at: Vec::new(), text }));
        let prose = self.conformed.resolved().message().prose_texts.iter();
        texts.extend(prose.map(|text| FieldText { at: Vec::new(), text }));
        let characters = characters(&texts);
        let others = match self.reading {
            Reading::Alone => scans.others(self.position),
            // made of text that was counted, in a few ways
            Reading::Together => 0,
        };
        if characters.saturating_add(others) > case.state.limits.scan_characters {
            return Err(too_long());
        }
        let urn = question.context.urn();
        let (scores, markers) = scanner.scan(&ScanField::concept(urn, question.shape.name()), &texts, wants);
        if characters == 0 {
            return Ok(scores);
        }
        scans.made.borrow_mut().push(Scan {
            position: self.position,
            concept: question.shape.name().to_owned(),
            line: urn.line().as_str().to_owned(),
            reading: self.reading,
            characters,
            scores,
            markers,
        });
        Ok(scores)
    }
}

/// The texts of an instance that can be prose.
fn texts_of<'q>(
    question: &Question<'q>,
    spared: &dyn Fn(&Object<'_>) -> bool,
) -> Result<Vec<FieldText<'q>>, TooManyLooks> {
    let mut texts = Vec::new();
    let (shape, value): (&'q Shape, &'q Object<'q>) = (question.shape, question.value);
    let spared = Spared { member: question.without, object: spared };
    shape.each_loose_text(value, &spared, |at, text| texts.push(FieldText { at: at.to_vec(), text }))?;
    Ok(texts)
}

fn characters(texts: &[FieldText<'_>]) -> usize {
    texts.iter().map(|one| semgate_scan::scored_characters(one.text)).fold(0, usize::saturating_add)
}

/// Adds the scores that these policies read to a question about one instance outside of any message, for offline tools. Text beyond the
/// bound of a gateway stays without scores.
#[must_use]
pub fn offline<'q>(scanner: &TextScanner, policies: &Policies, question: Question<'q>) -> Question<'q> {
    let wants = policies.text_wants(&question, false);
    if !wants.any() {
        return question;
    }
    let Ok(texts) = texts_of(&question, &|_| false) else { return question };
    let mut question = question;
    if characters(&texts) <= semgate_scan::MAX_CHARACTERS {
        let concept = ScanField::concept(question.context.urn(), question.shape.name());
        question.circumstances.scores.text = scanner.scan(&concept, &texts, wants).0;
    }
    question
}

fn unclear() -> Refusal {
    Refusal::new(
        Code::ContentUninspectable,
        "too many schemas look at one value to find the text in it, and a policy reads its score",
    )
    .with_hint("send fewer values in one concept, or let fewer branches of its schema look at one")
}

fn too_long() -> Refusal {
    Refusal::new(
        Code::ContentUninspectable,
        "the text of a message is longer than can be scored, and a policy reads its score",
    )
    .with_hint("send less text in one message")
}
