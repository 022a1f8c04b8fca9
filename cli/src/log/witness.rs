//! `semgate log witness`: the small witness that a second party runs.

use std::path::PathBuf;

use clap::Args;
use semgate_authority::witness::{WitnessBound, WitnessSettings, init_witness, run_witness};
use serde_json::json;

use crate::fault::{Doing, Fault};
use crate::serving::{self, stopped};
use crate::terminal::print_members as print;

/// Cosign checkpoints of known logs, and refuse forks
#[derive(Debug, Args)]
pub struct Witness {
    /// `witness.toml`: run until SIGTERM
    #[arg(long, required_unless_present = "init")]
    config: Option<PathBuf>,
    /// Make a new witness in this directory instead: its key and `witness.toml`
    #[arg(long, value_name = "DIR", requires = "name", conflicts_with = "config")]
    init: Option<PathBuf>,
    /// The name of the new witness: a URL without its scheme, such as `witness.example`
    #[arg(long, requires = "init")]
    name: Option<String>,
    /// The verifier key of a log for the new witness
    #[arg(long = "log-key", value_name = "VKEY", requires = "init")]
    logs: Vec<String>,
}

impl Witness {
    /// Runs a witness, or makes one.
    ///
    /// # Errors
    /// A configuration that cannot be used, files that exist, or the fault that stopped the witness.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        if let (Some(dir), Some(name)) = (&self.init, &self.name) {
            let key = init_witness(dir, name, &self.logs)
                .hinted("witness", "name a new directory, and log keys as authorities show them")?;
            print(&json!({"config": dir.join("witness.toml"), "key": key}), json);
            return Ok(0);
        }
        let path = self.config.unwrap_or_else(|| PathBuf::from("witness.toml"));
        let settings = WitnessSettings::load(&path).map_err(|e| {
            Fault::new(e)
                .hint("make a witness with `semgate log witness --init DIR --name NAME --log-key VKEY`")
        })?;
        crate::block_on(async {
            let ready = |bound: WitnessBound| {
                let shown = json!({"listen": bound.listen.to_string(), "admin": bound.admin.to_string(), "key": bound.key});
                print(&shown, json);
                serving::ready();
            };
            run_witness(settings, ready, serving::end()).await.map_err(|why| stopped("witness", &why))
        })?;
        Ok(0)
    }
}
