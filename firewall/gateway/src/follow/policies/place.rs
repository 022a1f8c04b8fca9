//! Where a policy set comes from: a directory as it stands, or a bundle that an allowed signer vouched for.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_certs::SpiffeId;
use semgate_contexts::Digest;
use semgate_policies::{PolicyFault, PolicyLimits, PolicySource};
use semgate_statement::bundle::{self, BundleFault, Rules};
use serde::{Deserialize, Serialize};

use super::steady::{self, Stamp, Steady};
use crate::clock::unix_now;
use crate::config::{BundleConfig, Config, PolicyPlace};
use crate::fault::RunFault;
use crate::keep::anew;
use crate::materials;

/// The newest bundle that ever went live, in the state directory.
const NEWEST: &str = "policy-bundle.json";
/// More than that file ever has.
const MAX_NEWEST: u64 = 4096;

/// A place to look for a set, with all that it is held against.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A directory.
    Directory(PathBuf),
    /// A signed bundle.
    Bundle(BundlePlace),
}

/// See [`Place::Bundle`].
#[derive(Clone, Debug)]
pub(super) struct BundlePlace {
    file: PathBuf,
    roots: semgate_certs::Roots,
    signers: Vec<SpiffeId>,
    max_bytes: usize,
    require_analysed: bool,
    memory: PathBuf,
}

/// A set as it was read.
pub(super) struct Found {
    pub(super) source: Arc<PolicySource>,
    /// Its digest, which takes milliseconds of a large set.
    pub(super) digest: Digest,
    pub(super) stamp: Stamp,
    /// The version that it came under, if it was signed.
    pub(super) version: Option<u64>,
}

/// Version and digest of a bundle that went live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Newest {
    version: u64,
    digest: String,
}

fn unreadable(path: &Path, why: impl ToString) -> PolicyFault {
    PolicyFault::Unreadable { path: path.display().to_string(), why: why.to_string() }
}

impl Place {
    /// The place that messages are judged from.
    ///
    /// # Errors
    /// The roots of a bundle's signers cannot be used.
    pub(super) fn live(config: &Config) -> Result<Self, RunFault> {
        match &config.policies {
            PolicyPlace::Directory(path) => Ok(Self::Directory(path.clone())),
            PolicyPlace::Bundle(demanded) => BundlePlace::new(config, demanded).map(Self::Bundle),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Bundle(bundle) => &bundle.file,
        }
    }

    /// How it stands, without reading it.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(super) fn stamp(&self, limits: &PolicyLimits) -> Result<Stamp, PolicyFault> {
        match self {
            Self::Directory(path) => Stamp::take(path, limits),
            Self::Bundle(bundle) => Stamp::of_file(&bundle.file),
        }
    }

    /// Reads it; the log is told what lies beside it and is not read.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(&self, limits: &PolicyLimits, tries: usize) -> Result<Found, PolicyFault> {
        match self {
            Self::Directory(path) => {
                let Steady { source, stamp } = steady::read(path, limits, tries)?;
                for why in PolicySource::strays(path) {
                    tracing::warn!(why, "something in the policy directory is no part of the set");
                }
                Ok(Found { digest: source.digest(), source: Arc::new(source), stamp, version: None })
            }
            Self::Bundle(bundle) => bundle.read(limits, tries),
        }
    }

    /// That it could not be read, at a start.
    pub(super) fn unread(&self, why: &PolicyFault) -> RunFault {
        let (path, why) = (self.path().to_owned(), why.to_string());
        match self {
            Self::Directory(_) => RunFault::Policies { path, why },
            Self::Bundle(_) => RunFault::Bundle { path, why },
        }
    }

    /// Keeps on disk that a set is about to be live, so that no older bundle ever is again.
    ///
    /// # Errors
    /// It cannot be kept.
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
            roots: materials::roots(&demanded.roots, config)?,
            signers: demanded.signers.iter().map(signer).collect::<Result<_, _>>()?,
            max_bytes: config.limits.policy_bundle_bytes,
            require_analysed: demanded.require_analysed,
            memory: config.state.join(NEWEST),
        })
    }

    fn read(&self, limits: &PolicyLimits, tries: usize) -> Result<Found, PolicyFault> {
        let refused = |why: &BundleFault| unreadable(&self.file, format!("{why} ({})", why.remedy()));
        let (bytes, stamp) = steady::read_file(&self.file, self.max_bytes, tries)?;
        let rules = Rules {
            roots: &self.roots,
            signers: &self.signers,
            newest: self.newest()?,
            max_bytes: self.max_bytes,
            // beside the policies `entities.json` and `limits.json`
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
        tracing::debug!(version, signer = signed.signer.as_str(), "a policy bundle is good");
        Ok(Found { source: Arc::new(source), digest: claimed, stamp, version: Some(version) })
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
        anew(&self.memory, write).map(drop).map_err(|why| unreadable(&self.memory, why))
    }
}
