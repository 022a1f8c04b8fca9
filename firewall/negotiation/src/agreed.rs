//! The result of a finished handshake.

use crate::encoding::part;
use crate::terms::{Features, Minimum};
use semgate_certs::SpiffeId;
use semgate_contexts::{ContextUrn, Digest, ModelName};

/// Proof that two agents agreed on one context: both signed, and each signed the other's message. Only
/// [`crate::responder::PendingLock::lock`] makes one:
///
/// ```compile_fail,E0451
/// # fn forge(urn: semgate_contexts::ContextUrn, digest: semgate_contexts::Digest) {
/// let agreement = semgate_negotiation::Agreement { urn, digest };
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    pub(crate) initiator: SpiffeId,
    pub(crate) responder: SpiffeId,
    pub(crate) urn: ContextUrn,
    pub(crate) digest: Digest,
    pub(crate) features: Features,
    /// The initiator's, from its HELLO, then the responder's, from its SELECT.
    pub(crate) minimums: [Vec<Minimum>; 2],
    /// The times of their signatures; `None` if a gateway repeated known minimums in an agent's place.
    pub(crate) stated_at: [Option<u64>; 2],
    pub(crate) transcript: Digest,
    pub(crate) expires_at: u64,
}

impl Agreement {
    /// The agent that opened the handshake.
    pub fn initiator(&self) -> &SpiffeId {
        &self.initiator
    }

    /// The agent that answered it.
    pub fn responder(&self) -> &SpiffeId {
        &self.responder
    }

    /// The context that both will speak.
    pub fn urn(&self) -> &ContextUrn {
        &self.urn
    }

    /// Its digest, the same on both sides.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The features that both have.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The embedding model that both chose; `None` where none is agreed. A choice of several never becomes an agreement.
    pub fn model(&self) -> Option<ModelName> {
        self.features.models().next()
    }

    /// The minimums of the initiator and of the responder.
    pub fn minimums(&self) -> &[Vec<Minimum>; 2] {
        &self.minimums
    }

    /// Digest over HELLO, SELECT and LOCK as they were signed.
    pub fn transcript(&self) -> &Digest {
        &self.transcript
    }

    /// The second at which the session ends: as the initiator asked, but no later than the certificates that signed.
    pub fn expires_at(&self) -> u64 {
        self.expires_at
    }

    /// Digest over features, minimums and transcript: the session in a lock (`docs/spec/locks.md`).
    pub(crate) fn session(&self) -> [u8; 32] {
        let [initiator, responder] = &self.minimums;
        session(&self.features, [initiator, responder], &self.transcript)
    }
}

/// Digest over the terms of a handshake: the features of the choice, the minimums of initiator and responder, the transcript.
pub(crate) fn session(features: &Features, minimums: [&[Minimum]; 2], transcript: &Digest) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(512);
    part(&mut bytes, b"semgate session v1");
    part(&mut bytes, &(features.iter().len() as u64).to_be_bytes());
    features.iter().for_each(|feature| part(&mut bytes, feature.as_bytes()));
    for minimums in minimums {
        part(&mut bytes, &(minimums.len() as u64).to_be_bytes());
        for minimum in minimums {
            part(&mut bytes, minimum.line.as_str().as_bytes());
            part(&mut bytes, minimum.min.to_string().as_bytes());
        }
    }
    part(&mut bytes, transcript.as_bytes());
    *Digest::of(&bytes).as_bytes()
}

/// Digest over the three signed messages of a handshake, each as the ASCII of its compact JWS.
pub(crate) fn transcript(hello: &str, select: &str, lock: &str) -> Digest {
    let mut bytes = Vec::with_capacity(hello.len() + select.len() + lock.len() + 64);
    part(&mut bytes, b"semgate transcript v1");
    [hello, select, lock].into_iter().for_each(|jws| part(&mut bytes, jws.as_bytes()));
    Digest::of(&bytes)
}
