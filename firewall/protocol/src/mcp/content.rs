//! Content blocks and other members with text. Each admitted block is an instance of `text`, `file` or `link` of the protocol
//! context; any other block is uninspectable.

use super::{
    form::{self, Prose},
    resource,
};
use crate::{
    Admit, Base, Instance, MessageFault, Pointer, Reading,
    fault::FaultKind,
    joined_texts::Gathered,
    member::{Read, array, at, object, unknown},
    model::{Message, Vocabulary},
    removal::listed_fit,
};
use semgate_contexts::{
    Performative,
    canonical::jcs,
    json::{self, Json, Object},
};
use std::{cell::OnceCell, collections::HashSet, sync::LazyLock};

/// The member that is left out when an instance of the protocol is judged: this module's callers have read it.
pub(super) const META: &str = "_meta";

/// The object that is judged where a message leaves `params`, `arguments` or `result` out.
static EMPTY: LazyLock<Object<'static>> = LazyLock::new(Object::default);

/// The object, or an empty one.
pub(super) fn or_empty<'j>(object: Option<&'j Object<'j>>) -> &'j Object<'j> {
    object.unwrap_or(&EMPTY)
}

/// The location of an instance.
pub(super) fn pointer<'j>(path: &str) -> Pointer<'j> {
    Pointer { base: Base::Built(path.into()), key: None }
}

/// Checks a `_meta` that no reader reads: it holds only keys that the route lists. The caller leaves it out of the instance.
pub(super) fn no_meta(object: &Object<'_>, path: &str, reading: &Reading<'_>) -> Read<()> {
    let Some(meta) = object.get(META) else { return Ok(()) };
    let listed = |members: &Object<'_>| members.iter().all(|(key, _)| reading.meta.lists(key));
    match meta.as_object() {
        Some(members) if listed(members) => listed_fit(members, &at(path, META), reading.meta),
        _ => unknown(path, META),
    }
}

/// As [`no_meta`], for each object of a list that a schema closes.
pub(super) fn no_metas(json: Option<&Json<'_>>, path: &str, reading: &Reading<'_>) -> Read<()> {
    for (n, item) in json.and_then(Json::as_array).into_iter().flatten().enumerate() {
        if let Json::Object(item) = item {
            no_meta(item, &format!("{path}/{n}"), reading)?;
        }
    }
    Ok(())
}

/// Adds an instance.
pub(super) fn say<'j>(
    of: Vocabulary,
    name: &'j str,
    object: &'j Object<'j>,
    performative: Performative,
    path: &str,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    if out.instances.len() >= reading.max_concepts {
        return Err(MessageFault {
            kind: FaultKind::TooComplex,
            path: path.to_owned(),
            what: "holds more concepts than the limit",
        });
    }
    let naming = match of {
        Vocabulary::Protocol => META,
        // arguments and structured content have no member of ours
        Vocabulary::Context | Vocabulary::Format(_) => "",
    };
    out.instances.push(Instance { of, name, naming, pointer: pointer(path), object, performative });
    Ok(())
}

/// The text that stands for an error's own words where the route admits no text.
pub const FAILED: &str = "the tool reported an error, and its text does not pass here";

static FAILED_TEXT: Json<'static> = Json::String(std::borrow::Cow::Borrowed(FAILED));

/// The blocks that a result with `isError` may hold beside the structured content that stays.
pub struct FailureBlocks<'j>(Echo<'j>);

impl<'j> FailureBlocks<'j> {
    /// Blocks may repeat this structured content.
    pub fn repeating(structured: Option<&'j Json<'j>>) -> Self {
        Self(Echo::of_failure(structured))
    }

    /// True of a block in a form of the protocol that the route admits.
    pub fn admit(&self, json: &'j Json<'j>, reading: &Reading<'_>) -> bool {
        let mut scratch = Message::new(crate::Binding::Mcp, Performative::Inform);
        let read = block(json, "", Performative::Inform, &self.0, reading, &mut scratch);
        read.is_ok() && scratch.uninspectable.is_none()
    }
}

/// Values that a block may repeat: those of the same message that a schema judges.
pub(super) struct Echo<'j> {
    values: Vec<&'j Json<'j>>,
    /// Their canonical bytes, written once: thousands of blocks may be compared with thousands of values.
    forms: OnceCell<HashSet<Vec<u8>>>,
}

