//! A session with a token: found, logged in, and reopened when lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use ring::digest::{SHA256, digest};
use semgate_certs::{DeviceFault, PublicKey, SignatureAlgorithm};

use super::uri::{PinSource, Pkcs11Uri};
use super::{ATTENDED, device};

/// Bytes of a PIN: PKCS#11 tokens take far shorter ones.
const MAX_PIN_BYTES: u64 = 1024;
/// The curve P-256 as an object identifier (RFC 5480 §2.1.1.1).
const P256: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// Ed25519 as an object identifier (RFC 8410 §3) and as a name (PKCS#11 3.0 §2.3.5, `edwards25519`): tokens write either.
const ED25519: [&[u8]; 2] = [&[0x06, 0x03, 0x2b, 0x65, 0x70], b"\x13\x0cedwards25519"];

/// A key found in the token.
#[derive(Clone)]
struct DeviceKeyHandle {
    handle: ObjectHandle,
    public: PublicKey,
}

/// The working side: all calls of one thread.
pub(super) struct Token {
    uri: Pkcs11Uri,
    module: Option<Pkcs11>,
    session: Option<Session>,
    keys: BTreeMap<Pkcs11Uri, DeviceKeyHandle>,
    /// The fault of a wrong PIN, which is not tried again: tokens lock after a few.
    refused: Option<DeviceFault>,
    /// True if this PIN was accepted before.
    right: bool,
}

impl Token {
    /// The token of a URI; opens nothing yet.
    pub fn new(uri: &Pkcs11Uri) -> Token {
        let (uri, keys) = (uri.clone(), BTreeMap::new());
        Token { uri, module: None, session: None, keys, refused: None, right: false }
    }

    /// The public half of a key.
    pub fn public(&mut self, uri: &Pkcs11Uri) -> Result<PublicKey, DeviceFault> {
        // looked up again: a key replaced under its name is another key
        self.keys.remove(uri);
        self.with_retry(|token| token.find(uri).map(|found| found.public))
    }

    /// Signs by the key's one algorithm.
    pub fn sign(&mut self, uri: &Pkcs11Uri, message: &[u8]) -> Result<[u8; 64], DeviceFault> {
        self.with_retry(|token| {
            let key = token.find(uri)?;
            let session = token.session()?;
            let signature = match key.public.algorithm() {
                // the token is handed the hash, and answers `r || s`
                SignatureAlgorithm::Es256 => {
                    let hash = digest(&SHA256, message);
                    session.sign(&Mechanism::Ecdsa, key.handle, hash.as_ref())
                }
                SignatureAlgorithm::Ed25519 => {
                    let pure = EddsaParams::new(EddsaSignatureScheme::Pure);
                    session.sign(&Mechanism::Eddsa(pure), key.handle, message)
                }
            };
            signature.map_err(failed)?.try_into().map_err(|_| DeviceFault::WrongSignature)
        })
    }

    /// Repeats the work with a new session if something was lost: a token taken out and put back, a module that began again.
    fn with_retry<T>(
        &mut self,
        work: impl Fn(&mut Token) -> Result<T, DeviceFault>,
    ) -> Result<T, DeviceFault> {
        match work(self) {
            Err(fault @ (DeviceFault::Failed(_) | DeviceFault::KeyAbsent | DeviceFault::WrongSignature)) => {
                let had_session = self.session.take().is_some();
                self.keys.clear();
                if had_session { work(self) } else { Err(fault) }
            }
            done => done,
        }
    }

    fn session(&mut self) -> Result<&Session, DeviceFault> {
        if self.session.is_none() {
            self.session = Some(self.open()?);
        }
        self.session.as_ref().ok_or(DeviceFault::Module)
    }

