//! `semgate log verify URL`: replays a whole log from outside and holds it byte for byte against what is served.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use semgate_statement::verify_log::FetchFault;
use semgate_statement::{Fetch, FollowerConfig, LogFault, LogReport, LogVerifier, verify_log};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::authority::print_members as print;
use crate::client::Client;
use crate::fault::{Doing, Fault};
use crate::place::Place;
use crate::system::{now, read, read_roots};

/// The exit status when the log could not be fetched: neither good nor bad.
const NOT_VERIFIED: u8 = 4;

/// The transparency log
#[derive(Debug, Subcommand)]
pub enum LogJob {
    /// Replay the log; recompute status lists, floors and checkpoint, and compare them with what is served
    Verify(Verify),
}

/// Which log.
#[derive(Debug, Args)]
pub struct Verify {
    /// The authority's address; that of `--dir` without this
    url: Option<String>,
    /// The directory of `semgate up`, for roots and log key
    #[arg(long, default_value = "./.semgate")]
    dir: PathBuf,
    /// PEM roots, instead of those of `--dir`
    #[arg(long)]
    roots: Option<PathBuf>,
    /// The verifier key of the log, `origin+id+key`, instead of that of `--dir`
    #[arg(long)]
    log_key: Option<String>,
    /// The authority's name, instead of that of `--dir`
    #[arg(long)]
    authority: Option<String>,
}

/// Verifies.
///
/// # Errors
/// The first thing that does not hold, with where it was found.
pub fn run(job: LogJob, json: bool) -> Result<u8, Fault> {
    let LogJob::Verify(verify) = job;
    let (mut over_https, config) = verify.prepare()?;
    if !json {
        eprintln!("verifying {}", over_https.base);
    }
    let report = verify_log(&mut over_https, &config, now()).map_err(|fault| match fault {
        LogFault::Fetch { path, fault } => Fault::new(format_args!(
            "the log could not be verified: `{path}` {fault}"
        ))
        .hint("nothing is said about the log itself; is the authority running, and is this its address?")
        .status(NOT_VERIFIED),
        fault => {
            Fault::new(format_args!("the log does not hold: {fault}")).hint("keep what is served as evidence")
        }
    })?;
    print(&shown(&report), json);
    Ok(0)
}

fn shown(report: &LogReport) -> serde_json::Value {
    json!({
        "size": report.size, "root": report.root.to_string(), "statements": report.statements,
        "documents": report.documents, "tiles": report.tiles, "shards": report.shards, "floors": report.floors,
    })
}

impl Verify {
    fn prepare(&self) -> Result<(OverHttps, FollowerConfig), Fault> {
        let place = match (&self.url, &self.roots, &self.log_key, &self.authority) {
            (Some(_), Some(_), Some(_), Some(_)) => None,
            _ => Some(Place::open(&self.dir)?),
        };
        let known = place.as_ref().map(followed).transpose()?;
        let of_place = || Fault::new("neither given nor known from `--dir`");
        let given =
            |flag: &Option<String>, known: Option<String>| flag.clone().or(known).ok_or_else(of_place);
        let url = given(&self.url, place.as_ref().map(|p| p.up().authority_url.clone()))?;
        let key = given(&self.log_key, known.as_ref().map(|(key, _)| key.clone()))?;
        let authority = given(&self.authority, known.map(|(_, name)| name))?;
        let roots = self.roots.clone().or_else(|| place.as_ref().map(|p| p.path(&p.up().roots)));
        let roots = roots.ok_or_else(of_place)?;
        let log = LogVerifier::parse(&key).doing("log key")?;
        let origin = log.name().to_owned();
        let config = FollowerConfig::new(&authority, &origin, read_roots(&roots)?, log);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().doing("runtime")?;
        let base = url.trim_end_matches('/').to_owned();
        Ok((OverHttps { client: Client::new(&roots, None)?, base, runtime }, config))
    }
}

/// The log key and the name of the one authority that the gateway of this place follows.
///
/// # Errors
/// A configuration that cannot be read.
pub fn followed(place: &Place) -> Result<(String, String), Fault> {
    let path = place.path(&place.up().firewall_config);
    let config: toml::Value = toml::from_str(&read(&path)?).doing(format_args!("`{}`", path.display()))?;
    let authority = config.get("authority").and_then(|a| a.get(0));
    let text =
        |name: &str| authority.and_then(|a| a.get(name)).and_then(toml::Value::as_str).map(str::to_owned);
    let missing = || Fault::new(format_args!("`{}` names no authority", path.display()));
    Ok((text("log_key").ok_or_else(missing)?, text("name").ok_or_else(missing)?))
}

struct OverHttps {
    client: Client,
    base: String,
    runtime: Runtime,
}

impl Fetch for OverHttps {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let url = format!("{}{path}", self.base);
        let reply = self.runtime.block_on(self.client.get(&url)).map_err(|_| FetchFault::Unreachable)?;
        match reply.status {
            200 if u64::try_from(reply.body.len()).is_ok_and(|n| n <= max_bytes) => Ok(reply.body.to_vec()),
            200 => Err(FetchFault::TooLarge),
            other => Err(FetchFault::HttpStatus(other)),
        }
    }
}
