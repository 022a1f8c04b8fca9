//! Checks a whole log from outside: downloads every tile, computes the root anew, replays, and holds status lists,
//! floors and documents byte for byte against what is served.

use std::fmt;

/// Where the bytes come from: a blocking HTTP client, or a directory.
pub trait Fetch {
    /// Gets a path under the authority's address, at most `max_bytes`. Only a 200 is an answer.
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault>;
}

/// Why a path could not be fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchFault {
    /// No answer.
    Unreachable,
    /// Another status than 200.
    HttpStatus(u16),
    /// Longer than the limit.
    TooLarge,
}

impl fmt::Display for FetchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchFault::Unreachable => f.write_str("could not be reached"),
            FetchFault::HttpStatus(status) => write!(f, "answered {status}"),
            FetchFault::TooLarge => f.write_str("longer than its limit"),
        }
    }
}

impl std::error::Error for FetchFault {}

/// What was checked.
#[derive(Clone, Debug)]
pub struct LogReport {
    /// Size of the log.
    pub size: u64,
    /// Root hash, computed from the entries.
    pub root: crate::tiles::TreeHash,
    /// Hash tiles compared.
    pub tiles: u64,
    /// Statements verified.
    pub statements: u64,
    /// Documents verified.
    pub documents: u64,
    /// Status shards compared.
    pub shards: u64,
    /// Floors compared.
    pub floors: usize,
}

/// Why the log does not hold.
#[derive(Clone, Debug)]
pub enum LogFault {
    /// A path could not be fetched.
    Fetch {
        /// The path.
        path: String,
        /// Why.
        fault: FetchFault,
    },
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogFault::Fetch { path, fault } => write!(f, "`{path}`: {fault}"),
        }
    }
}

impl std::error::Error for LogFault {}

/// Verifies everything that an authority serves, at `now`. The configuration is that of a follower.
pub fn verify_log(
    _fetch: &mut dyn Fetch,
    _config: &crate::follower::FollowerConfig,
    _now: u64,
) -> Result<LogReport, LogFault> {
    todo!()
}
