//! Faults of channels and of their files, and random tokens.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::fault::RunFault;

/// Bytes of a random token: it cannot be guessed.
const TOKEN: usize = 32;

/// The reason why a person was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelFault {
    /// No address of the person's card belongs to a channel of this gateway.
    NoAddress,
    /// The channel refuses this address for good.
    Refused,
    /// The channel did not answer, or not with success.
    Unreachable,
}

impl fmt::Display for ChannelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "the person has no address at a channel of this gateway",
            Self::Refused => "the channel refused the address",
            Self::Unreachable => "the channel could not be reached",
        })
    }
}

/// 256 random bits as base64url.
///
/// # Errors
/// The system has no randomness.
pub(super) fn random_text() -> Result<String, ChannelFault> {
    let mut bytes = [0; TOKEN];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ChannelFault::Unreachable)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Reads a file of the configuration.
///
/// # Errors
/// It cannot be read.
pub(super) fn read(path: &Path, what: &'static str) -> Result<String, RunFault> {
    std::fs::read_to_string(path).map_err(|why| fault(path, what, &why))
}

/// The fault of a file of the configuration.
pub(super) fn fault(path: &Path, what: &'static str, why: &dyn fmt::Display) -> RunFault {
    RunFault::File { path: path.to_owned(), what, why: why.to_string() }
}
