//! Documents, chains and evidence: write-once files named by their content.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use semgate_certs::{Chain, ChainLimits, Roots, Thumbprint};
use semgate_contexts::Digest;
use semgate_statement::context;
use semgate_statement::jws::General;
use serde::Deserialize;

use super::Layout;
use crate::{RunFault, disk};

/// Signed contexts by payload digest, and chains by thumbprint of their leaf.
#[derive(Clone, Debug)]
pub(crate) struct Documents {
    documents: PathBuf,
    certificates: PathBuf,
    roots: Roots,
    missing: Arc<Mutex<BTreeSet<Digest>>>,
}

impl Documents {
    /// Those of a state directory.
    pub fn new(layout: &Layout, roots: Roots) -> Self {
        Self {
            documents: layout.documents.clone(),
            certificates: layout.certificates.clone(),
            roots,
            missing: Arc::default(),
        }
    }

    /// Number of published documents found missing or damaged and not written again since.
    pub fn missing(&self) -> u64 {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Path of the signed context with this payload digest.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.documents.join(format!("{}.json", digest.hex()))
    }

    /// The published signed context with this payload digest, byte for byte. None if the file is missing, is not a signed context, or holds
    /// another payload than its name says. Such a document counts as missing until it is written again.
    pub fn read(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RunFault> {
        let good = disk::read(&self.path(digest))?.filter(|bytes| {
            General::read(bytes, context::TYPE, &self.roots, context::MAX_SIGNED_BYTES)
                .is_ok_and(|signed| Digest::of(signed.unverified_payload()) == *digest)
        });
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        match good {
            Some(_) => missing.remove(digest),
            None => missing.insert(*digest),
        };
        Ok(good)
    }

    /// Stores signed contexts and chains: durable when this returns. Existing chains stay as they are.
    pub fn write(&self, contexts: &[(Digest, &[u8])], chains: &[&Chain]) -> Result<(), RunFault> {
        disk::write_all(&self.files(contexts, chains))?;
        self.written(contexts.iter().map(|(digest, _)| digest));
        Ok(())
    }

    /// The files for signed contexts and chains, each once; omits chains that exist already.
    pub fn files(&self, contexts: &[(Digest, &[u8])], chains: &[&Chain]) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        for (digest, signed) in contexts {
            files.insert(self.path(digest), signed.to_vec());
        }
        for chain in chains {
            let path = self.chain_path(&chain.thumbprint());
            if !files.contains_key(&path) && !path.exists() {
                files.insert(path, chain.to_pem().into_bytes());
            }
        }
        files.into_iter().collect()
    }

    /// Marks the files of these documents as good.
    pub fn written<'a>(&self, digests: impl Iterator<Item = &'a Digest>) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        digests.for_each(|digest| {
            missing.remove(digest);
        });
    }

    /// The chain whose leaf has this thumbprint.
    pub fn chain(&self, thumbprint: &Thumbprint) -> Result<Option<Chain>, RunFault> {
        let path = self.chain_path(thumbprint);
        let Some(bytes) = disk::read(&path)? else { return Ok(None) };
        let pem = String::from_utf8(bytes).map_err(|e| RunFault::damaged(&path, e))?;
        let chain =
            Chain::from_pem(&pem, &ChainLimits::default()).map_err(|e| RunFault::damaged(&path, e))?;
        if chain.thumbprint() != *thumbprint {
            return Err(RunFault::damaged(&path, "it holds another certificate than its name says"));
        }
        Ok(Some(chain))
    }

    /// Path of the chain with this thumbprint.
    pub fn chain_path(&self, thumbprint: &Thumbprint) -> PathBuf {
        self.certificates.join(format!("{thumbprint}.pem"))
    }

    /// The documents whose statement is not in the log.
    pub fn unpublished(&self, published: &dyn Fn(&Digest) -> bool) -> Result<Vec<PathBuf>, RunFault> {
        let mut unpublished = Vec::new();
        for name in disk::list(&self.documents)? {
            let digest =
                name.strip_suffix(".json").and_then(|hex| Digest::parse(&format!("sha-256:{hex}")).ok());
            if digest.is_some_and(|d| !published(&d)) {
                unpublished.push(self.documents.join(&name));
            }
        }
        Ok(unpublished)
    }
}

/// Refused second documents for a published URN: kept, because they may show a compromised signer.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    dir: PathBuf,
    max: usize,
    /// The most files of one account.
    share: usize,
    count: usize,
    /// The files of each SPIFFE id that offered them.
    of: HashMap<String, usize>,
}

/// The outcome of keeping a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewEvidence {
    /// It is a file now.
    New,
    /// The same offer was kept before.
    Known,
    /// A bound is reached, of all files or of this account.
    Full,
}

/// The members of a record that name the account and the line that it is charged to.
#[derive(Debug, Deserialize)]
struct EvidenceOwner {
    by: String,
    urn: String,
}

impl Evidence {
    /// The evidence of a state directory, at most `max` files; one account may have one part in `shares`. Calls `charge` with URN and
    /// length of each file; an unreadable one is charged to nobody.
    pub fn open(
        layout: &Layout,
        max: usize,
        shares: usize,
        mut charge: impl FnMut(&str, usize),
    ) -> Result<Self, RunFault> {
        let (mut count, mut of) = (0, HashMap::new());
        for name in disk::list(&layout.evidence)? {
            count += 1;
            let bytes = disk::read(&layout.evidence.join(name))?.unwrap_or_default();
            let Ok(charged) = serde_json::from_slice::<EvidenceOwner>(&bytes) else { continue };
            charge(&charged.urn, bytes.len());
            *of.entry(charged.by).or_default() += 1;
        }
        let share = max.div_ceil(shares.max(1));
        Ok(Self { dir: layout.evidence.clone(), max, share, count, of })
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Stores one record of an offer by `by`, under the digest of the refused payload. Past a bound it writes nothing.
    pub fn keep(&mut self, digest: &Digest, by: &str, record: &[u8]) -> Result<NewEvidence, RunFault> {
        let path = self.dir.join(format!("{}.json", digest.hex()));
        if path.exists() {
            return Ok(NewEvidence::Known);
        }
        if self.count >= self.max || self.of.get(by).is_some_and(|own| *own >= self.share) {
            return Ok(NewEvidence::Full);
        }
        disk::write(&path, record)?;
        self.count += 1;
        *self.of.entry(by.to_owned()).or_default() += 1;
        Ok(NewEvidence::New)
    }
}
