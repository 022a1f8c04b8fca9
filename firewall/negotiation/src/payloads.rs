//! Payloads of HELLO, SELECT and LOCK: signed, each strict JSON in its one canonical form (RFC 8785).

use crate::HandshakeFault;
use crate::limits::{MAX_HINT_BYTES, MAX_JWS_BYTES, MAX_MINIMUMS, MAX_OFFERS};
use crate::member::{Members, read};
use crate::terms::{Features, Minimum, Offer};
use semgate_certs::SpiffeId;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_contexts::json::Json;
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version, canonical};
use serde_json::{Map, Value, json};

type Read<T> = Result<T, HandshakeFault>;

/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 16;

/// The point of a P-256 key, uncompressed (SEC 1 §2.3.3).
pub const POINT_BYTES: usize = 65;

/// A payload that one `typ` of JWS carries.
pub(crate) trait Payload: Sized {
    /// The `typ` of its JWS.
    const TYP: &'static str;

    fn from(&self) -> &SpiffeId;
    fn issued_at(&self) -> u64;
    fn to_value(&self) -> Value;
    fn of_json(json: &Json<'_>, prefix: &Prefix) -> Read<Self>;

    /// Canonical bytes.
    fn to_bytes(&self) -> Read<Vec<u8>> {
        canonical::jcs(&self.to_value()).map_err(|_| HandshakeFault::NotCanonical)
    }

    /// Reads canonical bytes and no other form.
    fn parse(bytes: &[u8], prefix: &Prefix) -> Read<Self> {
        let json = read(bytes, MAX_JWS_BYTES)?;
        let payload = Self::of_json(&json, prefix)?;
        // the payload is written again: any difference means another form
        if payload.to_bytes()? == bytes { Ok(payload) } else { Err(HandshakeFault::NotCanonical) }
    }
}

/// Opens a handshake with the contexts that the sender can speak (F0-19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    pub(crate) nonce: [u8; NONCE_BYTES],
    pub(crate) from: SpiffeId,
    pub(crate) to: SpiffeId,
    pub(crate) issued_at: u64,
    /// In the sender's order of preference; no URN twice.
    pub(crate) contexts: Vec<Offer>,
    /// No line twice.
    pub(crate) minimums: Vec<Minimum>,
    /// The point of a key for sealing the SELECT.
    pub(crate) key: Option<[u8; POINT_BYTES]>,
}

/// Answers a HELLO: the one context that both will speak (F0-20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    pub(crate) nonce: [u8; NONCE_BYTES],
    pub(crate) from: SpiffeId,
    pub(crate) to: SpiffeId,
    pub(crate) issued_at: u64,
    pub(crate) minimums: Vec<Minimum>,
    pub(crate) choice: Offer,
    /// Digest of the HELLO that is answered, of the ASCII of its compact JWS.
    pub(crate) hello: Digest,
    /// An address where a person may read about the context. Never fetched, never used: documents come from the authority, by
    /// URN and digest (F0-20).
    pub(crate) hint: Option<String>,
}

/// Closes a handshake: from here on the chosen context is the only one (F0-21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub(crate) from: SpiffeId,
    pub(crate) to: SpiffeId,
    pub(crate) issued_at: u64,
    /// Digest of the HELLO as its sender sent it.
    pub(crate) hello: Digest,
    /// Digest of the SELECT as it came.
    pub(crate) select: Digest,
    /// The requested end of the session.
    pub(crate) expires_at: u64,
}

/// States a key-agreement key of an agent, so that HELLOs can be sealed to it (F0-47).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStatement {
    pub(crate) from: SpiffeId,
    pub(crate) issued_at: u64,
    pub(crate) expires_at: u64,
    pub(crate) key: [u8; POINT_BYTES],
}

/// A gateway's statement of a key for an agent behind it. With the digest of a HELLO, the SELECT about that HELLO is sealed
/// to it. Without, the agent states it to callers as its own, so that HELLOs are sealed to the gateway (F0-47).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GatewayKey {
    pub(crate) from: SpiffeId,
    /// The upstream agent.
    pub(crate) to: SpiffeId,
    pub(crate) issued_at: u64,
    pub(crate) key: [u8; POINT_BYTES],
    pub(crate) hello: Option<Digest>,
}

