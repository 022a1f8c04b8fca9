//! The fold of root statements: a reader's configured trust, and the changes that a threshold of root keys made since.

use super::{KeyList, MAX_ROOT_STATEMENTS, RootAct, RootStatement, Suspects};
use crate::checkpoint::LogVerifier;
use crate::entry::Entry;
use crate::jws::{JwsFault, MultiJws};
use crate::recognition::{MAX_RECOGNISED, Recognised, Recognition, RecognitionFault};
use crate::statement::Statement;
use crate::trust::RootEntry;
use semgate_certs::{CrossCertificate, KeyId, PemFault, RootKey, Roots, SignerId, Thumbprint};
use semgate_contexts::{Line, Prefix, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Reason for refusing a root statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RootFault {
    /// It is no statement of the root.
    OtherKind,
    /// It is of another authority.
    Authority,
    /// Its number is not the next one.
    Number,
    /// More root statements than [`MAX_ROOT_STATEMENTS`].
    TooMany,
    /// It stands before one with a smaller number in the log, or was logged earlier.
    Order,
    /// Fewer root keys signed it than the threshold.
    Threshold {
        /// Different root keys with a valid signature.
        signed: u64,
        /// Number needed.
        needed: u64,
    },
    /// Fewer root keys of a trust list signed it than its own threshold.
    OwnThreshold {
        /// Different root keys of the new list with a valid signature.
        signed: u64,
        /// Number needed.
        needed: u64,
    },
    /// A root certificate of a trust list cannot serve as one.
    Root(PemFault),
    /// A log key of a trust list is malformed, or of another origin.
    LogKey,
    /// A recognition of another authority, or a trust list with a certificate that recognises one.
    Recognition(RecognitionFault),
    /// The signatures cannot be read.
    Jws(JwsFault),
    /// The entry cannot be read.
    Entry,
}

impl fmt::Display for RootFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootFault::OtherKind => f.write_str("not a statement of the root"),
            RootFault::Authority => f.write_str("root statement of another authority"),
            RootFault::Number => f.write_str("root statement whose number is not the next one"),
            RootFault::TooMany => f.write_str("more root statements than the limit"),
            RootFault::Order => f.write_str("root statements that are not in the order of the log"),
            RootFault::Threshold { signed, needed } => {
                write!(f, "root statement signed by {signed} of the {needed} required root keys")
            }
            RootFault::OwnThreshold { signed, needed } => {
                write!(f, "trust list signed by {signed} of the {needed} required root keys of its own")
            }
            RootFault::Root(fault) => write!(f, "trust list: {fault}"),
            RootFault::LogKey => f.write_str("trust list with a key of another log"),
            RootFault::Recognition(fault) => write!(f, "{fault}"),
            RootFault::Jws(fault) => write!(f, "root statement: {fault}"),
            RootFault::Entry => f.write_str("root statement that cannot be read"),
        }
    }
}

impl std::error::Error for RootFault {}

/// The trusted keys of an authority at one moment. Begins with the configuration; only [`Anchors::accept`] changes it.
#[derive(Clone, Debug)]
pub struct Anchors {
    authority: String,
    origin: String,
    threshold: u64,
    keys: Vec<RootKey>,
    roots: Roots,
    log: LogVerifier,
    /// The configured log key.
    configured_log: LogVerifier,
    /// Every log key that a trust list named so far.
    named: BTreeSet<String>,
    list: Option<KeyList>,
    number: u64,
    last: Option<(u64, u64)>,
    compromised: Suspects,
    /// The newest statement that lowered the floor of a line: its index and the floor.
    lowered: BTreeMap<Line, (u64, Version)>,
    /// The newest recognition of each other authority. Ended ones stay until another authority is recognised.
    recognised: BTreeMap<String, Recognised>,
}

impl Anchors {
    /// The configured trust: the root certificates, the number of their keys that speak for the root, and the log key. With a threshold
    /// above one, no chain counts before a trust list: a single root key could have made any issuing certificate.
    pub fn new(authority: &str, origin: &str, roots: &Roots, threshold: u64, log: &LogVerifier) -> Anchors {
        let limits = roots.limits().clone();
        // a root with a key that signs no statements (P-384) still anchors chains
        let keys = roots.certificates().filter_map(|der| RootKey::of(der, &limits).ok()).collect();
        Anchors {
            authority: authority.to_owned(),
            origin: origin.to_owned(),
            threshold: threshold.max(1),
            keys,
            roots: if threshold > 1 { roots.clone().with_only([]) } else { roots.clone() },
            log: log.clone(),
            configured_log: log.clone(),
            named: BTreeSet::new(),
            list: None,
            number: 0,
            last: None,
            compromised: Suspects::default(),
            lowered: BTreeMap::new(),
            recognised: BTreeMap::new(),
        }
    }

