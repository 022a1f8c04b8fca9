//! A follower's knowledge of one authority at one moment: cheap to query for every message, swapped as a whole.

use crate::follower::Lines;
use crate::recognition::{Grant, NotRecognised, RecognisedView, RecognitionState};
use crate::status::Status;
use crate::tiles::TreeHash;
use semgate_certs::{Chain, Thumbprint};
use semgate_contexts::{Context, ContextUrn, Digest, Line, Version};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The standing of a context with its authority. Only `Valid` and `Deprecated` may pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standing {
    /// Published, and its status is fresh and VALID.
    Valid,
    /// Published and retired: passes with a hint, and nothing new selects it.
    Deprecated,
    /// A context of an authority that is not recognised for it, or that the operator distrusts: see [`crate::Recogniser`] and
    /// [`View::distrusted`]. What it revoked stays revoked.
    Unrecognised(NotRecognised),
    /// Suspended, as far as known.
    Suspended,
    /// Revoked; stays so, even with a stale status.
    Revoked,
    /// Published, but its status is too old. Or perhaps published: a part of the memory was damaged and has not been fetched again.
    Stale,
    /// Not published at this authority, as far as known; also for entries of another kind.
    NotCovered,
    /// The line does not belong to this authority (or nothing was ever learnt from it).
    UnknownAuthority,
}

impl Standing {
    /// A short stable name, such as `not_covered`.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Valid => "valid",
            Standing::Deprecated => "deprecated",
            Standing::Unrecognised(_) => "unrecognised",
            Standing::Suspended => "suspended",
            Standing::Revoked => "revoked",
            Standing::Stale => "stale",
            Standing::NotCovered => "not_covered",
            Standing::UnknownAuthority => "unknown_authority",
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One published context, with its publish statement verified and proved to be in the log.
#[derive(Clone, Debug)]
pub struct LoadedContext {
    /// Its URN.
    pub urn: ContextUrn,
    /// Digest of its document, as published.
    pub digest: Digest,
    /// Position of its publish statement, which is its status index.
    pub index: u64,
    /// Time of publication.
    pub logged_at: u64,
    /// Thumbprint of the certificate that signed the document.
    pub signer: Thumbprint,
    /// Thumbprint of the certificate that signed the publish statement.
    pub publisher: Option<Thumbprint>,
    /// Its status in the newest accepted shard; INVALID is permanent. None without a list, after a damaged memory: such a context is stale.
    pub status: Option<Status>,
    /// The verified document; none if it was not fetched, or failed.
    pub context: Option<Arc<Context>>,
    /// Fault of the document, if it failed: such a context is untrusted, not unknown.
    pub fault: Option<Arc<str>>,
    /// True if the document verifies, but there is no room for it.
    pub left_out: bool,
}

/// A verified view of one authority. Immutable; the follower makes a new one.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) authority: Arc<str>,
    /// Origin of its log.
    pub(crate) origin: Arc<str>,
    pub(crate) lines: Lines,
    pub(crate) size: u64,
    pub(crate) root: TreeHash,
    pub(crate) issued_at: u64,
    pub(crate) next_update: u64,
    /// Root keys that speak for the root.
    pub(crate) root_threshold: u64,
    /// Configured log keys that no trust list has named.
    pub(crate) unlisted: Arc<[String]>,
    /// True if the reader's own operator distrusts it.
    pub(crate) distrusted: bool,
    /// True if contexts known before a restart may be missing.
    pub(crate) partial: bool,
    pub(crate) floors: Arc<BTreeMap<Line, Version>>,
    pub(crate) contexts: HashMap<ContextUrn, Arc<LoadedContext>>,
    /// Contexts in its log from lines that do not belong to it, to which those above refer.
    pub(crate) references: HashMap<ContextUrn, Arc<LoadedContext>>,
    /// Its recognitions of other authorities, by name.
    pub(crate) recognitions: Arc<BTreeMap<String, RecognitionState>>,
    /// The chains of its contexts' signers; only if it depends on a recognition.
    pub(crate) signers: Arc<BTreeMap<Thumbprint, Chain>>,
    /// The state of the recognising authority, if it depends on one.
    pub(crate) foreign: Option<Arc<RecognisedView>>,
}

impl View {
    /// The initial view: nothing is covered, everything is stale.
    pub fn empty(authority: &str, lines: Lines) -> View {
        View {
            authority: authority.into(),
            origin: "".into(),
            lines,
            size: 0,
            root: TreeHash::EMPTY,
            issued_at: 0,
            next_update: 0,
            root_threshold: 0,
            unlisted: Arc::default(),
            distrusted: false,
            partial: false,
            floors: Arc::default(),
            contexts: HashMap::new(),
            references: HashMap::new(),
            recognitions: Arc::default(),
            signers: Arc::default(),
            foreign: None,
        }
    }

    /// A view in which these documents count, though nobody signed or published them: for trying policies out on one's own machine. Nothing
    /// may be forwarded because of it; a gateway gets its views from a follower alone.
    pub fn of_documents(documents: impl IntoIterator<Item = Arc<Context>>) -> View {
        View::empty("nobody", Lines::All).on_trial(documents)
    }

