//! HumanLayer: `POST /function_calls` asks for a permission, `POST /contact_requests` asks a question.
//!
//! The client writes every member, `null` where it has no value. The channel that it names, which may hold an address or a
//! credential, is removed: the card of the person decides.

use super::draft::{Draft, Kind, first_line};
use super::form;
use crate::{
    member::{Read, object, required, string, unknown},
    text,
};
use semgate_contexts::json::{Json, Object};

/// The envelope of both requests.
struct Envelope<'j> {
    run: Option<&'j str>,
    spec: &'j Object<'j>,
}

fn envelope<'j>(body: &'j Json<'j>) -> Read<Envelope<'j>> {
    let (mut run, mut spec) = (None, None);
    for (key, value) in object(body, "")?.iter() {
        match key {
            "run_id" => run = Some(string(value, "", key)?),
            "spec" => spec = Some(object(value, "/spec")?),
            // the client's own name for the request: the gateway gives it one
            "call_id" => drop(string(value, "", key)?),
            "status" if value.is_null() => {}
            _ => return unknown("", key),
        }
    }
    Ok(Envelope { run, spec: required(spec, "", "spec")? })
}

/// Writes the task of a permission, with the run that it belongs to.
fn call(name: &str, arguments: Option<&Json<'_>>, run: Option<&str>, out: &mut String) {
    out.push_str("{\"name\":");
    text::string(name, out);
    if let Some(run) = run {
        out.push_str(",\"run\":");
        text::string(run, out);
    }
    if let Some(arguments) = arguments {
        out.push_str(",\"arguments\":");
        text::write(arguments, out);
    }
    out.push('}');
}

/// Reads a function call that waits for approval.
///
/// # Errors
/// `malformed` for a member that is unknown, missing or of the wrong form.
pub(super) fn function_call(body: &Json<'_>, default_human: Option<&str>) -> Read<Vec<u8>> {
    let Envelope { run, spec } = envelope(body)?;
    let (mut draft, mut function, mut arguments) = (Draft::default(), None, None);
    for (key, value) in spec.iter() {
        match key {
            "fn" => function = Some(string(value, "/spec", key)?),
            "kwargs" => arguments = Some(value),
            "channel" | "reject_options" | "state" => draft.ignored(key, value),
            _ => return unknown("/spec", key),
        }
    }
    let function = required(function, "/spec", "fn")?;
    draft.string("summary", function);
    draft.put("call", |out| call(function, arguments, run, out));
    draft.finish(Kind::Permission, default_human)
}

/// Reads a question: with options a clarification, else a solicitation of one text.
///
/// # Errors
/// As [`function_call`].
pub(super) fn contact(body: &Json<'_>, default_human: Option<&str>) -> Read<Vec<u8>> {
    let Envelope { run, spec } = envelope(body)?;
    let (mut draft, mut message, mut subject) = (Draft::default(), None, None);
    for (key, value) in spec.iter() {
        match key {
            "msg" => message = Some(string(value, "/spec", key)?),
            "subject" if !value.is_null() => subject = Some(string(value, "/spec", key)?),
            "response_options" if !value.is_null() => draft.options(value, "/spec", key)?,
            "subject" | "response_options" => {}
            "channel" | "state" => draft.ignored(key, value),
            _ => return unknown("/spec", key),
        }
    }
    let message = required(message, "/spec", "msg")?;
    draft.string("summary", subject.unwrap_or_else(|| first_line(message)));
    draft.string("body", message);
    draft.put("call", |out| call("contact", None, run, out));
    if draft.has("options") {
        return draft.finish(Kind::Clarification, default_human);
    }
    draft.put("required_input", form::one_text);
    draft.finish(Kind::Solicitation, default_human)
}
