//! A signer's knowledge of its own statement, so that queued statements need no second check.

use ring::rand::SecureRandom;
use semgate_certs::{PublicKey, VerifiedLeaf};

use super::{SignedStatement, Statement, StatementFault, VerifiedStatement};
use crate::jws::{JwsFault, SignFault, SigningIdentity};

/// A statement with a signature from this process's [`SigningKey`](semgate_certs::SigningKey), which returns only signatures that verify
/// under its public half. A valid signature stays valid. The rights of a certificate depend on the time; [`OwnStatement::verify_under`]
/// checks them. Only [`OwnStatement::sign`] makes one.
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
    /// [`SignFault::Key`]: the key did not sign, or a device's signature does not verify under its key; [`SignFault::Payload`].
    pub fn sign(
        statement: Statement,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<OwnStatement, SignFault> {
        let signed = SignedStatement::sign(statement, identity, random)?;
        Ok(OwnStatement { key: identity.key.public().clone(), signed })
    }

    /// The signed form for readers.
    pub fn signed(&self) -> &SignedStatement {
        &self.signed
    }

    /// Returns the same as [`SignedStatement::verify_under`], without checking the signature again. The leaf must be the certificate that
    /// the statement names, and have the key that the signature was checked with.
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
