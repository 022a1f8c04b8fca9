//! Drafts the next statement of a root. The current state comes from the authority, and each signer reads the content of the draft.

use std::path::PathBuf;

use clap::Args;
use semgate_certs::{CertificateDer, ChainLimits, Suspect, Thumbprint};
use semgate_contexts::{Line, Prefix, Version};
use semgate_statement::jws::MultiJws;
use semgate_statement::statement::TYPE;
use semgate_statement::{KeyList, LogVerifier, RootAct, RootEntry, RootStatement, Statement, Trust};
use serde_json::{Value, json};

use super::{LocalTrust, statement_json, verified};
use crate::authority_client::{AuthorityArgs, AuthorityClient, answer};
use crate::fault::{Doing, Fault};
use crate::names;
use crate::system::{read_chain, read_roots, write_new};
use crate::terminal::print_members as print;

/// Output of a draft, and its reason.
#[derive(Debug, Args)]
pub(super) struct Out {
    /// Write it to this file instead of standard output
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Reason, for the log
    #[arg(long, default_value = "asked for by the operator")]
    reason: String,
    #[command(flatten)]
    basis: Basis,
}

/// The base of a draft, and the keys that verify it.
#[derive(Debug, Args)]
pub(super) struct Basis {
    /// The verifier key of the log, which verifies the base; default: that of `--dir`, or of the trust list in effect
    #[arg(long, value_name = "VKEY")]
    log_key: Option<String>,
    /// Number of root keys that spoke for the root before the first trust list
    #[arg(long, default_value_t = 1)]
    root_threshold: u64,
    #[command(flatten)]
    at: AuthorityArgs,
}

/// Changes of a trust list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// A root certificate whose key speaks for the root from now on
    #[arg(long, value_name = "PEM")]
    add_root: Vec<PathBuf>,
    /// A root certificate whose key no longer speaks: its file or its `x5t#S256`
    #[arg(long, value_name = "CERT")]
    remove_root: Vec<String>,
    /// Number of root keys that must sign from now on
    #[arg(long)]
    threshold: Option<u64>,
    /// An issuing certificate for contexts that counts from now on
    #[arg(long, value_name = "PEM")]
    add_issuing: Vec<PathBuf>,
    /// An issuing certificate that no longer counts, with all certificates below it
    #[arg(long, value_name = "CERT")]
    remove_issuing: Vec<String>,
    /// A verifier key that may sign checkpoints from now on
    #[arg(long, value_name = "VKEY")]
    add_log: Vec<String>,
    /// A verifier key that may no longer sign
    #[arg(long, value_name = "VKEY")]
    remove_log: Vec<String>,
    #[command(flatten)]
    out: Out,
}

/// A compromised key.
#[derive(Debug, Args)]
pub struct CompromiseArgs {
    /// A certificate of the key, of a signer or an issuer of signers: its file, or its `x5t#S256` if the authority serves it
    #[arg(value_name = "CERT")]
    signer: String,
    /// The first log index from which signatures do not count; 0 revokes every signature of the key
    #[arg(long, value_name = "INDEX")]
    from: u64,
    #[command(flatten)]
    out: Out,
}

/// A lower floor.
#[derive(Debug, Args)]
pub struct LowerArgs {
    /// The line: `payment`
    line: String,
    /// The lowest version that counts from now on: `v1.0`
    #[arg(value_name = "VERSION")]
    min: String,
    #[command(flatten)]
    out: Out,
}

/// The current statements of an authority's root.
pub(super) struct RootState {
    pub trust: Trust,
    /// Statements of the root so far.
    pub statements: Vec<RootEntry>,
    pub list: Option<KeyList>,
    log_keys: Vec<String>,
}

impl RootState {
    async fn ask(reach: &AuthorityClient) -> Result<RootState, Fault> {
        let reply = reach.get("/v1/trust").await?;
        answer(&reply)?;
        let trust = Trust::read(&reply.body, &ChainLimits::default()).doing("trust document")?;
        let list = verified::lists(trust.root())?.pop();
        let statements = trust.root().to_vec();
        Ok(RootState { trust, statements, list, log_keys: Vec::new() })
    }

    /// Fetches and verifies them: see [`verified::root_statements`].
    async fn verified(reach: &AuthorityClient, keys: &[String], threshold: u64) -> Result<RootState, Fault> {
        let mut now = RootState::ask(reach).await?;
        let local = LocalTrust { trust: &now.trust, keys, threshold };
        let verified_root = verified::root_statements(reach, &local).await?;
        let (_, statements) = verified_root.ok_or_else(|| {
            Fault::new("the answers of the authority cannot be verified without the key of its log")
                .hint("name it with `--log-key`, as the operator of the authority published it")
        })?;
        now.list = verified::lists(&statements)?.pop();
        now.statements = statements;
        Ok(now)
    }

