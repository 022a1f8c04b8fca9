//! Where a log is read from: an authority or any web server with a mirror's files, or a directory with them.

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

use crate::client::{Client, Session};
use crate::fault::{Doing, Fault};
use crate::system::{read, read_roots};
use crate::up_directory::UpDirectory;

/// Which log, and by which keys it is judged.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The directory of `semgate up`, for what is not given
    #[arg(long, default_value = "./.semgate")]
    dir: PathBuf,
    /// PEM roots, instead of those of `--dir`
    #[arg(long)]
    roots: Option<PathBuf>,
    /// PEM roots of the web server's certificate; `--roots` without this
    #[arg(long)]
    tls_roots: Option<PathBuf>,
    /// The verifier key of the log, `origin+id+key`, instead of that of `--dir`
    #[arg(long)]
    log_key: Option<String>,
    /// How many root keys spoke for the root before the first trust list: then one alone makes no issuing certificate that counts. That of
    /// `--dir` without this, beside roots that are given 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_ROOT_KEYS as u64))]
    root_threshold: Option<u64>,
    /// The authority's name; without this, where roots and log key are given, the name in the head that they verify
    #[arg(long)]
    authority: Option<String>,
    /// The verifier key of a witness whose cosignature counts
    #[arg(long = "witness", value_name = "VKEY")]
    witnesses: Vec<String>,
    /// How many of the witnesses must have cosigned; all without this
    #[arg(long)]
    quorum: Option<usize>,
}

/// What was told of an authority, by a way other than its own.
pub struct LogTrust {
    /// PEM roots.
    pub roots: PathBuf,
    /// How many of their keys spoke for the root before the first trust list.
    pub root_threshold: u64,
    /// The log key.
    pub log: LogVerifier,
    /// Its name, if it is known.
    name: Option<String>,
}

/// A log that can be read, and what it is judged by.
pub struct Source {
    /// Where its bytes come from.
    pub fetch: Box<dyn Fetch>,
    /// Keys and names.
    pub config: FollowerConfig,
    /// The place, to be shown.
    pub shown: String,
}

impl LogArgs {
    /// Opens a log at an address or in a directory; without one, that of `--dir`.
    ///
    /// # Errors
    /// Keys or roots that are neither given nor known, or that cannot be read.
    pub fn open(&self, at: Option<&str>) -> Result<Source, Fault> {
        if self.authority.as_deref().is_some_and(|name| name.contains("://")) {
            return Err(Fault::new("`--authority` is the name of an authority here, not its address")
                .hint("an address goes to `log proof` as `--from`, to `log verify` by itself")
                .status(2));
        }
        let up_dir = match (at, &self.roots, &self.log_key) {
            (Some(_), Some(_), Some(_)) => None,
            _ => Some(UpDirectory::open(&self.dir)?),
        };
        let LogTrust { roots, root_threshold, log, name: known } = self.trust_from(up_dir.as_ref())?;
        let shown = match (at, &up_dir) {
            (Some(at), _) => at.trim_end_matches('/').to_owned(),
            (None, Some(place)) => place.up().authority_url.clone(),
            (None, None) => {
                return Err(Fault::new("no log is named")
                    .hint("name an authority or a mirror as `https://…`, or the directory of a mirror"));
            }
        };
        let mut fetch = reach(&shown, self.tls_roots.as_deref().unwrap_or(&roots))?;
        let roots = read_roots(&roots)?;
        let authority = match self.authority.clone().or(known) {
            Some(name) => name,
            None => named_authority(fetch.as_mut(), &roots).map_err(super::fault)?,
        };
        let origin = log.name().to_owned();
        let mut config = FollowerConfig::new(&authority, &origin, roots, log);
        config.quorum = self.quorum()?;
        config.root_threshold = root_threshold;
        Ok(Source { fetch, config, shown })
    }

    /// The directory whose keys a log at a named address is judged by, where not all were given: it may be of another authority.
    pub fn lending_directory(&self, at: Option<&str>) -> Option<&Path> {
        let given = self.roots.is_some() && self.log_key.is_some();
        (at.is_some() && !given).then_some(self.dir.as_path())
    }

    /// What was told of the authority, for what needs no log at hand.
    ///
    /// # Errors
    /// Roots or a log key that are neither given nor known.
    fn trust_from(&self, up_dir: Option<&UpDirectory>) -> Result<LogTrust, Fault> {
        let missing = |what: &str| {
            Fault::new(format_args!("no {what}: neither given nor known from `--dir`"))
                .hint("give `--roots` and `--log-key`, as the authority's operator told them")
        };
        let known = up_dir.map(super::followed).transpose()?;
        let roots = self.roots.clone().or_else(|| up_dir.map(|p| p.path(&p.up().roots)));
        let roots = roots.ok_or_else(|| missing("roots"))?;
        let key = self.log_key.clone().or_else(|| known.as_ref().map(|known| known.log_key.clone()));
        let log = log_verifier(&key.ok_or_else(|| missing("log key"))?)?;
        let of_dir = known.filter(|_| self.roots.is_none());
        let root_threshold = of_dir.as_ref().map_or(1, |known| known.root_threshold);
        let root_threshold = self.root_threshold.unwrap_or(root_threshold);
        Ok(LogTrust { roots, root_threshold, log, name: of_dir.map(|known| known.name) })
    }

