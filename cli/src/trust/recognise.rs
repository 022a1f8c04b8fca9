//! `semgate authority recognise | withdraw`: recognises another authority for some lines, and ends that.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::{CertificateDer, Chain, ChainLimits, Issuer, PublicKey, RootKey, Thumbprint};
use semgate_contexts::{Line, Version};
use semgate_statement::{Recognition, RootAct, ScopedLine};
use serde_json::{Value, json};

use super::draft::{Out, RootState};
use super::{hand_in, root_key};
use crate::authority_client::{AuthorityArgs, done};
use crate::fault::{Doing, Fault};
use crate::names;
use crate::system::{now, read_chain, ring_random};

const DAY: u64 = 86_400;

/// A recognition of another authority.
#[derive(Debug, Args)]
pub struct RecogniseArgs {
    /// The other authority, as its heads name it
    #[arg(value_name = "AUTHORITY")]
    recognised: String,
    /// The origin of its log
    #[arg(long)]
    origin: String,
    /// Its issuing certificate for contexts; the root key certifies its key again
    #[arg(long = "issuing", value_name = "PEM", required = true)]
    issuing: Vec<PathBuf>,
    /// A line that it may speak for, with those below it: `payment`, or `payment=v2.0` with a floor
    #[arg(long = "line", value_name = "LINE[=VERSION]", required = true)]
    lines: Vec<String>,
    /// Days from now until it ends; never past the end of root or issuing certificate
    #[arg(long, default_value_t = 365)]
    days: u64,
    /// The longest time that one of its heads counts, in seconds
    #[arg(long, default_value_t = 900)]
    max_status_age: u64,
    /// The root key that certifies and signs: a PEM file, or a `pkcs11:` URI (RFC 7512)
    #[arg(long)]
    root_key: String,
    /// Its certificate; default: `KEY.pem` next to `KEY.key`; required if the key is in a token
    #[arg(long)]
    root_cert: Option<PathBuf>,
    #[command(flatten)]
    out: Out,
}

/// The end of a recognition.
#[derive(Debug, Args)]
pub struct WithdrawArgs {
    /// The other authority
    #[arg(value_name = "AUTHORITY")]
    recognised: String,
    /// Reason, for the log
    #[arg(long, default_value = "withdrawn by the operator")]
    reason: String,
    #[command(flatten)]
    at: AuthorityArgs,
}

impl RecogniseArgs {
    /// Certifies, drafts and signs; submits it, or writes it for other holders of root keys to sign.
    ///
    /// # Errors
    /// A key cannot be certified, a file cannot be used, or the authority refuses.
    pub async fn run(self, json: bool) -> Result<(), Fault> {
        let (reach, root_state) = self.out.ask().await?;
        let (root, key) = root_key(&self.root_key, self.root_cert.as_deref(), "--root-cert")?;
        if let Some(list) = &root_state.list
            && !list.roots.iter().any(|der| Thumbprint::of(der) == root.thumbprint())
        {
            tell!(
                "warning: `{}` is not the certificate of a root key of the trust list in effect: its signatures and certificates do not count",
                root.thumbprint()
            );
        }
        let until = now().saturating_add(self.days.saturating_mul(DAY));
        let chain = Chain::from_der(vec![root.der().clone()], &ChainLimits::default()).doing("root")?;
        let issuer = Issuer::from_parts(chain, key).doing("root")?;
        let lines = self.lines.iter().map(|text| scoped(text)).collect::<Result<Vec<_>, Fault>>()?;
        let names: Vec<Line> = lines.iter().map(|scoped| scoped.line.clone()).collect();
        let own = own_keys(&root_state);
        let cross = self.issuing.iter().map(|file| {
            let theirs = first(file)?;
            if key_of(&theirs).is_some_and(|key| own.contains(&key)) {
                return Err(Fault::new(format_args!(
                    "`{}` holds a key of this authority's own trust list",
                    file.display()
                ))
                .hint("`--issuing` is the issuing certificate for contexts of the other authority: ask its operator for it"));
            }
            let made = issuer.cross(&theirs, &names, until, &ring_random());
            made.doing(format_args!("cross-certificate for `{}`", file.display()))
        });
        let cross = cross.collect::<Result<Vec<_>, Fault>>()?;
        let ages = (self.max_status_age, until);
        let recognition = Recognition::new(self.recognised, self.origin, lines, ages, cross);
        let (statement, mut jws) = self.out.draft(&root_state, RootAct::Recognise(recognition))?;
        jws.sign(issuer.key().as_ref(), &root.thumbprint(), &ring_random()).doing("signature")?;
        match self.out.out {
            Some(_) => self.out.store(&statement, &jws, json),
            None => hand_in(&jws, &reach, json).await,
        }
    }
}

impl WithdrawArgs {
    /// Asks the authority to log that the other one no longer counts.
    ///
    /// # Errors
    /// An authority that is unreachable or refuses.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let reach = self.at.reach()?;
        let path = format!("/v1/recognitions/{}/withdraw", self.recognised);
        let body = json!({"reason": names::reason("--reason", &self.reason)?});
        done(&reach.post_json(&path, &body).await?, json)
    }
}

/// The keys of the trust list: of its roots, and of those issuing certificates with signers.
fn own_keys(root_state: &RootState) -> Vec<PublicKey> {
    let Some(list) = &root_state.list else { return Vec::new() };
    let shown = root_state.trust.chains().flat_map(|(_, chain)| chain.certificates());
    let issuing = shown.filter(|der| list.issuing.contains(&Thumbprint::of(der)));
    list.roots.iter().chain(issuing).filter_map(key_of).collect()
}

/// The key of an issuing certificate.
fn key_of(der: &CertificateDer<'static>) -> Option<PublicKey> {
    RootKey::of(der, &ChainLimits::default()).ok().map(|read| read.key().clone())
}

fn first(file: &Path) -> Result<CertificateDer<'static>, Fault> {
    read_chain(file)?.certificates().first().cloned().ok_or_else(|| Fault::new("there is no certificate"))
}

fn scoped(text: &str) -> Result<ScopedLine, Fault> {
    let (line, min) = match text.split_once('=') {
        Some((line, min)) => {
            (line, Some(Version::parse(&names::version(min)).hinted("version", "for instance `v1.0`")?))
        }
        None => (text, None),
    };
    Ok(ScopedLine {
        line: Line::parse(line)
            .hinted(format_args!("line `{line}`"), "for instance `payment`, or `payment=v1.0`")?,
        min,
    })
}

/// The content of a recognition, for people to read before they sign.
pub(super) fn shown(recognition: &Recognition) -> Value {
    let lines: serde_json::Map<String, Value> = recognition
        .lines
        .iter()
        .map(|scoped| (scoped.line.as_str().to_owned(), scoped.min.map(|min| min.to_string()).into()))
        .collect();
    json!({
        "recognised": recognition.recognised, "origin": recognition.origin, "lines": lines,
        "max_status_age": recognition.max_status_age, "until": recognition.until,
        "cross": recognition.cross.iter().map(|der| Thumbprint::of(der).to_string()).collect::<Vec<_>>(),
    })
}
