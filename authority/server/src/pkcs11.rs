//! Keys in devices (PKCS#11: smart cards, HSMs, cloud key services with a module). A `pkcs11:` URI (RFC 7512) stands in place of a key
//! file. Each module runs on a thread of its own. Callers wait up to a limit, so a module that hangs stops nothing else. A signature from a
//! device is verified before use.

mod device;
mod token;
mod uri;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use semgate_certs::{DeviceFault, KeyFault, KeyPair, PublicKey, SigningKey};

use device::Device;
pub use uri::{Pkcs11Uri, UriFault};

/// Limit for a key on the command line: a person may have to touch a button.
const PATIENT: Duration = Duration::from_secs(60);

/// The prefix of a key in a device.
pub(crate) const SCHEME: &str = "pkcs11:";

/// The URI, if a configured key lies in a device.
pub(crate) fn names_device(key: &Path) -> Option<&str> {
    key.to_str().filter(|text| text.starts_with(SCHEME))
}

/// A key in a device. Its `Debug` shows its name and public half.
struct DeviceKey {
    uri: Pkcs11Uri,
    device: Arc<Device>,
    public: PublicKey,
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceKey").field("uri", &self.uri.to_string()).finish_non_exhaustive()
    }
}

impl SigningKey for DeviceKey {
    fn public(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, _: &dyn SecureRandom, message: &[u8]) -> Result<[u8; 64], KeyFault> {
        self.sign_undrawn(message)
    }

    fn sign_undrawn(&self, message: &[u8]) -> Result<[u8; 64], KeyFault> {
        let signature = self.device.sign(&self.uri, message).map_err(KeyFault::Device)?;
        let good = self.public.verify(self.public.algorithm(), message, &signature);
        good.map(|()| signature).map_err(|_| KeyFault::Device(DeviceFault::WrongSignature))
    }

    fn pem(&self) -> Option<String> {
        None
    }
}

/// True if a person started this process and sees the token's messages: a PIN is then tried even after a wrong one.
static ATTENDED: AtomicBool = AtomicBool::new(false);

/// The key that a URI names, in whichever token holds it. Waits at most `limit`.
///
/// # Errors
/// [`DeviceFault`].
pub(crate) fn device_key(uri: &Pkcs11Uri, limit: Duration) -> Result<Arc<dyn SigningKey>, DeviceFault> {
    let device = Device::of(uri, limit)?;
    let public = device.public(uri)?;
    Ok(Arc::new(DeviceKey { uri: uri.clone(), device, public }))
}

/// Reason why a named key cannot be used.
#[derive(Debug)]
pub enum NamedKeyFault {
    /// The `pkcs11:` URI is not accepted.
    Uri(UriFault),
    /// The device failed.
    Device(DeviceFault),
    /// The file cannot be read.
    Io(std::io::Error),
    /// The file holds no key.
    Key(KeyFault),
}

impl fmt::Display for NamedKeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamedKeyFault::Uri(fault) => fault.fmt(f),
            NamedKeyFault::Device(fault) => fault.fmt(f),
            NamedKeyFault::Io(fault) => fault.fmt(f),
            NamedKeyFault::Key(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for NamedKeyFault {}

/// A key by its PEM file or its `pkcs11:` URI, for commands that a person starts. Here a PIN is tried once even after a wrong one, and a
/// right one lets the authority log in again.
///
/// # Errors
/// [`NamedKeyFault`].
pub fn signing_key(location: &str) -> Result<Arc<dyn SigningKey>, NamedKeyFault> {
    if location.starts_with(SCHEME) {
        let uri = Pkcs11Uri::parse(location).map_err(NamedKeyFault::Uri)?;
        ATTENDED.store(true, Ordering::Relaxed);
        return device_key(&uri, PATIENT).map_err(NamedKeyFault::Device);
    }
    let text = std::fs::read_to_string(location).map_err(NamedKeyFault::Io)?;
    Ok(KeyPair::from_pem(&text, &SystemRandom::new()).map_err(NamedKeyFault::Key)?.into())
}
