//! The log of the process, on standard error. A thread of its own writes it from a bounded queue. A reader that stalls costs log lines,
//! which are counted, and delays no message.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use clap::ValueEnum;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::terminal;

/// Help on the log for the commands that serve.
pub const HELP: &str = "Environment:\n  SEMGATE_LOG  Log directives, such as `info` or `semgate_gateway=debug`; if unset, RUST_LOG";

/// Variables with log directives, in order of precedence.
const DIRECTIVES: [&str; 2] = ["SEMGATE_LOG", "RUST_LOG"];

/// Log lines that may wait. At 300 bytes, the usual length, that is 2.5 MB, and a second of the fastest flood of refusals.
const WAITING: usize = 8_192;
/// Time that the end of a command waits for its log. A reader that still stalls gets no more.
const END: Duration = Duration::from_secs(2);
/// Interval between checks for lost lines.
const LOOK: Duration = Duration::from_secs(1);

static LOSSES: OnceLock<Losses> = OnceLock::new();

/// Counts of lost lines.
#[derive(Debug)]
struct Losses {
    /// Lines that found the queue full.
    dropped: ErrorCounter,
    /// Lines that standard error refused.
    failed: Arc<AtomicU64>,
}

/// Log lines lost since the start.
pub fn lost() -> u64 {
    LOSSES.get().map_or(0, |losses| {
        let dropped = u64::try_from(losses.dropped.dropped_lines()).unwrap_or(u64::MAX);
        dropped.saturating_add(losses.failed.load(Ordering::Relaxed))
    })
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text for each event
    Text,
    /// One JSON object for each event
    Json,
}

/// Standard error, with a count of the lines that it refused.
struct Counted<W> {
    to: W,
    format: LogFormat,
    failed: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.to.write(bytes)
    }

    /// Writes one line, or counts it as lost.
    fn write_all(&mut self, line: &[u8]) -> std::io::Result<()> {
        let written = match self.format {
            LogFormat::Text => self.to.write_all(line),
            LogFormat::Json => self.to.write_all(terminal::json(&String::from_utf8_lossy(line)).as_bytes()),
        };
        if written.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// The log, for as long as the command runs.
pub struct Log {
    guard: WorkerGuard,
}

impl Log {
    /// Begins the log at a level; the directives of the environment replace it.
    pub fn begin(level: &str, format: LogFormat) -> Log {
        let failed = Arc::new(AtomicU64::new(0));
        let to = Counted { to: std::io::stderr(), format, failed: Arc::clone(&failed) };
        let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(WAITING);
        let (writer, guard) = queue.thread_name("semgate-log").finish(to);
        let _ = LOSSES.set(Losses { dropped: writer.error_counter(), failed });
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let named = DIRECTIVES.into_iter().find(set);
        let read = named.map(EnvFilter::try_from_env).transpose();
        let (filter, fault) = match read {
            Ok(filter) => (filter, None),
            Err(why) => (None, Some(why)),
        };
        let filter = filter.unwrap_or_else(|| EnvFilter::new(level));
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
        // an error of the log itself could only go to standard error
        let log = log.with_ansi(false).with_target(false).log_internal_errors(false);
        match format {
            LogFormat::Text => log.fmt_fields(terminal::log_fields()).init(),
            LogFormat::Json => log.json().flatten_event(true).with_current_span(false).init(),
        }
        if let Some(why) = fault {
            tracing::error!(variable = named, %why, "cannot read the log directives; the default level applies");
        }
        Log { guard }
    }

    /// Reports the number of lost lines in the log, once it flows again; for servers.
    pub fn report_losses(&self) {
        let report = || {
            let (mut reported, mut before) = (0, 0);
            loop {
                std::thread::sleep(LOOK);
                let lost = lost();
                if lost == before && lost > reported {
                    tracing::warn!(lost, "log lines were lost: nothing read standard error");
                    reported = lost;
                }
                before = lost;
            }
        };
        // if the system cannot start a thread, this line does not matter
        let _ = std::thread::Builder::new().name("semgate-losses".to_owned()).spawn(report);
    }

    /// Writes the waiting lines, within [`END`].
    pub fn end(self) {
        let (done, ended) = mpsc::channel();
        let end = move || {
            drop(self.guard);
            let _ = done.send(());
        };
        if std::thread::Builder::new().spawn(end).is_ok() {
            let _ = ended.recv_timeout(END);
        }
    }
}

#[cfg(test)]
mod tests;
