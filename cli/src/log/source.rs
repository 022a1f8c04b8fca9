//! Sources of a log: an authority, any web server with a mirror's files, or a directory with them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use semgate_policies::PolicySource;
use semgate_statement::delta::MAX_DELTA_BYTES;
use semgate_statement::root::MAX_ROOT_KEYS;
use semgate_statement::verify_log::{FetchFault, named_authority};
use semgate_statement::{CosignerVerifier, Fetch, FollowerConfig, LogVerifier, Quorum};
use tokio::runtime::Runtime;

use crate::authority_client::{Asked, DIRECTORY};
use crate::client::{Client, Session};
use crate::fault::{Doing, Fault};
use crate::profile;
use crate::system::read_roots;
use crate::up_directory::{UpDirectory, followed};

/// The log, and the keys that verify it.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The directory of `semgate up` or `init`, for options that are not given; default: the authority of `semgate use`, else `./.semgate`
    #[arg(long)]
    dir: Option<PathBuf>,
    /// PEM roots, instead of those of `--dir`
    #[arg(long)]
    roots: Option<PathBuf>,
    /// PEM roots of the web server's certificate; default: `--roots`
    #[arg(long)]
    tls_roots: Option<PathBuf>,
    /// The verifier key of the log, `origin+id+key`, instead of that of `--dir`
    #[arg(long)]
    log_key: Option<String>,
    /// Number of root keys that spoke for the root before the first trust list; above 1, no single key makes issuing certificates that
    /// count. Default: that of `--dir`, or 1 with given roots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_ROOT_KEYS as u64))]
    root_threshold: Option<u64>,
    /// The authority's address, or that of a mirror
    #[arg(long, value_name = "URL")]
    authority: Option<String>,
    /// The authority's name; default, with given roots and log key: the name in the verified head
    #[arg(long, value_name = "NAME")]
    authority_name: Option<String>,
    /// The verifier key of a witness whose cosignature counts
    #[arg(long = "witness", value_name = "VKEY")]
    witnesses: Vec<String>,
    /// Number of witnesses that must have cosigned; default: all
    #[arg(long)]
    quorum: Option<usize>,
}

/// The trust in an authority, from a source other than itself.
pub struct LogTrust {
    /// PEM roots.
    pub roots: PathBuf,
    /// Number of root keys that spoke for the root before the first trust list.
    pub root_threshold: u64,
    /// The log key.
    pub log: LogVerifier,
    /// Its name, if known.
    name: Option<String>,
}

/// A readable log, with the rules for its verification.
pub struct Source {
    /// The source of its bytes.
    pub fetch: Box<dyn Fetch>,
    /// Keys and names.
    pub config: FollowerConfig,
    /// Its location, for display.
    pub shown: String,
}

impl LogArgs {
    /// Opens a log at an address or in a directory; by default, that of `--dir`.
    ///
    /// # Errors
    /// Keys or roots are neither given nor known, or cannot be read.
    pub fn open(&self, at: Option<&str>) -> Result<Source, Fault> {
        if self.authority.as_deref().is_some_and(|url| !url.contains("://")) {
            return Err(Fault::new("`--authority` is the address of an authority, not its name")
                .hint("give its name as `--authority-name`")
                .status(2));
        }
        let at = at.or(self.authority.as_deref());
        let asked = match (at, &self.roots, &self.log_key) {
            (Some(_), Some(_), Some(_)) => None,
            _ => Some(self.asked()?),
        };
        let LogTrust { roots, root_threshold, log, name: known } = self.trust_from(asked.as_ref())?;
        let shown = match (at, &asked) {
            (Some(at), _) => at.trim_end_matches('/').to_owned(),
            (None, Some(Asked::Directory(up_dir))) => up_dir.up().authority_url.clone(),
            (None, Some(Asked::Named(named))) => named.authority.clone(),
            (None, None) => {
                return Err(Fault::new("no log is named")
                    .hint("name an authority or a mirror as `https://…`, or the directory of a mirror"));
            }
        };
        let mut fetch = reach(&shown, self.tls_roots.as_deref().unwrap_or(&roots))?;
        let roots = read_roots(&roots)?;
        let authority = match self.authority_name.clone().or(known) {
            Some(name) => name,
            None => named_authority(fetch.as_mut(), &roots).map_err(super::fault)?,
        };
        let origin = log.name().to_owned();
        let mut config = FollowerConfig::new(&authority, &origin, roots, log);
        config.quorum = self.quorum()?;
        config.root_threshold = root_threshold;
        Ok(Source { fetch, config, shown })
    }

