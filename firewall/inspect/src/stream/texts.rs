//! Text that comes in pieces: what is put behind what came before is judged together with it, wherever that came from: an earlier
//! event, the task itself, or another stream of the task.

use crate::{
    Code, Refusal,
    case::Case,
    conform::Said,
    decide::{Decided, again},
    owners::{Known, Moved, Pieces, Text, TextBounds, Texts},
    together::BETWEEN,
};
use semgate_contexts::json;
use semgate_message::{Instance, Message, Piece, PieceOf, Vocabulary};
use std::{collections::VecDeque, sync::Arc};

/// The concept of a text part in the protocol's context, and the member that holds its text.
pub(crate) const TEXT: &str = "text";

/// How often a text is judged anew because another stream of its task was faster.
const ATTEMPTS: usize = 4;

/// Messages of a stream that one of the same id is held against: the last 8, since agents that say a message in pieces say one
/// after the other.
const MESSAGES: usize = 8;

/// What a stream told so far, as its reader has it.
#[derive(Debug, Default)]
pub(super) struct Heard {
    artifacts: Texts,
    messages: VecDeque<(Box<str>, Text)>,
}

/// What an event adds to it, once it may pass.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    artifacts: Vec<(Box<str>, Text)>,
    messages: Vec<(Box<str>, Text)>,
}

type Part<'d, 'c, 'j> = (&'d Said<'c>, &'d Instance<'j>);

impl Heard {
    /// Judges what an event puts behind what came before.
    ///
    /// # Errors
    /// `content_invalid`, also for data; `content_uninspectable` behind more than can be judged together, or behind what is
    /// not known any more; `policy_denied`; `too_complex` for an artifact more than a stream may have.
    pub(super) fn judge(&self, decided: &Decided<'_, '_>) -> Result<Brought, Refusal> {
        let message = decided.resolved().message();
        let appends = message.chunk.as_ref().is_some_and(|chunk| chunk.append);
        let parts: Vec<Part<'_, '_, '_>> = decided.said().collect();
        if appends {
            no_data(&parts)?;
        }
        let mut brought = Brought::default();
        for piece in &message.pieces {
            let parts = parts.get(piece.instances.clone()).unwrap_or_default();
            let texts: Vec<_> = parts.iter().copied().filter(|(_, instance)| is_text(instance)).collect();
            match piece.of {
                PieceOf::Artifact => {
                    let text = self.artifact(decided, message, piece, &texts, appends)?;
                    brought.artifacts.extend(text.map(|text| (Box::from(piece.id), text)));
                }
                PieceOf::Message => {
                    let before = brought.messages.iter().rev().find(|(id, _)| **id == *piece.id);
                    let text = self.message(decided, piece, &texts, before.map(|(_, text)| text))?;
                    brought.messages.extend(text.map(|text| (Box::from(piece.id), text)));
                }
            }
        }
        let new = brought.artifacts.iter().filter(|(id, _)| self.artifacts.get(id).is_none()).count();
        if self.artifacts.len().saturating_add(new) > bounds(decided.case()).artifacts {
            return Err(Refusal::new(
                Code::TooComplex,
                "a stream has more artifacts with text than the limit",
            )
            .with_hint("tell of fewer artifacts in one stream"));
        }
        Ok(brought)
    }

    /// Judges the texts of an event that was kept before, each with all that it was put behind.
    ///
    /// # Errors
    /// As [`Heard::judge`].
    pub(super) fn stands(&self, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
        let message = decided.resolved().message();
        let appends = message.chunk.as_ref().is_some_and(|chunk| chunk.append);
        let parts: Vec<Part<'_, '_, '_>> = decided.said().collect();
        for piece in &message.pieces {
            let parts = parts.get(piece.instances.clone()).unwrap_or_default();
            let Some((said, instance)) = parts.iter().rfind(|(_, instance)| is_text(instance)) else {
                continue;
            };
            let kept = match piece.of {
                PieceOf::Artifact => self.artifacts.get(piece.id),
                PieceOf::Message => {
                    self.messages.iter().find(|(id, _)| **id == *piece.id).map(|(_, text)| text)
                }
            };
            match kept {
                Some(Some(whole)) => every_way(decided, (said, instance), whole)?,
                Some(None) => return Err(too_long()),
                None if appends => return Err(too_long()),
                None => {}
            }
        }
        Ok(())
    }