impl Payload for Hello {
    const TYP: &'static str = "snl-hello+jws";

    fn from(&self) -> &SpiffeId {
        &self.from
    }

    fn issued_at(&self) -> u64 {
        self.issued_at
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "nonce": to_base64url(self.nonce),
            "from": self.from.as_str(),
            "to": self.to.as_str(),
            "issued_at": self.issued_at,
            "contexts": self.contexts.iter().map(offer_value).collect::<Value>(),
            "minimums": minimums_value(&self.minimums),
        });
        insert(&mut value, "key", self.key.map(to_base64url));
        value
    }

    fn of_json(json: &Json<'_>, prefix: &Prefix) -> Read<Self> {
        let names = ["nonce", "from", "to", "issued_at", "contexts", "minimums"];
        let members = Members::of(json, "hello", &names, &["key"])?;
        let mut contexts: Vec<Offer> = Vec::new();
        for offer in members.list("contexts", MAX_OFFERS)? {
            let offer = offer_of(offer, prefix)?;
            if contexts.iter().any(|other| other.urn == offer.urn) {
                return Err(HandshakeFault::Member("contexts"));
            }
            contexts.push(offer);
        }
        if contexts.is_empty() {
            return Err(HandshakeFault::Member("contexts"));
        }
        Ok(Self {
            nonce: members.parsed("nonce", bytes_of)?,
            from: members.parsed("from", agent)?,
            to: members.parsed("to", agent)?,
            issued_at: members.time("issued_at")?,
            contexts,
            minimums: minimums_of(&members)?,
            key: members.has("key").map(|_| members.parsed("key", bytes_of)).transpose()?,
        })
    }
}

impl Payload for Select {
    const TYP: &'static str = "snl-select+jws";

    fn from(&self) -> &SpiffeId {
        &self.from
    }

    fn issued_at(&self) -> u64 {
        self.issued_at
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "nonce": to_base64url(self.nonce),
            "from": self.from.as_str(),
            "to": self.to.as_str(),
            "issued_at": self.issued_at,
            "minimums": minimums_value(&self.minimums),
            "choice": offer_value(&self.choice),
            "hello": self.hello.to_string(),
        });
        insert(&mut value, "hint", self.hint.clone());
        value
    }

    fn of_json(json: &Json<'_>, prefix: &Prefix) -> Read<Self> {
        let names = ["nonce", "from", "to", "issued_at", "minimums", "choice", "hello"];
        let members = Members::of(json, "select", &names, &["hint"])?;
        Ok(Self {
            nonce: members.parsed("nonce", bytes_of)?,
            from: members.parsed("from", agent)?,
            to: members.parsed("to", agent)?,
            issued_at: members.time("issued_at")?,
            minimums: minimums_of(&members)?,
            choice: offer_of(members.get("choice")?, prefix)?,
            hello: members.parsed("hello", digest)?,
            hint: members.has("hint").map(|_| members.parsed("hint", hint)).transpose()?,
        })
    }
}

impl Payload for Lock {
    const TYP: &'static str = "snl-lock+jws";

    fn from(&self) -> &SpiffeId {
        &self.from
    }

    fn issued_at(&self) -> u64 {
        self.issued_at
    }

    fn to_value(&self) -> Value {
        json!({
            "from": self.from.as_str(),
            "to": self.to.as_str(),
            "issued_at": self.issued_at,
            "hello": self.hello.to_string(),
            "select": self.select.to_string(),
            "expires_at": self.expires_at,
        })
    }

    fn of_json(json: &Json<'_>, _: &Prefix) -> Read<Self> {
        let names = ["from", "to", "issued_at", "hello", "select", "expires_at"];
        let members = Members::of(json, "lock", &names, &[])?;
        Ok(Self {
            from: members.parsed("from", agent)?,
            to: members.parsed("to", agent)?,
            issued_at: members.time("issued_at")?,
            hello: members.parsed("hello", digest)?,
            select: members.parsed("select", digest)?,
            expires_at: members.time("expires_at")?,
        })
    }
}

impl Payload for KeyStatement {
    const TYP: &'static str = "snl-key+jws";

    fn from(&self) -> &SpiffeId {
        &self.from
    }

