//! Commands without an authority: documents and signed contexts as files.

use std::path::PathBuf;

use clap::Args;
use semgate_certs::{Chain, ChainLimits, Roots};
use semgate_contexts::ContextResolver;
use semgate_contexts::{DocumentFault, DocumentLimits, Prefix};
use semgate_statement::context::{ContextFault, verify_context_among};
use semgate_statement::{
    CheckpointRules, ProofRules, SignedContext, SigningIdentity, Stapled, TextProofFault, TlogProof,
    sign_context,
};
use serde_json::{Value, json};

use super::Documents;
use super::located::settled;
use crate::fault::{Doing, Fault};
use crate::log::{COMPROMISED, RootTrust, RootTrustArgs, log_verifier};
use crate::system::{now, read, read_bytes, read_chain, read_key, read_roots, ring_random, write_new};
use crate::terminal::print_members as print;

/// Sign a document with your own context signer
#[derive(Debug, Args)]
pub struct Sign {
    /// The document
    file: PathBuf,
    /// PEM chain of the signer, leaf first
    #[arg(long)]
    cert: PathBuf,
    /// PEM key of the signer
    #[arg(long)]
    key: PathBuf,
    /// File for the signed context; nothing is overwritten
    #[arg(long)]
    out: PathBuf,
    /// A bare document to which it refers
    #[arg(long = "reference", value_name = "FILE")]
    references: Vec<PathBuf>,
}

impl Sign {
    /// Signs.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let documents = Documents::with_library(&self.references)?;
        let context = documents.file(&self.file)?;
        settled(&serde_json::from_slice(&read_bytes(&self.file)?).unwrap_or_default())?;
        let (chain, key) = (read_chain(&self.cert)?, read_key(&self.key)?);
        let signer = SigningIdentity::new(key, chain.clone());
        let signed = sign_context(&context, &signer, &ring_random()).doing("signing")?;
        verifiable(&signed, &chain, &documents)?;
        write_new(&self.out, &signed, 0o644)?;
        print(
            &json!({"urn": context.urn().as_str(), "digest": context.digest().to_string(), "out": self.out}),
            json,
        );
        Ok(0)
    }
}

/// Verifies a fresh signature under its own chain, so that an unverifiable one is never written: another key, another usage, a line outside
/// the certificate.
fn verifiable(signed: &[u8], chain: &Chain, documents: &Documents) -> Result<(), Fault> {
    let top = chain.certificates().last().cloned().into_iter().collect();
    let roots = Roots::from_der(top, &ChainLimits::default()).doing("certificate")?;
    verified(signed, &roots, now(), &|urn| documents.find(urn)).map(|_| ()).map_err(|e| {
        Fault::new(format_args!("nobody could verify the result: {e}"))
            .hint("sign with the key of the certificate, a context leaf that names the line")
    })
}

/// Verify a signed context under roots; with a log key, also that it was published
#[derive(Debug, Args)]
pub struct VerifyContext {
    /// The signed context, with or without the proof of its publication
    file: PathBuf,
    /// PEM roots
    #[arg(long)]
    roots: PathBuf,
    /// Time at which the chain is judged, in Unix seconds (the log entry's `logged_at`); default: now
    #[arg(long, conflicts_with = "log_key")]
    at: Option<u64>,
    /// A bare document to which it refers
    #[arg(long = "reference", value_name = "FILE")]
    references: Vec<PathBuf>,
    /// The verifier key of the log: the context must then have a proof of publication, and its chain is judged at that time
    #[arg(long)]
    log_key: Option<String>,
    #[command(flatten)]
    split: RootTrustArgs,
    /// The proof, if it did not come with the context
    #[arg(long, value_name = "FILE", requires = "log_key")]
    proof: Option<PathBuf>,
    /// The verifier key of a witness whose cosignature counts
    #[arg(long = "witness", value_name = "VKEY", requires = "log_key")]
    witnesses: Vec<String>,
    /// Number of witnesses that must have cosigned; default: all
    #[arg(long, requires = "witnesses")]
    quorum: Option<usize>,
}

