//! Sealing HELLO and SELECT to their receiver, so that nodes between see no capabilities (F0-47).
//!
//! HPKE (RFC 9180) in base mode, one message for each encapsulation: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
//! ring offers no static ECDH, so this is the one module that uses RustCrypto's crates.

use crate::HandshakeFault;
use crate::limits::{
    CLOCK_SKEW_SECONDS, EPOCH_SECONDS, MAX_BOX_CHARS, MAX_MESSAGE_BYTES, MAX_SEALING_KEY_SECONDS,
};
use crate::lock::FleetSecret;
use crate::member::{Members, read};
use crate::payloads::{KeyStatement, POINT_BYTES};
use crate::signed::{Identity, Signed, Trust};
use crate::wire::{Kind, signed};
use hpke::aead::AesGcm128;
use hpke::kdf::HkdfSha256;
use hpke::kem::DhP256HkdfSha256;
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{
    Deserializable, Kem, OpModeR, OpModeS, Serializable, single_shot_open, single_shot_seal_with_rng,
};
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{KeyFault, SecureRandom, SpiffeId, Usage};
use semgate_contexts::Digest;
use serde_json::json;
use std::convert::Infallible;
use std::fmt;

type PrivateKey = <DhP256HkdfSha256 as Kem>::PrivateKey;
type PublicKey = <DhP256HkdfSha256 as Kem>::PublicKey;
type Encapped = <DhP256HkdfSha256 as Kem>::EncappedKey;

/// Plain texts are padded with blanks to a multiple of this, so that the length reveals little about the number of offers.
const PADDING: usize = 1024;

/// The purpose of an HPKE message; a box made for one kind opens as no other.
fn info(kind: Kind) -> &'static [u8] {
    match kind {
        Kind::Hello => b"semgate snl v1 HELLO",
        Kind::Select => b"semgate snl v1 SELECT",
        Kind::Lock => b"semgate snl v1 LOCK",
    }
}

/// A sealed message: the receiver's key, the encapsulated key, the ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Digest of the point of the receiver's key.
    pub key: Digest,
    encapped: [u8; POINT_BYTES],
    ciphertext: Vec<u8>,
}

impl Sealed {
    /// Reads the box: base64url of the encapsulated key and, after it, the ciphertext.
    pub(crate) fn parse(key: Digest, text: &str) -> Option<Self> {
        let bytes = from_base64url(text)?;
        let (encapped, ciphertext) = bytes.split_first_chunk::<POINT_BYTES>()?;
        Some(Self { key, encapped: *encapped, ciphertext: ciphertext.to_vec() })
    }

    pub(crate) fn to_text(&self) -> String {
        to_base64url([self.encapped.as_slice(), &self.ciphertext].concat())
    }
}

/// A key-agreement key of our own.
pub struct SealingKey {
    secret: PrivateKey,
    point: [u8; POINT_BYTES],
}

impl fmt::Debug for SealingKey {
    /// Never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", self.id())
    }
}

impl SealingKey {
    /// Draws a new key.
    ///
    /// # Errors
    /// [`HandshakeFault::Key`] if the source of randomness failed.
    pub fn generate(random: &dyn SecureRandom) -> Result<Self, HandshakeFault> {
        let mut seed = [0; 32];
        random.fill(&mut seed).map_err(|_| HandshakeFault::Key(KeyFault::Randomness))?;
        Ok(Self::derive(&seed))
    }

    /// The keys of a gateway for one agent: of this epoch and of the one before, the same in the whole fleet.
    pub fn of_fleet(secret: &FleetSecret, agent: &SpiffeId, now: u64) -> Vec<Self> {
        let epoch = now / EPOCH_SECONDS;
        let epochs = [epoch, epoch.saturating_sub(1)];
        epochs.into_iter().map(|epoch| Self::derive(&secret.sealing(epoch, agent.as_str()))).collect()
    }

    /// `DeriveKeyPair` of RFC 9180 §7.1.3.
    pub(crate) fn derive(seed: &[u8; 32]) -> Self {
        let (secret, public) = DhP256HkdfSha256::derive_keypair(seed);
        let mut point = [0; POINT_BYTES];
        public.write_exact(&mut point);
        Self { secret, point }
    }

    /// The uncompressed point of the public key.
    pub(crate) fn point(&self) -> [u8; POINT_BYTES] {
        self.point
    }

    /// The name of the key in boxes: the digest of its point.
    pub fn id(&self) -> Digest {
        Digest::of(&self.point)
    }

    /// States the key, signed by the agent's certificate key, for this many seconds, at most [`MAX_SEALING_KEY_SECONDS`].
    ///
    /// # Errors
    /// [`HandshakeFault::Key`].
    pub fn state(
        &self,
        me: &Identity,
        seconds: u64,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<Signed, HandshakeFault> {
        state(self.point, me, seconds, random, now)
    }

    /// Opens a box. Its content is signed, but not trusted yet.
    pub(crate) fn open(&self, kind: Kind, sealed: &Sealed) -> Result<Opened, HandshakeFault> {
        if sealed.key != self.id() {
            return Err(HandshakeFault::UnknownSealingKey);
        }
        let encapped = Encapped::from_bytes(&sealed.encapped).map_err(|_| HandshakeFault::CannotOpen)?;
        let plain = single_shot_open::<AesGcm128, HkdfSha256, DhP256HkdfSha256>(
            &OpModeR::Base,
            &self.secret,
            &encapped,
            info(kind),
            &sealed.ciphertext,
            b"",
        );
        let plain = plain.map_err(|_| HandshakeFault::CannotOpen)?;
        let json = read(&plain, MAX_MESSAGE_BYTES)?;
        // only a gateway that passes a HELLO on states the key for the answer
        let reply: &[&str] = if kind == Kind::Hello { &["reply"] } else { &[] };
        let members = Members::of(&json, kind.as_str(), &["jws", "x5c"], reply)?;
        let reply = members.has("reply").map(|reply| Members::of(reply, "reply", &["jws", "x5c"], &[]));
        let reply = reply.transpose()?.map(|reply| signed(&reply)).transpose()?;
        Ok(Opened { signed: signed(&members)?, reply })
    }
}

/// The content of a box.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) signed: Signed,
    /// Beside a HELLO that a gateway passes on: its statement of the key for the SELECT.
    pub(crate) reply: Option<Signed>,
}

