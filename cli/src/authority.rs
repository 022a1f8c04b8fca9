//! `semgate authority init | run | rebuild-index | status | check | mirror | recognise | withdraw | approve | proposals | policy`.

mod approvals;
mod mirror;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use semgate_authority::{
    Config, InitOptions, LinePattern, PROTOCOL_LINES, Publisher, RunFault, SettingFault, StartDocument, init,
    rebuild_index, restore, status,
};
use semgate_certs::SpiffeId;

use crate::fault::{Doing, Fault};
use crate::serving::{self, Inherited, stopped};
use crate::settings::{self, FileFault};
use crate::terminal::{print_members, print_settings};
use crate::trust::{RecogniseArgs, WithdrawArgs};

/// The Schema Authority
#[derive(Debug, Subcommand)]
pub enum AuthorityJob {
    /// Make a new one: root, issuing certificates, role keys, configuration
    Init(InitArgs),
    /// Run it until SIGTERM
    #[command(after_help = crate::logging::HELP)]
    Run(ConfigArg),
    /// Delete the index and rebuild it from log and documents
    RebuildIndex(ConfigArg),
    /// Show the state directory's status; works beside a running authority
    Status(ConfigArg),
    /// Print the effective settings without binding a port
    Check(ConfigArg),
    /// Approve another person's proposal, which carries it out
    Approve(approvals::Approve),
    /// List the proposals that wait for a second person
    Proposals(approvals::Proposals),
    /// Policies about publishers
    #[command(subcommand)]
    Policy(approvals::PublisherPolicyJob),
    /// Copy everything public into a directory of plain files, verified, for any web server
    Mirror(mirror::Mirror),
    /// Recognise another authority for some lines and some time; needs the root, see `semgate trust`
    #[command(alias = "recognize")]
    Recognise(Box<RecogniseArgs>),
    /// End the recognition of another authority, at once
    Withdraw(WithdrawArgs),
    /// Bring an older state directory up to the newest log, from a mirror; the authority must not be running
    Restore(RestoreArgs),
}

/// The source of a restore.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// A mirror: its address or its directory
    #[arg(long, value_name = "URL|DIR")]
    from: String,
    /// PEM roots of the mirror's certificate; default: those of the authority
    #[arg(long)]
    tls_roots: Option<PathBuf>,
}

/// The authority's configuration.
#[derive(Debug, Args)]
pub struct ConfigArg {
    /// `authority.toml`; default: the one in `./authority`, or in `./.semgate`
    #[arg(long)]
    config: Option<PathBuf>,
}

/// Options of a new authority.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Directory for all of its files
    #[arg(long, default_value = "./authority")]
    dir: PathBuf,
    /// Its name
    #[arg(long = "name", alias = "authority", value_name = "NAME", default_value = "semgate.test")]
    authority: String,
    /// The SPIFFE trust domain of its clients
    #[arg(long, default_value = "semgate.test")]
    trust_domain: String,
    /// A URN line that it may sign, with those below it; default: all
    #[arg(long = "line", value_name = "LINE")]
    lines: Vec<String>,
    /// SPIFFE id of a publisher with every right on every line
    #[arg(long = "publisher", value_name = "SPIFFE-ID")]
    publishers: Vec<String>,
    /// Number of root keys to make, each to be kept by another person
    #[arg(long, default_value_t = 1)]
    root_keys: u64,
    /// Number of root keys that must sign for the root
    #[arg(long, default_value_t = 1)]
    root_threshold: u64,
    /// The public address
    #[arg(long, default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// The admin address
    #[arg(long, default_value = "127.0.0.1:8444")]
    admin: SocketAddr,
    /// A host name of the public address
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
}

/// Runs the job.
///
/// # Errors
/// A configuration that cannot be used, files that exist, or the fault that stopped the authority.
pub fn run(job: AuthorityJob, inherited: Inherited, json: bool) -> Result<u8, Fault> {
    match job {
        AuthorityJob::Init(args) => args.run(json)?,
        AuthorityJob::Run(arg) => {
            let (inherited, config) = (inherited.doing("sockets of `LISTEN_FDS`")?, arg.load()?);
            crate::block_on(async {
                let ready = |bound: semgate_authority::Bound| {
                    tracing::info!(?bound, "the authority answers");
                    serving::ready();
                };
                semgate_authority::run(config, serving::tcp(inherited)?, ready, serving::end())
                    .await
                    .map_err(|why| stopped("authority", &why))
            })?;
        }
        AuthorityJob::RebuildIndex(arg) => {
            let rebuilt = rebuild_index(&arg.load()?).map_err(|why| stopped("rebuild-index", &why))?;
            if json {
                out!("{}", serde_json::to_string(&rebuilt).doing("result")?);
            } else {
                out!("index rebuilt from {} entries: {} contexts", rebuilt.size, rebuilt.contexts);
            }
        }
        AuthorityJob::Status(arg) => {
            let status = serde_json::to_value(status(&arg.load()?).map_err(|why| stopped("status", &why))?)
                .doing("status")?;
            print_members(&status, json);
        }
        AuthorityJob::Restore(args) => args.run(json)?,
        AuthorityJob::Recognise(args) => crate::block_on(args.run(json))?,
        AuthorityJob::Withdraw(args) => return crate::block_on(args.run(json)),
        AuthorityJob::Approve(approve) => return crate::block_on(approve.run(json)),
        AuthorityJob::Proposals(proposals) => return crate::block_on(proposals.run(json)),
        AuthorityJob::Policy(policy) => return policy.run(json),
        AuthorityJob::Mirror(mirror) => return mirror.run(json),
        AuthorityJob::Check(arg) => {
            let config = arg.load()?;
            print_settings(&config.effective(), json)?;
            let ending = semgate_authority::check(&config);
            for what in ending.map_err(|why| stopped("this would not start", &why))? {
                tell!("warning: {what}");
            }
        }
    }
    Ok(0)
}