impl VerifyContext {
    /// Verifies.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let bytes = read_bytes(&self.file)?;
        let documents = Documents::with_library(&self.references)?;
        let stapled = Stapled::read(&bytes).hinted(
            format_args!("`{}`", self.file.display()),
            "name a signed context, as `context sign` and `context fetch --out` write it",
        )?;
        if let Some(key) = &self.log_key {
            print(&self.published(key, stapled, &documents)?, json);
            return Ok(0);
        }
        let at = self.at.unwrap_or_else(now);
        let roots = read_roots(&self.roots)?;
        let held = verified(&stapled.signed, &roots, at, &|urn| documents.find(urn));
        print(&described(&held.map_err(|e| untrusted(&TextProofFault::Context(e)))?), json);
        tell!(
            "not checked: its publication, what the root says of its issuing certificate, and its status since then (give `--log-key`; for a root with several keys also `--trust` and `--root-threshold`)"
        );
        Ok(0)
    }

    fn published(&self, key: &str, stapled: Stapled, documents: &Documents) -> Result<Value, Fault> {
        let log = log_verifier(key)?;
        let quorum = crate::log::quorum(&self.witnesses, self.quorum)?;
        let proof = match &self.proof {
            Some(file) => Some(
                TlogProof::read(&read(file)?)
                    .hinted(format_args!("`{}`", file.display()), "`semgate log proof` makes one")?,
            ),
            None => stapled.proof,
        };
        let proof = proof.ok_or_else(|| {
            Fault::new("no proof of its publication came with it")
                .hint("fetch it with `context fetch --proof`, or make one with `log proof` and name it with `--proof`")
        })?;
        let RootTrust { roots, log, root_knowledge } = self.split.resolve(read_roots(&self.roots)?, &log)?;
        let latest = now().saturating_add(semgate_statement::head::MAX_AHEAD);
        let rules = ProofRules {
            roots: &roots,
            checkpoint: CheckpointRules { log: &log, quorum: &quorum, latest },
            prefix: &Prefix::default(),
            documents: &DocumentLimits::default(),
            root_knowledge: root_knowledge.as_ref(),
        };
        let proved = rules.verify(&stapled.signed, &proof, &|urn| documents.find(urn)).map_err(|e| {
            let hint = match e {
                TextProofFault::SignerCompromised { .. } => COMPROMISED,
                _ => "do not use it; ask the authority itself, and keep both answers if they differ",
            };
            Fault::new(format_args!("not proved to be published: {e}")).hint(hint)
        })?;
        let context = proved.context.context();
        Ok(json!({
            "urn": context.urn().as_str(), "digest": context.digest().to_string(),
            "signer": proved.context.signer().to_string(), "index": proved.index, "logged_at": proved.logged_at,
            "size": proved.checkpoint.size, "root": proved.checkpoint.root.to_string(),
        }))
    }
}

/// The fault for a context that fails verification.
pub fn untrusted(why: &TextProofFault) -> Fault {
    let fault = Fault::new(format_args!("not a trusted context: {why}"));
    match why {
        TextProofFault::Context(ContextFault::Document(DocumentFault::ReferenceMissing { .. })) => {
            fault.hint("give the document of that context too, with `--reference`")
        }
        TextProofFault::SignerCompromised { .. } => fault.hint(COMPROMISED),
        TextProofFault::Context(_) => fault.hint("check that an authority under these roots signed it"),
        _ => fault.hint("do not use it; check that roots and log key belong to this authority"),
    }
}

/// Verifies a signed context under roots alone.
///
/// # Errors
/// It is not valid under these roots at this time.
pub fn verified(
    bytes: &[u8],
    roots: &Roots,
    at: u64,
    others: &ContextResolver<'_>,
) -> Result<SignedContext, ContextFault> {
    verify_context_among(bytes, roots, at, &Prefix::default(), &DocumentLimits::default(), others)
}

/// The content of a verified context, as results show it.
pub fn described(signed: &SignedContext) -> Value {
    let context = signed.context();
    let (urn, digest) = (context.urn().as_str(), context.digest().to_string());
    json!({"urn": urn, "digest": digest, "signer": signed.signer().to_string()})
}
