//! The log folded in memory (`semgate-statement`), and the position of each act, so that a repeated act is answered with the same index.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use semgate_certs::{Chain, Thumbprint};
use semgate_contexts::{ContextUrn, Digest, Line};
use semgate_statement::{
    Act, Entry, Replay, ReplayFault, RootAct, RootEntry, SignedPermission, Statement, Status,
};

use crate::document::Document;
use crate::store::Documents;

/// Publish statements remembered by major: many times the number that can be appended during one comparison.
const RECENT: usize = 16_384;

/// A logged permission of a named person.
#[derive(Debug, Clone)]
pub(crate) struct Override {
    /// Position of the statement.
    pub index: u64,
    /// Seconds since the epoch.
    pub logged_at: u64,
    /// The signer that the authority verified.
    pub by: String,
    /// The signed permission.
    pub permission: SignedPermission,
}

/// Every override of the log, by the version and the digest of the document that it permits, each in the order of the log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    by_document: BTreeMap<(ContextUrn, Digest), Vec<Override>>,
    count: usize,
    /// Number of overrides by each signer.
    by_person: BTreeMap<String, usize>,
    /// The listing of them, made on first request.
    listing: OnceLock<Document>,
}

impl Overrides {
    fn insert(&mut self, urn: ContextUrn, digest: Digest, one: Override) {
        *self.by_person.entry(one.by.clone()).or_default() += 1;
        self.by_document.entry((urn, digest)).or_default().push(one);
        self.count += 1;
        self.listing = OnceLock::new();
    }

    /// All overrides, by version and digest.
    pub fn all(&self) -> &BTreeMap<(ContextUrn, Digest), Vec<Override>> {
        &self.by_document
    }

    /// The listing, made once for all callers.
    pub fn listing(&self, make: impl FnOnce(&Self) -> Document) -> &Document {
        self.listing.get_or_init(|| make(self))
    }
}

/// The use that one line makes of the log.
#[derive(Debug, Default)]
struct LineUse {
    /// Published versions, each with its log index.
    versions: Vec<(Digest, u64)>,
    /// Bytes of all entries about the line.
    entry_bytes: u64,
}

/// A fold of every entry of the log.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Directory of the signers' chains.
    documents: Option<Documents>,
    replay: Replay,
    acts: HashMap<(u64, Act), u64>,
    floors: HashMap<Line, u64>,
    last_floor: Option<u64>,
    signers: BTreeSet<Thumbprint>,
    /// The newest publish statements, oldest first, and the log index of the last one of each major.
    recent: VecDeque<((Line, u32), u64)>,
    last: HashMap<(Line, u32), u64>,
    /// Index below which publications are forgotten.
    remembered_from: u64,
    root: Vec<RootEntry>,
    listing_bytes: usize,
    /// The versions and the entries of each line.
    lines: HashMap<Line, LineUse>,
    /// Log index of the last withdrawal of each recognised authority.
    withdrawn: HashMap<String, u64>,
    /// Shared with the public state; replaced at each override, which is rare.
    overrides: Arc<Overrides>,
}

/// Bytes of a line of the listing with its comma, without digest, index and URN.
const LISTED_BYTES: usize = r#"{"digest":"sha-256:","index":,"status":"deprecated","urn":""},"#.len() + 64;

impl Ledger {
    /// A ledger of an empty log; the signers' chains lie beside these documents.
    pub fn new(documents: Documents) -> Self {
        Self { documents: Some(documents), ..Self::default() }
    }

