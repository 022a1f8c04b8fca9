//! Parts: data that names concepts, and other parts that a route admits.

use super::frame::{Frame, Judged, Voice, pointer};
use crate::{
    Admit, Base, ContentFormat, Message, MessageFault, content,
    joined_texts::Gathered,
    member::{Read, array, at, object, required, string, unknown},
    sstp::{self, Setting, Speech},
};
use semgate_contexts::json::{Json, Object};

/// The kind of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Raw,
    Url,
    Data,
}

/// A part, with its members sorted by role.
struct Part<'j> {
    object: &'j Object<'j>,
    kind: Kind,
    /// The content, and where it stands.
    value: &'j Json<'j>,
    at: String,
    media: Option<&'j str>,
    metadata: Option<&'j Json<'j>>,
}

impl<'j> Part<'j> {
    fn read(json: &'j Json<'j>, path: &str, frame: &Frame<'_>) -> Read<Self> {
        if frame.old() { old(json, path) } else { new(json, path) }
    }

    /// Returns true if it holds an object of SSTP, on a route that admits them.
    fn is_sstp(&self, frame: &Frame<'_>) -> bool {
        let admits = frame.reading.formats.contains(&ContentFormat::Sstp);
        admits && self.kind == Kind::Data && sstp::is_l9(self.media, self.value)
    }
}

/// The speech act of the one part that states it by itself, with the location of its data.
///
/// # Errors
/// A part that cannot be read, or a second one that states a speech act.
pub(super) fn speech<'j>(
    parts: &'j [Json<'j>],
    path: &str,
    frame: &Frame<'_>,
) -> Read<Option<(Speech, String)>> {
    let mut only = None;
    if frame.reading.formats.is_empty() {
        return Ok(only);
    }
    for (n, json) in parts.iter().enumerate() {
        let part = Part::read(json, &format!("{path}/parts/{n}"), frame)?;
        if part.is_sstp(frame)
            && only.replace((sstp::speech(part.value, &part.at)?, part.at.clone())).is_some()
        {
            return Err(MessageFault::malformed(part.at, "is a second object of SSTP in one message"));
        }
    }
    Ok(only)
}

/// Reads the parts of a message or artifact.
pub(super) fn parts<'j>(
    parts: &'j [Json<'j>],
    path: &str,
    voice: Voice,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    if parts.is_empty() {
        out.note_gap(pointer(&at(path, "parts")), "is empty");
    }
    let mut texts = Gathered::default();
    for (n, json) in parts.iter().enumerate() {
        let path = format!("{path}/parts/{n}");
        let part = Part::read(json, &path, frame)?;
        let before = out.instances.len();
        judge(&part, &path, voice, frame, out)?;
        if let (Kind::Text, Some(text)) = (part.kind, part.value.as_str()) {
            texts.add(text, before, out);
        }
    }
    texts.finish(out);
    Ok(())
}

/// The index of the first part that holds data. Checked for an appended artifact before its parts are read.
pub(super) fn has_data(json: &Json<'_>) -> Option<usize> {
    let parts = json.as_object()?.get("parts")?.as_array()?;
    parts.iter().position(|part| part.as_object().is_some_and(|part| part.get("data").is_some()))
}

fn judge<'j>(
    part: &Part<'j>,
    path: &str,
    voice: Voice,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let (admit, performative) = (frame.reading.admit, voice.performative);
    let is_sstp = part.is_sstp(frame);
    let concept = is_sstp || part.kind == Kind::Data && (!admit.data || content::names_a_concept(part.value));
    if let Some(metadata) = part.metadata {
        let judged = if concept { Judged::ByItself(performative) } else { Judged::WithItsObject };
        frame.metadata(metadata, path, judged, out)?;
    }
    if is_sstp {
        let setting = Setting { reading: frame.reading, repeats: voice.repeats };
        return sstp::read(part.value, &part.at, setting, out);
    }
    if concept {
        let base = Base::Built(part.at.as_str().into());
        return content::read(part.value, &base, performative, frame.reading, out);
    }
    let (name, admitted, needs) = match part.kind {
        Kind::Text => ("text", admit.text, Admit::Text),
        Kind::Raw => ("file", admit.raw, Admit::File),
        Kind::Url => ("file", admit.url, Admit::File),
        Kind::Data => ("data", admit.data, Admit::Data),
    };
    if admitted {
        return frame.say(name, part.object, performative, path, out);
    }
    out.note_uninspectable(pointer(&part.at), needs);
    Ok(())
}

