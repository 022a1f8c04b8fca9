//! The steps before the first message: floors, the choice of a version, the handshake (HELLO, SELECT, LOCK), locks.
//!
//! The same library serves a gateway that answers handshakes for agents behind it, and an agent that opens them. It opens
//! no socket, reads no clock and draws no randomness by itself: all are arguments. `docs/spec/snl.md` and
//! `docs/spec/locks.md` specify every byte.
//!
//! # Two agents, from HELLO to the lock
//!
//! An agent that links the crate carries these values over its own protocol ([`wire`], [`envelope`]). The certificates are
//! its own, from `semgate cert` or another issuer of its trust domain.
//!
//! ```
//! use ring::rand::SystemRandom;
//! use semgate_certs::{
//!     ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, PeerRoots, RootProfile, Roots, SpiffeId, TrustDomain,
//! };
//! use semgate_contexts::{ContextUrn, Digest, Prefix};
//! use semgate_negotiation::initiator::HelloSent;
//! use semgate_negotiation::responder::{ReceivedHello, ReceivedLock};
//! use semgate_negotiation::{
//!     ResponderConfig, HandshakeParties, Carried, Features, FleetSecret, HandshakeFault, Identity, LockKeys, Offer, InitiatorConfig, ReplayMemory, SupportedContext, Trust,
//! };
//! use semgate_statement::SigningIdentity;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // each agent has a certificate of the trust domain; clock and randomness are arguments
//! let (now, random) = (1_780_272_000, SystemRandom::new());
//! let root = Issuer::root(&RootProfile::new("root", now - 86_400), KeyPair::generate(&random)?, &random)?;
//! let profile = IssuingProfile::new("agents", Family::Tls, now - 86_400);
//! let issuer = root.issuing(&profile, KeyPair::generate(&random)?, &random)?;
//! let trusted = Roots::from_der(root.chain().certificates().to_vec(), &ChainLimits::default())?;
//! let roots = PeerRoots::new().with(TrustDomain::parse("semgate.test")?, trusted);
//! let prefix = Prefix::default();
//! let trust = Trust { roots: &roots, prefix: &prefix };
//! let agent = |id: &str| -> Result<Identity, Box<dyn std::error::Error>> {
//!     let key = KeyPair::generate(&random)?;
//!     let chain = issuer.leaf(&LeafProfile::agent(SpiffeId::parse(id)?, now - 60), key.public(), &random)?;
//!     Ok(Identity::new(SigningIdentity::new(key, chain), &trust, &random, now)?)
//! };
//! let retailer = agent("spiffe://semgate.test/agent/retailer-7")?;
//! let wholesaler = agent("spiffe://semgate.test/agent/wholesaler-1")?;
//! let offer = |short: &str| -> Result<Offer, Box<dyn std::error::Error>> {
//!     let urn = ContextUrn::parse_short(short, &prefix)?;
//!     Ok(Offer { urn, digest: Digest::of(short.as_bytes()), features: Features::none() })
//! };
//! let opening = |contexts: Vec<Offer>| InitiatorConfig { to: wholesaler.id().clone(), contexts, minimums: vec![], seal_to: None };
//! let between = HandshakeParties { peer: retailer.id(), me: wholesaler.id(), gateways: &[] };
//! let spoken = |offer: Offer| SupportedContext { offer, authority: "authority.test".to_owned() };
//! let contexts = vec![spoken(offer("payment:v1.1")?), spoken(offer("payment:v2.0")?)];
//! let answering = ResponderConfig { contexts, ..ResponderConfig::default() };
//! let replay = ReplayMemory::new();
//!
//! // HELLO: the retailer says what it speaks; SELECT: the wholesaler chooses the newest that both speak
//! let both = vec![offer("payment:v1.1")?, offer("payment:v2.0")?];
//! let (greeted, hello) = HelloSent::hello(opening(both.clone()), &retailer, &random, now)?;
//! let received = ReceivedHello::hello(&hello, &between, &[], &trust, &replay, now)?;
//! let (waiting, select) = received.select(&answering, &wholesaler, &random, now)?;
//! let chosen = greeted.select(&select, &trust, now)?;
//! assert_eq!(chosen.urn().as_str(), "urn:contexts:payment:v2.0");
//!
//! // LOCK: the session is about exactly these three messages, and the lock goes with every message of it
//! let (closing, lock) = chosen.lock(&retailer, 3_600, &random, now)?;
//! let agreement = waiting.lock(&ReceivedLock::lock(&lock, &between, &trust, &replay, now)?, now)?;
//! let keys = LockKeys::new(vec![FleetSecret::new(&[7; 32])?]);
//! let granted = keys.grant(&agreement, "orders", "authority.test", now)?;
//! let session = closing.granted(&Carried::Granted(granted), now)?;
//! assert_eq!(session.transcript, *agreement.transcript());
//! assert_eq!(session.expires_at, now + 3_600);
//!
//! // a HELLO from which a version was stripped: another one of the retailer's own, that offers less, is put in its place
//! let (greeted, _kept_back) = HelloSent::hello(opening(both), &retailer, &random, now)?;
//! let (_, stripped) = HelloSent::hello(opening(vec![offer("payment:v1.1")?]), &retailer, &random, now)?;
//! let received = ReceivedHello::hello(&stripped, &between, &[], &trust, &replay, now)?;
//! let (_, select) = received.select(&answering, &wholesaler, &random, now)?;
//! let refused = greeted.select(&select, &trust, now).unwrap_err();
//! assert!(matches!(refused, HandshakeFault::OtherHello));
//! assert_eq!(refused.code(), "lock_mismatch");
//! # Ok(())
//! # }
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod encoding;
mod handshake_memory;
mod member;
mod pending;

pub mod agreed;
pub mod endpoint;
pub mod envelope;
pub mod fault;
pub mod floor;
pub mod initiator;
pub mod last_offers;
pub mod limits;
pub mod lock;
pub mod minimums;
pub mod payloads;
pub mod relay;
pub mod replay;
pub mod responder;
pub mod seal;
pub mod select;
pub mod sessions;
pub mod signed;
pub mod terms;
pub mod wire;

#[cfg(test)]
mod handshake_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;

pub use agreed::Agreement;
pub use endpoint::{Endpoint, HandshakeReply, HandshakeRequest};
pub use envelope::{Envelope, read_message, write_message};
pub use fault::HandshakeFault;
pub use floor::{BelowFloor, Floors, Source};
pub use initiator::{InitiatorConfig, Session};
pub use last_offers::ShrunkOffer;
pub use lock::{
    FleetSecret, Granted, LockFault, LockKeys, LockQuestion, SecretFault, VerifiedLock, model_of, session_of,
};
pub use minimums::{PairMinimums, Stated, StatedFault};
pub use payloads::{Hello, KeyStatement, Lock, Select};
pub use relay::{Appointed, AwaitingSelect, Relay, RelayedHello, RelayedLock, RelayedMessage};
pub use replay::{NotTaken, RememberedBounds, ReplayMemory};
pub use responder::{HandshakeParties, ResponderConfig, SupportedContext};
pub use seal::{PeerKey, Sealed, SealingKey};
pub use select::{NoCommonVersion, newest_common};
pub use sessions::Sessions;
pub use signed::{Identity, Signed, Trust};
pub use terms::{Features, FeaturesFault, Minimum, Offer};
pub use wire::{Carried, Kind};
