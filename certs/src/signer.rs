//! A key that signs, in a file ([`KeyPair`](crate::KeyPair)) or in a device that never releases it.

use crate::{KeyFault, PublicKey};
use ring::rand::SecureRandom;
use std::fmt;

/// A key that signs. Its users need only its public half and its signatures. Every signature verifies under the public half,
/// so no user verifies it again. For a key from a file, this was checked when it was read. The signatures of a device are
/// verified before they are returned ([`DeviceFault::WrongSignature`]).
pub trait SigningKey: fmt::Debug + Send + Sync {
    /// The public half.
    fn public(&self) -> &PublicKey;

    /// Signs by the algorithm of the public half: 64 bytes, `r || s` of ES256 (RFC 7518 §3.4) or an Ed25519 signature (RFC
    /// 8032). A device draws its own randomness and ignores `random`. May take as long as the device's limit, so it is not
    /// for threads that must not block.
    ///
    /// # Errors
    /// [`KeyFault::Randomness`]; [`KeyFault::Device`].
    fn sign(&self, random: &dyn SecureRandom, message: &[u8]) -> Result<[u8; 64], KeyFault>;

    /// The same without randomness: Ed25519 is deterministic, and a device draws its own.
    ///
    /// # Errors
    /// [`KeyFault::Randomness`] for a key that needs some; [`KeyFault::Device`].
    fn sign_undrawn(&self, message: &[u8]) -> Result<[u8; 64], KeyFault>;

    /// The PKCS#8 PEM form of a key that can be written so. None for a key in a device, which stays the same when its
    /// certificate is renewed.
    fn pem(&self) -> Option<String>;
}

/// The reason that a device did not sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceFault {
    /// The module cannot be loaded or begun.
    Module,
    /// No slot holds a token, or the name matches none or more than one.
    TokenAbsent,
    /// The token refused the PIN. It is not tried again: a few wrong ones lock a token.
    Pin,
    /// The token reports a wrong PIN since the last right one: a program that restarts repeatedly would lock it.
    PinTried,
    /// One more wrong PIN locks the token, or it is locked.
    PinLast,
    /// The PIN cannot be read from its configured source.
    PinMissing,
    /// The token holds no such private key, or several.
    KeyAbsent,
    /// The token does not state the public key of the private one, or it is none of P-256 or Ed25519.
    PublicKey,
    /// The token did not answer within the limit.
    Timeout,
    /// The token failed, with the name of the return value (OASIS PKCS#11 3.0 §5.1).
    Failed(&'static str),
    /// Its signature does not verify by the public key.
    WrongSignature,
}

impl fmt::Display for DeviceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceFault::Module => "the pkcs#11 module cannot be loaded",
            DeviceFault::TokenAbsent => "there is no such token, or more than one",
            DeviceFault::Pin => "the token refused the pin, and it is not tried again",
            DeviceFault::PinTried => "a wrong pin was tried at the token: log in by hand before the next try",
            DeviceFault::PinLast => "the token is locked, or one more wrong pin locks it, so no pin is tried",
            DeviceFault::PinMissing => "the pin cannot be read from its source",
            DeviceFault::KeyAbsent => "the token holds no such private key, or several",
            DeviceFault::PublicKey => "the token has no public key of p-256 or ed25519 for the private key",
            DeviceFault::Timeout => "the token did not answer in time",
            DeviceFault::Failed(name) => return write!(f, "the token failed: `{name}`"),
            DeviceFault::WrongSignature => "the token gave a signature that does not verify",
        })
    }
}

impl std::error::Error for DeviceFault {}
