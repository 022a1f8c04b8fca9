//! Text that comes in pieces: what is put behind what came before is judged together with it, wherever that came from: an earlier
//! event, the task itself, or another stream of the task.

use crate::{
    Code, Delivered, Owners, Refusal, Scope,
    case::Case,
    conform::Said,
    decide::{Decided, again},
    owners::{
        Beyond, By, Held, Joints, Known, Moved, Pieces, Reader, Standing, Telling, TextBounds, Texts, Turn,
    },
    together::BETWEEN,
};
use semgate_contexts::json;
use semgate_message::{Instance, Message, Piece, PieceOf, Vocabulary};
use std::{collections::VecDeque, sync::Arc};

/// The concept of a text part in the protocol's context, and the member that holds its text.
pub(crate) const TEXT: &str = "text";

/// How often a text is judged anew because another stream of its task was faster: from half of them on nobody else is.
const ATTEMPTS: usize = 8;

/// Messages of a stream that one of the same id is held against: the last 8, since agents that say a message in pieces say one
/// after the other.
const MESSAGES: usize = 8;

/// How what is judged comes to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As an event of a stream: behind those before it, or not at all.
    Stream,
    /// By itself, to a place that may not take it.
    Post,
}

/// What a stream told so far, as its reader has it.
#[derive(Debug, Default)]
pub(super) struct Heard {
    reader: Reader,
    artifacts: Texts<Telling>,
    messages: VecDeque<(Box<str>, Telling)>,
}

/// What an event adds to it, and to what all readers of its task were told, once it may pass.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    artifacts: Vec<Artifact>,
    messages: Vec<(Box<str>, Telling)>,
}

#[derive(Debug)]
struct Artifact {
    id: Box<str>,
    telling: Telling,
    /// What it was put behind; none where it is told whole.
    known: Option<Known>,
}

/// What a notification told, until it is known what became of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receipt {
    task: Option<Box<str>>,
    reader: Reader,
    /// With all that may be held of each.
    artifacts: Vec<(Box<str>, Vec<Arc<Pieces>>)>,
    messages: Vec<(Box<str>, Arc<Pieces>)>,
}

type Part<'d, 'c, 'j> = (&'d Said<'c>, &'d Instance<'j>);

