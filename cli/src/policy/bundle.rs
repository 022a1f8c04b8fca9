//! `semgate policy bundle`: signs a policy directory as one file, and verifies such a file.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::SpiffeId;
use semgate_policies::{Policies, PolicyLimits, PolicySource};
use semgate_statement::SigningIdentity;
use semgate_statement::bundle::{self, BundleRules};
use serde_json::json;

use super::analysis::{Analysis, Outcome};
use super::inputs::{self, Contexts};
use crate::fault::{Doing, Fault};
use crate::system::{now, read_bytes, read_chain, read_key, read_roots, replace, ring_random};

/// The largest bundle accepted, in bytes: the most that a gateway can be configured to accept.
const MAX_BYTES: usize = 1 << 30;

/// A directory to sign, or a bundle to verify.
#[derive(Debug, Args)]
pub struct Bundle {
    /// A directory of `*.cedar` and `entities.json`
    #[arg(required_unless_present = "verify", conflicts_with = "verify")]
    policies: Option<PathBuf>,
    /// The signer's key (`semgate cert leaf --usage policy`)
    #[arg(long, value_name = "KEY", requires = "policies")]
    key: Option<PathBuf>,
    /// Its certificate chain, leaf first
    #[arg(long, value_name = "CHAIN", requires = "policies")]
    cert: Option<PathBuf>,
    /// Version of the set, which rises with each bundle; default: the time in seconds
    #[arg(long, value_name = "VERSION", requires = "policies")]
    set_version: Option<u64>,
    /// File for the bundle; replaced atomically
    #[arg(short, long, value_name = "FILE", requires = "policies")]
    out: Option<PathBuf>,
    /// Verify this bundle instead
    #[arg(long, value_name = "FILE", requires = "roots", requires = "signers")]
    verify: Option<PathBuf>,
    /// Roots of the signers' certificates
    #[arg(long, value_name = "PEM")]
    roots: Option<PathBuf>,
    /// The SPIFFE id of an accepted signer
    #[arg(long = "signer", value_name = "SPIFFE-ID", id = "signers")]
    signers: Vec<String>,
    /// Sign only a set that loads with the shipped contexts; implied by `--context` and `--floor`
    #[arg(long, requires = "policies")]
    check: bool,
    #[command(flatten)]
    contexts: Contexts,
    #[command(flatten)]
    analysis: Analysis,
}

impl Bundle {
    /// Signs or verifies.
    ///
    /// # Errors
    /// A file that cannot be read or written, an invalid set, a key that does not match its certificate, or a refused bundle.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        match (&self.verify, &self.policies) {
            (Some(file), _) => self.verify(file, json),
            (None, Some(directory)) => self.sign(directory, json),
            (None, None) => Err(Fault::new("nothing to sign")
                .hint("name a directory of policies, or a bundle with `--verify`")
                .status(2)),
        }
    }

    fn sign(&self, directory: &Path, json: bool) -> Result<u8, Fault> {
        let given = |what: &Option<PathBuf>, word: &str| {
            what.clone().ok_or_else(|| {
                Fault::new(format_args!("`{word}` is missing"))
                    .hint("signing takes `--cert`, `--key` and `--out`")
                    .status(2)
            })
        };
        let (key, cert, out) =
            (given(&self.key, "--key")?, given(&self.cert, "--cert")?, given(&self.out, "--out")?);
        let random = ring_random();
        let source = inputs::source(directory)?;
        let outcome = self.is_a_set(&source, json)?;
        let analysed = outcome.solver();
        let digest = source.digest();
        let files = source.contents();
        let (chain, key) = (read_chain(&cert)?, read_key(&key)?);
        let version = self.set_version.unwrap_or_else(now);
        let bundle = bundle::Bundle { version, issued_at: now(), digest, files, analysed: analysed.clone() };
        let identity = SigningIdentity::new(key, chain);
        let bytes = bundle::sign(&bundle, &identity, &random)
            .map_err(|why| Fault::new(why).hint("file names are letters, digits, `.`, `_` and `-`"))?;
        replace(&out, &bytes)?;
        if json {
            let report = json!({
                "bundle": out, "version": version, "digest": digest.to_string(), "analysed": analysed,
                "analysis": outcome.to_json(),
            });
            out!("{report}");
        } else {
            outcome.lines().into_iter().for_each(|line| tell!("{line}"));
            out!("{}: version {version}, {digest}", out.display());
        }
        Ok(0)
    }

    /// Refuses a set that no gateway would load, or that a solver finds a fault in.
    fn is_a_set(&self, source: &PolicySource, json: bool) -> Result<Outcome, Fault> {
        Policies::parse(source, &PolicyLimits::default())
            .map_err(|faults| inputs::rejected(&faults, source, json))?;
        if self.check || self.contexts.given() || self.analysis.demanded() {
            let (mut contexts, floors) = (self.contexts.read()?, self.contexts.floors());
            let policies = inputs::load(source, &contexts, &floors, json)?;
            contexts.retain(|context| !policies.left_out().iter().any(|left| left.urn == *context.urn()));
            return self.analysis.run(source, &contexts, &floors, json);
        }
        Ok(Outcome::NotAnalysed("it needs contexts: `--check`, `--context` or `--analyse`".to_owned()))
    }

    fn verify(&self, file: &Path, json: bool) -> Result<u8, Fault> {
        let roots = self.roots.as_ref().ok_or_else(|| {
            Fault::new("`--roots` is missing")
                .hint("give the roots of the policy signers, as the gateway has them")
                .status(2)
        })?;
        let signers: Vec<SpiffeId> = self
            .signers
            .iter()
            .map(|id| {
                SpiffeId::parse(id).hinted("`--signer`", "for instance `spiffe://domain/policy-signer`")
            })
            .collect::<Result<_, _>>()?;
        let limits = PolicyLimits::default();
        let rules = BundleRules {
            roots: &read_roots(roots)?,
            signers: &signers,
            newest: None,
            max_bytes: MAX_BYTES,
            max_files: limits.max_files.saturating_add(2),
            require_analysed: false,
        };
        let bytes = read_bytes(file)?;
        let signed = bundle::verify(&bytes, &rules, now()).map_err(|why| {
            Fault::new(format_args!("`{}`: {why}", file.display()))
                .hint(format_args!("no gateway would accept it: {}", why.remedy()))
        })?;
        let (version, claimed) = (signed.bundle.version, signed.bundle.digest);
        let names: Vec<String> = signed.bundle.files.iter().map(|(name, _)| name.clone()).collect();
        let source = PolicySource::of(signed.bundle.files, &limits).doing("the set in the bundle")?;
        if source.digest() != claimed {
            return Err(Fault::new(
                "policy bundle refused (`digest`): the set does not have the digest of the manifest",
            ));
        }
        let signer = signed.signer.as_str();
        if json {
            let report = json!({
                "version": version, "digest": claimed.to_string(), "signer": signer, "files": names,
                "issued_at": signed.bundle.issued_at, "not_after": signed.not_after,
                "analysed": signed.bundle.analysed,
            });
            out!("{report}");
        } else {
            let analysed = signed.bundle.analysed.map(|solver| format!(", analysed by {solver}"));
            out!("good: version {version}, {claimed}, signed by {signer}{}", analysed.unwrap_or_default());
            for name in names {
                out!("  {name}");
            }
        }
        Ok(0)
    }
}
