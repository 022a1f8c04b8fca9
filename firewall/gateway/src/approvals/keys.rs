//! The key that signs what people decided (F1-23).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use semgate_approvals::{Decision, Hold};
use semgate_certs::{KeyPair, SignatureAlgorithm};
use semgate_contexts::Digest;
use serde_json::{Value, json};

use super::seal::CardKey;
use crate::fault::RunFault;

/// File of the key, in the state directory.
const FILE: &str = "approvals.key";
/// Type of a signed decision.
const TYPE: &str = "approval+jws";
/// Type of a signed end of a request.
const END_TYPE: &str = "approval-end+jws";

/// The gateway's key for decisions.
#[derive(Debug)]
pub(crate) struct ApprovalKeys {
    key: KeyPair,
    id: String,
    cards: Option<CardKey>,
}

impl ApprovalKeys {
    /// Opens the key, or makes one at the first start (mode 0600).
    ///
    /// # Errors
    /// The file is unreadable, or holds no P-256 key.
    pub(crate) fn open(state: &Path) -> Result<Self, RunFault> {
        let path = state.join(FILE);
        let fault = |why: &dyn std::fmt::Display| RunFault::File {
            path: path.clone(),
            what: "approval key",
            why: why.to_string(),
        };
        let random = SystemRandom::new();
        let key = match std::fs::read_to_string(&path) {
            Ok(text) => KeyPair::from_pem(&text, &random).map_err(|why| fault(&why))?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                let key = KeyPair::generate(&random).map_err(|why| fault(&why))?;
                let mut options = OpenOptions::new();
                let file = options.write(true).create_new(true).mode(0o600).open(&path);
                let written = file.and_then(|mut file| {
                    file.write_all(key.to_pem().as_bytes())?;
                    file.sync_all()
                });
                written.map_err(|why| fault(&why))?;
                key
            }
            Err(why) => return Err(fault(&why)),
        };
        let id = URL_SAFE_NO_PAD.encode(Digest::of(key.public().spki()).as_bytes());
        Ok(Self { key, id, cards: None })
    }

    /// The same keys with that of sealed endpoints.
    pub(super) fn with_cards(self, cards: Option<CardKey>) -> Self {
        Self { cards, ..self }
    }

    /// The key of sealed endpoints.
    pub(super) fn cards(&self) -> Option<&CardKey> {
        self.cards.as_ref()
    }

    /// Signs the statement of a decision as a compact JWS (ES256).
    ///
    /// # Errors
    /// The system's random source failed.
    pub(crate) fn sign(&self, hold: &Hold, decision: &Decision) -> Result<String, RunFault> {
        self.jws(TYPE, &decision.statement(hold))
    }

    /// Signs that a request is over. `jti` is the request, so a receiver takes one such statement for each.
    ///
    /// # Errors
    /// As [`ApprovalKeys::sign`].
    pub(crate) fn sign_end(&self, hold: &Hold, now: u64) -> Result<String, RunFault> {
        let claims = json!({
            "jti": hold.id, "interaction_id": hold.id, "sub": hold.sender(), "digest": hold.digest, "state": hold.state, "iat": now,
        });
        self.jws(END_TYPE, &claims)
    }

    fn jws(&self, kind: &str, claims: &Value) -> Result<String, RunFault> {
        let header = json!({"alg": "ES256", "kid": self.id, "typ": kind});
        let input = format!("{}.{}", part(&header), part(claims));
        let signature = self.key.sign(&SystemRandom::new(), input.as_bytes());
        let signature = signature.map_err(|why| RunFault::system("approval key", why))?;
        Ok(format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Returns true if this key signed exactly this decision.
    pub(crate) fn verify(&self, hold: &Hold, decision: &Decision) -> bool {
        let Some((input, signature)) = decision.evidence.rsplit_once('.') else { return false };
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        let stated =
            input.rsplit_once('.').is_some_and(|(_, claims)| claims == part(&decision.statement(hold)));
        let public = self.key.public();
        stated && public.verify(SignatureAlgorithm::Es256, input.as_bytes(), &signature).is_ok()
    }

    /// The public key as a JWK set.
    pub(crate) fn jwks(&self) -> Value {
        // an uncompressed point: 4, x, y
        let coordinate =
            |range| self.key.public().raw().get(range).map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.id,
            "x": coordinate(1..33), "y": coordinate(33..65),
        }]})
    }
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
