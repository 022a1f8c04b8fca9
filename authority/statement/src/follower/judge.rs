//! The judgements of a follower: functions of the new bytes and of the verified state.

use super::state::{Document, KnownContext, Pinned, PublishedContexts, State};
use super::{FollowFault, FollowerConfig};
use crate::context::{ContextFault, MAX_SIGNED_BYTES, TYPE, verify_context_among};
use crate::entry::Entry;
use crate::head::{HeadFault, HeadRules, VerifiedHead};
use crate::jws::General;
use crate::listing::ListedContext;
use crate::root::Anchors;
use crate::statement::Statement;
use crate::status::{Shard, StatusList};
use crate::tiles::TreeHash;
use crate::trust::Trust;
use semgate_certs::{Chain, Roots, SignerId, Usage, verify_chain};
use semgate_contexts::{Context, ContextUrn, Digest, DocumentFault, Line, Prefix, Version};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rules for heads of this authority.
pub(super) fn head_rules<'a>(config: &'a FollowerConfig, anchors: &'a Anchors) -> HeadRules<'a> {
    let (authority, origin) = (&config.authority, &config.origin);
    HeadRules { roots: anchors.roots(), authority, origin, log: anchors.log() }
}

/// Judges a head by itself, and against the accepted one. Tiles prove the consistency of the logs later.
///
/// `Ahead` is judged by the clock alone, not by the accepted head. Otherwise the holder of a feed key could push "now" forward, sixty
/// seconds a head.
pub(super) fn head(
    bytes: &[u8],
    state: &State,
    anchors: &Anchors,
    config: &FollowerConfig,
    now: u64,
) -> Result<VerifiedHead, FollowFault> {
    let at = state.not_before(now);
    let offered = VerifiedHead::verify(bytes, &head_rules(config, anchors), at).map_err(FollowFault::Head)?;
    offered.check_times(now, config.max_status_age).map_err(FollowFault::Head)?;
    if at >= offered.head().next_update {
        return Err(FollowFault::Head(HeadFault::Expired));
    }
    let Some(Pinned { head: had, .. }) = &state.head else { return Ok(offered) };
    let (had_size, size) = (had.head().seq, offered.head().seq);
    if size < had_size {
        return Err(FollowFault::Rollback { had: had_size, offered: size });
    }
    if size == had_size && offered.agrees_with(had).is_err() {
        return Err(FollowFault::Equivocation { size });
    }
    if offered.head().issued_at < had.head().issued_at {
        return Err(FollowFault::IssuedBack);
    }
    Ok(offered)
}

/// Refuses a head signed by a compromised key: anybody who holds the key could have signed it.
pub(super) fn feed(head: &VerifiedHead, anchors: &Anchors) -> Result<(), FollowFault> {
    match anchors.compromised(head.leaf().signer_id()) {
        Some(_) => Err(FollowFault::FeedCompromised),
        None => Ok(()),
    }
}

/// The status list of a head, from its shards. Refuses to lift an INVALID.
pub(super) fn statuses(
    head: &VerifiedHead,
    list_of: impl Fn(&[u8; 32]) -> Option<Arc<Vec<u8>>>,
    state: &State,
) -> Result<StatusList, FollowFault> {
    let mut shards = Vec::new();
    for shard in &head.head().shards {
        let bytes = list_of(&shard.sha256).ok_or(FollowFault::Shard { n: shard.n })?;
        shards.push(Shard { n: shard.n, entries: shard.entries, bytes });
    }
    let n = shards.len().saturating_sub(1) as u64;
    let list = StatusList::from_shards(&shards).ok_or(FollowFault::Shard { n })?;
    if let Some(index) = state.statuses.first_unrevoked(&list) {
        return Err(FollowFault::Unrevoked { index });
    }
    Ok(list)
}

/// Checks that no floor falls, unless the root allowed it in an entry after the last accepted head.
pub(super) fn floors_not_lowered(
    new: &BTreeMap<Line, Version>,
    old: &BTreeMap<Line, Version>,
    anchors: &Anchors,
    since: u64,
) -> Result<(), FollowFault> {
    for (line, min) in old {
        let now = new.get(line).copied();
        let lowered = now.is_some_and(|now| anchors.lowers(line, now, since));
        if now.is_none_or(|now| now < *min) && !lowered {
            return Err(FollowFault::FloorLowered { line: line.clone() });
        }
    }
    Ok(())
}

/// A floor of a followed line must have a published version at or above it.
pub(super) fn floors_have_versions(
    new: &BTreeMap<Line, Version>,
    config: &FollowerConfig,
    known: &PublishedContexts,
    published: &PublishedContexts,
) -> Result<(), FollowFault> {
    for (line, min) in new {
        let reached = |published: &PublishedContexts| {
            published.keys().any(|urn| urn.line() == line && urn.version() >= *min)
        };
        if config.lines.holds(line).is_some() && !reached(known) && !reached(published) {
            return Err(FollowFault::FloorAboveVersions { line: line.clone() });
        }
    }
    Ok(())
}

