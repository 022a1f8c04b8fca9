//! `pkcs11:` URIs (RFC 7512), as far as they name one private key of one token in one module.

use std::fmt;
use std::path::{Path, PathBuf};

/// Bytes of a URI: every name in it has at most 32 bytes or is a path.
const MAX_URI_BYTES: usize = 4096;

/// A private key in a token. Guarantees that the path of the module is absolute, and that the PIN comes from a file or the environment. The
/// token is named by label or serial number, the key by label or id. Holds no secret and may be shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pkcs11Uri {
    text: String,
    pub(super) module: PathBuf,
    pub(super) token: Option<String>,
    pub(super) serial: Option<String>,
    pub(super) label: Option<Vec<u8>>,
    pub(super) id: Option<Vec<u8>>,
    pub(super) pin: PinSource,
}

/// The source of the PIN.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PinSource {
    /// A file, of which one final line break is dropped.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
}

/// Reason for refusing a URI. Holds nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriFault {
    /// It does not begin with `pkcs11:`, is too long, or has a `%` that does not begin two hex digits.
    Syntax,
    /// An attribute does not name a private key of a token, or stands twice.
    Attribute,
    /// Neither `token` nor `serial`.
    Token,
    /// Neither `object` nor `id`.
    Object,
    /// No `module-path`, or one that is not absolute.
    Module,
    /// No `pin-source`, or one that is neither `file:/…` nor `env:NAME`.
    Pin,
    /// A `pin-value`: the PIN itself belongs in no configuration.
    PinValue,
}

impl fmt::Display for UriFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UriFault::Syntax => "not a `pkcs11:` uri",
            UriFault::Attribute => {
                "a `pkcs11:` uri takes `token`, `serial`, `object`, `id`, `type=private`, `module-path` and `pin-source`, each once"
            }
            UriFault::Token => "the `pkcs11:` uri names no token: give `token` or `serial`",
            UriFault::Object => "the `pkcs11:` uri names no key: give `object` or `id`",
            UriFault::Module => "the `pkcs11:` uri names no module: give `module-path`, an absolute path",
            UriFault::Pin => {
                "the `pkcs11:` uri names no source of the pin: give `pin-source`, `file:/path` or `env:NAME`"
            }
            UriFault::PinValue => "a uri must not hold a pin: give `pin-source`, not `pin-value`",
        })
    }
}

impl std::error::Error for UriFault {}

impl fmt::Display for Pkcs11Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The attributes that are taken, decoded.
#[derive(Default)]
struct Attributes {
    token: Option<Vec<u8>>,
    serial: Option<Vec<u8>>,
    object: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    kind: Option<Vec<u8>>,
    module: Option<Vec<u8>>,
    pin: Option<Vec<u8>>,
}

impl Attributes {
    fn take(&mut self, pair: &str, in_query: bool) -> Result<(), UriFault> {
        let (name, value) = pair.split_once('=').ok_or(UriFault::Attribute)?;
        let attribute = match (in_query, name) {
            (true, "pin-value") => return Err(UriFault::PinValue),
            (false, "token") => &mut self.token,
            (false, "serial") => &mut self.serial,
            (false, "object") => &mut self.object,
            (false, "id") => &mut self.id,
            (false, "type") => &mut self.kind,
            (true, "module-path") => &mut self.module,
            (true, "pin-source") => &mut self.pin,
            _ => return Err(UriFault::Attribute),
        };
        let value = decoded(value)?;
        if value.is_empty() || attribute.replace(value).is_some() {
            return Err(UriFault::Attribute);
        }
        Ok(())
    }
}

impl Pkcs11Uri {
    /// Reads a URI. Refuses unknown attributes: no key but the intended one may sign.
    ///
    /// # Errors
    /// [`UriFault`].
    pub fn parse(text: &str) -> Result<Pkcs11Uri, UriFault> {
        let rest = text.strip_prefix(super::SCHEME).ok_or(UriFault::Syntax)?;
        if text.len() > MAX_URI_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UriFault::Syntax);
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut attributes = Attributes::default();
        for pair in path.split(';').filter(|pair| !pair.is_empty()) {
            attributes.take(pair, false)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            attributes.take(pair, true)?;
        }
        if attributes.kind.is_some_and(|kind| kind != b"private") {
            return Err(UriFault::Attribute);
        }
        let string = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|_| UriFault::Syntax);
        let (token, serial) =
            (attributes.token.map(string).transpose()?, attributes.serial.map(string).transpose()?);
        if token.is_none() && serial.is_none() {
            return Err(UriFault::Token);
        }
        if attributes.object.is_none() && attributes.id.is_none() {
            return Err(UriFault::Object);
        }
        let module = attributes.module.ok_or(UriFault::Module).and_then(string).map(PathBuf::from)?;
        if !module.is_absolute() {
            return Err(UriFault::Module);
        }
        let pin = pin_source(&attributes.pin.ok_or(UriFault::Pin).and_then(string)?)?;
        Ok(Pkcs11Uri {
            text: text.to_owned(),
            module,
            token,
            serial,
            label: attributes.object,
            id: attributes.id,
            pin,
        })
    }
}

/// RFC 7512 §2.4 leaves the form to the application; `file:` is its own example.
fn pin_source(text: &str) -> Result<PinSource, UriFault> {
    if let Some(name) = text.strip_prefix("env:") {
        let good = !name.is_empty() && !name.contains('=');
        return if good { Ok(PinSource::Environment(name.to_owned())) } else { Err(UriFault::Pin) };
    }
    let path = text.strip_prefix("file:").unwrap_or(text);
    let path = path.strip_prefix("//").unwrap_or(path);
    match Path::new(path).is_absolute() {
        true => Ok(PinSource::File(PathBuf::from(path))),
        false => Err(UriFault::Pin),
    }
}

/// Percent-decoding (RFC 3986 §2.1).
fn decoded(text: &str) -> Result<Vec<u8>, UriFault> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(UriFault::Syntax) };
        out.push(u8::try_from(high * 16 + low).map_err(|_| UriFault::Syntax)?);
    }
    Ok(out)
}