    fn issued_at(&self) -> u64 {
        self.issued_at
    }

    fn to_value(&self) -> Value {
        json!({
            "from": self.from.as_str(),
            "issued_at": self.issued_at,
            "expires_at": self.expires_at,
            "key": to_base64url(self.key),
        })
    }

    fn of_json(json: &Json<'_>, _: &Prefix) -> Read<Self> {
        let members = Members::of(json, "key", &["from", "issued_at", "expires_at", "key"], &[])?;
        Ok(Self {
            from: members.parsed("from", agent)?,
            issued_at: members.time("issued_at")?,
            expires_at: members.time("expires_at")?,
            key: members.parsed("key", bytes_of)?,
        })
    }
}

impl Payload for GatewayKey {
    const TYP: &'static str = "snl-gateway+jws";

    fn from(&self) -> &SpiffeId {
        &self.from
    }

    fn issued_at(&self) -> u64 {
        self.issued_at
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "from": self.from.as_str(),
            "to": self.to.as_str(),
            "issued_at": self.issued_at,
            "key": to_base64url(self.key),
        });
        insert(&mut value, "hello", self.hello.map(|hello| hello.to_string()));
        value
    }

    fn of_json(json: &Json<'_>, _: &Prefix) -> Read<Self> {
        let members = Members::of(json, "gateway", &["from", "to", "issued_at", "key"], &["hello"])?;
        Ok(Self {
            from: members.parsed("from", agent)?,
            to: members.parsed("to", agent)?,
            issued_at: members.time("issued_at")?,
            key: members.parsed("key", bytes_of)?,
            hello: members.has("hello").map(|_| members.parsed("hello", digest)).transpose()?,
        })
    }
}

fn insert(value: &mut Value, name: &str, member: Option<String>) {
    if let (Value::Object(object), Some(member)) = (value, member) {
        object.insert(name.to_owned(), Value::String(member));
    }
}

fn agent(text: &str) -> Option<SpiffeId> {
    SpiffeId::parse(text).ok()
}

fn digest(text: &str) -> Option<Digest> {
    Digest::parse(text).ok()
}

/// Exactly this many bytes in base64url.
fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != (N * 4).div_ceil(3) {
        return None;
    }
    from_base64url(text)?.try_into().ok()
}

/// Visible ASCII, only ever shown to people.
fn hint(text: &str) -> Option<String> {
    let fits = (1..=MAX_HINT_BYTES).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

fn offer_value(offer: &Offer) -> Value {
    let features: Value = offer.features.iter().map(Value::from).collect();
    let mut value = Map::new();
    value.insert("urn".to_owned(), offer.urn.as_str().into());
    value.insert("digest".to_owned(), offer.digest.to_string().into());
    value.insert("features".to_owned(), features);
    Value::Object(value)
}

fn offer_of(json: &Json<'_>, prefix: &Prefix) -> Read<Offer> {
    let members = Members::of(json, "contexts", &["urn", "digest", "features"], &[])?;
    let mut names = Vec::new();
    for feature in members.list("features", crate::limits::MAX_FEATURES)? {
        names.push(feature.as_str().ok_or(HandshakeFault::Member("features"))?);
    }
    Ok(Offer {
        urn: members.parsed("urn", |text| ContextUrn::parse(text, prefix).ok())?,
        digest: members.parsed("digest", digest)?,
        features: Features::sorted(names)?,
    })
}

fn minimums_value(minimums: &[Minimum]) -> Value {
    minimums.iter().map(|m| json!({"line": m.line.as_str(), "min": m.min.to_string()})).collect()
}

fn minimums_of(members: &Members<'_, '_>) -> Read<Vec<Minimum>> {
    let mut minimums: Vec<Minimum> = Vec::new();
    for minimum in members.list("minimums", MAX_MINIMUMS)? {
        let members = Members::of(minimum, "minimums", &["line", "min"], &[])?;
        let line = members.parsed("line", |text| Line::parse(text).ok())?;
        if minimums.iter().any(|other| other.line.folds_with(&line)) {
            return Err(HandshakeFault::Member("minimums"));
        }
        minimums.push(Minimum { line, min: members.parsed("min", |text| Version::parse(text).ok())? });
    }
    Ok(minimums)
}