    /// Registers the keys behind the signers of the next statements, whose chains are not on disk yet.
    pub fn introduce<'c>(&mut self, chains: impl Iterator<Item = &'c Chain>) {
        chains.for_each(|chain| self.replay.introduce(chain));
    }

    /// Does the same for signers with chains on disk. If one is missing, the fold refuses where it matters.
    fn introduce_stored(&mut self, entry: &Entry) {
        let document = match entry.unverified() {
            Statement::Publish { signer, .. } => Some(*signer),
            _ => None,
        };
        let Some(documents) = &self.documents else { return };
        for signer in entry.signed().key().into_iter().chain(document) {
            if !self.replay.is_introduced(&signer)
                && let Ok(Some(chain)) = documents.chain(&signer)
            {
                self.replay.introduce(&chain);
            }
        }
    }

    /// Adds the next entry; nothing changes on a fault.
    pub fn apply_entry(&mut self, entry: &Entry) -> Result<(), ReplayFault> {
        let at = self.replay.size();
        self.introduce_stored(entry);
        self.replay.apply(entry)?;
        if let Some(line) = charged_line(entry.unverified()) {
            self.lines.entry(line.clone()).or_default().entry_bytes += entry.bytes().len() as u64;
        }
        match entry.unverified() {
            Statement::Publish { urn, digest, .. } => {
                self.listing_bytes += LISTED_BYTES + at.to_string().len() + urn.as_str().len();
                self.lines.entry(urn.line().clone()).or_default().versions.push((*digest, at));
                self.remember(urn, at);
            }
            Statement::Change { act, index, .. } => {
                self.acts.insert((*index, *act), at);
            }
            Statement::Floor { line, .. } => {
                self.floors.insert(line.clone(), at);
                self.last_floor = Some(at);
            }
            Statement::Withdraw { recognised, .. } => {
                self.withdrawn.insert(recognised.clone(), at);
            }
            Statement::Override { by, permission } => {
                let permitted = permission.unverified();
                let one = Override {
                    index: at,
                    logged_at: entry.logged_at(),
                    by: by.as_str().to_owned(),
                    permission: (**permission).clone(),
                };
                Arc::make_mut(&mut self.overrides).insert(permitted.urn.clone(), permitted.digest, one);
            }
            Statement::Root(said) => {
                if let RootAct::LowerFloor { line, .. } = &said.act {
                    self.floors.insert(line.clone(), at);
                    self.last_floor = Some(at);
                }
                self.root.push(RootEntry::of(at, entry));
            }
        }
        self.signers.extend(entry.signed().key());
        Ok(())
    }

    fn remember(&mut self, urn: &ContextUrn, at: u64) {
        let major = (urn.line().clone(), urn.version().major);
        self.last.insert(major.clone(), at);
        self.recent.push_back((major, at));
        if self.recent.len() > RECENT
            && let Some((oldest, key)) = self.recent.pop_front()
        {
            self.remembered_from = key.saturating_add(1);
            if self.last.get(&oldest) == Some(&key) {
                self.last.remove(&oldest);
            }
        }
    }

    /// Returns true if a version of the same major was published at `seen` or later, or if that is not known any more.
    pub fn published_since(&self, urn: &ContextUrn, seen: u64) -> bool {
        let last = self.last.get(&(urn.line().clone(), urn.version().major));
        seen < self.remembered_from || last.is_some_and(|last| *last >= seen)
    }

    /// The fold.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Log index of the last such act on the context at `index`.
    pub fn act_at(&self, index: u64, act: Act) -> Option<u64> {
        self.acts.get(&(index, act)).copied()
    }

    /// Log index at which the floor of a line was last raised.
    pub fn floor_at(&self, line: &Line) -> Option<u64> {
        self.floors.get(line).copied()
    }

    /// Log index at which any floor was last raised.
    pub fn last_floor(&self) -> Option<u64> {
        self.last_floor
    }

    /// The statements of the root, in order.
    pub fn root(&self) -> &[RootEntry] {
        &self.root
    }

    /// Upper bound on the bytes of the listing.
    pub fn listing_bytes(&self) -> usize {
        self.listing_bytes + r#"{"contexts":[]}"#.len()
    }

    /// Number of published versions of a line, revoked ones too.
    pub fn line_contexts(&self, line: &Line) -> usize {
        self.lines.get(line).map_or(0, |line| line.versions.len())
    }

    /// The digests of the versions of a line that are not revoked.
    pub fn counting(&self, line: &Line) -> impl Iterator<Item = Digest> {
        let versions = self.lines.get(line).map_or(&[][..], |line| &line.versions);
        let statuses = self.replay.statuses();
        let counts = |index: u64| statuses.get(index).is_some_and(|status| status != Status::Invalid);
        versions.iter().filter(move |(_, index)| counts(*index)).map(|(digest, _)| *digest)
    }

    /// The bytes of all entries about each line.
    pub fn entry_bytes(&self) -> impl Iterator<Item = (&Line, u64)> {
        self.lines.iter().map(|(line, of)| (line, of.entry_bytes))
    }

    /// Log index of the last withdrawal of a recognition, unless the authority was recognised again since.
    pub fn withdrawn_at(&self, recognised: &str) -> Option<u64> {
        match self.replay.recognition(recognised) {
            Some(_) => None,
            None => self.withdrawn.get(recognised).copied(),
        }
    }

    /// Number of overrides.
    pub fn override_count(&self) -> usize {
        self.overrides.count
    }

    /// Number of overrides that this person signed.
    pub fn override_count_of(&self, person: &str) -> usize {
        self.overrides.by_person.get(person).copied().unwrap_or_default()
    }

    /// The overrides so far.
    pub fn overrides(&self) -> &Arc<Overrides> {
        &self.overrides
    }

    /// Log index at which this person permitted exactly this. Ignores the bytes of the signature, which differ at each signing.
    pub fn override_at(&self, by: &str, permission: &SignedPermission) -> Option<u64> {
        let permitted = permission.unverified();
        let logged = self.overrides.all().get(&(permitted.urn.clone(), permitted.digest))?;
        let same = |one: &&Override| one.by == by && one.permission.unverified() == permitted;
        logged.iter().find(same).map(|one| one.index)
    }

    /// Thumbprints of everything that signed an entry.
    pub fn signers(&self) -> &BTreeSet<Thumbprint> {
        &self.signers
    }
}

/// The line of a statement. None for statements of the root and withdrawals, which no account is charged for.
fn charged_line(statement: &Statement) -> Option<&Line> {
    match statement {
        Statement::Publish { urn, .. } | Statement::Change { urn, .. } => Some(urn.line()),
        Statement::Floor { line, .. } => Some(line),
        Statement::Override { permission, .. } => Some(permission.unverified().urn.line()),
        Statement::Withdraw { .. } | Statement::Root(_) => None,
    }
}
