//! `semgate firewall run | check`.

mod check;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use semgate_gateway::{Config, ConfigFault, RunFault};

use crate::fault::{Doing, Fault};
use crate::serving::{self, Inherited};
use crate::settings::{self, FileFault};

pub use check::{judge, remarks};

/// The semantic firewall
#[derive(Debug, Subcommand)]
pub enum FirewallJob {
    /// Run it; SIGTERM drains and ends, SIGHUP reloads configuration, certificates and policies
    #[command(after_help = crate::logging::HELP)]
    Run {
        /// `firewall.toml`
        #[arg(long)]
        config: PathBuf,
    },
    /// Print the settings and what a start would find, without binding a port
    Check(check::CheckGateway),
}

/// Names the file once: a read fault names it already.
pub fn load(config: &Path) -> Result<Config, Fault> {
    let parse = |text: &str, base: &Path| match Config::parse(text, base) {
        Err(ConfigFault::Wrong { line, column, what, .. }) => {
            Some(FileFault { position: (line > 0).then_some((line, column)), what })
        }
        _ => None,
    };
    Config::load(config).map_err(|why| {
        settings::faults(config, &parse).unwrap_or_else(|| Fault::new(why)).hint(match config.exists() {
            true => "docs/reference/config.md describes each setting",
            false => "check its name relative to the current directory; `semgate up` makes a first one",
        })
    })
}

/// The fault of a gateway that ended, or did not start.
pub fn stopped(what: &str, why: &RunFault) -> Fault {
    let hint = match why {
        RunFault::File { .. } | RunFault::Tls { .. } => {
            "docs/how-to/run-a-gateway.md describes each file, and how to replace it"
        }
        RunFault::Policies { path, .. } if path.is_file() => {
            "`semgate policy check` of the signed directory shows every fault with its location; then sign it again with `semgate policy bundle`"
        }
        RunFault::Policies { .. } => "`semgate policy check` shows every fault with its location",
        RunFault::Bundle { .. } => {
            "`semgate policy bundle DIR --key KEY --cert CHAIN --out FILE` signs a directory, and `--verify FILE` shows what a bundle holds"
        }
        RunFault::Bind { .. } => "another program has this address: end it, or configure another one",
        _ => "its log shows the cause; docs/how-to/run-a-gateway.md describes what it needs of the machine",
    };
    Fault::new(format_args!("{what}: {why}")).hint(hint)
}

/// Runs or checks.
///
/// # Errors
/// A configuration that cannot be used, or the fault that stopped the gateway.
pub fn run(job: FirewallJob, inherited: Inherited, json: bool) -> Result<u8, Fault> {
    match job {
        FirewallJob::Check(check) => check.run(json),
        FirewallJob::Run { config } => {
            let (inherited, config) = (inherited.doing("sockets of `LISTEN_FDS`")?, load(&config)?);
            crate::block_on(async {
                let ready = |bound: semgate_gateway::Bound| {
                    tracing::info!(?bound, "the gateway answers");
                    serving::ready();
                };
                semgate_gateway::run(config, inherited, ready, serving::end())
                    .await
                    .map_err(|why| stopped("firewall", &why))
            })?;
            Ok(0)
        }
    }
}