impl RestoreArgs {
    fn run(self, json: bool) -> Result<(), Fault> {
        let config = self.config.load()?;
        let roots = self.tls_roots.as_deref().unwrap_or(&config.roots);
        let mut from = crate::log::reach(self.from.trim_end_matches('/'), roots)?;
        let restored = restore(&config, from.as_mut()).map_err(|fault| match fault {
            RunFault::Config(_) | RunFault::Missing { .. } => stopped("restore", &fault),
            fault => Fault::new(fault).hint("nothing was changed; ask for a newer mirror"),
        })?;
        print_members(&serde_json::to_value(&restored).doing("result")?, json);
        Ok(())
    }
}

impl ConfigArg {
    fn load(&self) -> Result<Config, Fault> {
        let usual =
            || [PathBuf::from("./authority/authority.toml"), PathBuf::from("./.semgate/authority.toml")];
        let path = self.config.clone().or_else(|| usual().into_iter().find(|path| path.exists()));
        load(&path.unwrap_or_else(|| PathBuf::from("./authority/authority.toml")))
    }
}

/// Reads a configuration.
///
/// # Errors
/// It cannot be read, or asks for something impossible.
pub fn load(path: &Path) -> Result<Config, Fault> {
    let parse = |text: &str, base: &Path| match Config::parse(text, base) {
        Ok(_) => None,
        Err(SettingFault { position, what }) => Some(FileFault { position, what }),
    };
    Config::load(path).map_err(|e| {
        // the fault names the file
        settings::faults(path, &parse).unwrap_or_else(|| Fault::new(e)).hint(match path.exists() {
            true => "docs/reference/config.md describes each setting",
            false => "name the file with `--config`, or make one with `semgate authority init`",
        })
    })
}

/// The protocol contexts that an authority with these lines may sign.
fn protocols(lines: &[String]) -> Vec<StartDocument> {
    let covers = |line: &str| {
        let covered = |own: &String| {
            let patterns = [LinePattern::Exactly(own.clone()), LinePattern::Below(own.clone())];
            patterns.iter().any(|pattern| pattern.covers(line))
        };
        lines.is_empty() || lines.iter().any(covered)
    };
    let covered = PROTOCOL_LINES.into_iter().filter(|line| covers(line));
    covered.map(|line| StartDocument::Shipped(line.to_owned())).collect()
}

impl InitArgs {
    fn run(self, json: bool) -> Result<(), Fault> {
        self.check()?;
        let made = init(&self.dir, &self.options()).hinted(
            "authority init",
            "name a directory without an authority, and settings as `--help` describes them",
        )?;
        if json {
            let shown = serde_json::json!({"config": made.config, "roots": made.roots, "log_key": made.log_key, "origin": made.origin, "first_list": made.first_list});
            out!("{shown}");
            return Ok(());
        }
        out!("{}: start it with `semgate authority run --config {0}`", made.config.display());
        out!("followers need {} and the log key {}", made.roots.display(), made.log_key);
        if let Some(list) = &made.first_list {
            out!(
                "once it runs, a publisher submits its first trust list: `semgate trust submit {} --authority https://{} --roots {} --cert PUBLISHER.pem --key PUBLISHER.key`",
                list.display(),
                self.listen,
                made.roots.display()
            );
        }
        Ok(())
    }

    /// Refuses names with which the authority would not start, before making anything.
    fn check(&self) -> Result<(), Fault> {
        for id in &self.publishers {
            SpiffeId::parse(id).map_err(|why| {
                Fault::new(format_args!("`--publisher`: `{id}`: {why}"))
                    .hint(format_args!("for instance `spiffe://{}/operator`", self.trust_domain))
                    .status(2)
            })?;
        }
        let wrong = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if self.authority.is_empty() || self.authority.contains(wrong) {
            return Err(Fault::new("`--name` is empty, or has a space, a control character or `+`")
                .hint("use a name like a host name, for instance `contexts.example`")
                .status(2));
        }
        Ok(())
    }

    fn options(&self) -> InitOptions {
        let publishers = self.publishers.iter().map(|id| Publisher::of_everything(id)).collect();
        InitOptions {
            authority: self.authority.clone(),
            origin: None,
            trust_domain: self.trust_domain.clone(),
            root_keys: self.root_keys,
            root_threshold: self.root_threshold,
            lines: self.lines.clone(),
            publish_at_start: protocols(&self.lines),
            publishers,
            listen: self.listen,
            admin: self.admin,
            status_lifetime: Duration::from_secs(600),
            server_names: if self.hosts.is_empty() {
                vec!["localhost".to_owned()]
            } else {
                self.hosts.clone()
            },
            server_addresses: vec![IpAddr::from([127, 0, 0, 1]), self.listen.ip()],
        }
    }
}