/// Reads an entry whose leaf hash was proved to be in the log.
pub(super) fn logged(bytes: &[u8], proved: TreeHash, prefix: &Prefix) -> Result<Entry, FollowFault> {
    if TreeHash::of_leaf(bytes) != proved {
        return Err(FollowFault::NotInLog);
    }
    Entry::read(bytes, prefix).map_err(FollowFault::Statement)
}

/// Compares a listed context with the logged entry at its index.
pub(super) fn entry(
    listed: &ListedContext,
    entry: Entry,
    trust: &Trust,
    anchors: &Anchors,
) -> Result<KnownContext, FollowFault> {
    let Statement::Publish { urn, digest, signer } = entry.unverified().clone() else {
        return Err(FollowFault::WrongIndex);
    };
    if urn != listed.urn || digest != listed.digest {
        return Err(FollowFault::WrongIndex);
    }
    let verified = entry.verify(trust, anchors.roots()).map_err(FollowFault::Statement)?;
    let mut keys = verified.signer_id().keys().to_vec();
    // the thumbprint vouches for the signer's own key; its issuers come with the verified document
    let own = trust.chain(&signer).and_then(|chain| chain.named_keys().next());
    keys.extend(own.filter(|(named, _)| *named == signer).map(|(_, key)| key));
    Ok(KnownContext { index: listed.index, entry, digest, signer, keys, document: Document::Wanted })
}

/// Compares a verified entry with known ones: one digest and one index a URN, and time that never goes back.
pub(super) fn fits_known(
    urn: &ContextUrn,
    new: &KnownContext,
    known: &PublishedContexts,
    published: &PublishedContexts,
) -> Result<(), FollowFault> {
    let before = known.get(urn).or_else(|| published.get(urn));
    if before.is_some_and(|before| before.index != new.index || before.digest != new.digest) {
        return Err(FollowFault::SecondDigest);
    }
    let time = new.entry.logged_at();
    for other in known.values().chain(published.values()) {
        let back = (other.index < new.index && other.entry.logged_at() > time)
            || (other.index > new.index && other.entry.logged_at() < time);
        if back {
            return Err(FollowFault::LoggedBack);
        }
    }
    Ok(())
}

/// Judges a known statement and its document again under changed keys. Different issuing certificates may stand above the two signers, and
/// each must count. A document without the chain of its signer at hand is fetched again.
pub(super) fn under(known: &KnownContext, trust: &Trust, roots: &Roots, retry_at: u64) -> Document {
    if let Err(fault) = known.entry.verify(trust, roots) {
        return Document::Refused { why: Arc::from(fault.to_string()) };
    }
    let judged = match trust.chain(&known.signer) {
        Some(chain) => verify_chain(chain, roots, Usage::Context, known.entry.logged_at()).map(drop),
        None => return Document::Wanted,
    };
    match (&known.document, judged) {
        (Document::Refused { .. }, Ok(())) => Document::Wanted,
        (document, Ok(())) => document.clone(),
        (_, Err(fault)) => Document::Failed { why: Arc::from(fault.to_string()), retry_at },
    }
}

/// The verdict on a document.
pub(super) enum JudgedDocument {
    /// It is valid; with the names of its signer along the verified path, and the chain.
    Good(Arc<Context>, SignerId, Chain),
    /// It is the published one and refers to this context, which is not loaded yet.
    Needs(ContextUrn, Digest),
}

/// Judges a signed context against its publish statement, with its chain at the time of the statement. It may refer to loaded contexts that
/// were published before it.
pub(super) fn document(
    bytes: &[u8],
    known: &KnownContext,
    published: &PublishedContexts,
    roots: &Roots,
    config: &FollowerConfig,
) -> Result<JudgedDocument, FollowFault> {
    if let Document::Refused { why } = &known.document {
        return Err(FollowFault::StatementRefused { why: Arc::clone(why) });
    }
    let at = known.entry.logged_at();
    let before = |urn: &ContextUrn| {
        let other = published.get(urn).filter(|other| other.index < known.index)?;
        match &other.document {
            Document::Loaded(context) => Some(Arc::clone(context)),
            _ => None,
        }
    };
    let verified = verify_context_among(bytes, roots, at, &config.prefix, &config.documents, &before);
    let signed = match verified {
        Err(ContextFault::Document(DocumentFault::ReferenceMissing { urn, digest })) => {
            // nothing is fetched for a document that is not the published one
            let jws = General::read(bytes, TYPE, roots, MAX_SIGNED_BYTES);
            let published = jws.is_ok_and(|jws| Digest::of(jws.unverified_payload()) == known.digest);
            return if published { Ok(JudgedDocument::Needs(urn, digest)) } else { Err(FollowFault::Digest) };
        }
        verified => verified.map_err(FollowFault::Document)?,
    };
    if *signed.context().digest() != known.digest {
        return Err(FollowFault::Digest);
    }
    match known.entry.unverified() {
        Statement::Publish { urn, .. } if signed.context().urn() == urn => {}
        _ => return Err(FollowFault::Urn),
    }
    if signed.signer() != known.signer {
        return Err(FollowFault::Signer);
    }
    Ok(JudgedDocument::Good(Arc::clone(signed.context()), signed.signer_id().clone(), signed.chain().clone()))
}
