//! Sources of a policy set: a directory, or a bundle signed by an allowed signer.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_certs::SpiffeId;
use semgate_contexts::Digest;
use semgate_policies::{PolicyFault, PolicyLimits, PolicySource};
use semgate_statement::bundle::{self, BundleFault, BundleRules};
use semgate_statement::durable::replace;
use serde::{Deserialize, Serialize};

use super::steady::{self, Stamp, Steady};
use crate::clock::unix_now;
use crate::config::{BundleConfig, Config};
use crate::fault::RunFault;
use crate::server::pem_files;

/// Bytes of a signed bundle, in memory before its signature is checked: 10,000 policies and 80,000 agents.
const BUNDLE_BYTES: usize = 32 << 20;
/// Reads of a directory that changes meanwhile: swapping links takes microseconds.
pub(super) const READ_TRIES: usize = 5;

/// File in the state directory with the newest bundle that ever went live.
const NEWEST: &str = "policy-bundle.json";
/// Maximum bytes of that file.
const MAX_NEWEST: u64 = 4096;

/// Source of a policy set, with its trust settings.
#[derive(Clone, Debug)]
pub(super) enum BundleSource {
    /// A directory.
    Directory(PathBuf),
    /// A signed bundle.
    Bundle(BundlePlace),
}

/// See [`BundleSource::Bundle`].
#[derive(Clone, Debug)]
pub(super) struct BundlePlace {
    file: PathBuf,
    roots: semgate_certs::Roots,
    signers: Vec<SpiffeId>,
    max_bytes: usize,
    require_analysed: bool,
    memory: PathBuf,
}

/// A policy set as read.
pub(super) struct ReadPolicies {
    pub(super) source: Arc<PolicySource>,
    /// Digest of the set, which takes milliseconds for a large one.
    pub(super) digest: Digest,
    pub(super) stamp: Stamp,
    /// Version of a signed bundle.
    pub(super) version: Option<u64>,
}

/// Version and digest of the newest live bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Newest {
    version: u64,
    digest: String,
}

fn unreadable(path: &Path, why: impl ToString) -> PolicyFault {
    PolicyFault::Unreadable { path: path.display().to_string(), why: why.to_string() }
}

impl BundleSource {
    /// The source of the live policies.
    ///
    /// # Errors
    /// Unusable roots of a bundle's signers.
    pub(super) fn live(config: &Config) -> Result<Self, RunFault> {
        match &config.policy_bundle {
            None => Ok(Self::Directory(config.policies.clone().unwrap_or_default())),
            Some(demanded) => BundlePlace::new(config, demanded).map(Self::Bundle),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Bundle(bundle) => &bundle.file,
        }
    }

    /// Stamp of the source, taken without reading it.
    ///
    /// # Errors
    /// The source cannot be examined.
    pub(super) fn stamp(&self, limits: &PolicyLimits) -> Result<Stamp, PolicyFault> {
        match self {
            Self::Directory(path) => Stamp::take(path, limits),
            Self::Bundle(bundle) => Stamp::of_file(&bundle.file),
        }
    }

    /// Reads the source. Logs neighbouring files that are not read.
    ///
    /// # Errors
    /// Fault of the source.
    pub(super) fn read(&self, limits: &PolicyLimits, tries: usize) -> Result<ReadPolicies, PolicyFault> {
        match self {
            Self::Directory(path) => {
                let Steady { source, stamp } = steady::read(path, limits, tries)?;
                for why in PolicySource::strays(path) {
                    tracing::warn!(why, "a file in the policy directory is not part of the set");
                }
                Ok(ReadPolicies { digest: source.digest(), source: Arc::new(source), stamp, version: None })
            }
            Self::Bundle(bundle) => bundle.read(limits, tries),
        }
    }

    /// Converts a read fault to a start fault.
    pub(super) fn unread(&self, why: &PolicyFault) -> RunFault {
        let (path, why) = (self.path().to_owned(), why.to_string());
        match self {
            Self::Directory(_) => RunFault::Policies { path, why },
            Self::Bundle(_) => RunFault::Bundle { path, why },
        }
    }

    /// Stores the version of a set that is about to go live, so that no older bundle can follow.
    ///
    /// # Errors
    /// The version cannot be stored.
    pub(super) fn remember(&self, version: Option<u64>, digest: Digest) -> Result<(), PolicyFault> {
        match (self, version) {
            (Self::Bundle(bundle), Some(version)) => bundle.remember(version, digest),
            _ => Ok(()),
        }
    }
}

impl BundlePlace {
    fn new(config: &Config, demanded: &BundleConfig) -> Result<Self, RunFault> {
        let signer = |id: &String| SpiffeId::parse(id).map_err(|why| RunFault::system("policy signer", why));
        Ok(Self {
            file: demanded.file.clone(),
            roots: pem_files::roots(&demanded.roots, config)?,
            signers: demanded.signers.iter().map(signer).collect::<Result<_, _>>()?,
            max_bytes: BUNDLE_BYTES,
            require_analysed: demanded.require_analysed,
            memory: config.state.join(NEWEST),
        })
    }

    fn read(&self, limits: &PolicyLimits, tries: usize) -> Result<ReadPolicies, PolicyFault> {
        let refused = |why: &BundleFault| unreadable(&self.file, format!("{why} ({})", why.remedy()));
        let (bytes, stamp) = steady::read_file(&self.file, self.max_bytes, tries)?;
        let rules = BundleRules {
            roots: &self.roots,
            signers: &self.signers,
            newest: self.newest()?,
            max_bytes: self.max_bytes,
            // `entities.json` and `limits.json` count too
            max_files: limits.max_files.saturating_add(2),
            require_analysed: self.require_analysed,
        };
        let signed = bundle::verify(&bytes, &rules, unix_now()).map_err(|why| refused(&why))?;
        let (claimed, version) = (signed.bundle.digest, signed.bundle.version);
        let source = PolicySource::of(signed.bundle.files, limits)?;
        if source.digest() != claimed {
            let why = "policy bundle refused (`digest`): the set does not have the digest of the manifest";
            return Err(unreadable(&self.file, why));
        }
        tracing::debug!(version, signer = signed.signer.as_str(), "a policy bundle is verified");
        Ok(ReadPolicies { source: Arc::new(source), digest: claimed, stamp, version: Some(version) })
    }

    fn newest(&self) -> Result<Option<(u64, Digest)>, PolicyFault> {
        let fault = |why: &dyn std::fmt::Display| unreadable(&self.memory, why);
        let text = match std::fs::read(&self.memory) {
            Ok(text) if text.len() as u64 <= MAX_NEWEST => text,
            Ok(_) => return Err(fault(&"too long")),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(fault(&why)),
        };
        let newest: Newest = serde_json::from_slice(&text).map_err(|why| fault(&why))?;
        let digest = Digest::parse(&newest.digest).map_err(|why| fault(&why))?;
        Ok(Some((newest.version, digest)))
    }

    fn remember(&self, version: u64, digest: Digest) -> Result<(), PolicyFault> {
        if self.newest()? == Some((version, digest)) {
            return Ok(());
        }
        let newest = Newest { version, digest: digest.to_string() };
        let write = |file: &mut BufWriter<File>| file.write_all(&serde_json::to_vec(&newest)?);
        replace(&self.memory, 0o600, write).map(drop).map_err(|why| unreadable(&self.memory, why))
    }
}
