//! Text that comes in pieces on one stream. A piece is judged together with all that this stream carried of its artifact before.

mod memory;
mod pieces;

use crate::{
    Code, Delivered, Refusal,
    decide::{Decided, again},
    joined_texts::{BETWEEN, Part},
    scan::Appended,
};
use memory::{Entry, Memory, Pending, Whole};
use pieces::Pieces;
use semgate_contexts::json;
use semgate_protocol::{Instance, Piece, PieceOf, Vocabulary};

/// The concept of a text part in the protocol's context, and the member that holds its text.
pub(crate) const TEXT: &str = "text";

/// The texts that one stream, or one push target, carried so far. Those of its artifacts take at most `appended_text`, and those of its
/// messages as much.
#[derive(Debug, Default)]
pub(super) struct ArtifactTexts {
    artifacts: Memory,
    messages: Memory,
    tickets: u64,
}

/// The texts that one event or notification changes, each with its new whole.
#[derive(Debug, Default)]
pub(crate) struct TextUpdates(Vec<Update>);

/// Names the texts that a notification carries, until [`ArtifactTexts::settle`].
#[derive(Clone, Debug, Default)]
pub(crate) struct TextReceipt(Option<u64>);

#[derive(Debug)]
struct Update {
    of: PieceOf,
    id: Box<str>,
    text: Whole,
}

impl ArtifactTexts {
    /// Judges the texts of an event, each together with the text that it is appended to.
    ///
    /// # Errors
    /// `content_invalid`, also for appended data; `policy_denied`; `content_uninspectable` for text that is appended to an artifact
    /// that this stream did not carry from its start, to one whose last notification is not known to have arrived, or to more than
    /// `appended_text`.
    pub(super) fn judge(&self, decided: &Decided<'_, '_>) -> Result<TextUpdates, Refusal> {
        let message = decided.resolved().message();
        let appends = message.chunk.as_ref().is_some_and(|chunk| chunk.append);
        let parts: Vec<Part<'_, '_, '_>> = decided.instances().collect();
        if appends {
            no_data(&parts)?;
        }
        let mut updates = TextUpdates::default();
        for piece in &message.pieces {
            let texts = texts_of(&parts, piece);
            let text = match piece.of {
                PieceOf::Artifact if appends => self.appended(decided, piece, &texts)?,
                PieceOf::Artifact => Some(words_of(&texts)),
                PieceOf::Message if texts.iter().all(|(_, instance)| words(instance).is_empty()) => continue,
                PieceOf::Message => self.repeated(decided, piece, &texts, &updates)?,
            };
            let text = text.filter(|text| text.len() <= decided.case().state.limits.appended_text);
            updates.0.push(Update { of: piece.of, id: Box::from(piece.id), text });
        }
        Ok(updates)
    }

    /// Judges the texts of a notification again that [`ArtifactTexts::post`] recorded before.
    ///
    /// # Errors
    /// As [`ArtifactTexts::judge`].
    pub(super) fn judge_again(&self, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
        let message = decided.resolved().message();
        let appends = message.chunk.as_ref().is_some_and(|chunk| chunk.append);
        let parts: Vec<Part<'_, '_, '_>> = decided.instances().collect();
        for piece in &message.pieces {
            let texts = texts_of(&parts, piece);
            let Some(last) = texts.last() else { continue };
            match self.entry(piece).map(|entry| &entry.text) {
                Some(Some(whole)) => as_readers_join(decided, *last, whole, &words_of(&texts))?,
                None if appends => return Err(not_from_its_start()),
                // a text that is too long by itself was carried whole, and was judged by itself
                Some(None) | None => {}
            }
        }
        Ok(())
    }

    /// Records the texts of an event that passed.
    pub(super) fn keep(&mut self, updates: TextUpdates, most: usize) {
        for Update { of, id, text } in updates.0 {
            let memory = self.memory_mut(of);
            memory.remove(&id);
            memory.push(Entry { id, text, pending: None }, most);
        }
    }

    /// Records the texts of a notification that may leave. Nothing is appended to them until [`ArtifactTexts::settle`] is told that
    /// they arrived.
    pub(super) fn post(&mut self, updates: TextUpdates, most: usize) -> TextReceipt {
        self.tickets += 1;
        let ticket = self.tickets;
        for Update { of, id, text } in updates.0 {
            let memory = self.memory_mut(of);
            let pending = Some(Pending::after(memory.remove(&id), ticket));
            memory.push(Entry { id, text, pending }, most);
        }
        TextReceipt(Some(ticket))
    }

    /// Settles a notification. Its texts stay pending where nobody knows whether it arrived. A text that two notifications carried at
    /// once is forgotten, since the target may have taken either last.
    pub(super) fn settle(&mut self, TextReceipt(ticket): &TextReceipt, outcome: Delivered) {
        if let Some(ticket) = *ticket {
            self.artifacts.settle(ticket, outcome);
            self.messages.settle(ticket, outcome);
        }
    }

    fn memory_mut(&mut self, of: PieceOf) -> &mut Memory {
        match of {
            PieceOf::Artifact => &mut self.artifacts,
            PieceOf::Message => &mut self.messages,
        }
    }

