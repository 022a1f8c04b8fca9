//! The gateway's own key for bindings whose messages are signed.

use std::path::Path;

use data_encoding::HEXLOWER;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use semgate_protocol::iac::{Draft, MessageType};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use crate::clock::unix_now;
use crate::fault::RunFault;
use crate::server::pem_files::{fault, read};

/// Signs replies of the gateway. Its name is the public key in hex, so that a receiver can verify them.
#[derive(Debug)]
pub(crate) struct ReplySigner {
    key: Ed25519KeyPair,
    name: String,
}

/// The message that a reply of the gateway answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnsweredMessage {
    /// The name of its sender.
    pub(crate) from: String,
    /// Its id; `None` if it has none that can be read.
    pub(crate) msg_id: Option<u64>,
    /// Its session; 0 is none.
    pub(crate) session_id: u64,
}

impl ReplySigner {
    /// Reads the key.
    ///
    /// # Errors
    /// [`RunFault::File`] if the file is unreadable, or holds no Ed25519 key in PKCS#8.
    pub(crate) fn load(path: &Path) -> Result<Self, RunFault> {
        let what = "signing key";
        let der = PrivatePkcs8KeyDer::from_pem_slice(read(path, what)?.as_bytes());
        let der = der.map_err(|why| fault(path, what, &why))?;
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        let key = key.map_err(|why| fault(path, what, &format!("no Ed25519 key in PKCS#8: {why}")))?;
        let name = HEXLOWER.encode(key.public_key().as_ref());
        Ok(Self { key, name })
    }

    /// The public key in hex.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A signed reply with this payload, a JSON object. The id of the answered message stands in its member `responds_to`, as
    /// text: JSON cannot hold every number of 64 bits.
    pub(crate) fn reply(&self, to: &AnsweredMessage, payload: &[u8]) -> Vec<u8> {
        let mut payload: serde_json::Value = serde_json::from_slice(payload).unwrap_or_default();
        if let (Some(members), Some(id)) = (payload.as_object_mut(), to.msg_id) {
            members.insert("responds_to".to_owned(), id.to_string().into());
        }
        self.message(to, payload.to_string())
    }

    /// A signed reply with exactly this payload.
    pub(crate) fn message(&self, to: &AnsweredMessage, payload: String) -> Vec<u8> {
        let mut random = [0; 8];
        // the system's source cannot fail on Linux; an id of zero would still be a valid message
        let _ = SystemRandom::new().fill(&mut random);
        let draft = Draft {
            from: self.name.clone(),
            to: to.from.clone(),
            kind: MessageType::Reply,
            payload,
            timestamp: unix_now(),
            msg_id: u64::from_be_bytes(random),
            session_id: to.session_id,
            extra: Vec::new(),
        };
        draft.sign(&self.key)
    }
}
