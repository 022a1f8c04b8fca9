//! `semgate config-schema`: the JSON Schema of a configuration file, for editors.

use clap::{Args, ValueEnum};

use crate::fault::{Doing, Fault};

/// Print the JSON Schema of a configuration file
#[derive(Debug, Args)]
pub struct ConfigSchema {
    /// The file
    file: ConfigFile,
}

/// A configuration file.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConfigFile {
    /// `firewall.toml`
    Firewall,
    /// `authority.toml`
    Authority,
    /// `console.toml`
    Console,
}

impl ConfigSchema {
    /// Prints it.
    ///
    /// # Errors
    /// None in practice.
    pub fn run(&self) -> Result<(), Fault> {
        let schema = match self.file {
            ConfigFile::Firewall => semgate_gateway::Config::schema(),
            ConfigFile::Authority => semgate_authority::Config::schema(),
            ConfigFile::Console => semgate_console::Config::schema(),
        };
        out!("{}", serde_json::to_string_pretty(&schema).doing("the schema")?);
        Ok(())
    }
}