impl<'j> Echo<'j> {
    /// Nothing may be repeated.
    pub(super) fn none() -> Self {
        Self { values: Vec::new(), forms: OnceCell::new() }
    }

    /// Servers repeat `structuredContent` as text for clients that do not know it. A block may repeat the whole, its one
    /// member `result` (SDKs wrap other values so), or an item of either.
    pub(super) fn of(structured: Option<&'j Json<'j>>) -> Self {
        let mut values: Vec<&'j Json<'j>> = structured.into_iter().collect();
        if let Some(Json::Object(object)) = structured
            && let Some(result) = object.get("result").filter(|_| object.len() == 1)
        {
            values.push(result);
            values.extend(result.as_array().into_iter().flatten());
        }
        Self { values, forms: OnceCell::new() }
    }

    /// The same for a result with `isError`, which may also hold the gateway's own words for an error.
    pub(super) fn of_failure(structured: Option<&'j Json<'j>>) -> Self {
        let mut echo = Self::of(structured);
        echo.values.push(&FAILED_TEXT);
        echo
    }

    fn holds(&self, text: &str) -> bool {
        if self.values.is_empty() {
            return false;
        }
        if self.values.iter().any(|known| known.as_str() == Some(text)) {
            return true;
        }
        let Ok(value) = json::read(text.as_bytes(), &json::Limits::default()) else { return false };
        let form = |value: &Json<'_>| jcs(&value.to_value()).ok();
        let forms = self.forms.get_or_init(|| self.values.iter().copied().filter_map(form).collect());
        form(&value).is_some_and(|form| forms.contains(&form))
    }
}

/// The text of a content block, or of the contents of a resource.
fn text_in<'j>(json: &'j Json<'j>) -> Option<&'j str> {
    let object = json.as_object()?;
    object.get("resource").map_or_else(|| object.get("text")?.as_str(), text_in)
}

/// Reads the items of a list, and gathers their texts.
fn each<'j>(
    items: &'j [Json<'j>],
    path: &str,
    out: &mut Message<'j>,
    mut read: impl FnMut(&'j Json<'j>, &str, &mut Message<'j>) -> Read<()>,
) -> Read<()> {
    let mut texts = Gathered::default();
    for (n, item) in items.iter().enumerate() {
        let before = out.instances.len();
        read(item, &format!("{path}/{n}"), out)?;
        if let Some(text) = text_in(item) {
            texts.add(text, before, out);
        }
    }
    texts.finish(out);
    Ok(())
}

/// An array of content blocks.
pub(super) fn blocks<'j>(
    json: &'j Json<'j>,
    path: &str,
    member: &str,
    performative: Performative,
    echo: &Echo<'_>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    each(array(json, path, member)?, &at(path, member), out, |item, path, out| {
        block(item, path, performative, echo, reading, out)
    })
}

/// The contents of a resource: the resource asked for, or those below it.
pub(super) fn all_contents<'j>(
    items: &'j [Json<'j>],
    (path, asked): (&str, Option<&str>),
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    each(items, path, out, |item, path, out| {
        let given = item.as_object().and_then(|item| item.get("uri")?.as_str());
        if !given.zip(asked).is_some_and(|(given, asked)| resource::is_of(asked, given)) {
            return Err(MessageFault::malformed(
                at(path, "uri"),
                "is neither the requested resource nor below it",
            ));
        }
        contents(item, path, performative, reading, out)
    })
}

/// One content block.
pub(super) fn block<'j>(
    json: &'j Json<'j>,
    path: &str,
    performative: Performative,
    echo: &Echo<'_>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let object = object(json, path)?;
    let kind = object.get("type").and_then(Json::as_str).unwrap_or_default();
    no_meta(object, path, reading)?;
    let (name, admitted, needs) = match kind {
        "text" => {
            // resource contents, which are the same concept, have a URI and a type: a block of text has neither
            if let Some((key, _)) = object.iter().find(|(key, _)| matches!(*key, "uri" | "mimeType" | "blob"))
            {
                return unknown(path, key);
            }
            let text = object.get("text").and_then(Json::as_str);
            let bare = object.iter().all(|(key, _)| matches!(key, "type" | "text" | META));
            if bare && text.is_some_and(|text| echo.holds(text)) {
                return Ok(());
            }
            ("text", reading.admit.text, Admit::Text)
        }
        "image" | "audio" => ("file", reading.admit.raw, Admit::File),
        "resource_link" => ("link", reading.admit.url, Admit::File),
        "resource" => return embedded(object, path, performative, reading, out),
        _ => {
            return Err(MessageFault::malformed(
                at(path, "type"),
                "is none of `text`, `image`, `audio`, `resource_link` and `resource`",
            ));
        }
    };
    admit((name, admitted, needs), object, path, performative, reading, out)
}

