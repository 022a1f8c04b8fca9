//! `semgate console run | check`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use semgate_console::{Config, ConfigFault, RunFault};
use serde_json::json;

use crate::fault::{Doing, Fault};
use crate::serving;
use crate::settings::{self, FileFault};

/// Pages on which people see a running system, and act
#[derive(Debug, Subcommand)]
pub enum ConsoleJob {
    /// Run it; SIGTERM ends it
    #[command(after_help = crate::logging::HELP)]
    Run {
        /// `console.toml`
        #[arg(long)]
        config: PathBuf,
    },
    /// Read the settings and every file of a start, without binding a port
    Check {
        /// `console.toml`
        #[arg(long, default_value = "console.toml")]
        config: PathBuf,
    },
}

/// Reads the configuration.
///
/// # Errors
/// Every fault of the file.
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
            false => "check its name relative to the current directory; docs/how-to/run-a-console.md writes a first one",
        })
    })
}

/// The fault of a console that ended, or did not start.
pub fn stopped(why: &RunFault) -> Fault {
    let hint = match why {
        RunFault::File { .. } => "docs/how-to/run-a-console.md describes each file",
        RunFault::Bind { .. } => "another program has this address: end it, or configure another one",
        _ => "its log shows the cause",
    };
    Fault::new(format_args!("console: {why}")).hint(hint)
}

/// Runs or checks.
///
/// # Errors
/// A configuration that cannot be used, or the fault that stopped the console.
pub fn run(job: ConsoleJob, json: bool) -> Result<u8, Fault> {
    match job {
        ConsoleJob::Run { config } => {
            let config = load(&config)?;
            crate::block_on(async {
                let ready = |bound: semgate_console::Bound| {
                    tracing::info!(address = %bound.address, url = bound.url, "the console answers");
                    if let Some(link) = bound.link {
                        out!("log in once, within five minutes: {link}");
                    }
                    serving::ready();
                };
                semgate_console::run(config, ready, serving::end()).await.map_err(|why| stopped(&why))
            })?;
            Ok(0)
        }
        ConsoleJob::Check { config } => {
            let read = load(&config)?;
            semgate_console::check(&read).map_err(|why| stopped(&why))?;
            let settings = toml::to_string(&read).doing("settings")?;
            match json {
                true => out!("{}", json!({"config": config, "settings": read})),
                false => out_raw!("{settings}"),
            }
            Ok(0)
        }
    }
}
