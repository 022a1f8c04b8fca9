//! `semgate authority mirror DIR`: everything public as plain files, for any web server. The files are verified as by `log verify`, but
//! nobody trusts a mirror for that: its readers verify again.

mod deltas;
mod pages;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use semgate_certs::{ChainLimits, Crls, MAX_CRL_BYTES, MAX_SHARDS};
use semgate_statement::listing::{LISTING_FILE, LISTING_PATH, LONGEST_NAME, PAGES};
use semgate_statement::verify_log::FetchFault;
use semgate_statement::{Fetch, LogFault, LogReport, Stapled, verify_log};
use serde_json::json;

use super::print_members;
use crate::fault::Fault;
use crate::log::{LogArgs, Source, copied, fault};
use crate::system::now;

/// Directory below the mirror for files that are not verified yet.
const STAGING: &str = ".new";
/// Written first, after the tiles. With the newer checkpoint, a reader in between finds the new entries in the log, although the head is
/// still the old one.
const LOG: [&str; 2] = ["/checkpoint", "/v1/trust"];
/// Written after the status tokens by number, in this order. Then come the deltas, because they lead to the new head, and then the head.
/// The delta that begins at the new head comes after it.
const LAST: [&str; 2] = ["/v1/floors", LISTING_FILE];
/// Written after all of these.
const HEAD: &str = "/v1/feed/head";
/// Hexadecimal digits of a shard's digest; a shorter name is the number of a shard, whose token changes.
const DIGEST: usize = 64;

/// Copy everything public into a directory
#[derive(Debug, Args)]
pub struct Mirror {
    /// The directory; an older mirror in it is updated
    to: PathBuf,
    /// The authority, or another mirror (an address or a directory); default: the authority of `--dir`
    #[arg(long, value_name = "URL|DIR")]
    from: Option<String>,
    /// Repeat at this interval in seconds until the process ends; a failure is reported and tried again
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Also copy the certificate revocation lists with this number of shards; may be repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    crl_shards: Vec<u32>,
    /// Also copy the lists of another issuer, from the directory of this name below `/v1/crl`; may be repeated
    #[arg(long, value_name = "NAME", requires = "crl_shards")]
    crl_set: Vec<String>,
    /// Write deltas (`v1/feed/deltas`) from this number of earlier mirrored log sizes; the default covers a day of updates every five minutes
    #[arg(long, value_name = "N", default_value_t = 288, value_parser = clap::value_parser!(u64).range(0..=4096))]
    deltas: u64,
    #[command(flatten)]
    which: LogArgs,
}

impl Mirror {
    /// Copies, once or repeatedly.
    ///
    /// # Errors
    /// The log fails verification, or a file cannot be read or written; then the mirror is unchanged.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let Some(every) = self.every else {
            print_members(&self.once()?, json);
            return Ok(0);
        };
        loop {
            match self.once() {
                Ok(done) => print_members(&done, json),
                Err(fault) => tracing::error!("{fault}"),
            }
            std::thread::sleep(Duration::from_secs(every));
        }
    }

    fn once(&self) -> Result<serde_json::Value, Fault> {
        let source = self.which.open(self.from.as_deref())?;
        let staging = self.to.join(STAGING);
        let (report, copied, reused) = match self.copy(source, true) {
            // A damaged file of the mirror must not be blamed on the authority.
            Err(fault) if !is_unreachable(&fault) => self.copy(self.which.open(self.from.as_deref())?, false),
            other => other,
        }
        .map_err(|why| {
            let _ = fs::remove_dir_all(&staging);
            why.into_fault()
        })?;
        Ok(json!({
            "size": report.size, "root": report.root.to_string(), "copied": copied, "kept": reused,
            "directory": self.to,
        }))
    }
}

impl Mirror {
    /// Verifies the whole log while writing the fetched files aside; then puts them in place. Returns the numbers of copied and of existing
    /// files.
    fn copy(&self, source: Source, reuse: bool) -> Result<(LogReport, u64, u64), CopyFault> {
        let (to, crls) = (self.to.as_path(), self.lists());
        let staging = to.join(STAGING);
        let io = |e: std::io::Error| {
            CopyFault::Other(Fault::new(format_args!("`{}` cannot be written: {e}", to.display())))
        };
        let _ = fs::remove_dir_all(&staging);
        fs::create_dir_all(&staging).map_err(io)?;
        let mut copying = Copying {
            from: source.fetch,
            to,
            staging: &staging,
            reuse,
            failed: None,
            copied: Vec::new(),
            reused: 0,
        };
        let verified = verify_log(&mut copying, &source.config, now());
        if let Some(failed) = copying.failed.take() {
            return Err(io(failed));
        }
        let report = verified.map_err(CopyFault::Log)?;
        copying.names(report.size, &source.config.prefix).map_err(CopyFault::Log)?;
        for below in crls.below {
            copying.issuer(&below)?;
            for shards in crls.shards {
                copying.crls(&below, *shards)?;
            }
        }
        if let Some(failed) = copying.failed.take() {
            return Err(io(failed));
        }
        let (copied, reused) = (copying.copied, copying.reused);
        let deltas =
            deltas::write(&staging, to, usize::try_from(self.deltas).unwrap_or(usize::MAX)).map_err(io)?;
        put(&copied, &deltas, &staging, to).map_err(io)?;
        fs::remove_dir_all(&staging).map_err(io)?;
        Ok((report, copied.len() as u64, reused))
    }

