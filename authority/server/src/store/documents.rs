//! Documents, chains and evidence: write-once files named by what they hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use semgate_certs::{Chain, ChainLimits, Thumbprint};
use semgate_contexts::Digest;

use super::Layout;
use crate::{RunFault, disk};

/// Signed contexts by payload digest, and chains by thumbprint of their leaf.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    documents: PathBuf,
    certificates: PathBuf,
}

impl Documents {
    /// Those of a state directory.
    pub fn new(layout: &Layout) -> Self {
        Self { documents: layout.documents.clone(), certificates: layout.certificates.clone() }
    }

    /// Where the signed context with this payload digest lies.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.documents.join(format!("{}.json", digest.hex()))
    }

    /// The signed context with this payload digest, bytes as they were submitted or signed.
    pub fn read(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RunFault> {
        disk::read(&self.path(digest))
    }

    /// Keeps signed contexts and chains: durable when this returns. A chain that is there already is left as it is.
    pub fn write(&self, contexts: &[(Digest, &[u8])], chains: &[&Chain]) -> Result<(), RunFault> {
        let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        for (digest, signed) in contexts {
            files.insert(self.path(digest), signed.to_vec());
        }
        for chain in chains {
            let path = self.chain_path(&chain.thumbprint());
            if !path.exists() {
                files.insert(path, chain.to_pem().into_bytes());
            }
        }
        disk::write_all(&files.into_iter().collect::<Vec<_>>())
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

    /// Where the chain of this thumbprint lies.
    pub fn chain_path(&self, thumbprint: &Thumbprint) -> PathBuf {
        self.certificates.join(format!("{thumbprint}.pem"))
    }

    /// The documents whose statement is not in the log.
    pub fn unpublished(&self, published: &dyn Fn(&Digest) -> bool) -> Result<Vec<PathBuf>, RunFault> {
        let mut found = Vec::new();
        for name in disk::list(&self.documents)? {
            let digest =
                name.strip_suffix(".json").and_then(|hex| Digest::parse(&format!("sha-256:{hex}")).ok());
            if digest.is_some_and(|d| !published(&d)) {
                found.push(self.documents.join(&name));
            }
        }
        Ok(found)
    }
}

/// Refused second documents for a published URN: kept, because they may show a signer gone wrong (F0-35).
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    dir: PathBuf,
    max: usize,
    kept: usize,
}

impl Evidence {
    /// That of a state directory, of at most `max` files.
    pub fn open(layout: &Layout, max: usize) -> Result<Self, RunFault> {
        let kept = disk::list(&layout.evidence)?.len();
        Ok(Self { dir: layout.evidence.clone(), max, kept })
    }

    /// Files kept.
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Keeps one record under the digest of the refused payload; the same offer again changes nothing. Past the bound nothing is
    /// written and the answer is `false`.
    pub fn keep(&mut self, digest: &Digest, record: &[u8]) -> Result<bool, RunFault> {
        let path = self.dir.join(format!("{}.json", digest.hex()));
        if path.exists() {
            return Ok(true);
        }
        if self.kept >= self.max {
            return Ok(false);
        }
        disk::write(&path, record)?;
        self.kept += 1;
        Ok(true)
    }
}
