//! `semgate scan sign` and `semgate scan verify`: models and baselines for gateways.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::SpiffeId;
use semgate_contexts::Prefix;
use semgate_scan::{Baseline, FEATURES, Model};
use semgate_statement::SigningIdentity;
use semgate_statement::scan_model::{self, ScanArtefact, ScanRules};
use serde_json::{Value, json};

use super::MAX_BYTES;
use super::baseline_file::BaselineFile;
use crate::fault::{Doing, Fault};
use crate::system::{now, read_at_most, read_chain, read_key, read_roots, replace, ring_random};

/// A file to sign.
#[derive(Debug, Args)]
pub struct SignScan {
    /// A baseline of `semgate scan learn`, or a model
    file: PathBuf,
    /// The signer's key (`semgate cert leaf --usage policy`)
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// Its certificate chain, leaf first
    #[arg(long, value_name = "CHAIN")]
    cert: PathBuf,
    /// Version, which rises with each replacement; default: the time in seconds
    #[arg(long, value_name = "VERSION")]
    set_version: Option<u64>,
    /// The signed file; replaced atomically
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

/// A signed file to verify.
#[derive(Debug, Args)]
pub struct VerifyScan {
    /// The signed file
    file: PathBuf,
    /// Roots of the signers' certificates
    #[arg(long, value_name = "PEM")]
    roots: PathBuf,
    /// The SPIFFE id of an accepted signer
    #[arg(long = "signer", value_name = "SPIFFE-ID", required = true)]
    signers: Vec<String>,
}

impl SignScan {
    /// Signs the file.
    ///
    /// # Errors
    /// A file that cannot be read or written, one that is neither a model nor a baseline, or a key that does not match its certificate.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let bytes = read_at_most(&self.file, MAX_BYTES)?;
        let (field, content) = match Model::parse(&bytes) {
            Ok(_) => (None, bytes),
            Err(_) if bytes.starts_with(b"{") => {
                let file = BaselineFile::read(&self.file, &bytes)?;
                (Some(file.field()?), file.baseline()?.1)
            }
            Err(why) => {
                return Err(Fault::new(format_args!("`{}`: {why}", self.file.display()))
                    .hint("name a model, or a file of `semgate scan learn`"));
            }
        };
        let (chain, key) = (read_chain(&self.cert)?, read_key(&self.key)?);
        let version = self.set_version.unwrap_or_else(now);
        let features = u64::from(FEATURES);
        let artefact = ScanArtefact { version, issued_at: now(), features, field, content };
        let signed = scan_model::sign(&artefact, &SigningIdentity::new(key, chain), &ring_random());
        replace(&self.out, &signed.doing("signing")?)?;
        let report = shown(&artefact);
        match json {
            true => out!("{}", with(report, "file", json!(self.out))),
            false => out!("{}: {}", self.out.display(), line(&artefact)),
        }
        Ok(0)
    }
}

impl VerifyScan {
    /// Verifies the file.
    ///
    /// # Errors
    /// No gateway with these roots and signers would take it.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let signer = |id: &String| {
            SpiffeId::parse(id).hinted("`--signer`", "for instance `spiffe://domain/scan-signer`")
        };
        let signers: Vec<SpiffeId> = self.signers.iter().map(signer).collect::<Result<_, _>>()?;
        let roots = read_roots(&self.roots)?;
        let prefix = Prefix::default();
        let rules = ScanRules { roots: &roots, signers: &signers, prefix: &prefix, max_bytes: MAX_BYTES };
        let signed =
            scan_model::verify(&read_at_most(&self.file, MAX_BYTES)?, &rules, now()).map_err(|why| {
                Fault::new(format_args!("`{}`: {why}", self.file.display()))
                    .hint(format_args!("no gateway would accept it: {}", why.remedy()))
            })?;
        readable(&self.file, &signed.artefact)?;
        let signer = signed.signer.as_str();
        if json {
            let report = with(shown(&signed.artefact), "signer", json!(signer));
            out!("{}", with(report, "not_after", json!(signed.not_after)));
        } else {
            out!("good: {}, signed by {signer}", line(&signed.artefact));
        }
        Ok(0)
    }
}

/// Refuses content that this version does not read.
fn readable(file: &Path, artefact: &ScanArtefact) -> Result<(), Fault> {
    let fault = match artefact.field {
        None => Model::parse(&artefact.content).err().map(|why| why.to_string()),
        Some(_) => Baseline::parse(&artefact.content).err().map(|why| why.to_string()),
    };
    let unknown = artefact.features != u64::from(FEATURES);
    let fault = fault.or_else(|| unknown.then(|| format!("features of format {}", artefact.features)));
    match fault {
        None => Ok(()),
        Some(why) => Err(Fault::new(format_args!("`{}`: {why}", file.display()))
            .hint(format_args!("this version reads features of format {FEATURES}"))),
    }
}

fn shown(artefact: &ScanArtefact) -> Value {
    let field = artefact.field.as_ref().map(|field| {
        json!({"context": field.context.as_str(), "concept": field.concept, "position": field.position})
    });
    json!({
        "kind": if field.is_some() { "baseline" } else { "model" },
        "version": artefact.version,
        "digest": artefact.digest().to_string(),
        "features": artefact.features,
        "issued_at": artefact.issued_at,
        "field": field,
    })
}

fn with(mut report: Value, name: &str, value: Value) -> Value {
    if let Some(members) = report.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    report
}

fn line(artefact: &ScanArtefact) -> String {
    let of = match &artefact.field {
        None => "model".to_owned(),
        Some(field) => {
            format!("baseline of `{}{}` of {}", field.concept, field.position, field.context.as_str())
        }
    };
    format!("{of}, version {}, {}", artefact.version, artefact.digest())
}