    fn lists(&self) -> Lists<'_> {
        let sets = self.crl_set.iter().map(|set| format!("/v1/crl/{set}"));
        let below = std::iter::once("/v1/crl".to_owned()).chain(sets).collect();
        Lists { below: if self.crl_shards.is_empty() { Vec::new() } else { below }, shards: &self.crl_shards }
    }
}

/// Reason why a copy was not made.
enum CopyFault {
    Log(LogFault),
    Other(Fault),
}

impl CopyFault {
    fn into_fault(self) -> Fault {
        match self {
            Self::Log(why) => fault(why),
            Self::Other(fault) => fault,
        }
    }
}

fn is_unreachable(fault: &CopyFault) -> bool {
    matches!(
        fault,
        CopyFault::Log(LogFault::Fetch { fault: FetchFault::Unreachable, .. } | LogFault::Moving)
            | CopyFault::Other(_)
    )
}

/// The revocation lists to copy.
struct Lists<'a> {
    below: Vec<String>,
    shards: &'a [u32],
}

/// A source that writes good answers aside.
struct Copying<'a> {
    from: Box<dyn Fetch>,
    to: &'a Path,
    staging: &'a Path,
    /// True if existing immutable files are read from the mirror.
    reuse: bool,
    failed: Option<std::io::Error>,
    copied: Vec<String>,
    reused: u64,
}

impl Copying<'_> {
    /// Writes each context by its name too: the same bytes as by its digest.
    fn names(&mut self, size: u64, prefix: &semgate_contexts::Prefix) -> Result<(), LogFault> {
        let published = pages::published(self.staging, self.to, size, prefix)?;
        for listed in published.into_iter().filter(|listed| listed.urn.as_str().len() <= LONGEST_NAME) {
            let digest = format!("/v1/contexts/by-digest/{}", listed.digest);
            let max = semgate_statement::context::MAX_SIGNED_BYTES as u64;
            let bytes =
                read(&below(self.staging, &digest), max).or_else(|| read(&below(self.to, &digest), max));
            let bytes = bytes.ok_or(LogFault::DocumentDiffers { urn: listed.urn.clone() })?;
            // As the authority serves it: without a proof that somebody stapled to it.
            let signed = Stapled::read(&bytes).map_err(LogFault::Proof)?.signed;
            self.keep(&format!("/v1/contexts/{}", listed.urn), &signed);
        }
        Ok(())
    }

    /// Copies the certificate of the lists' issuer, if it is served.
    fn issuer(&mut self, below: &str) -> Result<(), CopyFault> {
        let path = format!("{below}/issuer.pem");
        match self.from.get(&path, ChainLimits::default().max_pem_bytes as u64) {
            Ok(bytes) => self.keep(&path, &bytes),
            Err(FetchFault::HttpStatus(404)) => {}
            Err(fault) => return Err(CopyFault::Log(LogFault::Fetch { path, fault })),
        }
        Ok(())
    }

    /// Copies the revocation lists with one number of shards. Verifiers of certificates check their signatures and that no edition is older
    /// than one seen before.
    fn crls(&mut self, below: &str, shards: u32) -> Result<(), CopyFault> {
        for shard in 0..shards {
            let path = format!("{below}/{shards}/{shard}.crl");
            let bytes = self.from.get(&path, MAX_CRL_BYTES as u64);
            let bytes =
                bytes.map_err(|fault| CopyFault::Log(LogFault::Fetch { path: path.clone(), fault }))?;
            Crls::from_der(&[&bytes])
                .map_err(|fault| CopyFault::Other(Fault::new(format_args!("`{path}`: {fault}"))))?;
            self.keep(&path, &bytes);
        }
        Ok(())
    }

    fn keep(&mut self, path: &str, bytes: &[u8]) {
        let path = if path == LISTING_PATH { LISTING_FILE } else { path };
        if self.failed.is_some() {
            return;
        }
        match write(&below(self.staging, path), bytes) {
            Ok(()) if self.copied.iter().any(|known| known == path) => {}
            Ok(()) => self.copied.push(path.to_owned()),
            Err(why) => self.failed = Some(why),
        }
    }
}