    fn open(&mut self) -> Result<Session, DeviceFault> {
        if let Some(fault) = self.refused {
            return Err(fault);
        }
        let module = match &self.module {
            Some(module) => module.clone(),
            None => load(&self.uri.module)?,
        };
        begin(&module)?;
        self.module = Some(module.clone());
        let slot = match self.slot(&module) {
            // some modules see a token that was put back only after they begin again
            Err(DeviceFault::TokenAbsent) if device::restart(&self.uri.module, &module) => {
                begin(&module)?;
                self.slot(&module)?
            }
            found => found?,
        };
        let session = module.open_ro_session(slot).map_err(failed)?;
        let pin = pin(&self.uri.pin)?;
        self.may_try(&module, slot)?;
        match session.login(UserType::User, Some(&pin)) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => {
                self.right = true;
                Ok(session)
            }
            Err(Error::Pkcs11(
                RvError::PinIncorrect
                | RvError::PinInvalid
                | RvError::PinLenRange
                | RvError::PinExpired
                | RvError::PinLocked,
                _,
            )) => {
                self.refused = Some(DeviceFault::Pin);
                Err(DeviceFault::Pin)
            }
            Err(fault) => Err(failed(fault)),
        }
    }

    /// Checks that a PIN may be tried. The token itself remembers failed attempts of earlier processes, so that restarts do not lock it
    /// (`CKF_USER_PIN_COUNT_LOW`, PKCS#11 3.0 §3.2).
    fn may_try(&self, module: &Pkcs11, slot: Slot) -> Result<(), DeviceFault> {
        let info = module.get_token_info(slot).map_err(failed)?;
        if info.user_pin_locked() || info.user_pin_final_try() {
            return Err(DeviceFault::PinLast);
        }
        let by_itself = !self.right && !ATTENDED.load(Ordering::Relaxed);
        if info.user_pin_count_low() && by_itself { Err(DeviceFault::PinTried) } else { Ok(()) }
    }

    /// The one slot with the named token.
    fn slot(&self, module: &Pkcs11) -> Result<Slot, DeviceFault> {
        let mut slots = Vec::new();
        for slot in module.get_slots_with_token().map_err(failed)? {
            let Ok(info) = module.get_token_info(slot) else { continue };
            let label = self.uri.token.as_deref().is_none_or(|label| info.label().trim_end() == label);
            let serial = self.uri.serial.as_deref().is_none_or(|one| info.serial_number().trim_end() == one);
            if label && serial {
                slots.push(slot);
            }
        }
        match slots.as_slice() {
            [slot] => Ok(*slot),
            _ => Err(DeviceFault::TokenAbsent),
        }
    }

    fn find(&mut self, uri: &Pkcs11Uri) -> Result<DeviceKeyHandle, DeviceFault> {
        if let Some(key) = self.keys.get(uri) {
            return Ok(key.clone());
        }
        let session = self.session()?;
        let named = |class: ObjectClass| {
            let label = uri.label.clone().map(Attribute::Label);
            let id = uri.id.clone().map(Attribute::Id);
            [Some(Attribute::Class(class)), label, id].into_iter().flatten().collect::<Vec<_>>()
        };
        let private = session.find_objects(&named(ObjectClass::PRIVATE_KEY)).map_err(failed)?;
        let [handle] = private.as_slice() else { return Err(DeviceFault::KeyAbsent) };
        let public = session.find_objects(&named(ObjectClass::PUBLIC_KEY)).map_err(failed)?;
        let [object] = public.as_slice() else { return Err(DeviceFault::PublicKey) };
        let kinds = [AttributeType::KeyType, AttributeType::EcParams, AttributeType::EcPoint];
        let public = public_key(&session.get_attributes(*object, &kinds).map_err(failed)?)?;
        let key = DeviceKeyHandle { handle: *handle, public };
        self.keys.insert(uri.clone(), key.clone());
        Ok(key)
    }
}

