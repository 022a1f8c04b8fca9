//! What whoever signs a statement knows of it already, so that it is not found out again where statements queue up.

use ring::rand::SecureRandom;
use semgate_certs::{PublicKey, VerifiedLeaf};

use super::{SignedStatement, Statement, StatementFault, VerifiedStatement};
use crate::jws::{JwsFault, SignFault, SigningIdentity};

/// A statement with a signature that this process had made by a [`SigningKey`](semgate_certs::SigningKey), which gives out only what verifies
/// under its public half. A signature that is right stays right; whether a certificate of that key may say this counts at a time, and is asked
/// by [`OwnStatement::verify_under`]. Only [`OwnStatement::sign`] makes one.
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
    /// Signs a statement, as [`SignedStatement::sign`] does.
    ///
    /// # Errors
    /// [`SignFault::Key`]: the key did not sign, or what a device made is no signature of its key; [`SignFault::Payload`].
    pub fn sign(
        statement: Statement,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<OwnStatement, SignFault> {
        let signed = SignedStatement::sign(statement, identity, random)?;
        Ok(OwnStatement { key: identity.key.public().clone(), signed })
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
