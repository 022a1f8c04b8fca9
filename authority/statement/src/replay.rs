//! The one fold: entries of a log prefix → index by URN, statuses, floors. The authority and all verifiers use this same function, so that
//! they get the same bytes. It refuses sequences that no honest authority logs.

mod fault;
mod keys;

use crate::entry::Entry;
use crate::floors::FloorsDocument;
use crate::listing::{ListedContext, Listing};
use crate::permission::Permission;
use crate::recognition::{Recognition, meet};
use crate::root::{RootAct, RootStatement};
use crate::statement::{Act, Statement};
use crate::status::{Changes, Status, StatusList};
use keys::SignerHistory;
use semgate_certs::{Chain, SignerId, Thumbprint};
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

pub use fault::ReplayFault;

/// A published context, by its statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Published {
    /// Position of the publish statement.
    pub index: u64,
    /// Digest of the document.
    pub digest: Digest,
    /// Certificate that signed the document.
    pub signer: Thumbprint,
    /// Time of logging.
    pub logged_at: u64,
}

/// The state after a log prefix. A pure function of its entries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replay {
    last_logged_at: u64,
    statuses: StatusList,
    /// The newest changes of the statuses.
    changes: Changes,
    published: BTreeMap<ContextUrn, Published>,
    /// Suspended entries that were retired before: a resume returns to that.
    retired: BTreeMap<u64, ()>,
    /// Lower-case lines and their one spelling.
    lines: BTreeMap<String, Line>,
    floors: BTreeMap<Line, Version>,
    /// The signatures of each key, and the compromised keys.
    signed: SignerHistory,
    /// Statements of the root so far.
    root_statements: u64,
    /// Recognised authorities by name: log index, lines, and end.
    recognised: BTreeMap<String, ActiveRecognition>,
}

/// A recognition that was not withdrawn.
#[derive(Clone, PartialEq, Debug)]
struct ActiveRecognition {
    index: u64,
    lines: Vec<Line>,
    until: u64,
}

impl Replay {
    /// The empty log.
    pub fn new() -> Replay {
        Replay::default()
    }

    /// Registers the key behind the certificate at the head of a chain. Every signer must be introduced before a statement takes back a
    /// key's signatures; their order does not matter.
    pub fn introduce(&mut self, chain: &Chain) {
        self.signed.introduce(chain);
    }

    /// Returns true if the certificate with this thumbprint was introduced.
    pub fn is_introduced(&self, signer: &Thumbprint) -> bool {
        self.signed.is_introduced(signer)
    }

