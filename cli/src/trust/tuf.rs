//! `semgate trust tuf …`: the trust list as a TUF repository, a directory of files for any web server and stock TUF clients. The signers of
//! the trust list sign its `root` and `targets`; an online key signs `snapshot` and `timestamp`.

mod counts;
mod store;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use semgate_certs::{ChainLimits, RootKey};
use semgate_contexts::Prefix;
use semgate_statement::tuf::{self, Metadata, Role, Roles};
use semgate_statement::{RootAct, Statement};
use serde_json::json;

use super::draft::Basis;
use super::signing_key;
use crate::fault::{Doing, Fault};
use crate::system::{now, ring_random};
use crate::terminal::print_members as print;
use counts::Counts;
use store::{MetadataDraft, Repository};

const DAY: u64 = 86_400;

/// The trust list as a TUF repository
#[derive(Debug, Subcommand)]
pub enum TufJob {
    /// Draft `targets` for the root keys to sign, and `root` if its keys changed
    Draft(DraftArgs),
    /// Add the signature of a root key to a draft; offline
    Sign(SignMetadata),
    /// Accept signed drafts, and sign `snapshot` and `timestamp`; also without drafts, before the timestamp expires
    Publish(PublishArgs),
}

/// A draft.
#[derive(Debug, Args)]
pub struct DraftArgs {
    /// The directory of the repository
    repository: PathBuf,
    /// The online key: a PEM file, or a `pkcs11:` URI (RFC 7512)
    #[arg(long)]
    online: String,
    /// Lifetime of `root` and `targets`, in days
    #[arg(long, default_value_t = 365)]
    days: u64,
    #[command(flatten)]
    basis: Basis,
}

/// A signature.
#[derive(Debug, Args)]
pub struct SignMetadata {
    /// The draft; the signature is added to this file
    file: PathBuf,
    /// The root key: a PEM file, or a `pkcs11:` URI (RFC 7512)
    #[arg(long)]
    key: String,
}

/// A publication.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// The directory of the repository
    repository: PathBuf,
    /// The online key: a PEM file, or a `pkcs11:` URI (RFC 7512)
    #[arg(long)]
    online: String,
    /// Lifetime of the timestamp, in days: the longest time for which a client may see an old list
    #[arg(long, default_value_t = 1)]
    timestamp_days: u64,
    /// Lifetime of the snapshot, in days
    #[arg(long, default_value_t = 30)]
    snapshot_days: u64,
}

/// Runs the job.
///
/// # Errors
/// An unreachable authority, invalid files, or missing signatures.
pub async fn run(job: TufJob, json: bool) -> Result<(), Fault> {
    match job {
        TufJob::Draft(args) => args.run(json).await,
        TufJob::Sign(args) => args.run(json),
        TufJob::Publish(args) => args.run(json),
    }
}

/// The time so many days from now, at most the latest that a date can hold.
fn in_days(days: u64) -> u64 {
    now().saturating_add(days.saturating_mul(DAY))
}

impl DraftArgs {
    async fn run(self, json: bool) -> Result<(), Fault> {
        let (_, root_state) = self.basis.verified(&[]).await?;
        let list = root_state.list.ok_or_else(|| {
            Fault::new("the authority has no trust list")
                .hint("submit the first one: `semgate trust submit trust-1.json`")
        })?;
        let limits = ChainLimits::default();
        let roots = list.roots.iter().map(|der| RootKey::of(der, &limits).map(|root| root.key().clone()));
        let roles = Roles {
            root: roots.collect::<Result<_, _>>().doing("trust list")?,
            threshold: list.threshold,
            online: signing_key(&self.online)?.public().clone(),
        };
        let mut files = Vec::new();
        for entry in &root_state.statements {
            let signed = entry.entry(&Prefix::default()).doing("trust document")?;
            if let Statement::Root(root) = signed.unverified()
                && matches!(root.act, RootAct::Keys(_))
            {
                files
                    .push((format!("trust-list-{}.json", root.number), entry.statement.clone().into_bytes()));
            }
        }
        if let Some((_, newest)) = files.last().cloned() {
            files.push(("trust-list.json".to_owned(), newest));
        }
        let repository = Repository::open(&self.repository)?;
        let expires = in_days(self.days);
        let root = match &repository.root {
            Some(known)
                if says(known, &roles)? && known.expires().doing("root")? > in_days(self.days / 2) =>
            {
                None
            }
            known => {
                let version = version_of(known.as_ref(), "root")? + 1;
                Some(Metadata::draft(tuf::root(&roles, version, expires).doing("root")?))
            }
        };
        let version = version_of(repository.targets.as_ref(), "targets")? + 1;
        let targets = Metadata::draft(tuf::targets(&files, version, expires).doing("targets")?);
        let draft = MetadataDraft { root, targets: Some(targets), files };
        let written = repository.write_draft(&draft)?;
        print(&json!({"drafts": written, "targets": version, "threshold": list.threshold}), json);
        Ok(())
    }
}

/// Returns true if a root has exactly this content.
fn says(root: &Metadata, roles: &Roles) -> Result<bool, Fault> {
    let (offline, online) =
        (Role::of(root, "root").doing("root metadata")?, Role::of(root, "timestamp").doing("root metadata")?);
    let same = offline.keys.len() == roles.root.len()
        && offline.keys.iter().all(|(_, key)| roles.root.contains(key))
        && online.keys.iter().map(|(_, key)| key).eq([&roles.online]);
    Ok(same && offline.threshold == roles.threshold)
}

