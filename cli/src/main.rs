//! `semgate`: one binary, with a subcommand for each job.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

/// Prints a line to standard output, see [`terminal::shown`]; a reader that has gone away (`semgate … | head`) is no fault, a full disk is.
macro_rules! out {
    ($($word:tt)*) => {{
        use std::io::Write;
        crate::fault::written(writeln!(std::io::stdout(), "{}", crate::terminal::shown(format_args!($($word)*))));
    }};
}

/// Prints a line for people on standard error, see [`terminal::remark`]; ignores a reader that has gone away.
macro_rules! tell {
    ($($word:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "{}", crate::terminal::remark(&format!($($word)*)));
    }};
}

/// Prints a document to standard output, byte for byte.
macro_rules! out_raw {
    ($($word:tt)*) => {{
        use std::io::Write;
        crate::fault::written(write!(std::io::stdout(), $($word)*));
    }};
}

mod approvals;
mod authority;
mod authority_client;
mod call;
mod cert;
mod client;
mod config_schema;
mod console;
mod context;
mod demo;
mod doctor;
mod fault;
mod findings;
mod firewall;
mod health;
mod humans;
mod init;
mod log;
mod logging;
mod manual;
mod memory;
mod misuse;
mod names;
mod policy;
mod profile;
mod protect;
mod sample_agent;
mod say;
mod scan;
mod serving;
mod settings;
mod signing_key;
mod system;
mod terminal;
mod trust;
mod up;
mod up_directory;

use std::process::ExitCode;
use std::time::Duration;

use clap::{FromArgMatches, Parser, Subcommand};

/// Checking a message takes some hundred small allocations. This allocator saves a tenth of the whole time compared with the system's, and
/// keeps memory that a core frees for that core.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use crate::fault::{Doing, Fault};

/// Signs, versions and revokes Shared Contexts, and passes only the messages that they allow.
#[derive(Debug, Parser)]
#[command(name = "semgate", version, propagate_version = true)]
struct Cli {
    /// Print results as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Form of the log on standard error
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "text",
        env = "SEMGATE_LOG_FORMAT",
        hide_env_values = true
    )]
    log_format: logging::LogFormat,
    #[command(subcommand)]
    job: Job,
}

#[derive(Debug, Subcommand)]
enum Job {
    /// Authority, firewall and a sample agent on loopback, with throw-away certificates
    #[command(after_help = logging::HELP)]
    Up(up::UpArgs),
    /// Run `up`, play the paper's scenarios through it, and check each verdict
    Demo(demo::DemoArgs),
    Say(say::Say),
    Init(init::Init),
    Protect(protect::Protect),
    Call(call::Call),
    Use(profile::Use),
    Doctor(doctor::Doctor),
    #[command(subcommand)]
    Approvals(approvals::ApprovalsJob),
    #[command(subcommand)]
    Humans(humans::HumansJob),
    #[command(subcommand)]
    Authority(authority::AuthorityJob),
    #[command(subcommand)]
    Context(context::ContextJob),
    #[command(subcommand)]
    Firewall(firewall::FirewallJob),
    #[command(subcommand)]
    Console(console::ConsoleJob),
    #[command(subcommand)]
    Policy(policy::PolicyJob),
    #[command(subcommand)]
    Scan(scan::ScanJob),
    #[command(subcommand)]
    Cert(cert::CertJob),
    #[command(subcommand)]
    Log(log::LogJob),
    #[command(subcommand)]
    Trust(trust::TrustJob),
    Completions(manual::Completions),
    Man(manual::Man),
    ConfigSchema(config_schema::ConfigSchema),
    Health(health::Health),
}

fn main() -> ExitCode {
    // before there is another thread: it takes variables out of the environment
    let inherited = serving::inherited();
    let parsed = manual::command().try_get_matches().and_then(|words| Cli::from_arg_matches(&words));
    let words = match parsed {
        Ok(words) => words,
        Err(error) => return misused(&error),
    };
    let json = words.json;
    if json {
        terminal::read_by_machine();
    }
    let log = begin_log(&words);
    let outcome = run(words, inherited);
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

/// Reports invalid arguments; `--json` counts at any position. Help repeats no argument.
fn misused(error: &clap::Error) -> ExitCode {
    let Some(fault) = misuse::fault(error) else { error.exit() };
    let json = std::env::args_os().any(|word| word == "--json");
    if json {
        terminal::read_by_machine();
    }
    failed(&fault, json)
}

fn run(words: Cli, inherited: serving::Inherited) -> Result<u8, Fault> {
    let json = words.json;
    match words.job {
        Job::Up(args) => block_on(up::run(args, json)),
        Job::Demo(args) => block_on(demo::run(args, json)),
        Job::Say(say) => block_on(say.run(json)),
        Job::Doctor(doctor) => block_on(doctor.run(json)),
        Job::Use(used) => used.run(json),
        Job::Call(call) => block_on(call.run(json)),
        Job::Protect(protect) => block_on(protect.run(json)),
        Job::Init(init) => block_on(init.run(json)),
        Job::Approvals(job) => block_on(approvals::run(job, json)),
        Job::Humans(job) => block_on(humans::run(job, json)),
        Job::Authority(job) => authority::run(job, inherited, json),
        Job::Context(job) => block_on(context::run(job, json)),
        Job::Firewall(job) => firewall::run(job, inherited, json),
        Job::Console(job) => console::run(job, json),
        Job::Policy(job) => policy::run(job, json),
        Job::Scan(job) => scan::run(job, json),
        Job::Cert(job) => cert::run(job, json).map(|()| 0),
        Job::Log(job) => log::run(job, json),
        Job::Trust(job) => block_on(trust::run(job, json)),
        Job::Completions(shell) => {
            shell.run();
            Ok(0)
        }
        Job::ConfigSchema(which) => which.run().map(|()| 0),
        Job::Man(man) => man.run(json).map(|()| 0),
        Job::Health(health) => block_on(health.run()),
    }
}

/// Time for work that a job left on other threads. Each job waits for its own writes; this is for a line of the audit log that is just
/// being written, and for nothing longer.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// Runs one job on a runtime of its own.
fn block_on<T>(job: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().doing("runtime")?;
    let done = runtime.block_on(job);
    runtime.shutdown_timeout(LEFT_BEHIND);
    done
}

/// Begins the log, and the helpers of a server. Servers log their actions; other jobs only warn.
fn begin_log(words: &Cli) -> logging::Log {
    let serves = matches!(
        words.job,
        Job::Up(_)
            | Job::Protect(_)
            | Job::Authority(_)
            | Job::Firewall(_)
            | Job::Console(_)
            | Job::Log(log::LogJob::Witness(_))
    );
    let log = logging::Log::begin(if serves { "info" } else { "error" }, words.log_format);
    if serves {
        log.report_losses();
        memory::keep_giving_back();
        semgate_gateway::count_lost_log_lines(logging::lost);
        semgate_authority::count_lost_log_lines(logging::lost);
    }
    log
}

#[cfg(test)]
mod tests;