/// A part of 1.0: exactly one of `text`, `raw`, `url` and `data`.
fn new<'j>(json: &'j Json<'j>, path: &str) -> Read<Part<'j>> {
    let object = object(json, path)?;
    let mut content: Option<(Kind, &'static str, &'j Json<'j>)> = None;
    let (mut media, mut filename, mut metadata) = (None, false, None);
    for (key, value) in object.iter() {
        let one = match key {
            "text" => (Kind::Text, "text", value),
            "raw" => (Kind::Raw, "raw", value),
            "url" => (Kind::Url, "url", value),
            "data" => (Kind::Data, "data", value),
            "metadata" => {
                metadata = Some(value);
                continue;
            }
            "filename" | "mediaType" if value.as_str() == Some("") => continue,
            "filename" => {
                string(value, path, key)?;
                filename = true;
                continue;
            }
            "mediaType" => {
                media = Some(media_type(value, path, key)?);
                continue;
            }
            _ => return unknown(path, key),
        };
        if content.replace(one).is_some() {
            return Err(MessageFault::malformed(path, "holds two of `text`, `raw`, `url` and `data`"));
        }
    }
    let Some((kind, member, value)) = content else {
        return Err(MessageFault::malformed(path, "holds none of `text`, `raw`, `url` and `data`"));
    };
    if kind == Kind::Data {
        if filename {
            return Err(MessageFault::malformed(at(path, "filename"), "does not belong to a data part"));
        }
        if media.is_some_and(|media| media != "application/json" && !media.ends_with("+json")) {
            return Err(MessageFault::malformed(at(path, "mediaType"), "is not a JSON media type"));
        }
    } else {
        string(value, path, member)?;
    }
    Ok(Part { object, kind, value, at: at(path, member), media, metadata })
}

/// A part of 0.3: `kind` says which of `text`, `file` and `data` it holds.
fn old<'j>(json: &'j Json<'j>, path: &str) -> Read<Part<'j>> {
    let object = object(json, path)?;
    let kind = required(object.get("kind"), path, "kind")?;
    let member = match string(kind, path, "kind")? {
        "text" => "text",
        "file" => "file",
        "data" => "data",
        _ => return Err(MessageFault::malformed(at(path, "kind"), "is not a kind of part")),
    };
    let (mut value, mut metadata) = (None, None);
    for (key, content) in object.iter() {
        match key {
            "kind" => {}
            "metadata" => metadata = Some(content),
            _ if key == member => value = Some(content),
            _ => return unknown(path, key),
        }
    }
    let value = required(value, path, member)?;
    let at = at(path, member);
    let kind = match member {
        "text" => {
            string(value, path, member)?;
            Kind::Text
        }
        "file" => file(value, &at)?,
        _ => Kind::Data,
    };
    Ok(Part { object, kind, value, at, media: None, metadata })
}

/// A file of 0.3: bytes, or where they are.
fn file(json: &Json<'_>, path: &str) -> Read<Kind> {
    let mut kind = None;
    for (key, value) in object(json, path)?.iter() {
        let content = match key {
            "bytes" => Kind::Raw,
            "uri" => Kind::Url,
            "mimeType" => {
                media_type(value, path, key)?;
                continue;
            }
            "name" => {
                string(value, path, key)?;
                continue;
            }
            _ => return unknown(path, key),
        };
        string(value, path, key)?;
        if kind.replace(content).is_some() {
            return Err(MessageFault::malformed(path, "holds both `bytes` and `uri`"));
        }
    }
    kind.ok_or_else(|| MessageFault::malformed(path, "holds neither `bytes` nor `uri`"))
}

/// The most media types that a caller may list as acceptable; a client lists a handful.
const MAX_OUTPUT_MODES: usize = 16;

/// `acceptedOutputModes`.
pub(super) fn output_modes(json: &Json<'_>, path: &str, member: &str) -> Read<()> {
    let modes = array(json, path, member)?;
    if modes.len() > MAX_OUTPUT_MODES {
        return Err(MessageFault::malformed(at(path, member), "lists more than 16 media types"));
    }
    modes.iter().try_for_each(|mode| media_type(mode, path, member).map(drop))
}

/// The longest media type: 96 characters. The longest registered type has 84. RFC 6838 §4.2 allows 127 for each half, but
/// text that nobody judges must be too short to argue.
const MAX_MEDIA_TYPE: usize = 96;

/// The registered top-level types (RFC 6838 §4.2.7, RFC 9694). A type of the sender's own would be a word that nobody judges.
const TOP_LEVEL: [&str; 11] = [
    "application",
    "audio",
    "example",
    "font",
    "haptics",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

/// `type/subtype`, or a range of them, of at most [`MAX_MEDIA_TYPE`] characters and without parameters.
fn media_type<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    let text = string(json, path, member)?;
    let word = |w: &str| {
        w.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && w.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-' | b'_'))
    };
    let listed = |kind: &str| TOP_LEVEL.iter().any(|known| known.eq_ignore_ascii_case(kind));
    let fits = text.len() <= MAX_MEDIA_TYPE
        && text.split_once('/').is_some_and(|(kind, sub)| match (kind, sub) {
            ("*", "*") => true,
            (kind, "*") => listed(kind),
            (kind, sub) => listed(kind) && word(sub),
        });
    if fits { Ok(text) } else { Err(MessageFault::malformed(at(path, member), "is not a media type")) }
}
