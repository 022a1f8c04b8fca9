//! Permissions: a named person signs that a version may be published although it breaks, or is not proven, beside others of its major.
//!
//! A permission covers one document, by its digest, beside the named versions, and nothing else. The authority logs it as an `override`
//! statement before the version is published. To followers that is a record: it changes no status and loads nothing.

use crate::format::{FormatFault, Members, is_name, limits, write};
use crate::jws::{General, JwsFault, SignFault, SigningIdentity};
use crate::statement::{StatementFault, check_new_reason, check_reason, is_unseen};
use ring::rand::SecureRandom;
use semgate_certs::{ChainLimits, Peer, PeerFault, PeerRoots, Usage};
use semgate_contexts::json::Json;
use semgate_contexts::{ContextUrn, Digest, Prefix};
use std::collections::BTreeMap;
use std::fmt;

#[cfg(test)]
mod tests;

/// `typ` of a signed permission.
pub const TYPE: &str = "override+jws";
/// The longest signed permission: a statement of at most 65,000 bytes holds it in base64, with room for the rest.
pub const MAX_SIGNED_BYTES: usize = 40 * 1024;
/// The longest name of a person, in bytes: with a title and an office.
pub const MAX_NAME_BYTES: usize = 128;
/// The most versions that one permission names: twice an authority's default for comparisons.
pub const MAX_COMPARED: usize = 128;

/// The content of a permission.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permission {
    /// The authority that may use it.
    pub authority: String,
    /// The version that may be published.
    pub urn: ContextUrn,
    /// Digest of its document; another document of the same name is not permitted.
    pub digest: Digest,
    /// The published versions of its major that the person knew, with their digests. If another one counts at publication, the permission
    /// does not hold.
    pub siblings: BTreeMap<ContextUrn, Digest>,
    /// Name of the signer, for people; at most [`MAX_NAME_BYTES`], not empty, no control characters. The signing certificate holds the
    /// machine identity.
    pub name: String,
    /// The reason, for people; not empty, else as [`check_reason`].
    pub reason: String,
}

impl Permission {
    /// Canonical payload bytes.
    ///
    /// # Errors
    /// None in practice: every member has a canonical form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let siblings: Vec<_> = self
            .siblings
            .iter()
            .map(|(urn, digest)| serde_json::json!({"urn": urn.as_str(), "digest": digest.to_string()}))
            .collect();
        write(&serde_json::json!({
            "authority": self.authority, "urn": self.urn.as_str(), "digest": self.digest.to_string(),
            "beside": siblings, "name": self.name, "reason": self.reason,
        }))
    }

    /// Reads canonical payload bytes.
    ///
    /// # Errors
    /// Malformed bytes; a name or reason that is empty, too long or has control characters. Versions of another line or major, the version
    /// itself, none, or more than [`MAX_COMPARED`].
    pub fn read(bytes: &[u8], prefix: &Prefix) -> Result<Permission, StatementFault> {
        let json =
            semgate_contexts::json::read(bytes, &limits(MAX_SIGNED_BYTES)).map_err(FormatFault::from)?;
        let names = ["authority", "urn", "digest", "beside", "name", "reason"];
        let m = Members::closed(&json, &names, &[])?;
        let permission = Permission {
            authority: m.parsed("authority", |text| is_name(text).then(|| text.to_owned()))?,
            urn: m.parsed("urn", |text| ContextUrn::parse(text, prefix).ok())?,
            digest: m.parsed("digest", |text| Digest::parse(text).ok())?,
            siblings: read_siblings(m.list("beside")?, prefix)?,
            name: m.parsed("name", |text| is_persons_name(text).then(|| text.to_owned()))?,
            reason: check_reason(m.text("reason")?)?.to_owned(),
        };
        permission.check()?;
        if permission.to_bytes()? != bytes {
            return Err(FormatFault::NotCanonical.into());
        }
        Ok(permission)
    }

    /// Checks a new permission: its name and reason have no invisible characters ([`check_new_reason`]). Existing log entries are not
    /// checked.
    ///
    /// # Errors
    /// [`StatementFault::Unseen`] and, for the reason, [`StatementFault::Blank`].
    pub fn check_new(&self) -> Result<(), StatementFault> {
        check_new_reason(&self.reason)?;
        if self.name.chars().any(is_unseen) { Err(StatementFault::Unseen) } else { Ok(()) }
    }

    fn check(&self) -> Result<(), StatementFault> {
        if self.reason.is_empty() {
            return Err(StatementFault::Reason);
        }
        let of_major = |other: &ContextUrn| {
            *other != self.urn
                && other.line() == self.urn.line()
                && other.version().major == self.urn.version().major
        };
        let few = (1..=MAX_COMPARED).contains(&self.siblings.len());
        if few && self.siblings.keys().all(of_major) {
            Ok(())
        } else {
            Err(FormatFault::Member("beside").into())
        }
    }

    /// The first of these versions that the permission does not name with this digest.
    pub fn unnamed_sibling<'a>(
        &self,
        others: impl IntoIterator<Item = (&'a ContextUrn, &'a Digest)>,
    ) -> Option<&'a ContextUrn> {
        others.into_iter().find(|(urn, digest)| self.siblings.get(*urn) != Some(*digest)).map(|(urn, _)| urn)
    }
}

