//! Exit status and examples below each `--help`, completions of shells, and manual pages. `manual.txt` is the one table of examples.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::fault::{Doing, Fault};
use crate::system::make_dir;

/// A block for each command: its name, after a colon its exit status beyond 2, and its examples.
const TABLE: &str = include_str!("manual.txt");

/// Print the completions of a shell
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Write a manual page for each command
#[derive(Debug, Args)]
pub struct Man {
    /// The directory; made if missing. Pages in it are replaced
    directory: PathBuf,
}

impl Completions {
    /// Prints them.
    pub fn run(&self) {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "semgate", &mut script);
        out_raw!("{}", String::from_utf8_lossy(&script));
    }
}

impl Man {
    /// Writes them.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn run(&self, json: bool) -> Result<(), Fault> {
        make_dir(&self.directory)?;
        clap_mangen::generate_to(command(), &self.directory)
            .hinted(format_args!("`{}`", self.directory.display()), "name a directory that you may write")?;
        crate::terminal::print_members(&serde_json::json!({"pages": self.directory}), json);
        Ok(())
    }
}

/// The command line with exit status and examples below each help.
pub fn command() -> Command {
    explained(Cli::command(), "")
}

fn explained(command: Command, path: &str) -> Command {
    let command = match block(path) {
        Some(block) => {
            let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
            command.after_help(before + &block.help())
        }
        None => command,
    };
    let below = command.get_subcommands().map(|one| one.get_name().to_owned()).collect::<Vec<_>>();
    below.into_iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command.mut_subcommand(name, |below| explained(below, &path))
    })
}

/// One block of the table.
struct Block {
    /// Exit status beyond 2, with its meaning.
    status: Option<&'static str>,
    examples: Vec<&'static str>,
}

impl Block {
    fn help(&self) -> String {
        let status = self.status.map(|status| format!(", {status}")).unwrap_or_default();
        format!(
            "Exit status: 0 success, 1 failure, 2 wrong command line{status}\n\nExamples:\n  {}",
            self.examples.join("\n  ")
        )
    }
}

/// The block of a command, such as `context list`.
fn block(path: &str) -> Option<Block> {
    TABLE.split("\n\n").find_map(|block| {
        let mut lines = block.lines();
        let (name, status) = lines.next().map(|head| head.split_once(": ").unwrap_or((head, "")))?;
        let status = Some(status).filter(|status| !status.is_empty());
        (name == path).then(|| Block { status, examples: lines.map(str::trim).collect() })
    })
}

#[cfg(test)]
mod tests;