    /// The event passed.
    pub(super) fn keep(&mut self, brought: Brought, bounds: TextBounds) {
        for (id, text) in brought.artifacts {
            let _ = self.artifacts.keep(&id, text, bounds); // they were counted
        }
        for (id, text) in brought.messages {
            self.messages.retain(|(known, _)| *known != id);
            if self.messages.len() >= MESSAGES {
                self.messages.pop_front();
            }
            self.messages.push_back((id, text.filter(|text| text.len() <= bounds.bytes)));
        }
    }

    /// The artifact's text with this event's; none where there is no text of it.
    fn artifact(
        &self,
        decided: &Decided<'_, '_>,
        message: &Message<'_>,
        piece: &Piece<'_>,
        texts: &[Part<'_, '_, '_>],
        appends: bool,
    ) -> Result<Option<Text>, Refusal> {
        let case = decided.case();
        let (Some(task), scope) = (message.threads.own.task, case.route.scope()) else { return Ok(None) };
        let added = text_of(texts);
        let heard = self.artifacts.get(piece.id);
        for _ in 0..ATTEMPTS {
            let known = case.owners.known_text(&scope, task, piece.id);
            if added.is_empty() && heard.is_none() && !matches!(known, Known::Told(_)) {
                return Ok(None);
            }
            let (own, shared) = if appends {
                let most = case.limits.appended_text;
                let behind = |before: &Pieces| behind(decided, texts, before, most);
                behind_all(heard, &known, &added, behind)?
            } else {
                let added = Arc::new(added.clone());
                (Arc::clone(&added), begun_anew(&known, &added))
            };
            let told = shared
                .map_or(Ok(()), |text| case.owners.tell_text((&scope, task, piece.id), &known, Some(text)));
            if told != Err(Moved) {
                return Ok(Some(Some(own)));
            }
        }
        Err(too_long())
    }

    /// A message that was said before under the same id, earlier in its event or before it, goes on with other words.
    fn message(
        &self,
        decided: &Decided<'_, '_>,
        piece: &Piece<'_>,
        texts: &[Part<'_, '_, '_>],
        earlier: Option<&Text>,
    ) -> Result<Option<Text>, Refusal> {
        let added = text_of(texts);
        if added.is_empty() {
            return Ok(None);
        }
        let kept = || self.messages.iter().find(|(id, _)| **id == *piece.id).map(|(_, text)| text);
        match earlier.or_else(kept) {
            None => Ok(Some(Some(Arc::new(added)))),
            Some(None) => Err(too_long()),
            Some(Some(before)) if before.says(&added) => Ok(None),
            Some(Some(before)) => {
                let most = decided.case().limits.appended_text;
                behind(decided, texts, before, most).map(|whole| Some(Some(Arc::new(whole))))
            }
        }
    }
}

/// Judges what is appended behind what the stream told, and behind what all streams of the task told where that is more or
/// other. Returns the two texts that come of it; the second only where it is a new one.
fn behind_all(
    heard: Option<&Text>,
    known: &Known,
    added: &Pieces,
    behind: impl Fn(&Pieces) -> Result<Pieces, Refusal>,
) -> Result<(Arc<Pieces>, Option<Arc<Pieces>>), Refusal> {
    let shared = match known {
        Known::New => None,
        Known::Told(Some(text)) => Some(text),
        Known::Lost | Known::Told(None) => return Err(too_long()),
    };
    let nothing = Arc::default();
    let own = match heard {
        Some(Some(text)) => text,
        Some(None) => return Err(too_long()),
        None => shared.unwrap_or(&nothing),
    };
    let whole = Arc::new(behind(own)?);
    match shared {
        // another stream was told the same
        Some(text) if text.begins_with(&whole) => Ok((whole, None)),
        Some(text) if !text.says(own) => {
            let all = if added.is_empty() { Arc::clone(text) } else { Arc::new(behind(text)?) };
            Ok((whole, Some(all)))
        }
        _ => Ok((Arc::clone(&whole), Some(whole))),
    }
}

/// What all streams of the task told, after one told the artifact from its beginning: the same beginning takes nothing away.
fn begun_anew(known: &Known, text: &Arc<Pieces>) -> Option<Arc<Pieces>> {
    match known {
        Known::Told(Some(before)) if before.begins_with(text) => None,
        _ => Some(Arc::clone(text)),
    }
}

/// Remembers what a reply tells of artifacts in text, and that something was told.
pub(crate) fn told(case: &Case<'_>, message: &Message<'_>, event: bool) {
    let (Some(task), scope) = (message.threads.own.task, case.route.scope()) else { return };
    let mut any = false;
    for piece in message.pieces.iter().filter(|piece| piece.of == PieceOf::Artifact) {
        let parts = message.instances.get(piece.instances.clone()).unwrap_or_default();
        let text = Arc::new(Pieces::of(parts.iter().filter(|part| is_text(part)).map(words)));
        if text.is_empty() {
            continue;
        }
        any = true;
        for _ in 0..ATTEMPTS {
            // events were judged and remembered
            if event {
                break;
            }
            let known = case.owners.known_text(&scope, task, piece.id);
            let Some(text) = begun_anew(&known, &text) else { break };
            if case.owners.tell_text((&scope, task, piece.id), &known, Some(text)).is_ok() {
                break;
            }
        }
    }
    if any {
        case.owners.has_told_text(&scope, task);
    }
}

/// How much of a stream or task is remembered.
pub(super) fn bounds(case: &Case<'_>) -> TextBounds {
    TextBounds { bytes: case.limits.appended_text, artifacts: case.limits.text_artifacts }
}

/// Judges each text with all that stands before it. How much that is together is looked at before anything is judged.
fn behind(
    decided: &Decided<'_, '_>,
    texts: &[Part<'_, '_, '_>],
    before: &Pieces,
    most: usize,
) -> Result<Pieces, Refusal> {
    let boundary = |text: &str| text.len().saturating_add(usize::from(!text.is_empty()));
    let lengths = texts.iter().map(|(_, instance)| boundary(words(instance)));
    // the first piece has none before it
    if lengths.fold(before.len(), usize::saturating_add) > most.saturating_add(usize::from(before.is_empty()))
    {
        return Err(too_long());
    }
    let mut whole = before.clone();
    for (said, instance) in texts {
        whole.push(words(instance));
        every_way(decided, (said, instance), &whole)?;
    }
    Ok(whole)
}

/// Judges a text whose pieces have nothing between them, all a blank, and all a line feed: each reader does one of these at every boundary.
fn every_way(
    decided: &Decided<'_, '_>,
    (said, instance): Part<'_, '_, '_>,
    whole: &Pieces,
) -> Result<(), Refusal> {
    let ways = if whole.is_one() { 1 } else { BETWEEN.len() };
    let mut ways = BETWEEN.iter().take(ways);
    ways.try_for_each(|between| again(decided, said, instance, (TEXT, &whole.joined(between))))
}

fn no_data(parts: &[Part<'_, '_, '_>]) -> Result<(), Refusal> {
    let data = |instance: &Instance<'_>| instance.of == Vocabulary::Context || instance.name == "data";
    match parts.iter().find(|(_, instance)| data(instance)) {
        None => Ok(()),
        Some((_, instance)) => Err(Refusal::new(
            Code::ContentInvalid,
            format!("`{}` is data that is put behind what came before", instance.pointer),
        )
        .with_hint("say each concept whole, in one event")),
    }
}

fn is_text(instance: &Instance<'_>) -> bool {
    instance.of == Vocabulary::Protocol && instance.name == TEXT
}

fn text_of(texts: &[Part<'_, '_, '_>]) -> Pieces {
    Pieces::of(texts.iter().map(|(_, instance)| words(instance)))
}

fn words<'j>(instance: &Instance<'j>) -> &'j str {
    instance.object.get(TEXT).and_then(json::Json::as_str).unwrap_or_default()
}

fn too_long() -> Refusal {
    Refusal::new(Code::ContentUninspectable, "text is put behind more text than can be judged together")
        .with_hint("begin another artifact")
}
