//! Files of `[scan]`, as far as they were accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_certs::{Roots, SpiffeId};
use semgate_contexts::{Digest, Prefix};
use semgate_inspect::{FieldBaseline, ScanField, TextScanner};
use semgate_scan::{Baseline, FEATURES, Model};
use semgate_statement::durable::replace;
use semgate_statement::scan_model::{self, FieldOfContext, ScanArtefact, ScanRules};
use serde::{Deserialize, Serialize};

use super::super::policies::{Stamp, read_file};
use crate::clock::unix_now;
use crate::config::{Config, ScanConfig};
use crate::fault::RunFault;
use crate::server::pem_files;

/// Bytes of one signed file, in memory before its signature is checked: several times those of the model in the program.
const MAX_BYTES: usize = 4 << 20;
/// Baselines of one gateway: 16 MiB of tables.
const MAX_BASELINES: usize = 256;
/// Reads of a file that changes meanwhile.
const TRIES: usize = 5;
/// Ending of the baselines in a directory.
const ENDING: &str = "jws";
/// File in the state directory with the newest model and baselines that ever ran.
const NEWEST: &str = "scan-models.json";
/// Maximum bytes of that file.
const MAX_NEWEST: u64 = 1 << 20;
/// The key of the model in that file; those of baselines hold a `/`.
const MODEL: &str = "model";

/// Newest version and digest by model or field.
type Newest = BTreeMap<String, Remembered>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remembered {
    version: u64,
    digest: String,
}

/// A file that was accepted.
#[derive(Clone)]
struct Accepted {
    stamp: Stamp,
    /// Its model, or its field.
    key: String,
    version: u64,
    digest: Digest,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Model(Arc<Model>),
    Baseline(FieldBaseline),
}

/// The files of a configuration.
#[derive(Clone)]
pub(crate) struct ScanFiles {
    config: ScanConfig,
    roots: Roots,
    signers: Vec<SpiffeId>,
    prefix: Prefix,
    memory: PathBuf,
    accepted: BTreeMap<PathBuf, Accepted>,
    newest: Newest,
}

/// Result of a look at the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// True if something else runs now.
    pub(crate) changed: bool,
    /// One for each file that is refused.
    pub(crate) faults: Vec<String>,
}

impl ScanFiles {
    /// Reads all files for a start; `None` without `[scan]`. Writes nothing.
    ///
    /// # Errors
    /// Unusable roots, an unreadable memory, or a refused file. A start does not run with another model than the configured one.
    pub(crate) fn first(config: &Config) -> Result<Option<Self>, RunFault> {
        let Some(scan) = &config.scan else { return Ok(None) };
        let signer = |id: &String| SpiffeId::parse(id).map_err(|why| RunFault::system("scan signer", why));
        let memory = config.state.join(NEWEST);
        let fault =
            |path: &Path, why: String| RunFault::File { path: path.to_owned(), what: "scan model", why };
        let mut files = Self {
            config: scan.clone(),
            roots: pem_files::roots(&scan.roots, config)?,
            signers: scan.signers.iter().map(signer).collect::<Result<_, _>>()?,
            prefix: config.prefix.clone(),
            newest: newest(&memory).map_err(|why| fault(&memory, why))?,
            memory,
            accepted: BTreeMap::new(),
        };
        let (next, faults) = files.read();
        if let Some(why) = faults.into_iter().next() {
            return Err(fault(scan.model.as_ref().unwrap_or(&scan.roots), why));
        }
        files.accepted = next;
        Ok(Some(files))
    }

    /// Stores the versions of what is about to run.
    ///
    /// # Errors
    /// They cannot be stored.
    pub(crate) fn remember(&mut self) -> Result<(), RunFault> {
        let accepted = self.accepted.clone();
        self.store(&accepted).map_err(|why| RunFault::File {
            path: self.memory.clone(),
            what: "memory of scan models",
            why,
        })
    }

    /// Looks at the files again. A refused file leaves what it held running; a baseline whose file is gone ends.
    pub(crate) fn look(&mut self) -> Looked {
        let (next, mut faults) = self.read();
        let shape = |all: &BTreeMap<PathBuf, Accepted>| -> Vec<_> {
            all.values().map(|one| (one.key.clone(), one.version, one.digest)).collect()
        };
        let changed = shape(&next) != shape(&self.accepted);
        if changed && let Err(why) = self.store(&next) {
            faults.push(format!("`{}`: {why}", self.memory.display()));
            return Looked { changed: false, faults };
        }
        self.accepted = next;
        Looked { changed, faults }
    }

    /// The model and the baselines of the accepted files.
    pub(crate) fn scanner(&self) -> Arc<TextScanner> {
        let mut model = Model::shipped();
        let mut baselines = Vec::new();
        for one in self.accepted.values() {
            match &one.content {
                Content::Model(signed) => model = Arc::clone(signed),
                Content::Baseline(baseline) => baselines.push(baseline.clone()),
            }
        }
        Arc::new(TextScanner::new(model, baselines))
    }

    /// Version of the signed model.
    pub(crate) fn version(&self) -> Option<u64> {
        self.accepted.values().find(|one| one.key == MODEL).map(|one| one.version)
    }

