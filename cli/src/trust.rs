//! `semgate trust …`: drafts and submits the root's statements for an authority. The holders of root keys sign them in turn on their own
//! machines. Files travel from hand to hand; the keys stay in place.

mod draft;
mod recognise;
mod tuf;
mod verified;

pub use recognise::{RecogniseArgs, WithdrawArgs};
pub(crate) use verified::{LocalTrust, follow_once, keep_following, root_statements};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use semgate_certs::{ChainLimits, RootKey, SigningKey, Thumbprint};
use semgate_contexts::Prefix;
use semgate_statement::jws::MultiJws;
use semgate_statement::statement::{MAX_STATEMENT_BYTES, TYPE};
use semgate_statement::{RootAct, RootStatement, SignedStatement, Statement};
use serde_json::{Value, json};

use crate::authority_client::{AuthorityArgs, AuthorityClient, answer};
use crate::fault::{Doing, Fault};
use crate::system::{in_device, read, read_chain, ring_random, signing_key, write};
use crate::terminal::print_members as print;

/// Statements of the root: trust lists, compromised keys, lowered floors
#[derive(Debug, Subcommand)]
pub enum TrustJob {
    /// Show an authority's trust list; or a file's content and signers
    Show {
        /// A draft
        file: Option<PathBuf>,
        #[command(flatten)]
        at: AuthorityArgs,
    },
    /// Draft the next trust list: the one in effect with these changes
    Draft(Box<draft::ListArgs>),
    /// Draft a statement that a key is compromised: its signatures from an index on are invalid
    Compromise(draft::CompromiseArgs),
    /// Draft a lower floor of a line
    LowerFloor(draft::LowerArgs),
    /// Add the signature of a root key to a draft; offline
    Sign(SignStatement),
    /// The trust list as a TUF repository, for stock TUF clients
    #[command(subcommand)]
    Tuf(tuf::TufJob),
    /// Submit a signed draft
    Submit {
        /// The signed draft
        file: PathBuf,
        #[command(flatten)]
        at: AuthorityArgs,
    },
}

/// A signature.
#[derive(Debug, Args)]
pub struct SignStatement {
    /// The draft; the signature is added to this file
    file: PathBuf,
    /// The root key: a PEM file, or a `pkcs11:` URI (RFC 7512)
    #[arg(long)]
    key: String,
    /// Its certificate; default: `KEY.pem` next to `KEY.key`; required if the key is in a token
    #[arg(long)]
    cert: Option<PathBuf>,
}

/// Runs the job.
///
/// # Errors
/// A file is no draft, a key does not match its certificate, or an authority is unreachable or refuses.
pub async fn run(job: TrustJob, json: bool) -> Result<u8, Fault> {
    match job {
        TrustJob::Show { file: Some(file), .. } => {
            let (jws, statement) = read_draft(&file)?;
            show(&jws, &statement, json);
        }
        TrustJob::Show { file: None, at } => draft::show_authority(&at.reach()?, json).await?,
        TrustJob::Draft(args) => args.run(json).await?,
        TrustJob::Compromise(args) => args.run(json).await?,
        TrustJob::LowerFloor(args) => args.run(json).await?,
        TrustJob::Sign(args) => args.run(json)?,
        TrustJob::Tuf(job) => tuf::run(job, json).await?,
        TrustJob::Submit { file, at } => submit(&file, &at, json).await?,
    }
    Ok(0)
}

async fn submit(file: &Path, at: &AuthorityArgs, json: bool) -> Result<(), Fault> {
    let (jws, _) = read_draft(file)?;
    hand_in(&jws, &at.reach()?, json).await
}

async fn hand_in(jws: &MultiJws, reach: &AuthorityClient, json: bool) -> Result<(), Fault> {
    let text = jws.to_text().doing("draft")?;
    let reply = reach.post("/v1/trust", "application/jose+json", text.into_bytes()).await?;
    print(&answer(&reply)?, json);
    Ok(())
}