fn embedded<'j>(
    object: &'j Object<'j>,
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let mut resource = None;
    for (key, value) in object.iter() {
        match key {
            "type" | META => {}
            "resource" => resource = Some(value),
            _ => return unknown(path, key),
        }
    }
    let path = at(path, "resource");
    match resource {
        // its origin is the server's word, and nobody asked for it
        Some(_) if !reading.admit.url => {
            out.note_uninspectable(pointer(&path), Admit::File);
            Ok(())
        }
        Some(resource) => contents(resource, &path, performative, reading, out),
        None => Err(MessageFault::malformed(path, "is missing")),
    }
}

/// The contents of a resource: text or bytes.
fn contents<'j>(
    json: &'j Json<'j>,
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let object = object(json, path)?;
    no_meta(object, path, reading)?;
    match (object.get("text"), object.get("blob")) {
        (Some(_), None) => {
            admit(("text", reading.admit.text, Admit::Text), object, path, performative, reading, out)
        }
        (None, Some(_)) => {
            admit(("file", reading.admit.raw, Admit::File), object, path, performative, reading, out)
        }
        _ => Err(MessageFault::malformed(path, "is not exactly one of `text` and `blob`")),
    }
}

fn admit<'j>(
    (name, admitted, needs): (&'static str, bool, Admit),
    object: &'j Object<'j>,
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    if !admitted {
        out.note_uninspectable(pointer(path), needs);
        return Ok(());
    }
    say(Vocabulary::Protocol, name, object, performative, path, reading, out)
}

/// True if nothing is said: no character in a string, nor in a list of strings.
fn silent(json: &Json<'_>) -> bool {
    match json {
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.iter().all(silent),
        _ => false,
    }
}

/// A member that holds text for people or models, one or several, and passes only where the route admits text.
pub(super) fn prose<'j>(
    object: &Object<'_>,
    member: &str,
    path: &str,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) {
    if !object.get(member).is_none_or(silent) && !reading.admit.text {
        out.note_uninspectable(pointer(&at(path, member)), Admit::Text);
    }
}

/// Reads `serverInfo`. Its text for people or models passes only where the route admits text. `unmarked` selects the
/// characters that no schema marks as free text.
pub(super) fn introduced(
    implementation: &Json<'_>,
    unmarked: impl Fn(Prose) -> u64,
    path: &str,
    reading: &Reading<'_>,
    out: &mut Message<'_>,
) {
    let prose_in = form::prose(implementation);
    out.note_prose(unmarked(prose_in), implementation);
    if prose_in.all() > 0 && !reading.admit.text {
        out.note_uninspectable(pointer(path), Admit::Text);
    }
}

/// Messages of prompts and of sampling: who says it, and one block or several.
pub(super) fn messages<'j>(
    json: Option<&'j Json<'j>>,
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let Some(json) = json else { return Ok(()) };
    for (n, item) in array(json, path, "messages")?.iter().enumerate() {
        let path = format!("{}/{n}", at(path, "messages"));
        let message = object(item, &path)?;
        no_meta(message, &path, reading)?;
        one_message(message, &path, performative, reading, out)?;
    }
    Ok(())
}

/// `content` of one message: a block or a list of them.
pub(super) fn one_message<'j>(
    object: &'j Object<'j>,
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    match object.get("content") {
        Some(content @ Json::Array(_)) => {
            blocks(content, path, "content", performative, &Echo::none(), reading, out)
        }
        Some(content) => block(content, &at(path, "content"), performative, &Echo::none(), reading, out),
        None => Err(MessageFault::malformed(at(path, "content"), "is missing")),
    }
}