    /// The trust of the authority itself. Its own chains count below its own roots even before the first trust list, because it must log
    /// that list.
    pub fn of_authority(
        authority: &str,
        origin: &str,
        roots: &Roots,
        threshold: u64,
        log: &LogVerifier,
    ) -> Anchors {
        Anchors { roots: roots.clone(), ..Anchors::new(authority, origin, roots, threshold, log) }
    }

    /// Adds every new root entry of a trust document with a log index below `size`.
    pub fn with_entries(
        &self,
        entries: &[RootEntry],
        size: u64,
        prefix: &Prefix,
    ) -> Result<Anchors, RootFault> {
        let known = usize::try_from(self.number).unwrap_or(usize::MAX);
        let new = entries.iter().skip(known).take_while(|root| root.index < size);
        let new = new.map(|root| Ok((root.index, root.entry(prefix).map_err(|_| RootFault::Entry)?)));
        let new: Vec<(u64, Entry)> = new.collect::<Result<_, RootFault>>()?;
        match self.clone().accept_all(&new) {
            Err(fault @ RootFault::Threshold { .. }) if self.number == 0 => {
                self.beginning_later(&new).unwrap_or(Err(fault))
            }
            walked => walked,
        }
    }

    fn accept_all(mut self, entries: &[(u64, Entry)]) -> Result<Anchors, RootFault> {
        for (index, entry) in entries {
            self.accept(*index, entry)?;
        }
        Ok(self)
    }

    /// Begins at the trust list that names the configured roots and threshold. Earlier statements were signed by keys unknown to this
    /// reader. Only their compromised keys count, so each must be present and in its place. None if there is no such list.
    fn beginning_later(&self, entries: &[(u64, Entry)]) -> Option<Result<Anchors, RootFault>> {
        let (before, rest) = entries.split_at_checked(self.own_list(entries)?)?;
        let mut anchors = self.clone();
        let passed = before.iter().try_for_each(|(index, entry)| anchors.pass(*index, entry));
        Some(passed.and_then(|()| anchors.accept_all(rest)))
    }

    /// The keys since that list, as an earlier version accepted them: it did not check earlier statements for gaps and repetitions. They
    /// identify a remembered head as the authority's, but nothing in it counts by them. None if there is no such list, or the later
    /// statements have gaps.
    pub(crate) fn past_a_gap(&self, entries: &[RootEntry], prefix: &Prefix) -> Option<Anchors> {
        let in_order: BTreeMap<u64, &RootEntry> = entries.iter().map(|root| (root.index, root)).collect();
        let read = in_order.into_iter().map(|(index, root)| Some((index, root.entry(prefix).ok()?)));
        let read = read.collect::<Option<Vec<_>>>()?;
        let rest = read.get(self.own_list(&read)?..)?;
        let Statement::Root(statement) = rest.first()?.1.unverified() else { return None };
        Anchors { number: statement.number.checked_sub(1)?, ..self.clone() }.accept_all(rest).ok()
    }

    /// Position of the first trust list that names exactly the configured roots and threshold.
    fn own_list(&self, entries: &[(u64, Entry)]) -> Option<usize> {
        let ours: BTreeSet<Thumbprint> = self.keys.iter().map(RootKey::thumbprint).collect();
        let is_ours = |entry: &Entry| match entry.unverified() {
            Statement::Root(said) => match &said.act {
                RootAct::Keys(list) => {
                    let theirs: BTreeSet<_> = list.roots.iter().map(|der| Thumbprint::of(der)).collect();
                    list.threshold == self.threshold && theirs == ours
                }
                _ => false,
            },
            _ => false,
        };
        entries.iter().position(|(_, entry)| is_ours(entry))
    }

