//! The sender of a signed message: the agent whose key verifies it.

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER_PERMISSIVE;
use semgate_inspect::{Code, Inspector, Now, Peer, Refusal, SignedHead};
use semgate_policies::{AgentEntry, Policies};
use semgate_protocol::Call;
use semgate_protocol::iac::{Dictionaries, Frame, FrameIds, FrameLimits, SignedForm, inflate_with};

use super::{BINDING, ZSTD_WINDOW};
use crate::server::carrier::{CarriedFrame, FrameBounds};
use crate::server::reply_signer::AnsweredMessage;
use crate::server::worker::RouteWorker;

/// Bytes of the longest name that an answer repeats: those of a SPIFFE id.
const NAME: usize = 2048;

/// A message whose signature was verified.
pub(super) struct SignedFrame {
    pub(super) frame: Frame,
    /// Id of the agent whose key verified it.
    pub(super) agent: Arc<str>,
    pub(super) key: [u8; 32],
    pub(super) form: SignedForm,
}

/// An early check of the inspector.
pub(super) type EarlyCheck = fn(&Inspector, &SignedHead<'_>, Now) -> Result<(), Refusal>;

impl SignedFrame {
    /// Checks the names, ids and stamp.
    ///
    /// # Errors
    /// Those of the check.
    pub(super) fn checked(&self, worker: &RouteWorker, check: EarlyCheck) -> Result<(), Refusal> {
        let (ids, peer, call) = (FrameIds::of(&self.frame), Peer::signed(&self.agent), Call::iac());
        let message = ids.head(&self.frame);
        let head = SignedHead { route: &worker.route, peer: &peer, call: &call, message: &message };
        check(&worker.shared.inspector, &head, worker.shared.now())
    }
}

/// The reason why a frame is no message of a known agent.
pub(super) enum NoMessage {
    /// Its compression or size: nothing behind it is trusted.
    Framing(Refusal),
    /// One message, with as much as is known of it.
    Refused(Refusal, AnsweredMessage),
}

/// Opens a frame, reads its message, and verifies the signature.
pub(super) fn signed(
    carried: CarriedFrame,
    bounds: &FrameBounds,
    dictionaries: &Dictionaries,
    policies: &Policies,
    now: u64,
) -> Result<SignedFrame, NoMessage> {
    let protobuf = opened(carried, bounds, dictionaries).map_err(NoMessage::Framing)?;
    let unknown = AnsweredMessage::default();
    let frame = Frame::read(protobuf)
        .map_err(|fault| NoMessage::Refused(Refusal::of_message(&fault, BINDING), unknown))?;
    match verified(policies, &frame, now) {
        Ok(Verified { agent, key, form }) => Ok(SignedFrame { frame, agent, key, form }),
        Err(refusal) => {
            let about = about(&frame);
            Err(NoMessage::Refused(refusal, about))
        }
    }
}

/// The protobuf of a frame.
fn opened(
    carried: CarriedFrame,
    bounds: &FrameBounds,
    dictionaries: &Dictionaries,
) -> Result<Bytes, Refusal> {
    if !carried.compressed {
        return Ok(carried.bytes);
    }
    let limits = FrameLimits { compressed: bounds.compressed, inflated: bounds.plain, window: ZSTD_WINDOW };
    let opened = inflate_with(&carried.bytes, &limits, dictionaries);
    opened.map(Bytes::from).map_err(|fault| {
        Refusal::of_message(&fault, BINDING)
            .with_hint("send one zstd frame, as docs/spec/iac-binding.md says")
    })
}

/// The message as a reply refers to it.
pub(super) fn about(frame: &Frame) -> AnsweredMessage {
    let from = if frame.from().len() <= NAME { frame.from() } else { "" };
    AnsweredMessage { from: from.to_owned(), msg_id: Some(frame.msg_id()), session_id: frame.session_id() }
}

/// The agent, its key, and the form that the key signed.
struct Verified {
    agent: Arc<str>,
    key: [u8; 32],
    form: SignedForm,
}

/// The agent that `from` names, and its key that verifies the message. The keys of other agents are never tried.
///
/// # Errors
/// `sender_mismatch`, the same for an unknown name and a wrong key.
fn verified(policies: &Policies, frame: &Frame, now: u64) -> Result<Verified, Refusal> {
    let none = || {
        Refusal::new(Code::SenderMismatch, "no present key of the sender that the message names verifies it")
            .with_hint("sign it with a key that `entities.json` lists for the name in `from`")
    };
    let entry = named(policies, frame.from()).ok_or_else(none)?;
    let mut verified = present(entry, now).filter_map(|key| Some((key, frame.verify(&key)?)));
    let (key, form) = verified.next().ok_or_else(none)?;
    Ok(Verified { agent: entry.id.as_str().into(), key, form })
}

/// The agent with this name, id, alias, or key in hex.
fn named<'p>(policies: &'p Policies, name: &str) -> Option<&'p AgentEntry> {
    let binding = BINDING.as_str();
    let known =
        policies.by_name(binding, name).or_else(|| policies.agent(name)).or_else(|| policies.by_alias(name));
    known.or_else(|| {
        let key = HEXLOWER_PERMISSIVE.decode(name.as_bytes()).ok()?;
        policies.by_key(binding, key.try_into().ok()?)
    })
}

/// Keys of an agent that count now.
fn present(entry: &AgentEntry, now: u64) -> impl Iterator<Item = [u8; 32]> {
    let of_binding = entry.keys.iter().filter(|key| key.binding == BINDING.as_str());
    of_binding.filter(move |key| key.not_after.is_none_or(|last| now <= last)).map(|key| key.key)
}

/// Checks that a key of an agent still counts.
///
/// # Errors
/// `sender_mismatch`.
pub(super) fn still(policies: &Policies, agent: &str, key: [u8; 32], now: u64) -> Result<(), Refusal> {
    let entry = policies.agent(agent).filter(|entry| !entry.disabled);
    if entry.is_some_and(|entry| present(entry, now).any(|known| known == key)) {
        return Ok(());
    }
    Err(Refusal::new(Code::SenderMismatch, "the key of this connection no longer counts")
        .with_hint("connect again and sign with a present key"))
}
