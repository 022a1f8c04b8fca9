//! The configuration of a follower, which never comes from the feed.

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
    /// Reads patterns: `*`, a line, or a line followed by `.*`.
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

    /// The original patterns, sorted and each once.
    pub fn patterns(&self) -> Vec<String> {
        match self {
            Lines::All => vec!["*".to_owned()],
            Lines::Only { lines, below } => {
                let trees = below.iter().map(|tree| format!("{tree}.*"));
                trees.chain(lines.iter().map(Line::to_string)).collect::<BTreeSet<_>>().into_iter().collect()
            }
        }
    }

    /// Returns proof that a line belongs to them; case counts. Does not allocate for exact lines and for `*`.
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
    /// Number of root keys that speak for the root: 1 unless the root is split. Above one nothing counts before a trust list.
    pub root_threshold: u64,
    /// Its log key, or several, one of which signs; the root may name others later.
    pub log: LogVerifier,
    /// Witnesses, and how many of them must cosign the checkpoint of a larger log before it counts. None by default.
    pub quorum: Quorum,
    /// Prefix of URNs.
    pub prefix: Prefix,
    /// Lines that belong to it. Contexts of other lines are loaded only if these refer to them, and count as references alone.
    pub lines: Lines,
    /// True if it counts only as far as another authority recognises it. Its views then carry the chains that a [`crate::Recogniser`]
    /// needs.
    pub recognised: bool,
    /// Longest accepted lifetime of a head, in seconds.
    pub max_status_age: u64,
    /// Seconds between polls of the head without a hint.
    pub poll: u64,
    /// Bounds of context documents.
    pub documents: DocumentLimits,
    /// Other bounds.
    pub limits: FollowerLimits,
}

impl FollowerConfig {
    /// A configuration with the defaults: `max_status_age` 15 minutes, every line, a poll each 5 seconds (one without news costs a 304).
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

/// Bounds on fetches and memory. Formats bound the bytes of single bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowerLimits {
    /// Requests in one round; a longer round ends. 20,000 allow a first load of some ten thousand contexts.
    pub max_requests: u64,
    /// Published contexts kept. Each costs its document, some tens of kB compiled.
    pub max_contexts: usize,
    /// Bytes of this authority's compiled documents, by [`Context::compiled_bytes`](semgate_contexts::Context::compiled_bytes); one line
    /// may take a quarter. 256 MiB hold thousands of usual documents, or ten of the largest.
    pub max_compiled_bytes: u64,
    /// Faults kept until they are taken: an operator needs the first ones, not all.
    pub max_reports: usize,
    /// Pieces of evidence of one kind kept on disk, the first ones. One convinces, and a flood must not fill the disk. Each kind has its
    /// own places.
    pub max_evidence: usize,
    /// The same for `rollback`: an older head contradicts nothing, and there are as many as there were heads.
    pub max_rollbacks: usize,
    /// Longest pause after consecutive faults, in seconds: short against `max_status_age`.
    pub max_backoff: u64,
    /// Seconds until a failed document is fetched again; `relist` applies if the log had to be searched for it.
    pub retry_documents: u64,
    /// Contexts of lines that are not followed, remembered in one round to resolve references: some 300 bytes each. If a log lists more, a
    /// reference into it is not followed.
    pub max_others: usize,
    /// Seconds until the next page of the listing is checked again, in turn: a carrier of pages may have left something out. Short against
    /// the years that a context is used, and little load at 170 kB a page.
    pub relist: u64,
    /// Consecutive unanswered documents and entry bundles that end a round. One or two are skipped; three mean that the authority is away.
    /// At ten seconds for each request, the head would wait too long.
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
