//! SSTP L9: an object of header and payload in a data part of A2A. See `docs/spec/sstp-binding.md`.
//!
//! The header is an instance of `urn:contexts:sstp:v1.0`. The data of the payload is one of the message's context if the payload
//! names it there, else one of the subprotocol's own schema.

mod header;
mod speech;

use crate::{
    Base, Claim, ContentFormat, FaultKind, Instance, Message, MessageFault, Otherwise, Party, PartySide,
    Pointer, Reading,
    member::{Read, at, object, required, string, unknown},
    model::Vocabulary,
    removal::is_context_key,
};
use header::{Header, Kind, Subprotocol};
use semgate_contexts::{
    Digest, Performative, canonical,
    json::{Json, Object},
};

/// The location of the context claim in a header, as refusals show it.
pub(crate) const SCHEMA_ID: &str = "/header/context/semantic/schema_id";

/// Media types of L9 objects.
const MEDIA_TYPES: [&str; 3] =
    ["application/vnd.sstp.l9+json", "application/vnd.sstp.base+json", "application/vnd.sstp.sab+json"];

/// The speech act of an L9 object, told by its kind, subkind and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speech {
    /// The performative.
    pub performative: Performative,
    /// True if it asks the receiver to repair or clarify something, which costs inference.
    pub asks: bool,
}

/// The setting of an L9 object.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'r> {
    /// Options of the reading.
    pub reading: &'r Reading<'r>,
    /// True in a reply that repeats a message of the caller: there the parties are exchanged.
    pub repeats: bool,
}

/// Returns true if a data part is read as an L9 object: by its media type, or by a header that names a protocol. No other
/// media type takes an L9 object past its reader.
pub(crate) fn is_l9(media: Option<&str>, data: &Json<'_>) -> bool {
    let named = |media: &str| MEDIA_TYPES.iter().any(|known| known.eq_ignore_ascii_case(media));
    let header = || data.as_object()?.get("header")?.as_object()?.get("protocol");
    media.is_some_and(named) || header().is_some()
}

/// Reads the speech act of an L9 object.
///
/// # Errors
/// A malformed header, or data that contradicts it.
pub(crate) fn speech(json: &Json<'_>, path: &str) -> Read<Speech> {
    let l9 = L9::read(json, path)?;
    speech::of(&l9.header, l9.data, path)
}

/// Reads an L9 object into the instances, parties and claims of its message.
///
/// # Errors
/// A member that is missing, unknown or of the wrong form. More than one sender, or none. A claim that differs from the
/// message's. A hash of other data. A round message in a round message, or of another subprotocol.
pub(crate) fn read<'j>(
    json: &'j Json<'j>,
    path: &str,
    setting: Setting<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let l9 = L9::read(json, path)?;
    out.questions += usize::from(speech::of(&l9.header, l9.data, path)?.asks);
    l9.add(path, Level::Message, setting, out)?;
    let Some(rounds) = l9.rounds(path)? else { return Ok(()) };
    for (n, item) in rounds.iter().enumerate() {
        let path = format!("{path}/payload/data/{ROUNDS}/{n}");
        let round = L9::read(item, &path)?;
        if round.header.subprotocol != Some(Subprotocol::Sab) || round.header.kind != Kind::Contingency {
            return Err(MessageFault::malformed(path, "is not a contingency of SAB"));
        }
        if round.rounds(&path)?.is_some_and(|inner| !inner.is_empty()) {
            return Err(MessageFault::malformed(path, "holds round messages in a round message"));
        }
        round.add(&path, Level::Round, setting, out)?;
    }
    Ok(())
}

/// The member of SAB data that holds messages for others.
const ROUNDS: &str = "round_messages";

/// The position of an L9 object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// In a part.
    Message,
    /// In the data of a message. Its recipients are those that the receiver passes it on to.
    Round,
}

/// An L9 object with its members sorted.
struct L9<'j> {
    header: Header<'j>,
    /// The type of the payload.
    kind: &'j str,
    data: &'j Object<'j>,
}

impl<'j> L9<'j> {
    fn read(json: &'j Json<'j>, path: &str) -> Read<Self> {
        let (mut header, mut payload) = (None, None);
        for (key, value) in object(json, path)?.iter() {
            match key {
                "header" => header = Some(value),
                "payload" => payload = Some(value),
                _ => return unknown(path, key),
            }
        }
        let header = Header::read(required(header, path, "header")?, &at(path, "header"))?;
        let path = at(path, "payload");
        let (mut kind, mut data) = (None, None);
        for (key, value) in object(required(payload, &path, "payload")?, &path)?.iter() {
            match key {
                "type" => kind = Some(word(value, &path, key)?),
                "data" => data = Some(object(value, &at(&path, key))?),
                _ => return unknown(&path, key),
            }
        }
        Ok(Self { header, kind: required(kind, &path, "type")?, data: required(data, &path, "data")? })
    }