impl SignMetadata {
    fn run(self, json: bool) -> Result<(), Fault> {
        let mut draft = store::read(&self.file)?;
        let role = draft.role().doing("draft")?.to_owned();
        if !matches!(role.as_str(), "root" | "targets") {
            return Err(Fault::new("root keys sign `root` and `targets` alone")
                .hint("`semgate trust tuf publish` signs the others"));
        }
        let key = signing_key(&self.key)?;
        let counts = Counts::of(key.public(), &draft, &self.file)?;
        if let Some(warning) = counts.warning(&role) {
            tell!("{warning}");
        }
        draft.sign(key.as_ref(), &ring_random()).doing("signature")?;
        store::write(&self.file, &draft.to_bytes())?;
        let signed: Vec<&str> = draft.claimed().collect();
        print(
            &json!({"role": role, "version": draft.version().doing("draft")?, "signed_by": signed,
                "counts": counts.known(), "says": draft.signed()}),
            json,
        );
        Ok(())
    }
}

/// The root that counts from now on: that of the draft, or the published one.
fn newest_root<'r>(draft: &'r MetadataDraft, repository: &'r Repository) -> Result<&'r Metadata, Fault> {
    match (&draft.root, &repository.root) {
        (Some(next), Some(known)) => next.follows(known).doing("`root.json` of the draft").map(|()| next),
        (Some(first), None) => first.check(first).doing("`root.json` of the draft").map(|()| first),
        (None, Some(known)) => Ok(known),
        (None, None) => {
            Err(Fault::new("there is no root yet").hint("make one with `semgate trust tuf draft`"))
        }
    }
}

/// The version of the targets that count from now on: signed under this root, not expired, and next to the published one.
fn targets_version(draft: &MetadataDraft, repository: &Repository, root: &Metadata) -> Result<u64, Fault> {
    let targets = draft.targets.as_ref().or(repository.targets.as_ref());
    let targets = targets.ok_or_else(|| {
        Fault::new("there are no targets yet").hint("make them with `semgate trust tuf draft`")
    })?;
    targets.check(root).map_err(|fault| {
        Fault::new(format_args!("targets: {fault}"))
            .hint("let root keys sign them: `semgate trust tuf draft`, then `semgate trust tuf sign`")
    })?;
    for (what, one) in [("root", root), ("targets", targets)] {
        if one.expires().doing(what)? <= now() {
            return Err(Fault::new(format_args!("{what} has expired")).hint("draft and sign it again"));
        }
    }
    let version = targets.version().doing("targets")?;
    let published = version_of(repository.targets.as_ref(), "targets")?;
    if draft.targets.is_some() && Some(version) != published.checked_add(1) {
        return Err(Fault::new(format_args!(
            "targets of the draft are version {version}, and {published} is published"
        ))
        .hint("the repository is not the one that it was drafted for; draft and sign it again"));
    }
    Ok(version)
}

/// The version of metadata; 0 where there is none yet.
fn version_of(metadata: Option<&Metadata>, what: &str) -> Result<u64, Fault> {
    metadata.map_or(Ok(0), Metadata::version).doing(what)
}

impl PublishArgs {
    fn run(self, json: bool) -> Result<(), Fault> {
        let (key, random) = (signing_key(&self.online)?, ring_random());
        let repository = Repository::open(&self.repository)?;
        let draft = repository.read_draft()?;
        let root = newest_root(&draft, &repository)?;
        let version = targets_version(&draft, &repository, root)?;
        let snapshot = match repository.snapshot.as_ref() {
            Some(known) if self.is_good(known, root, version)? => known.clone(),
            known => {
                let next = version_of(known, "snapshot")? + 1;
                let snapshot = tuf::snapshot(version, next, in_days(self.snapshot_days)).doing("snapshot")?;
                let mut made = Metadata::draft(snapshot);
                made.sign(key.as_ref(), &random).doing("snapshot")?;
                made
            }
        };
        let next = version_of(repository.timestamp.as_ref(), "timestamp")? + 1;
        let newest = snapshot.version().doing("snapshot")?;
        let timestamp = tuf::timestamp(newest, next, in_days(self.timestamp_days)).doing("timestamp")?;
        let mut timestamp = Metadata::draft(timestamp);
        timestamp.sign(key.as_ref(), &random).doing("timestamp")?;
        for (what, one) in [("snapshot", &snapshot), ("timestamp", &timestamp)] {
            one.check(root).map_err(|fault| {
                Fault::new(format_args!("{what}: {fault}"))
                    .hint("`--online` is not the key that root names; `semgate trust tuf draft` with this key changes it")
            })?;
        }
        repository.publish(&draft, &snapshot, &timestamp)?;
        let shown = json!({"root": root.version().doing("root")?, "targets": version, "snapshot": newest,
            "timestamp": next, "expires": timestamp.signed().get("expires")});
        print(&shown, json);
        Ok(())
    }

    /// Returns true for a snapshot of the same content, by a key that still counts, with at least half of its time left.
    fn is_good(&self, known: &Metadata, root: &Metadata, targets: u64) -> Result<bool, Fault> {
        let same = known.names("targets.json") == Some(targets);
        let fresh = known.expires().doing("snapshot")? > in_days(self.snapshot_days / 2);
        Ok(same && fresh && known.check(root).is_ok())
    }
}