    fn entry(&self, piece: &Piece<'_>) -> Option<&Entry> {
        match piece.of {
            PieceOf::Artifact => self.artifacts.entry(piece.id),
            PieceOf::Message => self.messages.entry(piece.id),
        }
    }

    /// Judges a piece together with the text of its artifact so far.
    fn appended(
        &self,
        decided: &Decided<'_, '_>,
        piece: &Piece<'_>,
        texts: &[Part<'_, '_, '_>],
    ) -> Result<Whole, Refusal> {
        let entry = self.entry(piece).ok_or_else(not_from_its_start)?;
        if entry.pending.is_some() {
            return Err(unsettled());
        }
        extended(decided, entry.text.as_ref().ok_or_else(too_long)?, texts).map(Some)
    }

    /// Judges a message whose id came before. With other words it continues the earlier one.
    fn repeated(
        &self,
        decided: &Decided<'_, '_>,
        piece: &Piece<'_>,
        texts: &[Part<'_, '_, '_>],
        updates: &TextUpdates,
    ) -> Result<Whole, Refusal> {
        let added = words_of(texts);
        let in_event = updates.0.iter().rfind(|update| update.of == piece.of && *update.id == *piece.id);
        let entry = self.entry(piece);
        let before = match (in_event, entry) {
            (Some(update), _) => &update.text,
            (None, Some(entry)) => &entry.text,
            (None, None) => return Ok(Some(added)),
        };
        let before = before.as_ref().ok_or_else(too_long)?;
        if before.says(&added) {
            return Ok(Some(before.clone()));
        }
        if in_event.is_none() && entry.is_some_and(|entry| entry.pending.is_some()) {
            return Err(unsettled());
        }
        extended(decided, before, texts).map(Some)
    }
}

/// Judges the texts of one event as one, behind the text before them and with the other members of the last of them.
fn extended(
    decided: &Decided<'_, '_>,
    before: &Pieces,
    texts: &[Part<'_, '_, '_>],
) -> Result<Pieces, Refusal> {
    let (mut whole, added) = (before.clone(), words_of(texts));
    texts.iter().for_each(|(_, instance)| whole.push(words(instance)));
    if whole.len() > decided.case().state.limits.appended_text {
        return Err(too_long());
    }
    if let Some(last) = texts.last().filter(|_| whole.len() > before.len()) {
        as_readers_join(decided, *last, &whole, &added)?;
    }
    Ok(whole)
}

/// Judges a text, of which `added` is new, whose pieces have nothing between them, a blank, and a line feed: each reader does one of these at every boundary.
fn as_readers_join(
    decided: &Decided<'_, '_>,
    (concept, instance): Part<'_, '_, '_>,
    whole: &Pieces,
    added: &Pieces,
) -> Result<(), Refusal> {
    let joints = if whole.is_one() { 1 } else { BETWEEN.len() };
    let mut joints = BETWEEN.iter().take(joints);
    joints.try_for_each(|between| {
        let fresh = added.joined(between).len();
        again(decided, concept, instance, TEXT, &Appended::new(whole.joined(between), fresh))
    })
}

fn no_data(parts: &[Part<'_, '_, '_>]) -> Result<(), Refusal> {
    let data = |instance: &Instance<'_>| instance.of != Vocabulary::Protocol || instance.name == "data";
    match parts.iter().find(|(_, instance)| data(instance)) {
        None => Ok(()),
        Some((_, instance)) => Err(Refusal::new(
            Code::ContentInvalid,
            format!("`{}` appends data to earlier data", instance.pointer),
        )
        .with_hint("send each concept whole, in one event")),
    }
}

fn texts_of<'d, 'c, 'j>(parts: &[Part<'d, 'c, 'j>], piece: &Piece<'_>) -> Vec<Part<'d, 'c, 'j>> {
    let is_text = |instance: &Instance<'_>| instance.of == Vocabulary::Protocol && instance.name == TEXT;
    let parts = parts.get(piece.instances.clone()).unwrap_or_default();
    parts.iter().copied().filter(|(_, instance)| is_text(instance)).collect()
}

fn words_of(texts: &[Part<'_, '_, '_>]) -> Pieces {
    Pieces::of(texts.iter().map(|(_, instance)| words(instance)))
}

fn words<'j>(instance: &Instance<'j>) -> &'j str {
    instance.object.get(TEXT).and_then(json::Json::as_str).unwrap_or_default()
}

fn too_long() -> Refusal {
    Refusal::new(Code::ContentUninspectable, "the appended text is more than can be judged together")
        .with_hint("begin another artifact")
}

fn not_from_its_start() -> Refusal {
    Refusal::new(
        Code::ContentUninspectable,
        "text is appended to an artifact that this stream did not carry from its start",
    )
    .with_hint("send the task, or the artifact without `append`, before you append to it")
}

fn unsettled() -> Refusal {
    Refusal::new(Code::ContentUninspectable, "text is appended to earlier text, and its delivery is unknown")
        .with_hint("append after the earlier notification is answered, or send the whole artifact")
}