impl Fetch for Copying<'_> {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        if self.reuse
            && is_immutable(path)
            && let Some(bytes) = read(&below(self.to, path), max_bytes)
        {
            self.reused += 1;
            return Ok(bytes);
        }
        let bytes = self.from.get(path, max_bytes)?;
        self.keep(path, &bytes);
        Ok(bytes)
    }

    fn look(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        self.from.look(path, max_bytes)
    }

    fn as_of_head(&mut self, path: &str, bytes: &[u8]) {
        self.keep(path, bytes);
    }

    fn pause(&mut self) {
        self.from.pause();
    }

    fn by_name(&self) -> bool {
        false
    }
}

/// Returns true for immutable files: documents by digest, shards by the hash of their list, tiles of one width, and pages of one span.
fn is_immutable(path: &str) -> bool {
    path.starts_with("/v1/contexts/by-digest/")
        || path.strip_prefix("/v1/feed/shards/").is_some_and(|name| name.len() == DIGEST)
        || path.starts_with("/tile/")
        || path.starts_with(PAGES)
}

/// Returns true for a status token by number, which changes.
fn is_by_number(path: &str) -> bool {
    path.strip_prefix("/v1/feed/shards/").is_some_and(|name| name.len() < DIGEST)
}

fn below(dir: &Path, path: &str) -> PathBuf {
    dir.join(path.trim_start_matches('/'))
}

fn read(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    copied(path, max_bytes).ok()
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Checks that files below these paths belong to the mirror. A link or a file in place of a directory leads out of it, and nothing there is
/// replaced or removed.
fn stay_inside<'a>(mut paths: impl Iterator<Item = &'a str>, to: &Path) -> std::io::Result<()> {
    paths.try_for_each(|path| {
        let above = Path::new(path.trim_start_matches('/')).ancestors().skip(1);
        above.filter(|dir| !dir.as_os_str().is_empty()).try_for_each(|dir| {
            match fs::symlink_metadata(to.join(dir)) {
                Ok(found) if !found.is_dir() => Err(std::io::Error::other(format!(
                    "`{}` in it is a link or a file, and a mirror writes only below its own directories",
                    dir.display()
                ))),
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(why),
                _ => Ok(()),
            }
        })
    })
}

/// Renames every file into its place, referenced files first.
fn put(copied: &[String], deltas: &[String], staging: &Path, to: &Path) -> std::io::Result<()> {
    stay_inside(copied.iter().chain(deltas).map(String::as_str).chain([deltas::EACH]), to)?;
    let of_copied = |path: &str| copied.iter().any(|copied| copied == path);
    let named = |path: &&str| LOG.contains(path) || LAST.contains(path) || *path == HEAD;
    let (by_number, first): (Vec<&str>, Vec<&str>) =
        copied.iter().map(String::as_str).filter(|path| !named(path)).partition(|path| is_by_number(path));
    let log = LOG.into_iter().filter(|path| of_copied(path));
    let last = by_number.into_iter().chain(LAST.into_iter().filter(|path| of_copied(path)));
    let move_into = |path: &str| {
        let target = below(to, path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(below(staging, path), target)
    };
    first.into_iter().chain(log).chain(last).try_for_each(move_into)?;
    deltas::forget_others(deltas, to)?;
    // the newest begins at the new head, past the end of the one that it replaces
    let (newest, older) =
        deltas.split_first().map_or((None, deltas), |(newest, older)| (Some(newest), older));
    let head = Some(HEAD).filter(|path| of_copied(path));
    older.iter().map(String::as_str).chain(head).chain(newest.map(String::as_str)).try_for_each(move_into)?;
    File::open(to)?.sync_all()?;
    if !of_copied(LISTING_FILE) {
        // the log outgrew it: an old one would describe an older log
        let _ = fs::remove_file(below(to, LISTING_FILE));
    }
    copied.iter().filter(|path| path.starts_with("/tile/")).for_each(|path| superseded(&below(to, path)));
    copied.iter().for_each(|path| pages::superseded(path, to));
    Ok(())
}

/// Removes the narrower files of a tile that was just written: their readers find the full one, or read the head again. A file that cannot
/// be removed does no harm.
fn superseded(tile: &Path) {
    let partial = tile.parent().filter(|dir| dir.extension().is_some_and(|end| end == "p"));
    let Some(dir) = partial else {
        let mut name = tile.as_os_str().to_os_string();
        name.push(".p");
        let _ = fs::remove_dir_all(name);
        return;
    };
    for other in fs::read_dir(dir).into_iter().flatten().flatten() {
        if other.path() != tile {
            let _ = fs::remove_file(other.path());
        }
    }
}