    /// Every file of the configuration with what runs of it, and why others do not run.
    fn read(&self) -> (BTreeMap<PathBuf, Accepted>, Vec<String>) {
        let (mut next, mut faults, mut taken) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        let (baselines, unlisted) = self.baselines();
        faults.extend(unlisted.iter().map(|(path, why)| format!("`{}`: {why}", path.display())));
        let all = self.config.model.iter().map(|path| (path.clone(), true));
        for (path, is_model) in all.chain(baselines.into_iter().map(|path| (path, false))) {
            let known = self.accepted.get(&path);
            let read = match self.one(&path, is_model, known) {
                Ok(one) => Some(one),
                Err(why) => {
                    faults.push(format!("`{}`: {why}", path.display()));
                    known.cloned()
                }
            };
            let Some(one) = read else { continue };
            if taken.insert(one.key.clone()) {
                next.insert(path, one);
            } else {
                faults.push(format!("`{}`: another file has a baseline of the same field", path.display()));
            }
        }
        // a directory that cannot be read has not lost its files
        for (path, one) in self.accepted.iter().filter(|(path, _)| {
            unlisted.iter().any(|(directory, _)| path.parent() == Some(directory.as_path()))
        }) {
            if taken.insert(one.key.clone()) {
                next.insert(path.clone(), one.clone());
            }
        }
        (next, faults)
    }

    /// The files of baselines, sorted, and what could not be listed.
    fn baselines(&self) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
        let (mut files, mut faults) = (BTreeSet::new(), Vec::new());
        for path in &self.config.baselines {
            if !path.is_dir() {
                files.insert(path.clone());
                continue;
            }
            match std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
                Ok(entries) => {
                    let paths = entries.into_iter().map(|entry| entry.path());
                    files.extend(paths.filter(|path| path.extension().is_some_and(|own| own == ENDING)));
                }
                Err(why) => faults.push((path.clone(), why.to_string())),
            }
        }
        if files.len() > MAX_BASELINES {
            let path = self.config.baselines.first().cloned().unwrap_or_default();
            faults.push((path, format!("{} baselines; at most {MAX_BASELINES} are read", files.len())));
        }
        (files.into_iter().take(MAX_BASELINES).collect(), faults)
    }

    /// Reads a file, unless it is as it was when it was accepted.
    fn one(&self, path: &Path, is_model: bool, known: Option<&Accepted>) -> Result<Accepted, String> {
        if let Some(known) = known
            && Stamp::of_file(path).is_ok_and(|stamp| stamp == known.stamp)
        {
            return Ok(known.clone());
        }
        let (bytes, stamp) = read_file(path, MAX_BYTES, TRIES).map_err(|why| why.to_string())?;
        let rules = ScanRules {
            roots: &self.roots,
            signers: &self.signers,
            prefix: &self.prefix,
            max_bytes: MAX_BYTES,
        };
        let refused = |why: scan_model::ScanFault| format!("{why} ({})", why.remedy());
        let artefact = scan_model::verify(&bytes, &rules, unix_now()).map_err(refused)?.artefact;
        let key = key_of(artefact.field.as_ref());
        scan_model::follows(&artefact, self.newest_of(&key)?).map_err(refused)?;
        let content = content(&artefact, is_model)?;
        Ok(Accepted { stamp, key, version: artefact.version, digest: artefact.digest(), content })
    }

    fn newest_of(&self, key: &str) -> Result<Option<(u64, Digest)>, String> {
        let Some(newest) = self.newest.get(key) else { return Ok(None) };
        let digest = Digest::parse(&newest.digest).map_err(|why| format!("the memory of versions: {why}"))?;
        Ok(Some((newest.version, digest)))
    }

    fn store(&mut self, accepted: &BTreeMap<PathBuf, Accepted>) -> Result<(), String> {
        let mut newest = self.newest.clone();
        for one in accepted.values() {
            let remembered = Remembered { version: one.version, digest: one.digest.to_string() };
            newest.insert(one.key.clone(), remembered);
        }
        if newest == self.newest {
            return Ok(());
        }
        let write = |file: &mut BufWriter<File>| file.write_all(&serde_json::to_vec(&newest)?);
        replace(&self.memory, 0o600, write).map_err(|why| why.to_string())?;
        self.newest = newest;
        Ok(())
    }
}

/// The key of a model or a field in the memory of versions.
fn key_of(field: Option<&FieldOfContext>) -> String {
    let Some(FieldOfContext { context, concept, position }) = field else { return MODEL.to_owned() };
    format!("{}/v{}/{concept}{position}", context.line().as_str(), context.version().major)
}

/// The tables of a verified file.
fn content(artefact: &ScanArtefact, is_model: bool) -> Result<Content, String> {
    if artefact.features != u64::from(FEATURES) {
        return Err(format!(
            "scan model refused (`features`): format {} is not known; this program knows {FEATURES}",
            artefact.features
        ));
    }
    match (&artefact.field, is_model) {
        (None, true) => {
            let model = Model::parse(&artefact.content);
            model
                .map(|model| Content::Model(Arc::new(model)))
                .map_err(|why| format!("scan model refused: {why}"))
        }
        (Some(field), false) => {
            let baseline =
                Baseline::parse(&artefact.content).map_err(|why| format!("baseline refused: {why}"))?;
            let field = ScanField {
                line: field.context.line().clone(),
                major: field.context.version().major,
                concept: field.concept.clone(),
                position: field.position.clone(),
            };
            Ok(Content::Baseline(FieldBaseline { field, baseline: Arc::new(baseline) }))
        }
        (Some(_), true) => {
            Err("scan model refused (`kind`): it is a baseline: name it in `baselines`".to_owned())
        }
        (None, false) => Err("baseline refused (`kind`): it is a model: name it in `model`".to_owned()),
    }
}

fn newest(memory: &Path) -> Result<Newest, String> {
    match std::fs::read(memory) {
        Ok(text) if text.len() as u64 <= MAX_NEWEST => {
            serde_json::from_slice(&text).map_err(|why| why.to_string())
        }
        Ok(_) => Err("too long".to_owned()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(Newest::new()),
        Err(why) => Err(why.to_string()),
    }
}

#[cfg(test)]
mod tests;