    /// Passes a statement before the list at which this reader begins: its keys are unknown, but its place is checked.
    fn pass(&mut self, index: u64, entry: &Entry) -> Result<(), RootFault> {
        let Statement::Root(statement) = entry.unverified() else { return Err(RootFault::OtherKind) };
        let at = entry.logged_at();
        self.follows(index, at)?;
        self.is_next(statement)?;
        match &statement.act {
            RootAct::Compromised { key, spki, from } => self.compromised.insert(*key, *spki, *from),
            // a reader with an earlier log key goes on, though the list itself counts for nothing here
            RootAct::Keys(list) => {
                if let Ok(log) = self.log_of(list) {
                    self.named.extend(log.keys().map(str::to_owned));
                }
            }
            RootAct::LowerFloor { .. } | RootAct::Recognise(_) => {}
        }
        self.number = statement.number;
        self.last = Some((index, at));
        Ok(())
    }

    /// Checks that a statement at `index`, logged at `at`, stands after the last one.
    fn follows(&self, index: u64, at: u64) -> Result<(), RootFault> {
        match self.last {
            Some((before, time)) if index <= before || at < time => Err(RootFault::Order),
            _ => Ok(()),
        }
    }

    /// Checks that it is of this authority, and the next one.
    fn is_next(&self, statement: &RootStatement) -> Result<(), RootFault> {
        if statement.authority != self.authority {
            return Err(RootFault::Authority);
        }
        if statement.number != self.number + 1 {
            return Err(RootFault::Number);
        }
        if statement.number > MAX_ROOT_STATEMENTS as u64 {
            return Err(RootFault::TooMany);
        }
        Ok(())
    }

    /// Takes the next root statement, at log index `index` (proved elsewhere). The threshold of the previous root keys must have signed it;
    /// for a trust list, also its own threshold of its own keys (TUF §5.3.4).
    pub fn accept(&mut self, index: u64, entry: &Entry) -> Result<(), RootFault> {
        let (Statement::Root(statement), Some(jws)) = (entry.unverified(), entry.signed().multi()) else {
            return Err(RootFault::OtherKind);
        };
        let at = entry.logged_at();
        self.follows(index, at)?;
        self.judge(statement, jws, at)?;
        match &statement.act {
            RootAct::Keys(list) => self.take_list(list)?,
            RootAct::Compromised { key, spki, from } => self.compromised.insert(*key, *spki, *from),
            RootAct::LowerFloor { line, min } => {
                self.lowered.insert(line.clone(), (index, *min));
            }
            RootAct::Recognise(recognition) => {
                let cross = self.judge_recognition(recognition, at).map_err(RootFault::Recognition)?;
                let recognition = Arc::new(recognition.clone());
                let name = recognition.recognised.clone();
                if !self.recognised.contains_key(&name) {
                    self.recognised.retain(|_, one| one.recognition.until > at);
                }
                self.recognised.insert(name, Recognised { index, recognition, cross: cross.into() });
            }
        }
        self.number = statement.number;
        self.last = Some((index, at));
        Ok(())
    }

    /// Checks that a statement would be accepted at `at`; changes nothing. The fault tells collectors of signatures how many are missing.
    pub fn judge(&self, statement: &RootStatement, jws: &MultiJws, at: u64) -> Result<(), RootFault> {
        self.is_next(statement)?;
        let signed = jws.signers(&self.keys, at);
        if signed < self.threshold {
            return Err(RootFault::Threshold { signed, needed: self.threshold });
        }
        match &statement.act {
            RootAct::Keys(list) => {
                let signed = jws.signers(&self.keys_of(list)?, at);
                if signed < list.threshold {
                    return Err(RootFault::OwnThreshold { signed, needed: list.threshold });
                }
                self.log_of(list)?;
                let mut cross = self.recognised.values().flat_map(|one| one.cross.iter());
                if cross.any(|cross| list.issuing.contains(&cross.thumbprint())) {
                    return Err(RootFault::Recognition(RecognitionFault::Listed));
                }
            }
            RootAct::Recognise(recognition) => {
                self.judge_recognition(recognition, at).map(drop).map_err(RootFault::Recognition)?;
            }
            RootAct::Compromised { .. } | RootAct::LowerFloor { .. } => {}
        }
        Ok(())
    }

    /// The cross-certificates of a recognition, checked under the root keys of the trust list in effect.
    fn judge_recognition(
        &self,
        recognition: &Recognition,
        at: u64,
    ) -> Result<Vec<CrossCertificate>, RecognitionFault> {
        let list = self.list.as_ref().ok_or(RecognitionFault::NoList)?;
        if recognition.recognised == self.authority {
            return Err(RecognitionFault::Itself);
        }
        if recognition.until <= at {
            return Err(RecognitionFault::Ended);
        }
        let others = self
            .recognised
            .iter()
            .filter(|(name, one)| **name != recognition.recognised && one.recognition.until > at);
        if others.count() >= MAX_RECOGNISED {
            return Err(RecognitionFault::TooMany);
        }
        let cross = recognition.check(&self.keys, self.roots.limits())?;
        match cross.iter().any(|cross| list.issuing.contains(&cross.thumbprint())) {
            true => Err(RecognitionFault::Listed),
            false => Ok(cross),
        }
    }

