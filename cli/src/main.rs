//! `semgate`: the one binary, a subcommand for each job (WIRE, command line).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

/// A line to standard output, see [`terminal::shown`]; a reader that has gone away (`semgate … | head`) is no fault, a full disk is.
macro_rules! out {
    ($($word:tt)*) => {{
        use std::io::Write;
        crate::fault::written(writeln!(std::io::stdout(), "{}", crate::terminal::shown(format_args!($($word)*))));
    }};
}

/// A line for people on standard error, see [`terminal::plain`]; where nobody reads there any more, nobody can be told so.
macro_rules! tell {
    ($($word:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "{}", crate::terminal::plain(&format!($($word)*)));
    }};
}

/// A document to standard output, byte for byte.
macro_rules! out_raw {
    ($($word:tt)*) => {{
        use std::io::Write;
        crate::fault::written(write!(std::io::stdout(), $($word)*));
    }};
}

mod authority;
mod cert;
mod client;
mod context;
mod demo;
mod fault;
mod firewall;
mod log;
mod logging;
mod memory;
mod misuse;
mod names;
mod policy;
mod sample_agent;
mod say;
mod signals;
mod system;
mod terminal;
mod trust;
mod up;
mod up_directory;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// A checked message takes some hundred small pieces of memory; this allocator hands them out in a tenth less of the whole time than the
/// system's, and keeps memory that one core frees for that core.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use crate::fault::{Doing, Fault};

/// Signs, versions and revokes Shared Contexts, and lets through only what they allow.
#[derive(Debug, Parser)]
#[command(name = "semgate", version, propagate_version = true)]
struct Cli {
    /// Print results as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    job: Job,
}

#[derive(Debug, Subcommand)]
enum Job {
    /// Authority, firewall and a sample agent on loopback, with throw-away certificates
    Up(up::UpArgs),
    /// The same; plays the paper's scenarios through it, and shows and checks each verdict
    Demo(demo::DemoArgs),
    Say(say::Say),
    #[command(subcommand)]
    Authority(authority::AuthorityJob),
    #[command(subcommand)]
    Context(context::ContextJob),
    #[command(subcommand)]
    Firewall(firewall::FirewallJob),
    #[command(subcommand)]
    Policy(policy::PolicyJob),
    #[command(subcommand)]
    Cert(cert::CertJob),
    #[command(subcommand)]
    Log(log::LogJob),
    #[command(subcommand)]
    Trust(trust::TrustJob),
}

fn main() -> ExitCode {
    let words = match Cli::try_parse() {
        Ok(words) => words,
        Err(error) => return misused(&error),
    };
    let json = words.json;
    if json {
        terminal::read_by_machine();
    }
    let log = begin_log(&words.job);
    let outcome = run(words);
    log.end();
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(fault) => failed(&fault, json),
    }
}

fn failed(fault: &Fault, json: bool) -> ExitCode {
    if json {
        out!("{}", fault.json());
    }
    tell!("{fault}");
    ExitCode::from(fault.exit_status())
}

/// Words that are none, of which `--json` is believed wherever it stands; or help, which repeats no word.
fn misused(error: &clap::Error) -> ExitCode {
    let Some(fault) = misuse::fault(error) else { error.exit() };
    let json = std::env::args_os().any(|word| word == "--json");
    if json {
        terminal::read_by_machine();
    }
    failed(&fault, json)
}

fn run(words: Cli) -> Result<u8, Fault> {
    let json = words.json;
    match words.job {
        Job::Up(args) => block_on(up::run(args, json)),
        Job::Demo(args) => block_on(demo::run(args, json)),
        Job::Say(say) => block_on(say.run(json)),
        Job::Authority(job) => authority::run(job, json),
        Job::Context(job) => block_on(context::run(job, json)),
        Job::Firewall(job) => firewall::run(job, json),
        Job::Policy(job) => policy::run(job, json),
        Job::Cert(job) => cert::run(job, json).map(|()| 0),
        Job::Log(job) => log::run(job, json),
        Job::Trust(job) => block_on(trust::run(job, json)),
    }
}

/// How long work that a job left behind on other threads may take to end. What has to be written was waited for by the job itself; this is for a
/// line of the audit log that is just being written, and for nothing that goes on for long.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// Runs one job on a runtime of its own.
fn block_on<T>(job: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().doing("runtime")?;
    let done = runtime.block_on(job);
    runtime.shutdown_timeout(LEFT_BEHIND);
    done
}

/// Begins the log, in which servers tell what they do, and other jobs only warn; and what else runs beside a server.
fn begin_log(job: &Job) -> logging::Log {
    let serves =
        matches!(job, Job::Up(_) | Job::Authority(_) | Job::Firewall(_) | Job::Log(log::LogJob::Witness(_)));
    let log = logging::Log::begin(if serves { "info" } else { "error" });
    if serves {
        log.report_losses();
        memory::keep_giving_back();
        semgate_gateway::count_lost_log_lines(logging::lost);
        semgate_authority::count_lost_log_lines(logging::lost);
    }
    log
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// Clap checks the words of every subcommand only when it is used.
    #[test]
    fn the_words_of_every_subcommand_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
