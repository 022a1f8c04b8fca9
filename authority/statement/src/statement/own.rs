//! What whoever signs a statement knows of it already, so that it is not found out again where statements queue up.

use ring::rand::SecureRandom;
use semgate_certs::{DeviceFault, KeyFault, PublicKey, VerifiedLeaf};

use super::{Form, SignedStatement, Statement, StatementFault, VerifiedStatement};
use crate::jws::{JwsFault, SignFault, SigningIdentity};

/// A statement with a signature that was checked under the public key that it was made with. A signature that is right stays right; whether
/// a certificate of that key may say this counts at a time, and is asked by [`OwnStatement::verify_under`]. Only [`OwnStatement::sign`] makes one.
///
/// ```compile_fail
/// # let signed: semgate_statement::SignedStatement = todo!();
/// # let key: semgate_certs::PublicKey = todo!();
/// semgate_statement::OwnStatement { signed, key };
/// ```
#[derive(Clone, Debug)]
pub struct OwnStatement {
    signed: SignedStatement,
    key: PublicKey,
}

impl OwnStatement {
    /// Signs a statement, as [`SignedStatement::sign`] does, and checks the signature.
    ///
    /// # Errors
    /// [`SignFault::Key`]: the key did not sign, or what it made is no signature of its own ([`DeviceFault::WrongSignature`]);
    /// [`SignFault::Payload`].
    pub fn sign(
        statement: Statement,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<OwnStatement, SignFault> {
        let signed = SignedStatement::sign(statement, identity, random)?;
        let key = identity.key.public();
        let Form::One(jws) = &signed.jws else {
            return Err(KeyFault::Device(DeviceFault::WrongSignature).into());
        };
        jws.verify_by(key).map_err(|_| KeyFault::Device(DeviceFault::WrongSignature))?;
        Ok(OwnStatement { key: key.clone(), signed })
    }

    /// In its signed form, as anybody reads it.
    pub fn signed(&self) -> &SignedStatement {
        &self.signed
    }

    /// What [`SignedStatement::verify_under`] answers, without another look at the signature: the leaf must be the certificate that the
    /// statement names, and have the key that the signature was checked with.
    ///
    /// # Errors
    /// As [`SignedStatement::verify_under`].
    pub fn verify_under(&self, leaf: &VerifiedLeaf) -> Result<VerifiedStatement, StatementFault> {
        if self.signed.key() != Some(leaf.thumbprint()) || *leaf.public_key() != self.key {
            return Err(JwsFault::Thumbprint.into());
        }
        self.signed.permitted_to(leaf)
    }
}
