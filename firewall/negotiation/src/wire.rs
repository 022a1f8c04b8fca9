//! Transport of handshake messages: concept objects `HELLO`, `SELECT` and `LOCK` of the control vocabulary.

use crate::HandshakeFault;
use crate::limits::{MAX_BOX_CHARS, MAX_JWS_BYTES, MAX_LOCK_CHARS};
use crate::lock::Granted;
use crate::member::Members;
use crate::seal::Sealed;
use crate::signed::Signed;
use semgate_contexts::Digest;
use semgate_contexts::json::{Json, Object};
use serde_json::{Value, json};

/// Most certificates beside a JWS, as [`semgate_certs::ChainLimits`] has it.
const MAX_CERTIFICATES: usize = 4;

/// The member that names the concept; `concept` and `task` are read too, as everywhere.
const NAMING: [&str; 3] = ["concept_type", "concept", "task"];

/// The three messages of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Opens it.
    Hello,
    /// Answers it.
    Select,
    /// Closes it, and is answered by the lock.
    Lock,
}

impl Kind {
    /// The name of the concept.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hello => "HELLO",
            Self::Select => "SELECT",
            Self::Lock => "LOCK",
        }
    }

    /// The kind with exactly this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Hello, Self::Select, Self::Lock].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The content of a concept object, without its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// `{jws, x5c}`
    Signed(Signed),
    /// `{sealed: {key, box}}`, of HELLO and SELECT.
    Sealed(Sealed),
    /// `{lock, expires_at}`, of the answer to LOCK.
    Granted(Granted),
}

impl Carried {
    /// The concept object for the content of a native L8 message or a data part of A2A.
    pub fn to_value(&self, kind: Kind) -> Value {
        let name = kind.as_str();
        match self {
            Self::Signed(Signed { jws, x5c }) => json!({"concept_type": name, "jws": jws, "x5c": x5c}),
            Self::Sealed(sealed) => json!({
                "concept_type": name,
                "sealed": {"key": sealed.key.to_string(), "box": sealed.to_text()},
            }),
            Self::Granted(Granted { lock, expires_at }) => {
                json!({"concept_type": name, "lock": lock, "expires_at": expires_at})
            }
        }
    }

    /// Reads a concept object with its name. Bytes come through the strict reader first.
    ///
    /// # Errors
    /// [`HandshakeFault::Member`] for an object in none of the three forms of its concept.
    pub fn of_object(object: &Object<'_>) -> Result<(Kind, Self), HandshakeFault> {
        let mut naming = NAMING.into_iter().filter(|name| object.get(name).is_some());
        let (Some(name), None) = (naming.next(), naming.next()) else {
            return Err(HandshakeFault::Member("concept_type"));
        };
        let kind = object.get(name).and_then(Json::as_str).and_then(Kind::parse);
        let kind = kind.ok_or(HandshakeFault::Member("concept_type"))?;
        let carried = if object.get("jws").is_some() {
            let members = Members::of_object(object, kind.as_str(), &["jws", "x5c", name], &[])?;
            Self::Signed(signed(&members)?)
        } else if object.get("sealed").is_some() && kind != Kind::Lock {
            let members = Members::of_object(object, kind.as_str(), &["sealed", name], &[])?;
            Self::Sealed(sealed(members.get("sealed")?)?)
        } else if kind == Kind::Lock {
            let members = Members::of_object(object, kind.as_str(), &["lock", "expires_at", name], &[])?;
            Self::Granted(granted(&members)?)
        } else {
            return Err(HandshakeFault::Member("jws"));
        };
        Ok((kind, carried))
    }
}

pub(crate) fn signed(members: &Members<'_, '_>) -> Result<Signed, HandshakeFault> {
    let jws = members.text("jws")?;
    if jws.len() > MAX_JWS_BYTES {
        return Err(HandshakeFault::TooLarge);
    }
    let mut x5c = Vec::new();
    for certificate in members.list("x5c", MAX_CERTIFICATES)? {
        x5c.push(certificate.as_str().ok_or(HandshakeFault::Member("x5c"))?.to_owned());
    }
    Ok(Signed { jws: jws.to_owned(), x5c })
}

fn sealed(json: &Json<'_>) -> Result<Sealed, HandshakeFault> {
    let members = Members::of(json, "sealed", &["key", "box"], &[])?;
    let text = members.text("box")?;
    if text.len() > MAX_BOX_CHARS {
        return Err(HandshakeFault::TooLarge);
    }
    let key = members.parsed("key", |text| Digest::parse(text).ok())?;
    Sealed::parse(key, text).ok_or(HandshakeFault::Member("box"))
}

fn granted(members: &Members<'_, '_>) -> Result<Granted, HandshakeFault> {
    let lock = members.text("lock")?;
    if lock.is_empty() || lock.len() > MAX_LOCK_CHARS || !lock.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(HandshakeFault::Member("lock"));
    }
    Ok(Granted { lock: lock.to_owned(), expires_at: members.time("expires_at")? })
}
