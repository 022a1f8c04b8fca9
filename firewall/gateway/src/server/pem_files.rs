//! Certificates and keys in PEM files.

use std::path::Path;

use ring::rand::SystemRandom;
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots};

use crate::config::{Config, IdentityFiles};
use crate::fault::RunFault;

/// Reads root certificates.
///
/// # Errors
/// The file is unreadable, or holds no roots.
pub(crate) fn roots(path: &Path, config: &Config) -> Result<Roots, RunFault> {
    let roots = Roots::from_pem(&read(path, "roots")?, &ChainLimits::default());
    roots.map(|roots| roots.with_prefix(config.prefix.clone())).map_err(|why| fault(path, "roots", &why))
}

/// Reads a certificate chain and its key.
///
/// # Errors
/// A file is unreadable, or holds no chain or key.
pub(crate) fn identity(files: &IdentityFiles) -> Result<(Chain, KeyPair), RunFault> {
    let chain = Chain::from_pem(&read(&files.certificate, "certificate")?, &ChainLimits::default())
        .map_err(|why| fault(&files.certificate, "certificate", &why))?;
    let key = KeyPair::from_pem(&read(&files.key, "key")?, &SystemRandom::new())
        .map_err(|why| fault(&files.key, "key", &why))?;
    Ok((chain, key))
}

pub(crate) fn read(path: &Path, what: &'static str) -> Result<String, RunFault> {
    std::fs::read_to_string(path).map_err(|why| fault(path, what, &why))
}

pub(crate) fn fault(path: &Path, what: &'static str, why: &dyn std::fmt::Display) -> RunFault {
    RunFault::File { path: path.to_owned(), what, why: why.to_string() }
}
