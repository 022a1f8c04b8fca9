//! `semgate firewall run | check`.

use std::path::PathBuf;

use clap::Subcommand;
use semgate_gateway::Config;

use crate::fault::{Doing, Fault};
use crate::signals;

/// The semantic firewall
#[derive(Debug, Subcommand)]
pub enum FirewallJob {
    /// Run it; SIGTERM drains and ends, SIGHUP loads the policies anew
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

/// Runs or checks.
///
/// # Errors
/// A configuration that cannot be used, or whatever stopped the gateway.
pub fn run(job: FirewallJob, json: bool) -> Result<u8, Fault> {
    match job {
        FirewallJob::Check { config } => {
            let effective = Config::load(&config).doing(format_args!("`{}`", config.display()))?.effective();
            if json {
                let value: toml::Value = toml::from_str(&effective).doing("effective settings")?;
                out!("{}", serde_json::to_string(&value).doing("effective settings")?);
            } else {
                out_raw!("{effective}");
            }
            Ok(0)
        }
        FirewallJob::Run { config } => {
            let config = Config::load(&config).doing(format_args!("`{}`", config.display()))?;
            crate::block_on(async {
                let ready = |bound: semgate_gateway::Bound| tracing::info!(?bound, "the gateway answers");
                semgate_gateway::run(config, ready, signals::end()).await.doing("firewall")
            })?;
            Ok(0)
        }
    }
}