    fn number(&self) -> u64 {
        self.statements.len() as u64 + 1
    }

    /// The list in effect. Before the first one, the keys in use: the configured roots, the issuing certificates of all signers below the
    /// roots, and the given log key.
    fn list(&self, reach: &AuthorityClient) -> Result<KeyList, Fault> {
        if let Some(list) = &self.list {
            return Ok(list.clone());
        }
        let roots = read_roots(&reach.roots)?;
        let issuing = verified::issuing(&self.trust, &roots);
        Ok(KeyList::new(1, roots.certificates().cloned().collect(), issuing, self.log_keys.clone()))
    }
}

/// Prints the trust list of an authority.
pub(super) async fn show_authority(reach: &AuthorityClient, json: bool) -> Result<(), Fault> {
    let now = RootState::ask(reach).await?;
    let mut statements = Vec::new();
    for entry in now.trust.root() {
        let signed = entry.entry(&Prefix::default()).doing("trust document")?;
        if let Statement::Root(statement) = signed.unverified() {
            let mut shown = statement_json(statement);
            if let Some(members) = shown.as_object_mut() {
                members.insert("index".to_owned(), entry.index.into());
            }
            statements.push(shown);
        }
    }
    let list = now.list.as_ref().map(|list| {
        let roots: Vec<String> = list.roots.iter().map(|der| Thumbprint::of(der).to_string()).collect();
        json!({"threshold": list.threshold, "roots": roots, "log": list.log,
            "issuing": list.issuing.iter().map(ToString::to_string).collect::<Vec<_>>()})
    });
    let shown = json!({"authority": now.trust.authority(), "list": list, "statements": statements});
    print(&shown, json);
    Ok(())
}

impl Basis {
    /// The verified statements of the authority's root: see [`verified::root_statements`]. `more` names further log keys.
    pub(super) async fn verified(&self, more: &[String]) -> Result<(AuthorityClient, RootState), Fault> {
        let reach = self.at.reach()?;
        let known = self.at.log_keys()?;
        let keys = match &self.log_key {
            Some(key) => vec![key.trim().to_owned()],
            None if known.is_empty() => more.iter().take(1).map(|key| key.trim().to_owned()).collect(),
            None => known.clone(),
        };
        let listed = !verified::lists(RootState::ask(&reach).await?.trust.root())?.is_empty();
        // once a list names the log keys, a key to be added is not one of the log in use
        let keys = if listed && self.log_key.is_none() && known.is_empty() { Vec::new() } else { keys };
        let mut now = RootState::verified(&reach, &keys, self.root_threshold).await?;
        // the first list names the key that readers were given
        now.log_keys = match (&self.log_key, listed) {
            (Some(key), false) if known.is_empty() => vec![key.trim().to_owned()],
            _ => known,
        };
        Ok((reach, now))
    }
}

impl Out {
    pub(super) async fn ask(&self) -> Result<(AuthorityClient, RootState), Fault> {
        self.basis.verified(&[]).await
    }

    /// Writes the unsigned draft.
    fn write(&self, now: &RootState, act: RootAct, json: bool) -> Result<(), Fault> {
        let (statement, jws) = self.draft(now, act)?;
        self.store(&statement, &jws, json)
    }

    /// The next statement of the root, unsigned.
    pub(super) fn draft(&self, now: &RootState, act: RootAct) -> Result<(RootStatement, MultiJws), Fault> {
        let statement = RootStatement {
            authority: now.trust.authority().to_owned(),
            number: now.number(),
            act,
            reason: names::reason("--reason", &self.reason)?.to_owned(),
        };
        let payload = Statement::Root(Box::new(statement.clone())).to_bytes().doing("draft")?;
        // read back, so that a draft that no reader accepts is never signed
        Statement::read(&payload, &Prefix::default()).doing("draft")?;
        Ok((statement, MultiJws::draft(&payload, TYPE)))
    }

    /// Writes a draft with its signatures.
    pub(super) fn store(&self, statement: &RootStatement, jws: &MultiJws, json: bool) -> Result<(), Fault> {
        let text = jws.to_text().doing("draft")?;
        let Some(file) = &self.out else {
            out!("{text}");
            return Ok(());
        };
        write_new(file, text.as_bytes(), 0o644)?;
        let mut shown = statement_json(statement);
        if let Some(members) = shown.as_object_mut() {
            members.insert("draft".to_owned(), Value::from(file.display().to_string()));
        }
        print(&shown, json);
        Ok(())
    }
}