    /// The directory or the profile whose keys verify a log at a named address, if not all were given: it may be of another authority.
    pub fn lender(&self, at: Option<&str>) -> Option<String> {
        let given = self.roots.is_some() && self.log_key.is_some();
        let at = at.or(self.authority.as_deref()).filter(|_| !given)?;
        match self.asked().ok()? {
            Asked::Named(named) if named.authority == at.trim_end_matches('/') => None,
            Asked::Named(named) => Some(named.authority),
            Asked::Directory(_) => Some(self.directory().display().to_string()),
        }
    }

    fn directory(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new(DIRECTORY))
    }

    /// The authority whose keys verify what was not given: of the directory, or of the profile. The profile's keys verify a log at another
    /// address too, such as a mirror.
    fn asked(&self) -> Result<Asked, Fault> {
        if self.dir.is_none()
            && let Some(known) = profile::known()?
        {
            return Ok(Asked::Named(known));
        }
        Ok(Asked::Directory(UpDirectory::open(self.directory())?))
    }

    /// The trust in the authority, for commands without a log.
    ///
    /// # Errors
    /// Roots or a log key are neither given nor known.
    fn trust_from(&self, asked: Option<&Asked>) -> Result<LogTrust, Fault> {
        let missing = |what: &str| {
            Fault::new(format_args!("no {what}: neither given nor known from `--dir`"))
                .hint("give `--roots` and `--log-key`, as the operator of the authority published them")
        };
        let (up_dir, named) = match asked {
            Some(Asked::Directory(up_dir)) => (Some(up_dir), None),
            Some(Asked::Named(named)) => (None, Some(named)),
            None => (None, None),
        };
        let known = up_dir.map(followed).transpose()?;
        let roots = self.roots.clone().or_else(|| named.map(|named| named.roots.clone()));
        let roots = roots.or_else(|| up_dir.map(|p| p.path(&p.up().roots)));
        let roots = roots.ok_or_else(|| missing("roots"))?;
        let key = self.log_key.clone().or_else(|| named?.log_key.clone());
        let key = key.or_else(|| known.as_ref().map(|known| known.log_key.clone()));
        let log = log_verifier(&key.ok_or_else(|| missing("log key"))?)?;
        let of_dir = known.filter(|_| self.roots.is_none());
        let root_threshold = of_dir.as_ref().map_or(1, |known| known.root_threshold);
        let root_threshold = self.root_threshold.unwrap_or(root_threshold);
        Ok(LogTrust { roots, root_threshold, log, name: of_dir.map(|known| known.name) })
    }

    /// The same trust, from `--dir` if it is not given.
    ///
    /// # Errors
    /// It is neither given nor known.
    pub fn trust(&self) -> Result<LogTrust, Fault> {
        let asked = match (&self.roots, &self.log_key) {
            (Some(_), Some(_)) => None,
            _ => Some(self.asked()?),
        };
        self.trust_from(asked.as_ref())
    }

    /// The witnesses that must have cosigned a checkpoint.
    ///
    /// # Errors
    /// A key is malformed, or the quorum exceeds the number of witnesses.
    pub fn quorum(&self) -> Result<Quorum, Fault> {
        quorum(&self.witnesses, self.quorum)
    }
}

/// A source at an address, with these roots for its certificate, or in a directory.
///
/// # Errors
/// The roots cannot be read.
pub fn reach(at: &str, tls_roots: &Path) -> Result<Box<dyn Fetch>, Fault> {
    if at.starts_with("https://") || at.starts_with("http://") {
        return Ok(Box::new(OverHttp::new(at, tls_roots)?));
    }
    let dir = at.strip_prefix("file://").or(at.strip_prefix("file:")).unwrap_or(at);
    if !Path::new(dir).is_dir() {
        return Err(Fault::new(format_args!("`{dir}` is neither an address nor a directory"))
            .hint("name an authority or a mirror as `https://…`, or the directory of a mirror")
            .status(super::NOT_VERIFIED));
    }
    Ok(Box::new(InDirectory(PathBuf::from(dir))))
}

/// Reads the verifier key of a log.
///
/// # Errors
/// It is malformed.
pub fn log_verifier(key: &str) -> Result<LogVerifier, Fault> {
    LogVerifier::parse(key.trim()).hinted(
        "log key",
        "an authority shows it as `origin+id+base64` (`semgate authority status`, `log.pub`)",
    )
}