    fn keys_of(&self, list: &KeyList) -> Result<Vec<RootKey>, RootFault> {
        let read = list.roots.iter().map(|der| RootKey::of(der, self.roots.limits()));
        read.collect::<Result<_, _>>().map_err(RootFault::Root)
    }

    fn log_of(&self, list: &KeyList) -> Result<LogVerifier, RootFault> {
        let keys = list.log.iter().map(|text| LogVerifier::parse(text).map_err(|_| RootFault::LogKey));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        LogVerifier::any_of(keys).filter(|all| all.name() == self.origin).ok_or(RootFault::LogKey)
    }

    /// Takes a new list. Roots that left it still end chains: the list decides which issuing certificates count.
    fn take_list(&mut self, list: &KeyList) -> Result<(), RootFault> {
        let keys = self.keys_of(list)?;
        let log = self.log_of(list)?;
        let roots = self.roots.clone().with_more(list.roots.clone()).map_err(RootFault::Root)?;
        self.roots = roots.with_only(list.issuing.iter().copied());
        self.threshold = list.threshold;
        self.keys = keys;
        self.named.extend(log.keys().map(str::to_owned));
        self.log = log;
        self.list = Some(list.clone());
        Ok(())
    }

    /// The name of the authority.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Roots and issuing certificates of valid chains.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// The keys that sign checkpoints.
    pub fn log(&self) -> &LogVerifier {
        &self.log
    }

    /// Every key that may ever have signed checkpoints of this log: the configured one, and those named by trust lists. For checkpoints
    /// that the reader itself signed; for others only [`Anchors::log`] counts.
    pub fn log_ever(&self) -> LogVerifier {
        let named = self.named.iter().filter_map(|text| LogVerifier::parse(text).ok());
        let all = std::iter::once(self.configured_log.clone()).chain(named).collect();
        LogVerifier::any_of(all).unwrap_or_else(|| self.configured_log.clone())
    }

    /// The configured log keys that no trust list of this log named, although there is one. They do not count: mistyped, of another log, or
    /// missing from the first list. Empty before the first list; a rotated key was named once.
    pub fn unlisted_log_keys(&self) -> impl Iterator<Item = &str> {
        let listed = self.list.is_some();
        self.configured_log.keys().filter(move |key| listed && !self.named.contains(*key))
    }

    /// Number of root statements so far, which is the number of the last one.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of root keys that speak for the root.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// The root keys.
    pub fn keys(&self) -> &[RootKey] {
        &self.keys
    }

    /// The trust list in effect; none before the first.
    pub fn list(&self) -> Option<&KeyList> {
        self.list.as_ref()
    }

    /// The index from which on signatures of this signer do not count; none if neither its key nor those of its issuers are compromised.
    pub fn compromised(&self, signer: &SignerId) -> Option<u64> {
        self.compromised.of(signer)
    }

    /// Does the same for the separate names of a signer.
    pub(crate) fn compromised_among(&self, certificates: &[Thumbprint], keys: &[KeyId]) -> Option<u64> {
        self.compromised.since(certificates, keys)
    }

    /// Returns true if any key is compromised.
    pub(crate) fn has_compromised(&self) -> bool {
        self.compromised.has_any()
    }

    /// The newest recognition of each other authority, except those that ended before a later recognition. The status of each shows a
    /// withdrawal.
    pub fn recognised(&self) -> impl Iterator<Item = &Recognised> {
        self.recognised.values()
    }

    /// Returns true if the root let the floor of a line fall to `min` between two sizes of the log.
    pub fn lowers(&self, line: &Line, min: Version, since: u64) -> bool {
        self.lowered.get(line).is_some_and(|(index, floor)| *index >= since && min >= *floor)
    }

    /// Returns true if chains valid under `before` may not count here, because an issuing certificate left the list.
    pub fn narrows(&self, before: &Anchors) -> bool {
        match (&before.list, &self.list) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(now)) => before.issuing.iter().any(|one| !now.issuing.contains(one)),
        }
    }
}