impl ListArgs {
    pub(super) async fn run(self, json: bool) -> Result<(), Fault> {
        for key in &self.add_log {
            LogVerifier::parse(key.trim()).map_err(|why| {
                Fault::new(format_args!("`--add-log`: `{key}`: {why}"))
                    .hint("a log shows its verifier key as `origin+id+base64`: `semgate log key`")
                    .status(2)
            })?;
        }
        let (reach, now) = self.out.basis.verified(&self.add_log).await?;
        let old = now.list(&reach)?;
        let mut roots = old.roots;
        for file in &self.add_root {
            roots.extend(certificates(file)?);
        }
        let gone = named(&self.remove_root)?;
        roots.retain(|der| !gone.contains(&Thumbprint::of(der)));
        let mut issuing = old.issuing;
        for file in &self.add_issuing {
            issuing.extend(certificates(file)?.first().map(|der| Thumbprint::of(der)));
        }
        let gone = named(&self.remove_issuing)?;
        issuing.retain(|one| !gone.contains(one));
        let mut log = old.log;
        log.extend(self.add_log.iter().map(|key| key.trim().to_owned()));
        log.retain(|key| !self.remove_log.iter().any(|gone| gone.trim() == key));
        if log.is_empty() {
            let hint = match self.remove_log.is_empty() {
                true => "this is the first list: name the log key in use with `--add-log`",
                false => "the last log key cannot be removed: add the next one with `--add-log` first",
            };
            return Err(Fault::new("the list would name no log key").hint(hint));
        }
        let threshold = self.threshold.unwrap_or(old.threshold);
        if threshold == 0 || threshold > roots.len() as u64 {
            return Err(Fault::new(format_args!(
                "a threshold of {threshold} is not possible: the list has {} root keys",
                roots.len()
            ))
            .hint("a threshold is from 1 to the number of root keys; `--add-root` adds one")
            .status(2));
        }
        let list = KeyList::new(threshold, roots, issuing, log);
        verified::compare(&list);
        self.out.write(&now, RootAct::Keys(list), json)
    }
}

impl CompromiseArgs {
    pub(super) async fn run(self, json: bool) -> Result<(), Fault> {
        let (_, now) = self.out.ask().await?;
        let der = self.certificate(&now)?;
        let suspect = Suspect::of(&der, &ChainLimits::default()).map_err(|fault| {
            Fault::new(format_args!("`{}`: {fault}", self.signer))
                .hint("name the certificate of a signer or of an issuer of signers; `semgate trust draft` removes a root")
        })?;
        let Suspect { certificate: key, key: spki } = suspect;
        self.out.write(&now, RootAct::Compromised { key, spki: Some(spki), from: self.from }, json)
    }
}

impl CompromiseArgs {
    /// The certificate itself, which names its key: from its file, or from the authority.
    fn certificate(&self, now: &RootState) -> Result<CertificateDer<'static>, Fault> {
        let path = std::path::Path::new(&self.signer);
        let thumbprint = match Thumbprint::parse(&self.signer) {
            Some(thumbprint) if !path.exists() => thumbprint,
            _ => {
                let first = certificates(path)?.into_iter().next();
                return first
                    .ok_or_else(|| Fault::new(format_args!("`{}` holds no certificate", self.signer)));
            }
        };
        let mut served = now.trust.chains().flat_map(|(_, chain)| chain.certificates());
        let certificate = served.find(|der| Thumbprint::of(der) == thumbprint).cloned();
        certificate.ok_or_else(|| {
            Fault::new(format_args!("the authority serves no certificate `{}`", self.signer))
                .hint("name the file of the certificate, which holds its key")
        })
    }
}

impl LowerArgs {
    pub(super) async fn run(self, json: bool) -> Result<(), Fault> {
        let (_, now) = self.out.ask().await?;
        let line = Line::parse(&self.line).hinted("line", "for instance `payment`")?;
        let min = Version::parse(&names::version(&self.min)).hinted("version", "for instance `v1.0`")?;
        self.out.write(&now, RootAct::LowerFloor { line, min }, json)
    }
}

fn certificates(file: &std::path::Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    Ok(read_chain(file)?.certificates().to_vec())
}

fn named(texts: &[String]) -> Result<Vec<Thumbprint>, Fault> {
    texts.iter().map(|text| certificate(text)).collect()
}

/// A certificate by its file or by its thumbprint.
fn certificate(text: &str) -> Result<Thumbprint, Fault> {
    let path = std::path::Path::new(text);
    match Thumbprint::parse(text) {
        Some(thumbprint) if !path.exists() => Ok(thumbprint),
        _ => {
            let first = certificates(path)?.first().map(|der| Thumbprint::of(der));
            first.ok_or_else(|| Fault::new(format_args!("`{text}` holds no certificate")))
        }
    }
}