/// A quorum of so many of these witnesses; by default all.
///
/// # Errors
/// A key is malformed, or the quorum exceeds the number of witnesses.
pub fn quorum(witnesses: &[String], need: Option<usize>) -> Result<Quorum, Fault> {
    let keys = witnesses.iter().map(|key| {
        CosignerVerifier::parse(key).map_err(|e| {
            Fault::new(format_args!("`{key}`: {e}")).hint("a witness shows its key as `name+id+base64`")
        })
    });
    let keys = keys.collect::<Result<Vec<_>, Fault>>()?;
    let need = need.unwrap_or(keys.len());
    Quorum::new(keys, need)
        .hinted("witnesses", "give each `--witness` once, and a `--quorum` of at most their number")
}

/// Pause for a head that is on its way: a commit takes some milliseconds, half a second with a slow witness.
const MOMENT: Duration = Duration::from_millis(250);

/// A web server, over one kept connection.
struct OverHttp {
    session: Session,
    base: String,
    runtime: Runtime,
}

impl OverHttp {
    fn new(base: &str, roots: &Path) -> Result<Self, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().doing("runtime")?;
        Ok(Self { session: Client::new(roots, None)?.session(), base: base.to_owned(), runtime })
    }
}

impl Fetch for OverHttp {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let url = format!("{}{path}", self.base);
        let reply = self.runtime.block_on(self.session.get(&url, max_bytes)).map_err(|why| {
            tell!("{why}");
            FetchFault::Unreachable
        })?;
        match reply.status {
            200 if u64::try_from(reply.body.len()).is_ok_and(|n| n <= max_bytes) => Ok(reply.body.to_vec()),
            200 => Err(FetchFault::TooLarge),
            other => Err(FetchFault::HttpStatus(other)),
        }
    }

    fn pause(&mut self) {
        std::thread::sleep(MOMENT);
    }

    /// A web server has no directory listing: asks for deltas from the newest sizes if there is one from the head's own.
    fn deltas(&mut self, size: u64) -> Vec<u64> {
        let any = self.get(&format!("{DELTAS}/{size}"), MAX_DELTA_BYTES as u64);
        match any {
            Err(FetchFault::HttpStatus(_) | FetchFault::Unreachable) => Vec::new(),
            Ok(_) | Err(FetchFault::TooLarge) => {
                (size.saturating_sub(DELTAS_ASKED.saturating_sub(1))..=size).collect()
            }
        }
    }
}

/// The sizes in these names, each in canonical spelling; ignores other names.
fn sizes(names: impl Iterator<Item = String>) -> Vec<u64> {
    let size = |name: String| name.parse().ok().filter(|size: &u64| size.to_string() == name);
    names.filter_map(size).collect()
}

/// Path of the deltas.
const DELTAS: &str = "/v1/feed/deltas";
/// Number of the newest log sizes at which a web server is asked for deltas. Each is a request, for which an authority makes one. In a
/// directory, all existing ones are checked.
const DELTAS_ASKED: u64 = 64;

/// The bytes of a mirror's file. Does not wait for a pipe: only regular files count.
///
/// # Errors
/// It is missing, not a regular file, or longer than `max_bytes`.
pub fn copied(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
    let file = PolicySource::open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => FetchFault::HttpStatus(404),
        _ => FetchFault::Unreachable,
    })?;
    if !file.metadata().is_ok_and(|of| of.is_file()) {
        tell!("`{}` is not a regular file", path.display());
        return Err(FetchFault::Unreachable);
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|_| FetchFault::Unreachable)?;
    if bytes.len() as u64 > max_bytes { Err(FetchFault::TooLarge) } else { Ok(bytes) }
}

/// A directory with a mirror's files.
struct InDirectory(PathBuf);

impl Fetch for InDirectory {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let path = self.0.join(path.trim_start_matches('/'));
        if path.is_dir() {
            return Err(FetchFault::HttpStatus(301));
        }
        copied(&path, max_bytes)
    }

    fn deltas(&mut self, _: u64) -> Vec<u64> {
        let files = std::fs::read_dir(self.0.join(DELTAS.trim_start_matches('/')));
        sizes(files.into_iter().flatten().flatten().filter_map(|file| file.file_name().into_string().ok()))
    }
}