/// States a key for this many seconds, at most [`MAX_SEALING_KEY_SECONDS`].
pub(crate) fn state(
    key: [u8; POINT_BYTES],
    me: &Identity,
    seconds: u64,
    random: &dyn SecureRandom,
    now: u64,
) -> Result<Signed, HandshakeFault> {
    let expires_at = now.saturating_add(seconds.min(MAX_SEALING_KEY_SECONDS));
    me.sign(&KeyStatement { from: me.id().clone(), issued_at: now, expires_at, key }, random)
}

/// A key-agreement key of another agent, which that agent's certificate key signed.
#[derive(Clone, Debug)]
pub struct PeerKey {
    agent: SpiffeId,
    key: PublicKey,
    point: [u8; POINT_BYTES],
    until: u64,
}

impl PeerKey {
    /// Takes the signed statement of a key.
    ///
    /// # Errors
    /// [`HandshakeFault::TooOld`] past its end, [`HandshakeFault::Expiry`] for a life longer than
    /// [`MAX_SEALING_KEY_SECONDS`]; else as for a HELLO.
    pub fn stated(signed: &Signed, trust: &Trust<'_>, now: u64) -> Result<Self, HandshakeFault> {
        let usages = [Usage::Agent, Usage::Server];
        let statement = signed.verify_at_any_time::<KeyStatement>(trust, &usages, now)?.payload;
        if statement.issued_at > now.saturating_add(CLOCK_SKEW_SECONDS) {
            return Err(HandshakeFault::FromTheFuture);
        }
        if statement.expires_at <= now {
            return Err(HandshakeFault::TooOld);
        }
        if statement.expires_at > statement.issued_at.saturating_add(MAX_SEALING_KEY_SECONDS) {
            return Err(HandshakeFault::Expiry);
        }
        Ok(Self { until: statement.expires_at, ..Self::of_point(statement.from, statement.key)? })
    }

    /// The key that a verified HELLO holds, or the statement of a gateway: for the one answer to it.
    pub(crate) fn of_point(agent: SpiffeId, point: [u8; POINT_BYTES]) -> Result<Self, HandshakeFault> {
        let key = PublicKey::from_bytes(&point).map_err(|_| HandshakeFault::CannotOpen)?;
        Ok(Self { agent, key, point, until: u64::MAX })
    }

    /// The uncompressed point of the public key.
    pub(crate) fn point(&self) -> [u8; POINT_BYTES] {
        self.point
    }

    /// The name of the key in boxes: the digest of its point.
    pub(crate) fn id(&self) -> Digest {
        Digest::of(&self.point)
    }

    /// The second at which its statement ends.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }

    /// The owner of the key.
    pub fn agent(&self) -> &SpiffeId {
        &self.agent
    }

    /// Seals a signed message; `reply` beside a HELLO states the key for the answer.
    pub(crate) fn seal(
        &self,
        kind: Kind,
        signed: &Signed,
        reply: Option<&Signed>,
        random: &dyn SecureRandom,
    ) -> Result<Sealed, HandshakeFault> {
        let mut plain = json!({"jws": signed.jws, "x5c": signed.x5c});
        if let (Some(reply), Some(members)) = (reply, plain.as_object_mut()) {
            members.insert("reply".to_owned(), json!({"jws": reply.jws, "x5c": reply.x5c}));
        }
        let mut plain = plain.to_string().into_bytes();
        let padded = plain.len().next_multiple_of(PADDING);
        plain.resize(padded, b' ');
        let mut drawn = InjectedRandom { random, failed: None };
        let made = single_shot_seal_with_rng::<AesGcm128, HkdfSha256, DhP256HkdfSha256>(
            &OpModeS::Base,
            &self.key,
            info(kind),
            &plain,
            b"",
            &mut drawn,
        );
        if drawn.failed.is_some() {
            return Err(HandshakeFault::Key(KeyFault::Randomness));
        }
        let (encapped_key, ciphertext) = made.map_err(|_| HandshakeFault::CannotOpen)?;
        let mut encapped = [0; POINT_BYTES];
        encapped_key.write_exact(&mut encapped);
        let sealed = Sealed { key: self.id(), encapped, ciphertext };
        if sealed.to_text().len() > MAX_BOX_CHARS {
            return Err(HandshakeFault::TooLarge);
        }
        Ok(sealed)
    }
}

/// The caller's randomness in the form that RustCrypto expects. Errors are impossible there, so a failure is noted and
/// reported afterwards.
struct InjectedRandom<'r> {
    random: &'r dyn SecureRandom,
    failed: Option<KeyFault>,
}

impl TryRng for InjectedRandom<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        if self.random.fill(out).is_err() {
            self.failed = Some(KeyFault::Randomness);
        }
        Ok(())
    }
}

impl TryCryptoRng for InjectedRandom<'_> {}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
