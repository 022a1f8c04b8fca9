//! What a follower is told and never learns from the feed.

use crate::checkpoint::LogVerifier;
use crate::cosignature::Quorum;
use semgate_certs::Roots;
use semgate_contexts::{DocumentLimits, Line, Prefix, UrnFault};
use std::collections::BTreeSet;

/// Lines that belong to an authority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lines {
    /// Every line: `*`.
    All,
    /// These lines, and whole trees (`acme.*` holds `acme.logistics`, not `acme`).
    Only {
        /// Exact lines.
        lines: BTreeSet<Line>,
        /// Lines whose descendants belong to it.
        below: BTreeSet<Line>,
    },
}

/// Proof that a line belongs to an authority's configured lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InLines(());

impl Lines {
    /// Reads patterns: `*`, a line, or a line and `.*`.
    pub fn parse<S: AsRef<str>>(patterns: &[S]) -> Result<Lines, UrnFault> {
        let (mut lines, mut below) = (BTreeSet::new(), BTreeSet::new());
        for pattern in patterns {
            match pattern.as_ref() {
                "*" => return Ok(Lines::All),
                text => match text.strip_suffix(".*") {
                    Some(tree) => below.insert(Line::parse(tree)?),
                    None => lines.insert(Line::parse(text)?),
                },
            };
        }
        Ok(Lines::Only { lines, below })
    }

    /// The patterns that they were read from, sorted and each once.
    pub fn patterns(&self) -> Vec<String> {
        match self {
            Lines::All => vec!["*".to_owned()],
            Lines::Only { lines, below } => {
                let trees = below.iter().map(|tree| format!("{tree}.*"));
                trees.chain(lines.iter().map(Line::to_string)).collect::<BTreeSet<_>>().into_iter().collect()
            }
        }
    }

    /// Whether a line belongs to them; case counts. No allocation for exact lines and for `*`.
    pub fn holds(&self, line: &Line) -> Option<InLines> {
        let held = match self {
            Lines::All => true,
            Lines::Only { lines, below } => {
                lines.contains(line)
                    || below.iter().any(|tree| {
                        line.as_str().strip_prefix(tree.as_str()).is_some_and(|rest| rest.starts_with('.'))
                    })
            }
        };
        held.then_some(InLines(()))
    }
}

/// The configuration of one follower.
#[derive(Clone, Debug)]
pub struct FollowerConfig {
    /// Id of the authority.
    pub authority: String,
    /// Origin of its log.
    pub origin: String,
    /// Roots of its context, status and feed certificates. Their prefix must be `prefix`.
    pub roots: Roots,
    /// How many of the roots' keys speak for the root: 1 unless the root is split. Above one nothing counts before a trust list.
    pub root_threshold: u64,
    /// Its log key, or several of which one signs; the root may say others later.
    pub log: LogVerifier,
    /// Witnesses, and how many of them must have cosigned the checkpoint of a larger log before it counts. None are asked for by default.
    pub quorum: Quorum,
    /// Prefix of URNs.
    pub prefix: Prefix,
    /// Lines that belong to it. Of others only what these refer to is loaded, and it counts as a reference alone.
    pub lines: Lines,
    /// Whether it counts only as far as another authority recognises it: then its views carry the chains that a [`crate::Recogniser`] asks
    /// for.
    pub recognised: bool,
    /// Longest lifetime of a head that is accepted, in seconds.
    pub max_status_age: u64,
    /// Seconds between polls of the head when no hint comes.
    pub poll: u64,
    /// Bounds of context documents.
    pub documents: DocumentLimits,
    /// Other bounds.
    pub limits: FollowerLimits,
}

impl FollowerConfig {
    /// A configuration with the defaults: `max_status_age` 15 minutes, every line, a poll each 5 seconds
    /// (a poll that finds nothing new costs one 304).
    pub fn new(authority: &str, origin: &str, roots: Roots, log: LogVerifier) -> FollowerConfig {
        FollowerConfig {
            authority: authority.to_owned(),
            origin: origin.to_owned(),
            roots,
            root_threshold: 1,
            log,
            quorum: Quorum::default(),
            prefix: Prefix::default(),
            lines: Lines::All,
            recognised: false,
            max_status_age: 15 * 60,
            poll: 5,
            documents: DocumentLimits::default(),
            limits: FollowerLimits::default(),
        }
    }
}

/// Bounds on what a follower fetches and keeps. Byte limits of single bodies are those of their formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowerLimits {
    /// Requests in one round: a round that asks for more ends. 20,000 is a first load of some ten thousand contexts.
    pub max_requests: u64,
    /// Published contexts that are kept. Each costs its document, some tens of kB compiled.
    pub max_contexts: usize,
    /// Bytes that the compiled documents of this authority may take, by [`Context::compiled_bytes`](semgate_contexts::Context::compiled_bytes);
    /// those of one line a quarter of it. 256 MiB: thousands of documents as people write them, and ten of the largest.
    pub max_compiled_bytes: u64,
    /// Faults kept until they are taken: an operator needs the first ones, not all.
    pub max_reports: usize,
    /// Pieces of evidence of one kind kept on disk: the first are what counts, one convinces, and a flood must not fill the disk. Each
    /// kind has its own places.
    pub max_evidence: usize,
    /// The same of `rollback`: an older head contradicts nothing, and whoever carries heads has as many as there were.
    pub max_rollbacks: usize,
    /// Longest wait after faults in a row, in seconds: short against `max_status_age`.
    pub max_backoff: u64,
    /// Seconds until a document that failed is fetched again; after `relist`, where the log had to be looked through for it.
    pub retry_documents: u64,
    /// Contexts of lines that are not followed that one round remembers, to look up references among them: some 300 bytes each. A reference
    /// into a log that lists more of them is not followed.
    pub max_others: usize,
    /// Seconds until one page of the listing is looked at once more, in turn: whoever carries pages may leave something out. Short against the
    /// years that a context is used, and at 170 kB a page no load.
    pub relist: u64,
    /// Documents and entry bundles in a row that nothing comes back for until the round ends: one or two are done without, three are the
    /// authority that is away, and with ten seconds for each request no head is asked for that long.
    pub max_unanswered: u32,
}

impl Default for FollowerLimits {
    fn default() -> Self {
        FollowerLimits {
            max_requests: 20_000,
            max_contexts: 10_000,
            max_compiled_bytes: 256 << 20,
            max_reports: 256,
            max_evidence: 8,
            max_rollbacks: 2,
            max_backoff: 30,
            retry_documents: 60,
            max_others: 100_000,
            relist: 300,
            max_unanswered: 3,
        }
    }
}
