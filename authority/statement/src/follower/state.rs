//! The verified state of a follower, and the view computed from it.

use super::scan::LogScan;
use super::{FollowFault, FollowerConfig};
use crate::entry::Entry;
use crate::head::VerifiedHead;
use crate::recognition::RecognitionState;
use crate::root::Anchors;
use crate::status::{Status, StatusList};
use crate::tiles::TilePath;
use crate::trust::Trust;
use crate::view::{LoadedContext, View};
use semgate_certs::{KeyId, SignerId, Thumbprint};
use semgate_contexts::{Context, ContextUrn, Digest, Line, Version};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A head with its verified bytes.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) bytes: Vec<u8>,
    pub(super) head: VerifiedHead,
}

/// A publish statement, verified and proved to be in the log, and the progress of its document.
#[derive(Clone, Debug)]
pub(super) struct KnownContext {
    pub(super) index: u64,
    pub(super) entry: Entry,
    pub(super) digest: Digest,
    pub(super) signer: Thumbprint,
    /// The keys behind statement and document, and those of their issuers; the document's once its chain was seen.
    pub(super) keys: Vec<KeyId>,
    pub(super) document: Document,
}

impl KnownContext {
    /// Records a verified document and its signer.
    pub(super) fn load(&mut self, context: Arc<Context>, signer: &SignerId) {
        for key in signer.keys() {
            if !self.keys.contains(key) {
                self.keys.push(*key);
            }
        }
        self.document = Document::Loaded(context);
    }
}

#[derive(Clone, Debug)]
pub(super) enum Document {
    Wanted,
    Loaded(Arc<Context>),
    Failed {
        why: Arc<str>,
        retry_at: u64,
    },
    /// It was verified, but its line has no room: nothing is requested until something of the log is revoked.
    NoRoom {
        why: Arc<str>,
    },
    /// The publish statement itself does not count under the keys in force. No document makes up for that, and none is requested until the
    /// keys change again.
    Refused {
        why: Arc<str>,
    },
}

/// Number of lines whose documents may fill the whole room: one line takes no more than a quarter, whoever publishes it.
const LINE_SHARE: u64 = 4;

pub(super) type PublishedContexts = BTreeMap<ContextUrn, KnownContext>;
pub(super) type Tiles = HashMap<TilePath, Vec<u8>>;

/// All verified state.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The accepted keys: configured, and changed by the root since.
    pub(super) anchors: Anchors,
    /// The newest accepted head.
    pub(super) head: Option<Pinned>,
    /// True if statuses and floors are those of the head; false after a damaged memory.
    pub(super) complete: bool,
    /// True if a part of the memory was dropped and no round has searched the whole listing since: an unknown context may still be
    /// published.
    pub(super) partial: bool,
    pub(super) statuses: StatusList,
    /// The lists behind `statuses`, by SHA-256.
    pub(super) shards: HashMap<[u8; 32], Arc<Vec<u8>>>,
    pub(super) floors: BTreeMap<Line, Version>,
    /// Indexes seen INVALID in heads refused for another reason: they stay INVALID too.
    pub(super) invalid: BTreeSet<u64>,
    /// Publications in the configured lines, and those in others to which they refer.
    pub(super) known: PublishedContexts,
    pub(super) tiles: Tiles,
    pub(super) trust: Trust,
    /// How far the log was searched for publications.
    pub(super) scan: LogScan,
}

impl State {
    /// The state before anything was learnt.
    pub(super) fn new(config: &FollowerConfig) -> State {
        let threshold = config.root_threshold;
        State {
            anchors: Anchors::new(&config.authority, &config.origin, &config.roots, threshold, &config.log),
            head: None,
            complete: false,
            partial: false,
            statuses: StatusList::new(),
            shards: HashMap::new(),
            floors: BTreeMap::new(),
            invalid: BTreeSet::new(),
            known: PublishedContexts::new(),
            tiles: Tiles::new(),
            trust: Trust::new(config.authority.clone()),
            scan: LogScan::default(),
        }
    }

    /// Returns `Some` if a key that signed a publish statement, or its document, is compromised since then or before.
    fn is_by_compromised(&self, known: &KnownContext) -> Option<()> {
        let by = known.entry.signed().key().unwrap_or(known.signer);
        let since = self.anchors.compromised_among(&[known.signer, by], &known.keys)?;
        (known.index >= since).then_some(())
    }

    /// "Now" never precedes the latest verified `issued_at`.
    pub(super) fn not_before(&self, now: u64) -> u64 {
        self.head.as_ref().map_or(now, |pinned| now.max(pinned.head.head().issued_at))
    }

    /// The status at an index: INVALID if ever seen so, else that of the accepted shards.
    pub(super) fn status(&self, index: u64) -> Option<Status> {
        if self.invalid.contains(&index) { Some(Status::Invalid) } else { self.statuses.get(index) }
    }