    /// Adds the next entry. Does not check signatures; see [`Entry::verify`]. Nothing changes on a fault.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ReplayFault> {
        self.apply_by(entry.logged_at(), entry.unverified(), entry.signed().key())
    }

    /// Adds a statement that is not in an entry yet and has no particular signer.
    pub fn apply_statement(&mut self, logged_at: u64, statement: &Statement) -> Result<(), ReplayFault> {
        self.apply_by(logged_at, statement, None)
    }

    fn apply_by(
        &mut self,
        logged_at: u64,
        statement: &Statement,
        key: Option<Thumbprint>,
    ) -> Result<(), ReplayFault> {
        self.check_by(logged_at, statement, key)?;
        self.check_introduced(statement, key)?;
        let index = self.size();
        self.last_logged_at = logged_at;
        self.statuses.push(Status::Valid);
        match statement {
            Statement::Publish { urn, digest, signer } => {
                let published = Published { index, digest: *digest, signer: *signer, logged_at };
                self.signed.published(index, [Some(*signer), key]);
                self.published.insert(urn.clone(), published);
                self.lines.insert(urn.line().folded(), urn.line().clone());
            }
            Statement::Change { act, index: of, .. } => {
                self.change(*act, *of);
                self.signed.changed(*act, *of, index, key);
            }
            Statement::Floor { line, min, .. } => {
                self.floors.insert(line.clone(), *min);
            }
            Statement::Withdraw { recognised, index: of, .. } => {
                self.recognised.remove(recognised);
                self.set(*of, Status::Invalid);
            }
            // a record: the permitted version is published by a statement of its own
            Statement::Override { .. } => {}
            Statement::Root(said) => self.root(said, index),
        }
        Ok(())
    }

    /// Checks that a statement can be logged next, at this time. An authority asks before it signs.
    pub fn check(&self, logged_at: u64, statement: &Statement) -> Result<(), ReplayFault> {
        self.check_by(logged_at, statement, None)
    }

    /// Checks a statement that this certificate's key signs.
    pub fn check_by(
        &self,
        logged_at: u64,
        statement: &Statement,
        key: Option<Thumbprint>,
    ) -> Result<(), ReplayFault> {
        if logged_at < self.last_logged_at {
            return Err(ReplayFault::LoggedBack);
        }
        if key.is_some_and(|key| self.signed.since(&key).is_some()) {
            return Err(ReplayFault::SignerCompromised);
        }
        match statement {
            Statement::Publish { urn, digest, .. } => match self.published.get(urn) {
                Some(before) if before.digest != *digest => Err(ReplayFault::SecondDigest),
                Some(before) => Err(ReplayFault::PublishedTwice { index: before.index }),
                None => self.check_new(statement, urn.line(), logged_at),
            },
            Statement::Change { act, urn, index, .. } => {
                let published = self.published.get(urn).ok_or(ReplayFault::NotPublished)?;
                if published.index != *index {
                    return Err(ReplayFault::WrongIndex { index: published.index });
                }
                self.check_change(*act, *index)
            }
            Statement::Floor { line, min, .. } => {
                if self.floors.get(line).is_some_and(|before| min <= before) {
                    return Err(ReplayFault::FloorNotRaised);
                }
                let highest = self.versions(line).max();
                if highest.is_none_or(|highest| *min > highest) {
                    return Err(ReplayFault::FloorAboveVersions);
                }
                Ok(())
            }
            Statement::Withdraw { recognised, index, lines, .. } => {
                let known = self.recognised.get(recognised).ok_or(ReplayFault::NotRecognised)?;
                match known.index == *index {
                    false => Err(ReplayFault::WrongIndex { index: known.index }),
                    true if known.lines != *lines => Err(ReplayFault::NotRecognised),
                    true => Ok(()),
                }
            }
            Statement::Override { permission, .. } => self.check_override(permission.unverified()),
            Statement::Root(said) => self.check_root(said, logged_at),
        }
    }

    /// Once a key is compromised, refuses every signer with an unknown key.
    fn check_introduced(&self, statement: &Statement, key: Option<Thumbprint>) -> Result<(), ReplayFault> {
        let names_key = match statement {
            Statement::Root(said) => matches!(said.act, RootAct::Compromised { spki: Some(_), .. }),
            _ => false,
        };
        let signer = match statement {
            Statement::Publish { signer, .. } => Some(*signer),
            _ => None,
        };
        let must = self.signed.must_be_introduced();
        let stranger = [signer, key].into_iter().flatten().any(|one| !self.signed.is_introduced(&one));
        match (must && stranger) || (names_key && self.signed.has_strangers()) {
            true => Err(ReplayFault::SignerUnknown),
            false => Ok(()),
        }
    }

    /// Checks a new publication: its signer counts, and its line does not differ from a published one only in case.
    fn check_new(&self, statement: &Statement, line: &Line, at: u64) -> Result<(), ReplayFault> {
        if let Statement::Publish { signer, .. } = statement
            && self.signed.since(signer).is_some()
        {
            return Err(ReplayFault::SignerCompromised);
        }
        match self.is_spelt_otherwise(line) {
            true => Err(ReplayFault::LineDiffersInCase),
            _ if self.recognised_for(line, at, None).is_some() => Err(ReplayFault::LineRecognised),
            _ => Ok(()),
        }
    }

    /// Returns true if it, or a tree that holds it, is published in another case: `acme.pay` excludes `ACME` and `ACME.trade`.
    fn is_spelt_otherwise(&self, line: &Line) -> bool {
        let (text, folded) = (line.as_str(), line.folded());
        let ends = folded.match_indices('.').map(|(at, _)| at).chain([folded.len()]);
        ends.filter_map(|end| Some((text.get(..end)?, folded.get(..end)?))).any(|(tree, folded)| {
            let below = format!("{folded}.");
            let within = || {
                let next = self.lines.range(below.clone()..).next();
                next.filter(|(known, _)| known.starts_with(&below)).map(|(_, known)| known)
            };
            let known = self.lines.get(folded).or_else(within);
            known.is_some_and(|known| !known.as_str().starts_with(tree))
        })
    }

    fn check_override(&self, permission: &Permission) -> Result<(), ReplayFault> {
        if self.published.contains_key(&permission.urn) {
            return Err(ReplayFault::OverrideLate);
        }
        let known = |(urn, digest): (&ContextUrn, &Digest)| {
            self.published.get(urn).is_some_and(|published| published.digest == *digest)
        };
        if permission.siblings.iter().all(known) { Ok(()) } else { Err(ReplayFault::OverrideUnknown) }
    }

    /// The recognition in effect at `at` that overlaps a line, except for the authority `but`.
    fn recognised_for(&self, line: &Line, at: u64, but: Option<&str>) -> Option<&ActiveRecognition> {
        let others = self.recognised.iter().filter(|(name, _)| but != Some(name.as_str()));
        let meets = |one: &&ActiveRecognition| {
            one.until > at && one.lines.iter().any(|other| meet(line.as_str(), other.as_str()).is_some())
        };
        others.map(|(_, one)| one).find(meets)
    }

    /// Checks that each line belongs to one authority: neither published here, nor recognised for another authority.
    fn check_recognition(&self, recognition: &Recognition, at: u64) -> Result<(), ReplayFault> {
        if recognition.until <= at {
            return Err(ReplayFault::RecognitionEnded);
        }
        let taken = |line: &Line| {
            let published = self.lines.values().any(|known| meet(known.as_str(), line.as_str()).is_some());
            published || self.recognised_for(line, at, Some(&recognition.recognised)).is_some()
        };
        match recognition.lines.iter().any(|scoped| taken(&scoped.line)) {
            true => Err(ReplayFault::LineTaken),
            false => Ok(()),
        }
    }

    fn check_root(&self, statement: &RootStatement, at: u64) -> Result<(), ReplayFault> {
        if statement.number != self.root_statements + 1 {
            return Err(ReplayFault::RootNumber);
        }
        match &statement.act {
            RootAct::Keys(_) => Ok(()),
            RootAct::Compromised { key, spki, from } => {
                let known = self.signed.is_known(key, spki.as_ref(), *from);
                if known || *from > self.size() { Err(ReplayFault::CompromisedFrom) } else { Ok(()) }
            }
            RootAct::LowerFloor { line, min } => match self.floors.get(line) {
                Some(floor) if min < floor => Ok(()),
                _ => Err(ReplayFault::FloorNotLowered),
            },
            RootAct::Recognise(recognition) => self.check_recognition(recognition, at),
        }
    }

    /// Applies a statement of the root. Publications of a compromised key become INVALID, and contexts that it resumed are suspended again.
    /// Its restrictive acts (revoked, suspended, retired, a floor raised) stay until a valid key reverses them. INVALID never returns, and
    /// a mistake must not make anything count.
    fn root(&mut self, statement: &RootStatement, index: u64) {
        self.root_statements = statement.number;
        match &statement.act {
            RootAct::Keys(_) => {}
            RootAct::Compromised { key, spki, from } => {
                let (published, resumed) = self.signed.compromise(*key, *spki, *from);
                for index in published {
                    self.set(index, Status::Invalid);
                }
                for index in resumed {
                    if matches!(self.statuses.get(index), Some(Status::Valid | Status::Deprecated)) {
                        self.set(index, Status::Suspended);
                    }
                }
            }
            RootAct::LowerFloor { line, min } => {
                self.floors.insert(line.clone(), *min);
            }
            RootAct::Recognise(recognition) => {
                let (lines, until) = (recognition.names(), recognition.until);
                self.recognised
                    .insert(recognition.recognised.clone(), ActiveRecognition { index, lines, until });
            }
        }
    }

    fn check_change(&self, act: Act, index: u64) -> Result<(), ReplayFault> {
        let status = self.statuses.get(index).ok_or(ReplayFault::NotPublished)?;
        match (act, status) {
            (_, Status::Invalid) => Err(ReplayFault::Revoked),
            (Act::Suspend, Status::Suspended) => Err(ReplayFault::SuspendedAlready),
            (Act::Resume, Status::Valid | Status::Deprecated) => Err(ReplayFault::NotSuspended),
            (Act::Retire, Status::Deprecated) => Err(ReplayFault::RetiredAlready),
            (Act::Retire, Status::Suspended) if self.retired.contains_key(&index) => {
                Err(ReplayFault::RetiredAlready)
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, act: Act, index: u64) {
        let retired = self.retired.contains_key(&index);
        let status = match act {
            Act::Revoke => Status::Invalid,
            Act::Suspend => Status::Suspended,
            Act::Resume if retired => Status::Deprecated,
            Act::Resume => Status::Valid,
            Act::Retire => {
                self.retired.insert(index, ());
                // A suspended context stays so until it is resumed; then it is retired.
                match self.statuses.get(index) {
                    Some(Status::Suspended) => Status::Suspended,
                    _ => Status::Deprecated,
                }
            }
        };
        self.set(index, status);
    }

    /// Sets the status of this index by the newest entry.
    fn set(&mut self, index: u64, status: Status) {
        if self.statuses.get(index) != Some(status) {
            self.statuses.set(index, status);
            self.changes.note(self.statuses.len(), index, status);
        }
    }

    /// Counts an entry without its meaning: only the lying authority in `testing` needs this.
    #[doc(hidden)]
    pub fn skip_for_tests(&mut self) {
        self.statuses.push(Status::Valid);
    }

    /// Number of entries.
    pub fn size(&self) -> u64 {
        self.statuses.len()
    }

    /// Number of root statements so far: the next one has the next number.
    pub fn root_statements(&self) -> u64 {
        self.root_statements
    }

    /// The index from which on signatures of this signer do not count.
    pub fn compromised(&self, signer: &SignerId) -> Option<u64> {
        self.signed.since_of(signer)
    }

    /// Log index and lines of another authority's recognition; none if there was none or it was withdrawn. Includes one that has ended.
    pub fn recognition(&self, authority: &str) -> Option<(u64, &[Line])> {
        self.recognised.get(authority).map(|one| (one.index, one.lines.as_slice()))
    }

    /// `logged_at` of the last entry; the next may not be earlier.
    pub fn last_logged_at(&self) -> u64 {
        self.last_logged_at
    }

    /// The status list of this prefix.
    pub fn statuses(&self) -> &StatusList {
        &self.statuses
    }

    /// The newest changes in it: enough for readers that know an earlier prefix.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// A published context.
    pub fn published(&self, urn: &ContextUrn) -> Option<&Published> {
        self.published.get(urn)
    }

    /// All published contexts, by URN.
    pub fn contexts(&self) -> impl Iterator<Item = (&ContextUrn, &Published)> {
        self.published.iter()
    }

    /// Number of published contexts.
    pub fn published_count(&self) -> u64 {
        self.published.len() as u64
    }

    /// The smallest possible URN of a line: names of a log share one prefix, and are ordered by line, then version.
    fn first_of(&self, line: &Line) -> Option<ContextUrn> {
        let any = self.published.keys().next()?;
        let prefix = any.as_str().strip_suffix(&any.short())?.strip_suffix(':')?;
        Some(ContextUrn::new(&Prefix::parse(prefix).ok()?, line.clone(), Version::new(0, 0)))
    }

    /// Published versions of a line, in rising order; looks at no other line.
    pub fn versions<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = Version> + 'a {
        let from = self.first_of(line);
        let range = from.map(|from| self.published.range(from..)).into_iter().flatten();
        range.map(|(urn, _)| urn).take_while(move |urn| urn.line() == line).map(ContextUrn::version)
    }

    /// The floors of this prefix.
    pub fn floors(&self) -> &BTreeMap<Line, Version> {
        &self.floors
    }

    /// The floors document of this prefix.
    pub fn floors_document(&self, authority: &str) -> FloorsDocument {
        FloorsDocument { authority: authority.to_owned(), floors: self.floors.clone() }
    }

    /// The listing of this prefix, by index.
    pub fn listing(&self) -> Listing {
        let mut contexts: Vec<ListedContext> = self
            .published
            .iter()
            .filter_map(|(urn, p)| {
                let status = self.statuses.get(p.index)?;
                Some(ListedContext { urn: urn.clone(), digest: p.digest, index: p.index, status })
            })
            .collect();
        contexts.sort_by_key(|c| c.index);
        Listing { contexts }
    }
}
