//! The log of an authority, as its tiles hold it: who published, revoked or raised what, when and why.
//!
//! The console shows the log and does not verify it: followers and `semgate log verify` do. The connection is verified under
//! the roots of `[authority]`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

use crate::client::{CallFault, Server, read_json};

/// Entries of a full bundle.
const BUNDLE: u64 = 256;
/// Bundles read from the end of the log: the pages are about the present.
const BUNDLES: u64 = 4;

/// A checkpoint, not verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) origin: String,
    pub(crate) size: u64,
    pub(crate) root: String,
    /// Names of the keys that signed it: the log's own, then witnesses.
    pub(crate) signers: Vec<String>,
}

impl Checkpoint {
    /// Reads a signed note.
    pub(crate) fn read(note: &str) -> Option<Self> {
        let (text, signatures) = note.split_once("\n\n")?;
        let mut lines = text.lines();
        let (origin, size, root) = (lines.next()?, lines.next()?.parse().ok()?, lines.next()?);
        let named = |line: &str| Some(line.strip_prefix("— ")?.split(' ').next()?.to_owned());
        let signers = signatures.lines().filter_map(named).collect();
        Some(Self { origin: origin.to_owned(), size, root: root.to_owned(), signers })
    }

    /// The witnesses that cosigned it.
    pub(crate) fn witnesses(&self) -> impl Iterator<Item = &String> {
        self.signers.iter().filter(|name| **name != self.origin)
    }
}

/// An act of the log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logged {
    pub(crate) index: u64,
    pub(crate) logged_at: u64,
    pub(crate) kind: String,
    /// The URN, the line or the authority that it is about.
    pub(crate) about: String,
    /// The version of a floor.
    pub(crate) min: Option<String>,
    pub(crate) reason: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    logged_at: u64,
    statement: String,
}

/// The newest checkpoint.
///
/// # Errors
/// No answer, or no checkpoint.
pub(crate) async fn checkpoint(authority: &Server) -> Result<Checkpoint, CallFault> {
    let note = authority.get("/checkpoint").await?.body;
    let read = std::str::from_utf8(&note).ok().and_then(Checkpoint::read);
    read.ok_or_else(|| CallFault::Silent("not a checkpoint".to_owned()))
}

/// The last acts of a log of this size, the newest first.
///
/// # Errors
/// No answer, or a bundle that cannot be read.
pub(crate) async fn newest(authority: &Server, size: u64) -> Result<Vec<Logged>, CallFault> {
    let bundles = size.div_ceil(BUNDLE);
    let mut all = Vec::new();
    for number in bundles.saturating_sub(BUNDLES)..bundles {
        let width = size.saturating_sub(number.saturating_mul(BUNDLE)).min(BUNDLE);
        let bytes = authority.get(&path(number, width)).await?.body;
        all.extend(bundle(&bytes, number.saturating_mul(BUNDLE))?);
    }
    all.reverse();
    Ok(all)
}

/// The path of a bundle of this width (C2SP tlog-tiles).
fn path(number: u64, width: u64) -> String {
    let (mut name, mut rest) = (format!("{:03}", number % 1_000), number / 1_000);
    while rest > 0 {
        name = format!("x{:03}/{name}", rest % 1_000);
        rest /= 1_000;
    }
    if width < BUNDLE { format!("/tile/entries/{name}.p/{width}") } else { format!("/tile/entries/{name}") }
}

/// The acts of a bundle whose first entry has this index.
fn bundle(mut bytes: &[u8], first: u64) -> Result<Vec<Logged>, CallFault> {
    let mut all = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let entry = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)));
        let (entry, rest) = entry.ok_or_else(|| CallFault::Silent("a cut bundle of the log".to_owned()))?;
        let Entry { logged_at, statement } = read_json(entry)?;
        let index = first.saturating_add(u64::try_from(all.len()).unwrap_or(u64::MAX));
        all.push(Logged { index, logged_at, ..act(&statement) });
        bytes = rest;
    }
    Ok(all)
}

/// The acts of the root, from `GET /v1/trust`, in order.
///
/// # Errors
/// No answer, or no trust document.
pub(crate) async fn of_root(authority: &Server) -> Result<Vec<Logged>, CallFault> {
    #[derive(Deserialize)]
    struct Trust {
        #[serde(default)]
        root: Vec<Listed>,
    }
    #[derive(Deserialize)]
    struct Listed {
        index: u64,
        logged_at: u64,
        statement: String,
    }
    let Trust { root } = authority.get("/v1/trust").await?.json()?;
    let logged = |one: Listed| Logged { index: one.index, logged_at: one.logged_at, ..act(&one.statement) };
    Ok(root.into_iter().map(logged).collect())
}

/// The act of a statement: compact JWS, or general JWS as JSON for those of the root. An unknown one keeps its kind empty.
fn act(statement: &str) -> Logged {
    #[derive(Deserialize)]
    struct General {
        payload: String,
    }
    let payload = match statement.starts_with('{') {
        true => read_json::<General>(statement.as_bytes()).ok().map(|general| general.payload),
        false => statement.split('.').nth(1).map(str::to_owned),
    };
    let bytes = payload.and_then(|payload| URL_SAFE_NO_PAD.decode(payload).ok());
    let Some(stated) = bytes.and_then(|bytes| read_json::<Value>(&bytes).ok()) else {
        return Logged::default();
    };
    let text = |name: &str| stated.get(name).and_then(Value::as_str).map(str::to_owned);
    let about = ["urn", "line", "recognised", "key", "authority"].into_iter().find_map(text);
    Logged {
        kind: text("kind").unwrap_or_default(),
        about: about.unwrap_or_default(),
        min: text("min"),
        reason: text("reason"),
        ..Logged::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_bundles_have_groups_of_three_digits() {
        assert_eq!(path(0, 6), "/tile/entries/000.p/6");
        assert_eq!(path(1_234_067, BUNDLE), "/tile/entries/x001/x234/067");
    }

    #[test]
    fn a_checkpoint_names_its_witnesses() {
        let note = "semgate.test/log\n6\nxrTj=\n\n— semgate.test/log rj8x\n— w.example d7b3\n";
        let read = Checkpoint::read(note).unwrap();
        assert_eq!(
            (read.size, read.witnesses().cloned().collect::<Vec<_>>()),
            (6, vec!["w.example".to_owned()])
        );
        assert_eq!(Checkpoint::read("semgate.test/log\nsix\n"), None);
    }

    #[test]
    fn acts_are_read_from_a_bundle_and_a_cut_one_is_refused() {
        let stated =
            URL_SAFE_NO_PAD.encode(r#"{"kind":"floor","line":"payment","min":"v1.1","reason":"why"}"#);
        let entry = format!(r#"{{"logged_at":7,"statement":"e30.{stated}.c2ln"}}"#);
        let mut bytes = u16::try_from(entry.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(entry.as_bytes());
        let all = bundle(&bytes, 256).unwrap();
        assert_eq!((all[0].index, all[0].kind.as_str(), all[0].about.as_str()), (256, "floor", "payment"));
        assert_eq!((all[0].min.as_deref(), all[0].reason.as_deref()), (Some("v1.1"), Some("why")));
        bytes.pop();
        assert!(bundle(&bytes, 256).is_err());
    }
}