    /// The same, from `--dir` where it is not given.
    ///
    /// # Errors
    /// Neither given nor known.
    pub fn trust(&self) -> Result<LogTrust, Fault> {
        let up_dir = match (&self.roots, &self.log_key) {
            (Some(_), Some(_)) => None,
            _ => Some(UpDirectory::open(&self.dir)?),
        };
        self.trust_from(up_dir.as_ref())
    }

    /// The witnesses that must have seen a checkpoint.
    ///
    /// # Errors
    /// A key that is none, or a quorum of more than there are.
    pub fn quorum(&self) -> Result<Quorum, Fault> {
        quorum(&self.witnesses, self.quorum)
    }
}

/// An address, under these roots of its certificate, or a directory.
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

/// The verifier key of a log.
///
/// # Errors
/// It is none.
pub fn log_verifier(key: &str) -> Result<LogVerifier, Fault> {
    LogVerifier::parse(key.trim()).hinted(
        "log key",
        "an authority tells it as `origin+id+base64` (`semgate authority status`, `log.pub`)",
    )
}

/// As many of these witnesses as asked for; all without a number.
///
/// # Errors
/// A key that is none, or a quorum of more than there are.
pub fn quorum(witnesses: &[String], need: Option<usize>) -> Result<Quorum, Fault> {
    let keys = witnesses.iter().map(|key| {
        CosignerVerifier::parse(key).map_err(|e| {
            Fault::new(format_args!("`{key}`: {e}")).hint("a witness tells its key as `name+id+base64`")
        })
    });
    let keys = keys.collect::<Result<Vec<_>, Fault>>()?;
    let need = need.unwrap_or(keys.len());
    Quorum::new(keys, need)
        .hinted("witnesses", "each `--witness` is another key, and `--quorum` no more than these")
}

/// How long a head is waited for that is on its way: a commit takes some milliseconds, half a second where a witness is slow.
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

    /// Nobody lists what a web server has: the newest sizes are asked for, if there is a delta from that of the head, as wherever there are
    /// any.
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

/// The sizes that these names say, each in its one spelling; other names nobody asks for.
fn sizes(names: impl Iterator<Item = String>) -> Vec<u64> {
    let size = |name: String| name.parse().ok().filter(|size: &u64| size.to_string() == name);
    names.filter_map(size).collect()
}

/// Where deltas are.
const DELTAS: &str = "/v1/feed/deltas";
/// From how many of the log's newest sizes a web server is asked for deltas. Each is a request, which an authority answers by making one; a
/// directory is looked into, and all that are there are checked.
const DELTAS_ASKED: u64 = 64;

/// The bytes of a file of a mirror. A pipe is not waited for, and what is no regular file has no bytes that were copied.
///
/// # Errors
/// There is none, it is none that was copied, or it is longer than `max_bytes`.
pub fn copied(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
    let file = PolicySource::open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => FetchFault::HttpStatus(404),
        _ => FetchFault::Unreachable,
    })?;
    if !file.metadata().is_ok_and(|of| of.is_file()) {
        tell!("`{}` is no regular file", path.display());
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

/// What the gateway of a place was told of the one authority that it follows.
pub struct FollowedAuthority {
    /// The verifier key of its log.
    pub log_key: String,
    /// Its name.
    pub name: String,
    /// How many root keys spoke for its root before the first trust list.
    pub root_threshold: u64,
}

/// The one authority that the gateway of this place follows.
///
/// # Errors
/// A configuration that cannot be read.
pub fn followed(up_dir: &UpDirectory) -> Result<FollowedAuthority, Fault> {
    let path = up_dir.path(&up_dir.up().firewall_config);
    let shown = format!("`{}`", path.display());
    let config: toml::Value = toml::from_str(&read(&path)?)
        .hinted(&shown, format_args!("`semgate firewall check --config {}` says the same", path.display()))?;
    let authority = config.get("authority").and_then(|a| a.get(0));
    let member = |name: &str| authority.and_then(|a| a.get(name));
    let text = |name: &str| member(name).and_then(toml::Value::as_str).map(str::to_owned);
    let missing = || {
        Fault::new(format_args!("{shown} names no authority"))
            .hint("an `[[authority]]` has `name` and `log_key`: docs/gateway-operations.md")
    };
    let root_threshold = match member("root_threshold") {
        None => 1,
        Some(number) => number.as_integer().and_then(|n| u64::try_from(n).ok()).ok_or_else(|| {
            Fault::new(format_args!("{shown}: `root_threshold` is no number of keys"))
                .hint("how many root keys spoke for the root of the authority at first, for instance 2")
        })?,
    };
    Ok(FollowedAuthority {
        log_key: text("log_key").ok_or_else(missing)?,
        name: text("name").ok_or_else(missing)?,
        root_threshold,
    })
}
