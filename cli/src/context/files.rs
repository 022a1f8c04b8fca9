//! What needs no authority: documents and signed contexts as files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots};
use semgate_contexts::{Context, DocumentLimits, Prefix};
use semgate_statement::{SignedContext, SigningIdentity, sign_context, verify_context};
use serde_json::json;

use crate::authority::print_members as print;
use crate::cert::{now, ring_random, write_new};
use crate::client::{read, read_roots};
use crate::fault::{Doing, Fault};

/// Checks each file and says what is in it.
pub fn check(files: &[PathBuf], json: bool) -> Result<u8, Fault> {
    for file in files {
        let context = document(file)?;
        let terms: Vec<&str> = context.terms().map(|t| t.name()).collect();
        if json {
            let shown = json!({"file": file, "urn": context.urn().as_str(), "digest": context.digest().to_string(), "terms": terms});
            out!("{shown}");
        } else {
            out!("{}: {} {} ({})", file.display(), context.urn(), context.digest(), terms.join(", "));
        }
    }
    Ok(0)
}

/// Reads a bare document.
///
/// # Errors
/// What is wrong with it, with the path within it.
pub fn document(file: &Path) -> Result<Context, Fault> {
    let bytes = fs::read(file).doing(format_args!("cannot read `{}`", file.display()))?;
    Context::check(&bytes, &Prefix::default(), &DocumentLimits::default())
        .doing(format_args!("`{}`", file.display()))
}

/// Sign a document with a context signer of one's own
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
    /// Where the signed context goes; nothing is overwritten
    #[arg(long)]
    out: PathBuf,
}

impl Sign {
    /// Signs.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let context = document(&self.file)?;
        let chain = Chain::from_pem(&read(&self.cert)?, &ChainLimits::default()).doing("certificate")?;
        let key = KeyPair::from_pem(&read(&self.key)?, &ring_random()).doing("key")?;
        let signer = SigningIdentity::new(key, chain.clone());
        let signed = sign_context(&context, &signer, &ring_random()).doing("signing")?;
        verifiable(&signed, &chain)?;
        write_new(&self.out, &signed, 0o644)?;
        print(
            &json!({"urn": context.urn().as_str(), "digest": context.digest().to_string(), "out": self.out}),
            json,
        );
        Ok(0)
    }
}

/// Holds a fresh signature against its own chain, so that nothing is written which nobody could verify: another key, another usage, a
/// line that the certificate does not name.
fn verifiable(signed: &[u8], chain: &Chain) -> Result<(), Fault> {
    let top = chain.certificates().last().cloned().into_iter().collect();
    let roots = Roots::from_der(top, &ChainLimits::default()).doing("certificate")?;
    verify_context(signed, &roots, now(), &Prefix::default(), &DocumentLimits::default()).map(|_| ()).map_err(
        |e| {
            Fault::new(format_args!("nobody could verify this: {e}"))
                .hint("sign with the key of the certificate, a context leaf that names the line")
        },
    )
}

/// Verify a signed context under roots
#[derive(Debug, Args)]
pub struct Verify {
    /// The signed context
    file: PathBuf,
    /// PEM roots
    #[arg(long)]
    roots: PathBuf,
    /// Seconds since the Unix epoch at which the chain is judged (the log entry's `logged_at`); now without this
    #[arg(long)]
    at: Option<u64>,
}

impl Verify {
    /// Verifies.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let bytes = fs::read(&self.file).doing(format_args!("cannot read `{}`", self.file.display()))?;
        tell(&signed(&bytes, &self.roots, self.at.unwrap_or_else(now))?, json);
        Ok(0)
    }
}

/// Verifies a signed context.
///
/// # Errors
/// It does not hold under these roots at this time.
pub fn signed(bytes: &[u8], roots: &Path, at: u64) -> Result<SignedContext, Fault> {
    let roots = read_roots(roots)?;
    verify_context(bytes, &roots, at, &Prefix::default(), &DocumentLimits::default()).map_err(|e| {
        Fault::new(format_args!("not a trusted context: {e}"))
            .hint("was it signed by an authority under these roots?")
    })
}

/// Says what a verified context holds.
pub fn tell(signed: &SignedContext, json: bool) {
    let context = signed.context();
    let (urn, digest) = (context.urn().as_str(), context.digest().to_string());
    print(&json!({"urn": urn, "digest": digest, "signer": signed.signer().to_string()}), json);
}
