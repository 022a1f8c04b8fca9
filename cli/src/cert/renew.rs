//! `semgate cert renew`: a new certificate in place of one that ends.

use std::path::PathBuf;

use clap::Args;
use semgate_certs::{BACKDATE, CertificateSummary, KeyPair};
use semgate_contexts::Prefix;
use serde_json::json;

use super::{BY_ISSUING, By, issuer};
use crate::fault::{Doing, Fault};
use crate::system::{now, read_chain, read_key, replace_as, ring_random};

/// The leaf to renew.
#[derive(Debug, Args)]
pub struct Renew {
    /// `NAME` of `NAME.pem` and `NAME.key`
    name: PathBuf,
    /// Certify the same key again
    #[arg(long)]
    keep_key: bool,
    /// The prefix of context URNs
    #[arg(long, default_value = "urn:contexts")]
    prefix: String,
    #[command(flatten)]
    by: By,
}

impl Renew {
    /// Replaces the files by rename: the key first, then the certificate. Servers that reload between the two refuse the pair and
    /// keep the old one.
    ///
    /// # Errors
    /// The certificate is no leaf of our profiles, the issuer refuses it, or a file cannot be read or written.
    pub fn run(self, json: bool) -> Result<(), Fault> {
        let (cert_file, key_file) = (self.name.with_extension("pem"), self.name.with_extension("key"));
        let what = format!("`{}`", cert_file.display());
        let prefix = Prefix::parse(&self.prefix).doing("`--prefix`")?;
        let old = CertificateSummary::read(read_chain(&cert_file)?.leaf()).doing(&what)?;
        let by = issuer(&self.by.by)?;
        let profile = old.renewed(&prefix, by.begins(now(), BACKDATE));
        let profile = profile.hinted(&what, "only a leaf made by `semgate cert leaf` can be renewed")?;
        let random = ring_random();
        let key = match self.keep_key {
            true => read_key(&key_file)?,
            false => KeyPair::generate(&random).doing("key")?,
        };
        let chain = by.leaf(&profile, key.public(), &random).hinted("leaf", BY_ISSUING)?;
        if !self.keep_key {
            replace_as(&key_file, key.to_pem().as_bytes(), 0o600)?;
        }
        replace_as(&cert_file, chain.to_pem().as_bytes(), 0o644)?;
        let thumbprint = chain.thumbprint().to_string();
        let days = CertificateSummary::read(chain.leaf()).doing(&what)?.days_left(now());
        let shown =
            json!({"certificate": cert_file, "key": key_file, "days_left": days, "x5t#S256": thumbprint});
        crate::terminal::print_members(&shown, json);
        Ok(())
    }
}