    /// Adds instances, parties and claim to the message.
    fn add(&self, path: &str, level: Level, setting: Setting<'_>, out: &mut Message<'j>) -> Read<()> {
        let header = &self.header;
        let performative = speech::of(header, self.data, path)?.performative;
        self.hash(path)?;
        self.parties(path, level, setting, out)?;
        self.claim(path, level, setting, out)?;
        let of = Vocabulary::Format(ContentFormat::Sstp);
        let instance = |of, name, member: &str, object| {
            let pointer = Pointer { base: Base::Built(format!("{path}{member}").into()), key: None };
            Instance { of, name, naming: "", pointer, object, performative }
        };
        push(instance(of, "header", "/header", header.object), setting.reading, out)?;
        let data = "/payload/data";
        let own = header.subprotocol.map(|subprotocol| subprotocol.term(header.kind, self.data));
        match (own, level) {
            (Some(term), Level::Round) => push(instance(of, term, data, self.data), setting.reading, out),
            (own, _) => {
                let named = Vocabulary::Context;
                let at = out.instances.len();
                out.otherwise.extend(own.map(|term| Otherwise { instance: at, of, term }));
                push(instance(named, self.kind, data, self.data), setting.reading, out)
            }
        }
    }

    /// Notes sender and recipients. Data of SAB names its origin, which is the sender too.
    fn parties(&self, path: &str, level: Level, setting: Setting<'_>, out: &mut Message<'j>) -> Read<()> {
        let sab = self.header.subprotocol == Some(Subprotocol::Sab);
        let origin = self.data.get("origin").filter(|_| sab).and_then(Json::as_object);
        let origin = origin.and_then(|origin| origin.get("actor_id")).and_then(Json::as_str);
        if self.header.sender.or(origin).is_none() {
            return Err(MessageFault::malformed(
                format!("{path}/header/participants/actors"),
                "names no sender",
            ));
        }
        let mut note = |name: &'j str, side: PartySide| {
            let side = if setting.repeats { side.other() } else { side };
            let party = Party { name, side, names: ContentFormat::Sstp.as_str() };
            if !out.parties.contains(&party) {
                out.parties.push(party);
            }
        };
        self.header.sender.into_iter().chain(origin).for_each(|name| note(name, PartySide::Sender));
        if level == Level::Message {
            self.header.recipients.iter().for_each(|name| note(name, PartySide::Receiver));
        }
        Ok(())
    }

    /// Notes the claim: a schema id that begins as the URNs of contexts do, in any case of letters.
    fn claim(&self, path: &str, level: Level, setting: Setting<'_>, out: &mut Message<'j>) -> Read<()> {
        let ours = |id: &&str| is_context_key(setting.reading.extension, id);
        let Some(urn) = self.header.schema_id.filter(ours) else { return Ok(()) };
        let other = || {
            MessageFault::malformed(format!("{path}{SCHEMA_ID}"), "names another context than the message")
        };
        match out.claims.last() {
            Some(claim) if claim.urn == urn => Ok(()),
            Some(_) => Err(other()),
            // a message for others does not name the context of this one
            None if level == Level::Round => Err(other()),
            None => {
                out.claims.push(Claim { urn, digest: None, lock: None, location: SCHEMA_ID });
                Ok(())
            }
        }
    }

    /// Checks the hash of SAB data: SHA-256, in lower-case hex, of the canonical data without the hash.
    fn hash(&self, path: &str) -> Read<()> {
        if self.header.subprotocol != Some(Subprotocol::Sab) {
            return Ok(());
        }
        let Some(stated) = self.data.get(HASH) else { return Ok(()) };
        let path = format!("{path}/payload/data");
        let stated = string(stated, &path, HASH)?;
        let value = self.data.to_value_without(Some(HASH));
        let hash = canonical::jcs(&value).ok().map(|bytes| Digest::of(&bytes).hex());
        if hash.as_deref() == Some(stated) {
            return Ok(());
        }
        Err(MessageFault::malformed(at(&path, HASH), "is not the hash of the data"))
    }

    fn rounds(&self, path: &str) -> Read<Option<&'j [Json<'j>]>> {
        match self.data.get(ROUNDS).filter(|_| self.header.subprotocol == Some(Subprotocol::Sab)) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Array(items)) => Ok(Some(items)),
            Some(_) => {
                let path = format!("{path}/payload/data/{ROUNDS}");
                Err(MessageFault::malformed(path, "is not an array"))
            }
        }
    }
}

/// The member of SAB data that holds its hash.
const HASH: &str = "payload_hash";

fn push<'j>(instance: Instance<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    if out.instances.len() >= reading.max_concepts {
        return Err(MessageFault {
            kind: FaultKind::TooComplex,
            path: instance.pointer.to_string(),
            what: "holds more concepts than the limit",
        });
    }
    out.instances.push(instance);
    Ok(())
}

/// A word that no schema judges: 1 to 64 letters, digits, `_`, `-`, `.`, `+`, `/` and `:`.
fn word<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    let text = string(json, path, member)?;
    let fits = (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.+/:".contains(&b));
    if fits { Ok(text) } else { Err(MessageFault::malformed(at(path, member), "is not a word")) }
}

#[cfg(test)]
mod tests;
