//! `semgate cert revoke | crl`: revocations, noted beside an issuer's key, and the signed lists of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::{CrlProfile, CrlShards, Revoked};
use serde_json::json;

use super::issuer;
use crate::fault::{Doing, Fault};
use crate::system::{make_dir, now, read_chain, replace, ring_random, unreadable};

/// Address and number of an issuer's lists.
#[derive(Debug, Args)]
pub struct Places {
    /// The address below which the issuer's revocation lists are published, as `16/0.crl`, `16/1.crl` … for 16 of them
    #[arg(long, value_name = "URL")]
    crl_base: Option<String>,
    /// Number of lists; the serial number of a certificate decides its list
    #[arg(long, default_value_t = 1, requires = "crl_base")]
    crl_shards: u32,
}

impl Places {
    /// The lists, if an address was given.
    pub fn shards(&self) -> Result<Option<CrlShards>, Fault> {
        let made = self.crl_base.as_ref().map(|base| CrlShards::new(base, self.crl_shards));
        made.transpose().doing("`--crl-base`")
    }
}

/// Certificates to revoke.
#[derive(Debug, Args)]
pub struct Revoke {
    /// Certificates, PEM; of a chain the leaf
    #[arg(required = true)]
    certs: Vec<PathBuf>,
    /// The issuer's `NAME` of `NAME.pem` and `NAME.key`; noted in `NAME.revoked`
    #[arg(long, value_name = "NAME")]
    by: PathBuf,
}

/// Lists to sign.
#[derive(Debug, Args)]
pub struct Crl {
    /// The issuer's `NAME` of `NAME.pem`, `NAME.key` and `NAME.revoked`
    #[arg(long, value_name = "NAME")]
    by: PathBuf,
    #[command(flatten)]
    places: Places,
    /// Hours until a list expires and every certificate is refused; sign new ones in half of that time
    #[arg(long, default_value_t = 168)]
    hours: u64,
    /// The directory for `issuer.pem`, `16/0.crl`, `16/1.crl` …; replaced by rename
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Revoke {
    pub fn run(self, json: bool) -> Result<(), Fault> {
        let file = self.by.with_extension("revoked");
        let mut known = noted(&file)?;
        let (at, by) = (now(), issuer(&self.by)?);
        let above = by.chain().certificates().first().cloned();
        for cert in &self.certs {
            let chain = read_chain(cert)?;
            let mut certificates = chain.certificates().iter();
            let leaf = certificates.next().ok_or_else(|| Fault::new("there is no certificate"))?;
            // a serial number belongs to one issuer: on another's list it would revoke a stranger
            if certificates.next().is_some_and(|one| above.as_ref() != Some(one)) {
                return Err(Fault::new(format_args!(
                    "`{}` was not issued by `{}`",
                    cert.display(),
                    self.by.display()
                ))
                .hint("name its own issuer with `--by`"));
            }
            let one = Revoked::of(leaf, at).doing(format_args!("`{}`", cert.display()))?;
            known.entry(one.serial).or_insert(one.at);
        }
        let text: String = known.iter().map(|(serial, at)| format!("{} {at}\n", hex(serial))).collect();
        replace(&file, text.as_bytes())?;
        if json {
            out!("{}", json!({"revoked": known.len(), "file": file}));
        } else {
            out!("{}: {} revoked; sign the lists again with `semgate cert crl`", file.display(), known.len());
        }
        Ok(())
    }
}

impl Crl {
    pub fn run(self, json: bool) -> Result<(), Fault> {
        let issuer = issuer(&self.by)?;
        let places = self.places.shards()?;
        let places = places
            .ok_or_else(|| Fault::new("the lists need an address").hint("add `--crl-base`").status(2))?;
        let revoked: Vec<Revoked> = noted(&self.by.with_extension("revoked"))?
            .into_iter()
            .map(|(serial, at)| Revoked { serial, at })
            .collect();
        let out = self.out.join(places.count().to_string());
        make_dir(&out)?;
        let this_update = now();
        let next_update = this_update.saturating_add(self.hours.saturating_mul(3600));
        for shard in 0..places.count() {
            // a number that always rises, whoever signs
            let profile =
                CrlProfile { shard, number: this_update, this_update, next_update, revoked: &revoked };
            let der = issuer.crl(&places, &profile, &ring_random()).doing("revocation list")?;
            replace(&out.join(format!("{shard}.crl")), &der)?;
        }
        // verifiers of certificates find the issuer of the lists here
        let chain = issuer.chain().to_pem();
        replace(&self.out.join("issuer.pem"), chain.as_bytes())?;
        let count = places.count();
        if json {
            out!("{}", json!({"lists": count, "revoked": revoked.len(), "next_update": next_update}));
        } else {
            out!("{}: {count} lists, {} revoked", out.display(), revoked.len());
        }
        Ok(())
    }
}

/// The noted revocations: serial numbers with the time, a line each. A missing file means none.
fn noted(file: &Path) -> Result<BTreeMap<Vec<u8>, u64>, Fault> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(unreadable(file, &e)),
    };
    let mut known = BTreeMap::new();
    for (n, line) in (1..).zip(text.lines()) {
        let read = line.split_once(' ').and_then(|(serial, at)| Some((unhex(serial)?, at.parse().ok()?)));
        let (serial, at) = read.ok_or_else(|| {
            Fault::new(format_args!("`{}`, line {n}: not a serial number and a time", file.display()))
                .hint("`semgate cert revoke` writes these lines; repair it, or restore it from a backup, or a missing certificate is accepted again")
        })?;
        known.insert(serial, at);
    }
    Ok(known)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}