    /// Checks that a verified document finds room: in the share of its line, and in the whole.
    ///
    /// # Errors
    /// [`FollowFault::NoRoom`] with the exceeded share.
    pub(super) fn room_for(&self, context: &Context, room: u64) -> Result<(), FollowFault> {
        let urn = context.urn();
        let of = |counts: &dyn Fn(&ContextUrn) -> bool| {
            let others = self.known.iter().filter(|(other, _)| *other != urn && counts(other));
            let bytes = others.map(|(_, known)| match &known.document {
                Document::Loaded(context) => context.compiled_bytes(),
                _ => 0,
            });
            bytes.fold(context.compiled_bytes(), u64::saturating_add)
        };
        let (line, share) = (of(&|other| other.line() == urn.line()), room / LINE_SHARE);
        if line > share {
            return Err(FollowFault::NoRoom { whose: "its line", bytes: line, room: share });
        }
        match of(&|_| true) {
            all if all > room => Err(FollowFault::NoRoom { whose: "all lines", bytes: all, room }),
            _ => Ok(()),
        }
    }

    /// Frees the memory of revoked documents, and of those that refer to one: they never count again. The kept remainder still types
    /// policies. Documents without room are requested again.
    pub(super) fn retire(&mut self) {
        let revoked = |urn: &ContextUrn| {
            self.known.get(urn).is_some_and(|known| self.status(known.index) == Some(Status::Invalid))
        };
        let over = self.known.iter().filter_map(|(urn, known)| match &known.document {
            Document::Loaded(context) if !context.is_retired() => {
                let over = revoked(urn) || context.references().iter().any(|other| revoked(other.urn()));
                over.then(|| (urn.clone(), Arc::new(context.retired())))
            }
            _ => None,
        });
        let over: Vec<(ContextUrn, Arc<Context>)> = over.collect();
        if over.is_empty() {
            return;
        }
        for (urn, context) in over {
            if let Some(known) = self.known.get_mut(&urn) {
                known.document = Document::Loaded(context);
            }
        }
        for known in self.known.values_mut() {
            if matches!(known.document, Document::NoRoom { .. }) {
                known.document = Document::Wanted;
            }
        }
    }

    /// The view computed from all this.
    pub(super) fn view(&self, config: &FollowerConfig) -> View {
        let mut view = View::empty(&config.authority, config.lines.clone());
        let Some(pinned) = &self.head else { return view };
        let head = pinned.head.head();
        view.origin = config.origin.as_str().into();
        view.recognitions = Arc::new(self.recognitions());
        if config.recognised {
            let signed = self.known.values().flat_map(|k| [Some(k.signer), k.entry.signed().key()]);
            let signed: BTreeSet<Thumbprint> = signed.flatten().collect();
            let chain = |key: Thumbprint| Some((key, self.trust.chain(&key)?.clone()));
            view.signers = Arc::new(signed.into_iter().filter_map(chain).collect());
        }
        view.root_threshold = self.anchors.threshold();
        view.unlisted = self.anchors.unlisted_log_keys().map(str::to_owned).collect();
        view.size = head.seq;
        view.root = pinned.head.checkpoint().root;
        view.issued_at = head.issued_at;
        if self.complete {
            // A memory written under a longer `max_status_age` must not outlive a shorter one.
            view.next_update = head.next_update.min(head.issued_at.saturating_add(config.max_status_age));
        }
        view.partial = self.partial;
        view.floors = Arc::new(self.floors.clone());
        for (urn, known) in &self.known {
            let of_its_lines = config.lines.holds(urn.line()).is_some();
            let part = if of_its_lines { &mut view.contexts } else { &mut view.references };
            part.insert(urn.clone(), Arc::new(self.loaded(urn, known)));
        }
        view
    }

    /// The root's recognitions of other authorities, with the status of each.
    fn recognitions(&self) -> BTreeMap<String, RecognitionState> {
        let each = self.anchors.recognised().map(|recognised| {
            let vouched = RecognitionState {
                recognised: recognised.clone(),
                status: self.status(recognised.index),
                roots: self.anchors.roots().clone(),
            };
            (recognised.recognition.recognised.clone(), vouched)
        });
        each.collect()
    }

    fn loaded(&self, urn: &ContextUrn, known: &KnownContext) -> LoadedContext {
        let left_out = matches!(known.document, Document::NoRoom { .. });
        let (context, fault) = match &known.document {
            Document::Wanted => (None, None),
            Document::Loaded(context) => (Some(Arc::clone(context)), None),
            Document::Failed { why, .. } | Document::NoRoom { why } | Document::Refused { why } => {
                (None, Some(Arc::clone(why)))
            }
        };
        LoadedContext {
            urn: urn.clone(),
            digest: known.digest,
            index: known.index,
            logged_at: known.entry.logged_at(),
            signer: known.signer,
            publisher: known.entry.signed().key(),
            status: match self.is_by_compromised(known) {
                Some(()) => Some(Status::Invalid),
                None => self.status(known.index),
            },
            context,
            fault,
            left_out,
        }
    }
}
