//! Output for people at a terminal: colour, headings, local times and progress. Pipes and files get none of it.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The beginnings of lines that have a colour, with its parameter of SGR (ECMA-48).
const TINTS: [(&str, &str); 7] = [
    ("error:", "1;31"),
    ("warning:", "33"),
    ("hint:", "36"),
    ("REFUSED", "1;31"),
    ("ALLOWED", "1;32"),
    ("good:", "32"),
    ("typed by", "2"),
];

/// True if a stream shows colour: a terminal, and `NO_COLOR` is empty or not set (no-color.org).
fn is_coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// True if standard output shows colour.
pub fn is_coloured_output() -> bool {
    is_coloured(&std::io::stdout())
}

/// The same text; on a coloured stream the known beginnings of its lines have their colours. It must be plain already.
pub fn tinted(text: String, stream: &impl IsTerminal) -> String {
    if is_coloured(stream) { with_tints(&text) } else { text }
}

fn with_tints(text: &str) -> String {
    let tint = |line: &str| {
        let known = TINTS.iter().find(|(beginning, _)| line.starts_with(beginning));
        match known.and_then(|(beginning, colour)| Some((beginning, colour, line.strip_prefix(beginning)?))) {
            Some((beginning, colour, rest)) => format!("\u{1b}[{colour}m{beginning}\u{1b}[0m{rest}"),
            None => line.to_owned(),
        }
    };
    text.split('\n').map(tint).collect::<Vec<_>>().join("\n")
}

/// Prints the heading of columns, on a terminal alone.
pub fn heading(text: &str) {
    let mut out = std::io::stdout();
    if out.is_terminal() {
        let text = if is_coloured(&out) { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() };
        crate::fault::written(writeln!(out, "{text}"));
    }
}

/// True if results go to a terminal.
pub fn is_shown() -> bool {
    std::io::stdout().is_terminal()
}

/// A time in seconds since the epoch as local time with its offset; `None` outside the years of the calendar.
pub fn local(seconds: u64) -> Option<String> {
    let moment = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(moment.to_zoned(TimeZone::system()).strftime("%F %T %:z").to_string())
}

/// Time before progress shows, and between its updates.
const TICK: Duration = Duration::from_secs(1);

/// Shows on the terminal that work goes on, and for how long, once it takes more than a second. The line is gone when the value drops.
pub struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Begins; `what` is a phrase such as `analysing the policies`.
    pub fn of(what: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (end, ended) = channel();
        let (what, began) = (super::plain(what), Instant::now());
        let show = move || {
            let mut shown = false;
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let _ = write!(std::io::stderr(), "\r\u{1b}[K{what}: {} s", began.elapsed().as_secs());
                shown = true;
            }
            if shown {
                let _ = write!(std::io::stderr(), "\r\u{1b}[K");
            }
        };
        Self(std::thread::Builder::new().spawn(show).ok().map(|thread| (end, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