/// P-256 or Ed25519 by its parameters and point.
fn public_key(attributes: &[Attribute]) -> Result<PublicKey, DeviceFault> {
    let (mut kind, mut curve, mut point) = (None, None, None);
    for attribute in attributes {
        match attribute {
            Attribute::KeyType(found) => kind = Some(*found),
            Attribute::EcParams(found) => curve = Some(found.as_slice()),
            Attribute::EcPoint(found) => point = Some(found.as_slice()),
            _ => {}
        }
    }
    let (Some(kind), Some(curve), Some(point)) = (kind, curve, point) else {
        return Err(DeviceFault::PublicKey);
    };
    let algorithm = match kind {
        KeyType::EC if curve == P256 => SignatureAlgorithm::Es256,
        KeyType::EC_EDWARDS if ED25519.contains(&curve) => SignatureAlgorithm::Ed25519,
        _ => return Err(DeviceFault::PublicKey),
    };
    // PKCS#11 wants the point in an OCTET STRING; some tokens give it bare
    let bare = match point {
        [0x04, length, rest @ ..] if usize::from(*length) == rest.len() => rest,
        bare => bare,
    };
    PublicKey::from_raw(algorithm, bare).map_err(|_| DeviceFault::PublicKey)
}

fn load(module: &Path) -> Result<Pkcs11, DeviceFault> {
    Pkcs11::new(module).map_err(|fault| {
        tracing::error!("`{}`: {fault}", module.display());
        DeviceFault::Module
    })
}

/// Begins the module; another token of it may have done so.
fn begin(module: &Pkcs11) -> Result<(), DeviceFault> {
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
        Err(fault) => {
            tracing::error!("cannot initialise a pkcs#11 module: {fault}");
            Err(DeviceFault::Module)
        }
    }
}

fn pin(source: &PinSource) -> Result<AuthPin, DeviceFault> {
    let text = match source {
        PinSource::Environment(name) => std::env::var(name).map_err(|_| DeviceFault::PinMissing)?,
        PinSource::File(path) => {
            let size = std::fs::metadata(path).map_err(|_| DeviceFault::PinMissing)?.len();
            if size > MAX_PIN_BYTES {
                return Err(DeviceFault::PinMissing);
            }
            std::fs::read_to_string(path).map_err(|_| DeviceFault::PinMissing)?
        }
    };
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.is_empty() {
        true => Err(DeviceFault::PinMissing),
        false => Ok(AuthPin::new(text.into())),
    }
}

/// The fault for an error of a module, by the names of PKCS#11; the full error goes to the log.
fn failed(fault: Error) -> DeviceFault {
    tracing::warn!("pkcs#11: {fault}");
    let Error::Pkcs11(value, _) = fault else { return DeviceFault::Failed("no return value") };
    DeviceFault::Failed(match value {
        RvError::GeneralError => "CKR_GENERAL_ERROR",
        RvError::FunctionFailed => "CKR_FUNCTION_FAILED",
        RvError::DeviceError => "CKR_DEVICE_ERROR",
        RvError::DeviceMemory => "CKR_DEVICE_MEMORY",
        RvError::DeviceRemoved => "CKR_DEVICE_REMOVED",
        RvError::TokenNotPresent => "CKR_TOKEN_NOT_PRESENT",
        RvError::TokenNotRecognized => "CKR_TOKEN_NOT_RECOGNIZED",
        RvError::SlotIdInvalid => "CKR_SLOT_ID_INVALID",
        RvError::SessionClosed => "CKR_SESSION_CLOSED",
        RvError::SessionHandleInvalid => "CKR_SESSION_HANDLE_INVALID",
        RvError::SessionCount => "CKR_SESSION_COUNT",
        RvError::UserNotLoggedIn => "CKR_USER_NOT_LOGGED_IN",
        RvError::KeyHandleInvalid => "CKR_KEY_HANDLE_INVALID",
        RvError::ObjectHandleInvalid => "CKR_OBJECT_HANDLE_INVALID",
        RvError::KeyFunctionNotPermitted => "CKR_KEY_FUNCTION_NOT_PERMITTED",
        RvError::KeyTypeInconsistent => "CKR_KEY_TYPE_INCONSISTENT",
        RvError::MechanismInvalid => "CKR_MECHANISM_INVALID",
        RvError::CryptokiNotInitialized => "CKR_CRYPTOKI_NOT_INITIALIZED",
        _ => "another return value; see the log",
    })
}
