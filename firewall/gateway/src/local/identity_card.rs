//! The identity card and the capability manifest of an LDP delegate. The operator pins the card in a file. The gateway serves
//! it as long as the delegate still serves the same one, with the gateway's address in place of the delegate's.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use semgate_contexts::{canonical, json};
use semgate_inspect::{Code, Refusal};
use semgate_protocol::PayloadMode;
use semgate_protocol::ldp::Endpoint;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::fault::RunFault;
use crate::server::pem_files::{fault, read};

/// Lifetime of a comparison with the delegate's own card.
const KEPT: Duration = Duration::from_secs(60);
/// Members that name the delegate's inner address. They take no part in the comparison.
const ADDRESSES: [&str; 2] = ["endpoint", "endpoint_address"];
/// The most skills and payload modes of a card.
const MOST: usize = 256;

/// A pinned card: its members without the address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IdentityCard {
    members: Map<String, Value>,
    canonical: Vec<u8>,
    skills: Vec<String>,
    modes: Vec<PayloadMode>,
}

/// The members of a card that routes are held to. The schema of the protocol's context judges the whole card when it is served.
#[derive(Deserialize)]
struct Needed {
    delegate_id: String,
    capabilities: Vec<Capability>,
    supported_payload_modes: Vec<String>,
}

#[derive(Deserialize)]
struct Capability {
    name: String,
}

impl IdentityCard {
    /// Loads a pinned card.
    ///
    /// # Errors
    /// An unreadable file, or a card without single reading, without name, skills or payload modes, or with a skill twice.
    pub(crate) fn load(path: &Path) -> Result<Self, RunFault> {
        let text = read(path, "identity card")?;
        Self::parse(text.as_bytes()).map_err(|why| fault(path, "identity card", &why))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let members = members(bytes).ok_or("is not one strict JSON object")?;
        let read: Needed =
            serde_json::from_value(Value::Object(members.clone())).map_err(|why| why.to_string())?;
        if read.capabilities.len() > MOST || read.supported_payload_modes.len() > MOST {
            return Err(format!("has more than {MOST} capabilities or payload modes"));
        }
        if read.delegate_id.is_empty() {
            return Err("has an empty `delegate_id`".to_owned());
        }
        let modes = read.supported_payload_modes.iter().map(|word| PayloadMode::parse(word));
        let modes = modes.collect::<Option<_>>().ok_or("lists an unknown payload mode")?;
        let mut skills: Vec<String> = read.capabilities.into_iter().map(|one| one.name).collect();
        skills.sort();
        if skills.iter().zip(skills.iter().skip(1)).any(|(one, next)| one == next) {
            return Err("names a capability twice".to_owned());
        }
        let canonical = canonical_form(&members).ok_or("holds a number without canonical form")?;
        Ok(Self { canonical, members, skills, modes })
    }

    /// Names of the delegate's skills, sorted.
    pub(crate) fn skills(&self) -> &[String] {
        &self.skills
    }

    /// Payload modes of the delegate.
    pub(crate) fn modes(&self) -> &[PayloadMode] {
        &self.modes
    }

    /// True of bytes that hold the same card, apart from its address.
    fn is_same(&self, theirs: &[u8]) -> bool {
        let theirs = members(theirs).and_then(|theirs| canonical_form(&theirs));
        theirs.is_some_and(|theirs| theirs == self.canonical)
    }

    /// The document for callers. `url` is the gateway's address of the route.
    fn served(&self, document: Endpoint, url: &str) -> Bytes {
        if document == Endpoint::Capabilities {
            return Bytes::from(json!({"capabilities": self.members.get("capabilities")}).to_string());
        }
        let mut members = self.members.clone();
        let [address, _] = ADDRESSES;
        members.insert(address.to_owned(), url.trim_end_matches('/').into());
        Bytes::from(Value::Object(members).to_string())
    }
}

/// The members of one strictly read JSON object, without addresses.
fn members(bytes: &[u8]) -> Option<Map<String, Value>> {
    json::read(bytes, &json::Limits::default()).ok()?;
    let mut members: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    ADDRESSES.iter().for_each(|name| drop(members.remove(*name)));
    Some(members)
}

fn canonical_form(members: &Map<String, Value>) -> Option<Vec<u8>> {
    canonical::jcs(&Value::Object(members.clone())).ok()
}

/// The card of one route on one core.
pub(crate) struct Identity {
    card: std::sync::Arc<IdentityCard>,
    url: String,
    /// Time until which the delegate's own card counts as compared.
    compared_until: RefCell<Option<Instant>>,
}

impl Identity {
    /// The card of a route with this address for callers.
    pub(crate) fn new(card: std::sync::Arc<IdentityCard>, url: String) -> Self {
        Self { card, url, compared_until: RefCell::default() }
    }

    /// True while the delegate's own card need not be compared again.
    pub(super) fn is_compared(&self) -> bool {
        self.compared_until.borrow().is_some_and(|until| Instant::now() < until)
    }

    /// Compares the delegate's own card, which then counts for [`KEPT`].
    ///
    /// # Errors
    /// `upstream_invalid` for another card than the pinned one.
    pub(super) fn compare(&self, theirs: &[u8]) -> Result<(), Refusal> {
        if !self.card.is_same(theirs) {
            return Err(Refusal::new(
                Code::UpstreamInvalid,
                "the delegate's identity card is not the pinned one",
            )
            .with_hint("ask the operator to compare the card and to pin it again")
            .with_detail("compare `identity_card` with the delegate's `/ldp/identity`"));
        }
        *self.compared_until.borrow_mut() = Some(Instant::now() + KEPT);
        Ok(())
    }

    /// The document of this endpoint, for callers.
    pub(super) fn document(&self, document: Endpoint) -> Bytes {
        self.card.served(document, &self.url)
    }
}

#[cfg(test)]
mod tests;