    /// The same view for trying policies out: its status never turns stale, and these documents count beside its own. Nothing may be
    /// forwarded because of it.
    #[must_use]
    pub fn on_trial(&self, documents: impl IntoIterator<Item = Arc<Context>>) -> View {
        let loaded = |(index, context): (u64, Arc<Context>)| LoadedContext {
            urn: context.urn().clone(),
            digest: *context.digest(),
            index,
            logged_at: 0,
            signer: Thumbprint::of(&[]),
            publisher: None,
            status: Some(Status::Valid),
            context: Some(context),
            fault: None,
            left_out: false,
        };
        let mut view = View { next_update: u64::MAX, ..self.clone() };
        let all = (self.size..).zip(documents).map(|numbered| Arc::new(loaded(numbered)));
        view.contexts.extend(all.map(|loaded| (loaded.urn.clone(), loaded)));
        view
    }

    /// The authority's id.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The lines that belong to it, as configured.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Size of the log that this view was made from.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Root hash of that log.
    pub fn root(&self) -> TreeHash {
        self.root
    }

    /// Issue time of its head.
    pub fn issued_at(&self) -> u64 {
        self.issued_at
    }

    /// Time at which it turns stale.
    pub fn next_update(&self) -> u64 {
        self.next_update
    }

    /// Number of root keys that speak for the root, by its trust list, which may be fewer than configured; 0 before anything was learnt.
    pub fn root_threshold(&self) -> u64 {
        self.root_threshold
    }

    /// The configured log keys that no trust list of its log names or named, once there is one. They are mistyped, of another log, or
    /// missing from the first list, and do not count.
    pub fn unlisted_log_keys(&self) -> &[String] {
        &self.unlisted
    }

    /// The same view of an authority that the reader's own operator distrusts: nothing of its lines counts, whatever it or anybody else
    /// says, and what it revoked stays revoked.
    pub fn distrusted(&self) -> View {
        View { distrusted: true, ..self.clone() }
    }

    /// Returns true if it was made by [`View::distrusted`].
    pub fn is_distrusted(&self) -> bool {
        self.distrusted
    }

    /// The freshness at `now`. The clock never counts as earlier than the head.
    pub fn freshness(&self, now: u64) -> Freshness {
        if now.max(self.issued_at) < self.next_update { Freshness::Fresh } else { Freshness::Stale }
    }

    /// The standing of a context at `now`. Two look-ups, no allocation. Ignores floors, and does not tell if the document is here: see
    /// [`View::floor`] and [`View::context`].
    pub fn standing(&self, urn: &ContextUrn, now: u64) -> Standing {
        let Some(loaded) = self.contexts.get(urn) else {
            return match self.lines.holds(urn.line()) {
                None => Standing::UnknownAuthority,
                Some(_) if self.distrusted => Standing::Unrecognised(NotRecognised::Distrusted),
                Some(_) if self.partial => Standing::Stale,
                Some(_) => Standing::NotCovered,
            };
        };
        self.standing_of(loaded, now)
    }

    /// The standing at `now` of a context of this view, or of one that is only referred to. No look-up.
    pub fn standing_of(&self, loaded: &LoadedContext, now: u64) -> Standing {
        if loaded.status == Some(Status::Invalid) {
            return Standing::Revoked;
        }
        if self.distrusted {
            return Standing::Unrecognised(NotRecognised::Distrusted);
        }
        match self.grants(loaded, now) {
            Grant::Not(why) => return Standing::Unrecognised(why),
            Grant::Unknown => return Standing::Stale,
            Grant::Counts => {}
        }
        match (loaded.status, self.freshness(now)) {
            (Some(Status::Invalid), _) => Standing::Revoked,
            (Some(Status::Suspended), _) => Standing::Suspended,
            (None, _) | (_, Freshness::Stale) => Standing::Stale,
            (Some(Status::Deprecated), Freshness::Fresh) => Standing::Deprecated,
            (Some(Status::Valid), Freshness::Fresh) => Standing::Valid,
        }
    }

    /// The verified document, if it is here. Ask [`View::standing`] first.
    pub fn context(&self, urn: &ContextUrn) -> Option<&Arc<Context>> {
        self.contexts.get(urn).and_then(|loaded| loaded.context.as_ref())
    }

    /// The record of a published context.
    pub fn loaded(&self, urn: &ContextUrn) -> Option<&Arc<LoadedContext>> {
        self.contexts.get(urn)
    }

    /// A published context that others may refer to: of this authority's lines, or of another line in its log. One of another line counts
    /// only as a reference, and is in no other answer of this view.
    pub fn reference(&self, urn: &ContextUrn) -> Option<&Arc<LoadedContext>> {
        self.contexts.get(urn).or_else(|| self.references.get(urn))
    }

    /// All known published contexts of its lines, in no order.
    pub fn contexts(&self) -> impl Iterator<Item = &Arc<LoadedContext>> {
        self.contexts.values()
    }

    /// Published contexts of its lines with verified documents but without room, in no order.
    pub fn left_out(&self) -> impl Iterator<Item = &LoadedContext> {
        self.contexts.values().map(Arc::as_ref).filter(|loaded| loaded.left_out)
    }

    /// Bytes that its loaded documents take in memory, by estimate: [`Context::compiled_bytes`].
    pub fn compiled_bytes(&self) -> u64 {
        let loaded = self.contexts.values().chain(self.references.values());
        let bytes =
            loaded.filter_map(|loaded| loaded.context.as_ref()).map(|context| context.compiled_bytes());
        bytes.fold(0, u64::saturating_add)
    }

    /// The authority's floor of a line: versions below it do not count.
    pub fn floor(&self, line: &Line) -> Option<Version> {
        self.floors.get(line).copied()
    }

    /// All floors, by line.
    pub fn floors(&self) -> &BTreeMap<Line, Version> {
        &self.floors
    }
}

/// The freshness of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freshness {
    /// Before `next_update`.
    Fresh,
    /// At or past it.
    Stale,
}
