//! `semgate firewall run | check`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use semgate_gateway::{Config, ConfigFault, RunFault};

use crate::fault::Fault;
use crate::serving;
use crate::settings::{self, FileFault};

/// The semantic firewall
#[derive(Debug, Subcommand)]
pub enum FirewallJob {
    /// Run it; SIGTERM drains and ends, SIGHUP reloads the policies
    #[command(after_help = crate::logging::HELP)]
    Run {
        /// `firewall.toml`
        #[arg(long)]
        config: PathBuf,
    },
    /// Print the effective settings without binding a port
    Check {
        /// `firewall.toml`
        #[arg(long)]
        config: PathBuf,
    },
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
pub fn run(job: FirewallJob, json: bool) -> Result<u8, Fault> {
    match job {
        FirewallJob::Check { config } => {
            let config = load(&config)?;
            crate::terminal::print_settings(&config.effective(), json)?;
            // Everything needed for a start, without binding a port or writing a file.
            let checked =
                semgate_gateway::check(&config).map_err(|why| stopped("this would not start", &why))?;
            let wrong = &checked.policies_wrong;
            for waiting in checked.policies_waiting.iter().filter(|fault| !wrong.contains(fault)) {
                tell!("until the contexts are known, nothing passes: {waiting}");
            }
            for why in checked.policies_idle {
                tell!("warning: `policies`: {why}");
            }
            for fault in checked.shadow_faults {
                tell!("the shadow policies would decide nothing: {fault}");
            }
            for why in checked.floors {
                tell!("warning: `[floors]`: {why}");
            }
            for (authority, key) in checked.unlisted_log_keys {
                tell!(
                    "warning: `log_key` of `{authority}`: no trust list of its log names `{key}`: check for a typing error, or the key of another log"
                );
            }
            for path in checked.open_secrets {
                tell!(
                    "warning: `{}` is readable by users other than its owner: it must have mode 0600",
                    path.display()
                );
            }
            if !wrong.is_empty() {
                let why = wrong.join("; ");
                return Err(Fault::new(format_args!("this would start, and nothing would pass: {why}"))
                    .hint("`semgate policy check` with the contexts of the authority shows every fault with its location"));
            }
            if !checked.unkept.is_empty() {
                let why = checked.unkept.join("; ");
                return Err(Fault::new(format_args!("`[audit_values]` would keep nothing: {why}"))
                    .hint("name members as policies do: `semgate policy check --schema` prints them"));
            }
            Ok(0)
        }
        FirewallJob::Run { config } => {
            let config = load(&config)?;
            crate::block_on(async {
                let ready = |bound: semgate_gateway::Bound| tracing::info!(?bound, "the gateway answers");
                semgate_gateway::run(config, ready, serving::end())
                    .await
                    .map_err(|why| stopped("firewall", &why))
            })?;
            Ok(0)
        }
    }
}