/// Returns true if a text can be the name of a person: not blank, at most [`MAX_NAME_BYTES`], no control characters.
pub fn is_persons_name(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(char::is_control)
}

/// Reads versions in the order of their names, each once.
fn read_siblings(list: &[Json<'_>], prefix: &Prefix) -> Result<BTreeMap<ContextUrn, Digest>, StatementFault> {
    let mut siblings = BTreeMap::new();
    for item in list {
        let m = Members::closed(item, &["urn", "digest"], &[])?;
        let urn = m.parsed("urn", |text| ContextUrn::parse(text, prefix).ok())?;
        siblings.insert(urn, m.parsed("digest", |text| Digest::parse(text).ok())?);
    }
    Ok(siblings)
}

/// Reason why a permission has no verified signer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermissionFault {
    /// The chain does not identify a person under the roots of its trust domain, as for opening connections.
    Person(PeerFault),
    /// The signature.
    Jws(JwsFault),
}

impl fmt::Display for PermissionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PermissionFault::Person(fault) => write!(f, "permission: {fault}"),
            PermissionFault::Jws(fault) => write!(f, "permission: {fault}"),
        }
    }
}

impl std::error::Error for PermissionFault {}

/// A signed permission, read and not yet verified: a general JWS with the chain of the person's client certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedPermission {
    text: String,
    permission: Permission,
}

impl SignedPermission {
    /// Signs a permission with the key of a client certificate.
    ///
    /// # Errors
    /// The key fails, or [`SignedPermission::read`] would refuse the permission.
    pub fn sign(
        permission: &Permission,
        identity: &SigningIdentity,
        prefix: &Prefix,
        random: &dyn SecureRandom,
    ) -> Result<SignedPermission, SignFault> {
        let unfit = SignFault::Payload(FormatFault::Unwritable);
        let signed = General::sign(&permission.to_bytes()?, TYPE, identity, random)?;
        SignedPermission::read(&signed, prefix).map_err(|fault| match fault {
            StatementFault::Format(fault) => SignFault::Payload(fault),
            StatementFault::Jws(JwsFault::TooLarge) => SignFault::Payload(FormatFault::TooLarge),
            _ => unfit,
        })
    }

    /// Reads the one canonical text of a general JWS with one signature over a permission.
    ///
    /// # Errors
    /// The text has another form, or [`Permission::read`] refuses the payload.
    pub fn read(bytes: &[u8], prefix: &Prefix) -> Result<SignedPermission, StatementFault> {
        let jws = General::read_within(bytes, TYPE, &ChainLimits::default(), MAX_SIGNED_BYTES)?;
        let permission = Permission::read(jws.unverified_payload(), prefix)?;
        let text = std::str::from_utf8(bytes).map_err(|_| JwsFault::Serialisation)?.to_owned();
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|_| JwsFault::Serialisation)?;
        if write(&value)? != bytes {
            return Err(FormatFault::NotCanonical.into());
        }
        Ok(SignedPermission { text, permission })
    }

    /// The permission, not verified.
    pub fn unverified(&self) -> &Permission {
        &self.permission
    }

    /// The signed text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Verifies chain and signature at `at`, under the roots of the trust domain that the certificate names; returns the signer.
    ///
    /// # Errors
    /// The chain or the signature is not valid.
    pub fn verify(&self, people: &PeerRoots, at: u64) -> Result<Peer, PermissionFault> {
        let limits = ChainLimits::default();
        let jws = General::read_within(self.text.as_bytes(), TYPE, &limits, MAX_SIGNED_BYTES)
            .map_err(PermissionFault::Jws)?;
        let person = people.identify(jws.chain().certificates(), at).map_err(PermissionFault::Person)?;
        let roots = people
            .roots_of(person.id().trust_domain())
            .ok_or(PermissionFault::Person(PeerFault::UnknownTrustDomain))?;
        jws.verify(roots, Usage::Agent, at).map_err(PermissionFault::Jws)?;
        Ok(person)
    }
}
