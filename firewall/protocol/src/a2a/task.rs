//! Tasks: status, artifacts and history.

use super::{
    State,
    frame::{Frame, Judged, Voice, note, pointer},
    message::{self, Role},
    part,
    reply::ANSWER,
    request,
};
use crate::claim::Row;
use crate::{
    Admit, Message, MessageFault, OwnThread, Piece, PieceOf,
    member::{Read, array, at, id, object, required, string, unknown},
};
use semgate_contexts::{Performative::Inform, json::Json};
use std::collections::BTreeSet;

/// The concept of an artifact that has a name or description.
const ARTIFACT: &str = "artifact";

/// Reads one task.
pub(super) fn task<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    let (mut task_id, mut context, mut state) = (None, None, None);
    let (mut artifacts, mut history, mut metadata) = (None, None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "kind" if frame.old() => message::kind(value, path, "task")?,
            "id" => task_id = Some(id(value, path, key)?),
            "contextId" if !frame.old() && value.as_str() == Some("") => {}
            "contextId" => context = Some(id(value, path, key)?),
            "status" => state = Some(value),
            "artifacts" => artifacts = Some(array(value, path, key)?),
            "history" => history = Some(array(value, path, key)?),
            "metadata" => metadata = Some(value),
            _ => return unknown(path, key),
        }
    }
    out.message_id = required(task_id, path, "id")?;
    note(&mut out.threads.tasks, out.message_id);
    context.into_iter().for_each(|id| note(&mut out.threads.contexts, id));
    out.threads.own = OwnThread { task: Some(out.message_id), context };
    let before = out.instances.len();
    if let Some(metadata) = metadata {
        frame.metadata(metadata, path, Judged::ByItself(Inform), out)?;
    }
    status(
        required(state, path, "status")?,
        &at(path, "status"),
        "/result/task/status/message/metadata",
        frame,
        out,
    )?;
    let mut known = BTreeSet::new();
    for (n, item) in artifacts.unwrap_or_default().iter().enumerate() {
        let path = format!("{path}/artifacts/{n}");
        // readers append to the first artifact of that id, or to the last
        if !known.insert(artifact(item, &path, "/result/task/artifacts/metadata", frame, out)?) {
            return Err(MessageFault::malformed(at(&path, "artifactId"), "is the id of an earlier artifact"));
        }
    }
    for (n, item) in history.unwrap_or_default().iter().enumerate() {
        let path = format!("{path}/history/{n}");
        // the agent that repeats a caller's words is judged for them as for its own
        let rows = |role| Some(if role == Role::User { request::ROW } else { ANSWER });
        message::message(item, &path, "/result/task/history/metadata", rows, frame, out)?;
    }
    out.acknowledges = out.instances.len() == before && out.gap.is_none() && out.uninspectable.is_none();
    Ok(())
}

/// Reads a status; its message speaks as the state says.
pub(super) fn status<'j>(
    json: &'j Json<'j>,
    path: &str,
    location: &'static str,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let (mut state, mut message) = (None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "state" => state = Some(string(value, path, key)?),
            "message" => message = Some(value),
            "timestamp" => timestamp(string(value, path, key)?, path, key, frame)?,
            _ => return unknown(path, key),
        }
    }
    let state = State::parse(required(state, path, "state")?, frame.version)
        .ok_or_else(|| MessageFault::malformed(at(path, "state"), "is not a state of a task"))?;
    let row = state.row();
    out.state = Some(state);
    out.performative = row.default;
    let Some(message) = message else { return Ok(()) };
    let rows = |role| (role == Role::Agent).then_some(row);
    let head = message::message(message, &at(path, "message"), location, rows, frame, out)?;
    out.performative = head.performative;
    Ok(())
}

/// Reads an artifact; returns its id.
pub(super) fn artifact<'j>(
    json: &'j Json<'j>,
    path: &str,
    location: &'static str,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<&'j str> {
    let (mut artifact_id, mut parts, mut metadata, mut words) = (None, None, None, None);
    let object = object(json, path)?;
    for (key, value) in object.iter() {
        match key {
            "artifactId" => artifact_id = Some(id(value, path, key)?),
            "name" | "description" if string(value, path, key)?.is_empty() => {}
            "name" | "description" => words = Some(key),
            "parts" => parts = Some(array(value, path, key)?),
            "metadata" => metadata = Some(value),
            "extensions" => message::extensions(value, path, frame)?,
            _ => return unknown(path, key),
        }
    }
    let artifact_id = required(artifact_id, path, "artifactId")?;
    let from = out.instances.len();
    let row = Row::only(Inform);
    let claimed = message::claim(metadata, path, location, row, frame, out)?;
    let parts = required(parts, path, "parts")?;
    let performative = message::spoken(parts, path, message::Spoken { row, claimed }, frame)?;
    match words {
        None => {}
        Some(_) if frame.reading.admit.text => frame.say(ARTIFACT, object, performative, path, out)?,
        Some(key) => out.note_uninspectable(pointer(&at(path, key)), Admit::Text),
    }
    part::parts(parts, path, Voice { performative, repeats: false }, frame, out)?;
    out.pieces.push(Piece { of: PieceOf::Artifact, id: artifact_id, instances: from..out.instances.len() });
    Ok(artifact_id)
}

/// An RFC 3339 time in the version's form: `2026-11-21T01:02:03.004Z`; in 0.3 also with an offset. The fixed form leaves no
/// room for text.
pub(super) fn timestamp(text: &str, path: &str, member: &str, frame: &Frame<'_>) -> Read<()> {
    let fits = without_zone(text, frame).and_then(|rest| rest.split_once('T')).is_some_and(|(date, time)| {
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        widths(date, '-', 4) && widths(clock, ':', 2) && fraction.len() <= 9 && digits(fraction)
    });
    if fits {
        Ok(())
    } else {
        Err(MessageFault::malformed(at(path, member), "is not a timestamp of this version"))
    }
}

/// Returns true if a 1.0 timestamp names a day and time that exist. No agent takes a leap second.
pub(super) fn is_moment(text: &str) -> bool {
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let (Some(year), Some(month), Some(day)) = (part(0, 4), part(5, 7), part(8, 10)) else { return false };
    let leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leaps),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    let (hour, minute, second) = (part(11, 13), part(14, 16), part(17, 19));
    let below = |part: Option<u32>, bound: u32| part.is_some_and(|part| part < bound);
    year > 0 && (1..=days).contains(&day) && below(hour, 24) && below(minute, 60) && below(second, 60)
}

fn without_zone<'t>(text: &'t str, frame: &Frame<'_>) -> Option<&'t str> {
    if let Some(rest) = text.strip_suffix('Z') {
        return Some(rest);
    }
    if !frame.old() {
        return None;
    }
    // `datetime.isoformat()` of Python: `+00:00`, or nothing for a time without a zone
    let Some((rest, zone)) = text.len().checked_sub(6).and_then(|at| text.split_at_checked(at)) else {
        return Some(text);
    };
    match zone.split_at_checked(1) {
        Some(("+" | "-", offset)) if widths(&format!("{offset}:00"), ':', 2) => Some(rest),
        _ => Some(text),
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Three numbers with `by` between them, the first of `first` digits, the others of two.
fn widths(text: &str, by: char, first: usize) -> bool {
    let mut parts = text.split(by);
    let fits = [first, 2, 2].iter().all(|width| parts.next().is_some_and(|p| p.len() == *width && digits(p)));
    fits && parts.next().is_none()
}