impl Heard {
    /// Judges what an event puts behind what came before.
    ///
    /// # Errors
    /// `content_invalid`, also for data; `content_uninspectable` behind more than can be judged together, or behind what is
    /// not known any more, or of which nobody knows whether it arrived; `policy_denied`; `too_complex` for an artifact more than a stream may have.
    pub(super) fn judge(&self, decided: &Decided<'_, '_>, way: Way) -> Result<Brought, Refusal> {
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
                    brought.artifacts.extend(self.artifact(decided, piece, &texts, (appends, way))?);
                }
                PieceOf::Message => {
                    let before = brought.messages.iter().rev().find(|(id, _)| **id == *piece.id);
                    let before = before.map(|(_, telling)| telling);
                    let telling = self.message(decided, piece, &texts, (before, way))?;
                    brought.messages.extend(telling.map(|telling| (Box::from(piece.id), telling)));
                }
            }
        }
        let new = brought.artifacts.iter().filter(|one| self.artifacts.get(&one.id).is_none()).count();
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
                PieceOf::Message => self.said(piece.id),
            };
            match kept.map(|telling| &telling.text) {
                Some(Some(held)) => {
                    held.joined().try_for_each(|whole| every_way(decided, (said, instance), whole))?;
                }
                Some(None) => return Err(too_long()),
                None if appends => return Err(too_long()),
                None => {}
            }
        }
        Ok(())
    }

    /// All streams of the task are told what the event brings, now that nothing else refuses it. Where another one was faster, it is
    /// judged once more behind that.
    ///
    /// # Errors
    /// As [`Heard::judge`].
    pub(super) fn tell(
        &self,
        decided: &Decided<'_, '_>,
        way: Way,
        mut brought: Brought,
    ) -> Result<Brought, Refusal> {
        let (case, task) = (decided.case(), decided.resolved().message().threads.own.task);
        let mut turn = None;
        for attempt in 1..=ATTEMPTS {
            if brought.tell(decided, way.by(&self.reader), turn.as_ref()).is_ok() {
                return Ok(brought);
            }
            if attempt >= ATTEMPTS / 2 && turn.is_none() {
                // where many tell at once, nobody else does while this is judged
                turn = task.map(|task| case.owners.text_turn(&case.route.scope(), task));
            }
            brought = self.judge(decided, way)?;
        }
        Err(Refusal::new(
            Code::ContentUninspectable,
            "the artifact was told elsewhere while this was judged, again and again",
        )
        .with_hint("send the piece again"))
    }

    /// The event passed.
    pub(super) fn keep(&mut self, brought: Brought, bounds: TextBounds) {
        for Artifact { id, telling, .. } in brought.artifacts {
            let _ = self.artifacts.keep(&id, telling, bounds); // they were counted
        }
        for (id, telling) in brought.messages {
            self.messages.retain(|(known, _)| *known != id);
            if self.messages.len() >= MESSAGES {
                self.messages.pop_front();
            }
            let fits = telling.own().is_some_and(|text| text.len() <= bounds.bytes);
            self.messages.push_back((id, if fits { telling } else { Telling::default() }));
        }
    }

    /// What became of a notification of this course.
    pub(super) fn settle(&mut self, receipt: &Receipt, outcome: Delivered, bounds: TextBounds) {
        for (id, told) in &receipt.artifacts {
            let own = told.first().cloned().unwrap_or_default();
            self.artifacts.settle(id, bounds, |telling| telling.settle(&own, outcome));
        }
        for (id, told) in &receipt.messages {
            let found = self.messages.iter_mut().find(|(known, _)| known == id);
            if let Some((_, telling)) = found {
                telling.settle(told, outcome);
            }
        }
    }

    fn said(&self, id: &str) -> Option<&Telling> {
        self.messages.iter().find(|(known, _)| **known == *id).map(|(_, telling)| telling)
    }

    /// The artifact's text with this event's; nothing where there is no text of it.
    fn artifact(
        &self,
        decided: &Decided<'_, '_>,
        piece: &Piece<'_>,
        texts: &[Part<'_, '_, '_>],
        (appends, way): (bool, Way),
    ) -> Result<Option<Artifact>, Refusal> {
        let (case, message) = (decided.case(), decided.resolved().message());
        let (Some(task), scope) = (message.threads.own.task, case.route.scope()) else { return Ok(None) };
        let added = text_of(texts);
        let heard = self.artifacts.get(piece.id);
        let known = case.owners.known_text(&scope, task, piece.id);
        if added.is_empty() && heard.is_none() && !matches!(known, Known::Told(_)) {
            return Ok(None);
        }
        let id = Box::from(piece.id);
        if !appends {
            let nothing = Telling::sure(Held::default());
            let telling = way.over(heard.unwrap_or(&nothing), Held::whole(added));
            return Ok(Some(Artifact { id, telling, known: None }));
        }
        let telling = appended(decided, heard, &known, (texts, &added), way)?;
        Ok(Some(Artifact { id, telling, known: Some(known) }))
    }

    /// A message that was said before under the same id, earlier in its event or before it, goes on with other words.
    fn message(
        &self,
        decided: &Decided<'_, '_>,
        piece: &Piece<'_>,
        texts: &[Part<'_, '_, '_>],
        (earlier, way): (Option<&Telling>, Way),
    ) -> Result<Option<Telling>, Refusal> {
        let added = text_of(texts);
        if added.is_empty() {
            return Ok(None);
        }
        let Some(before) = earlier.or_else(|| self.said(piece.id)) else {
            return Ok(Some(way.over(&Telling::sure(Held::whole(Pieces::default())), Held::whole(added))));
        };
        let text = before.own().ok_or_else(too_long)?;
        if text.says(&added) {
            // it may have been missing until now
            return Ok(before.without.is_some().then(|| before.on_its_way()));
        }
        let most = decided.case().limits.appended_text;
        let whole = Held::in_pieces(behind(decided, texts, (text, &Joints::default()), most)?);
        if earlier.is_some() {
            // both come in one event
            return Ok(Some(Telling { text: Some(whole), without: before.without.clone() }));
        }
        way.behind(before)?;
        Ok(Some(way.over(before, whole)))
    }
}

impl Way {
    /// What is told now, over what was told before.
    fn over(self, before: &Telling, text: Held) -> Telling {
        match self {
            Self::Stream => Telling::sure(text),
            Self::Post => before.unsure(text),
        }
    }

    fn by(self, reader: &Reader) -> By<'_> {
        match self {
            Self::Stream => By::Stream(reader),
            Self::Post => By::Post(reader),
        }
    }

    /// A notification is put only behind what its place is known to have.
    fn behind(self, before: &Telling) -> Result<(), Refusal> {
        match (self, &before.without) {
            (Self::Post, Some(_)) => Err(unsettled()),
            _ => Ok(()),
        }
    }
}

impl Brought {
    fn tell(&mut self, decided: &Decided<'_, '_>, by: By<'_>, turn: Option<&Turn<'_>>) -> Result<(), Moved> {
        let (case, message) = (decided.case(), decided.resolved().message());
        let (Some(task), scope) = (message.threads.own.task, case.route.scope()) else { return Ok(()) };
        let mut any = false;
        for Artifact { id, telling, known } in &mut self.artifacts {
            let Some(held) = &telling.text else { continue };
            any |= !held.is_empty();
            if let Some(at) = case.owners.tell_text((&scope, task, id), known.as_ref(), (by, held), turn)? {
                telling.told(at);
            }
        }
        if any {
            case.owners.has_told_text(&scope, task);
        }
        Ok(())
    }

