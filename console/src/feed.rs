//! Live verdicts: one stream of each gateway, shared by every browser.
//!
//! A task reads each gateway's `/verdicts` into a bounded ring. Browsers read the rings by a number of the console's own, so
//! that a slow browser skips rows and holds up nobody.

mod events;
mod upstream;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::sync::{Semaphore, watch};

pub(crate) use upstream::follow;

/// Verdicts kept for each gateway: as many as the gateway keeps.
const KEPT: usize = 1_024;
/// Live pages open at once: a tab each of some dozen people.
const STREAMS: usize = 64;

/// The members of an audit record that a row shows. No value of a payload is among them.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Verdict {
    /// Unix seconds.
    pub(crate) time: u64,
    pub(crate) n: u64,
    pub(crate) decision_id: String,
    pub(crate) direction: String,
    pub(crate) verdict: String,
    pub(crate) code: Option<String>,
    pub(crate) sender: Option<String>,
    pub(crate) receiver: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) performative: Option<String>,
    pub(crate) context: Option<String>,
    #[serde(default)]
    pub(crate) concepts: Vec<String>,
    /// Further refusals that the record stands for.
    #[serde(default)]
    pub(crate) others: u64,
}

impl Verdict {
    /// The refusal code; the verdict of any other record.
    pub(crate) fn outcome(&self) -> &str {
        self.code.as_deref().unwrap_or(&self.verdict)
    }

    /// The agent behind the route: whom a request is for, and whose reply it is.
    pub(crate) fn agent(&self) -> &str {
        let agent = if self.direction == "reply" { &self.sender } else { &self.receiver };
        agent.as_deref().unwrap_or_default()
    }
}

/// A verdict with its gateway and its number at the console.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) number: u64,
    pub(crate) gateway: Arc<str>,
    pub(crate) verdict: Verdict,
}

/// The stream of one gateway.
#[derive(Debug, Clone)]
pub(crate) struct FeedState {
    pub(crate) gateway: Arc<str>,
    /// The reason that nothing comes; none while the stream is open.
    pub(crate) fault: Option<String>,
    /// Verdicts that the console never saw.
    pub(crate) missed: u64,
}

#[derive(Debug)]
struct Feed {
    state: FeedState,
    /// Newest last.
    kept: VecDeque<Arc<Seen>>,
    /// Number of the last record, in the gateway's own count.
    last: Option<u64>,
}

/// The streams of all gateways.
#[derive(Debug)]
pub(crate) struct Feeds {
    /// The next number, and the feeds in the order of the configuration.
    inner: Mutex<(u64, Vec<Feed>)>,
    newest: watch::Sender<u64>,
    /// Slots of live pages.
    pub(crate) streams: Arc<Semaphore>,
}

impl Feeds {
    /// Empty feeds of these gateways.
    pub(crate) fn new<'a>(gateways: impl Iterator<Item = &'a str>) -> Self {
        let feed = |name: &str| Feed {
            state: FeedState { gateway: name.into(), fault: Some("not connected yet".to_owned()), missed: 0 },
            kept: VecDeque::new(),
            last: None,
        };
        Self {
            inner: Mutex::new((1, gateways.map(feed).collect())),
            newest: watch::Sender::new(0),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }

    /// Wakes whenever a verdict was added.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// The state of every feed.
    pub(crate) fn states(&self) -> Vec<FeedState> {
        self.with(|_, feeds| feeds.iter().map(|feed| feed.state.clone()).collect())
    }

    /// Verdicts after this number that `fits` accepts: the newest `most`, newest first, and the number of those left out.
    pub(crate) fn after(
        &self,
        number: u64,
        most: usize,
        fits: impl Fn(&Seen) -> bool,
    ) -> (Vec<Arc<Seen>>, usize) {
        let mut all: Vec<Arc<Seen>> = self.with(|_, feeds| {
            let fresh = |feed: &Feed| {
                let fresh = feed.kept.iter().rev().take_while(|seen| seen.number > number);
                fresh.cloned().collect::<Vec<_>>()
            };
            feeds.iter().flat_map(fresh).collect()
        });
        all.retain(|seen| fits(seen));
        all.sort_unstable_by_key(|seen| std::cmp::Reverse(seen.number));
        let left_out = all.len().saturating_sub(most);
        all.truncate(most);
        (all, left_out)
    }

    /// Number of the newest verdict.
    pub(crate) fn newest(&self) -> u64 {
        *self.newest.borrow()
    }

    /// The distinct texts that `of` finds in the kept verdicts, at most `most` of them.
    pub(crate) fn distinct(&self, most: usize, of: impl Fn(&Seen) -> Option<String>) -> BTreeSet<String> {
        let (all, _) = self.after(0, usize::MAX, |_| true);
        let mut distinct = BTreeSet::new();
        for text in all.iter().filter_map(|seen| of(seen)) {
            if distinct.len() >= most {
                break;
            }
            distinct.insert(text);
        }
        distinct
    }

    /// Time of the last kept verdict of each sender, in Unix seconds.
    pub(crate) fn last_seen(&self) -> BTreeMap<String, u64> {
        let (newest_first, _) = self.after(0, usize::MAX, |_| true);
        let oldest_first = newest_first.iter().rev();
        oldest_first.filter_map(|seen| Some((seen.verdict.sender.clone()?, seen.verdict.time))).collect()
    }

    fn add(&self, at: usize, verdict: Verdict) {
        let number = self.with(|next, feeds| {
            let feed = feeds.get_mut(at)?;
            let number = *next;
            *next = number.saturating_add(1);
            feed.last = Some(verdict.n);
            if feed.kept.len() >= KEPT {
                feed.kept.pop_front();
            }
            let gateway = Arc::clone(&feed.state.gateway);
            feed.kept.push_back(Arc::new(Seen { number, gateway, verdict }));
            Some(number)
        });
        if let Some(number) = number {
            self.newest.send_replace(number);
        }
    }

    fn missed(&self, at: usize, count: u64) {
        self.with(|_, feeds| {
            if let Some(feed) = feeds.get_mut(at) {
                feed.state.missed = feed.state.missed.saturating_add(count);
            }
        });
    }

    /// Counts an event that cannot be read, and goes on after its number.
    fn skipped(&self, at: usize, id: Option<u64>) {
        self.missed(at, 1);
        self.with(|_, feeds| {
            if let Some(feed) = feeds.get_mut(at) {
                feed.last = id.or(feed.last);
            }
        });
    }

    /// States whether the stream is open, and wakes pages that show it.
    fn turned(&self, at: usize, fault: Option<String>) {
        self.with(|_, feeds| {
            if let Some(feed) = feeds.get_mut(at) {
                feed.state.fault = fault;
            }
        });
        self.newest.send_modify(|_| {});
    }

    fn last(&self, at: usize) -> Option<u64> {
        self.with(|_, feeds| feeds.get(at).and_then(|feed| feed.last))
    }

    fn with<T>(&self, work: impl FnOnce(&mut u64, &mut Vec<Feed>) -> T) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, feeds) = &mut *inner;
        work(next, feeds)
    }
}

#[cfg(test)]
mod tests;