impl SignStatement {
    fn run(self, json: bool) -> Result<(), Fault> {
        let (mut jws, statement) = read_draft(&self.file)?;
        let (root, key) = root_key(&self.key, self.cert.as_deref(), "--cert")?;
        let in_list = match &statement.act {
            RootAct::Keys(list) => list.roots.iter().any(|der| Thumbprint::of(der) == root.thumbprint()),
            _ => root.is_self_issued(),
        };
        if !in_list {
            tell!(
                "warning: `{}` is not the certificate of a root key {}: its signature counts only where the list in effect names it",
                root.thumbprint(),
                if root.is_self_issued() {
                    "of the list that it signs"
                } else {
                    "at all, but a key that a root certified"
                }
            );
        }
        jws.sign(key.as_ref(), &root.thumbprint(), &ring_random()).doing("signature")?;
        let text = jws.to_text().doing("draft")?;
        write(&self.file, text.as_bytes())?;
        show(&jws, &statement, json);
        Ok(())
    }
}

/// A root key with its certificate: the named one, or `KEY.pem` beside it.
fn root_key(
    location: &str,
    cert: Option<&Path>,
    option: &str,
) -> Result<(RootKey, Arc<dyn SigningKey>), Fault> {
    let named = || format!("name the certificate of this key with `{option}`");
    if cert.is_none() && in_device(location) {
        return Err(Fault::new("a key in a token has no certificate file").hint(named()));
    }
    let cert = cert.map_or_else(|| Path::new(location).with_extension("pem"), Path::to_path_buf);
    let chain = read_chain(&cert)?;
    let key = signing_key(location)?;
    let root = chain.certificates().first().ok_or_else(|| Fault::new("there is no certificate"))?;
    let root = RootKey::of(root, &ChainLimits::default()).hinted(
        format_args!("`{}`", cert.display()),
        "give the certificate of a root key: ECDSA over P-256",
    )?;
    if root.key() != key.public() {
        return Err(
            Fault::new(format_args!("`{location}` is not the key of `{}`", cert.display())).hint(named())
        );
    }
    Ok((root, key))
}

/// A draft with its signatures.
fn read_draft(file: &Path) -> Result<(MultiJws, RootStatement), Fault> {
    let what = || format!("`{}`", file.display());
    let jws = MultiJws::read(read(file)?.trim().as_bytes(), TYPE, MAX_STATEMENT_BYTES).map_err(|fault| {
        Fault::new(format_args!("{}: {fault}", what())).hint("make one with `semgate trust draft`")
    })?;
    let signed = SignedStatement::of_root(jws.clone(), &Prefix::default()).doing(what())?;
    match signed.unverified() {
        Statement::Root(said) => Ok((jws, (**said).clone())),
        _ => Err(Fault::new(format_args!("{} is not a statement of the root", what()))),
    }
}

fn show(jws: &MultiJws, statement: &RootStatement, json: bool) {
    let mut shown = statement_json(statement);
    let signed: Vec<String> = jws.claimed().map(|key| key.to_string()).collect();
    if let Some(members) = shown.as_object_mut() {
        members.insert("signed_by".to_owned(), json!(signed));
    }
    print(&shown, json);
}

/// The content of a statement, for people to read before they sign.
fn statement_json(statement: &RootStatement) -> Value {
    let mut shown = json!({
        "kind": statement.kind(), "authority": statement.authority, "number": statement.number, "reason": statement.reason,
    });
    let more = match &statement.act {
        RootAct::Keys(list) => json!({
            "threshold": list.threshold,
            "roots": list.roots.iter().map(|der| Thumbprint::of(der).to_string()).collect::<Vec<_>>(),
            "issuing": list.issuing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "log": list.log,
        }),
        RootAct::Compromised { key, spki, from } => {
            json!({"key": key.to_string(), "spki": spki.map(|spki| spki.to_string()), "from": from})
        }
        RootAct::LowerFloor { line, min } => json!({"line": line.as_str(), "min": min.to_string()}),
        RootAct::Recognise(recognition) => recognise::shown(recognition),
    };
    if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
        shown.extend(more);
    }
    shown
}