    /// What is to be settled once it is known whether it arrived.
    pub(super) fn receipt(&self, message: &Message<'_>, heard: &Heard) -> Receipt {
        let told = |one: &Artifact| {
            let held = one.telling.text.as_ref()?;
            Some((one.id.clone(), held.texts().cloned().collect()))
        };
        let said = |(id, telling): &(Box<str>, Telling)| Some((id.clone(), Arc::clone(telling.own()?)));
        Receipt {
            task: message.threads.own.task.map(Box::from),
            reader: heard.reader.clone(),
            artifacts: self.artifacts.iter().filter_map(told).collect(),
            messages: self.messages.iter().filter_map(said).collect(),
        }
    }
}

impl Receipt {
    /// What became of it, for all readers of the task.
    pub(crate) fn settle(&self, owners: &Owners, scope: &Scope<'_>, outcome: Delivered) {
        let Some(task) = &self.task else { return };
        for (id, told) in &self.artifacts {
            owners.settle_text((scope, task, id), &self.reader, told, outcome);
        }
    }
}

/// Judges what is appended behind everything that its reader may hold: what this stream told, or where it told nothing, whatever anybody
/// was told; and what others were told since.
fn appended(
    decided: &Decided<'_, '_>,
    heard: Option<&Telling>,
    known: &Known,
    (texts, added): (&[Part<'_, '_, '_>], &Pieces),
    way: Way,
) -> Result<Telling, Refusal> {
    let limits = decided.case().limits;
    let nothing = Telling::sure(Held::default());
    let own = heard.unwrap_or(&nothing);
    way.behind(own)?;
    let before = own.text.as_ref().ok_or_else(too_long)?;
    let none = Standing::default();
    let most = bounds(decided.case()).versions;
    let before = match known {
        Known::New => before.beside(&none, added, most).map_err(beyond)?,
        Known::Told(standing) => before.beside(standing, added, most).map_err(beyond)?,
        // others may have more of it than is known: they hear nothing more, and this stream goes on behind what it told
        Known::Lost if way == Way::Stream && heard.is_some() => before.clone(),
        Known::Lost => return Err(too_long()),
    };
    let whole = before.put(|before, joints| {
        if added.is_empty() {
            return Ok(Arc::new(before.clone()));
        }
        behind(decided, texts, (before, joints), limits.appended_text).map(Arc::new)
    })?;
    Ok(way.over(own, whole))
}

/// Remembers what a whole reply tells of artifacts in text, and that something was told.
pub(crate) fn told(case: &Case<'_>, message: &Message<'_>) {
    let (Some(task), scope) = (message.threads.own.task, case.route.scope()) else { return };
    let mut any = false;
    for piece in message.pieces.iter().filter(|piece| piece.of == PieceOf::Artifact) {
        let parts = message.instances.get(piece.instances.clone()).unwrap_or_default();
        let text = Pieces::of(parts.iter().filter(|part| is_text(part)).map(words));
        if text.is_empty() {
            continue;
        }
        any = true;
        // it is judged with nothing, so that nobody is faster
        let _ = case.owners.tell_text((&scope, task, piece.id), None, (By::Answer, &Held::whole(text)), None);
    }
    if any {
        case.owners.has_told_text(&scope, task);
    }
}

/// How much of a stream or task is remembered.
pub(super) fn bounds(case: &Case<'_>) -> TextBounds {
    TextBounds::of(case.limits)
}

/// Judges the texts of an event as one, with all that stands before it and the other members of the last of them. How much that is together is looked at before anything is judged.
fn behind(
    decided: &Decided<'_, '_>,
    texts: &[Part<'_, '_, '_>],
    (before, joints): (&Pieces, &Joints),
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
    texts.iter().for_each(|(_, instance)| whole.push(words(instance)));
    // nobody stops to read within an event
    texts.last().map_or(Ok(()), |last| every_way(decided, *last, (&whole, joints)))?;
    Ok(whole)
}

/// Judges a text whose pieces have nothing between them, all a blank, and all a line feed: each reader does one of these at every boundary. Of what a reader
/// of several places was told twice, policies see both, and the schema, which says how much one artifact may be, as much as one artifact has of it.
fn every_way(
    decided: &Decided<'_, '_>,
    (said, instance): Part<'_, '_, '_>,
    (whole, joints): (&Pieces, &Joints),
) -> Result<(), Refusal> {
    let ways = if whole.is_one() { 1 } else { BETWEEN.len() };
    let mut ways = BETWEEN.iter().take(ways);
    ways.try_for_each(|between| {
        let once = || whole.once(joints).map(|once| once.joined(between));
        again(decided, said, instance, (TEXT, &whole.joined(between)), once)
    })
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

fn beyond(what: Beyond) -> Refusal {
    match what {
        Beyond::Forgotten => too_long(),
        Beyond::Versions => Refusal::new(
            Code::ContentUninspectable,
            "text is put behind an artifact of which readers were told more versions than can be judged together",
        )
        .with_hint("tell the artifact whole before anything is put behind it, or begin another"),
    }
}

fn unsettled() -> Refusal {
    Refusal::new(
        Code::ContentUninspectable,
        "text is put behind text of which nobody knows whether it arrived",
    )
    .with_hint("append when the notification before is answered, or tell the artifact whole")
}
