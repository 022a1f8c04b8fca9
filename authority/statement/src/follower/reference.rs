//! References between documents: a document waits until every context to which it refers is loaded, from any line.
//!
//! Nothing is fetched from an address in a document. A reference is looked up in the authority's own listing, and its publish statement is
//! proved from the log. A reference leads to an earlier publication, so no chain of references is circular.

use super::round::FetchTarget;
use super::scan::Lookup;
use super::state::Document;
use super::{FollowFault, Follower, ReferenceFault, Round};
use crate::context::ContextFault;
use crate::listing::ListedContext;
use semgate_contexts::{ContextUrn, Digest, DocumentFault};
use std::sync::Arc;

/// A published document that cannot be judged before another one is loaded.
#[derive(Debug)]
pub(super) struct WaitingDocument {
    pub(super) urn: ContextUrn,
    pub(super) bytes: Vec<u8>,
    /// The referenced context and its digest.
    pub(super) needs: ContextUrn,
    pub(super) digest: Digest,
}

/// The next need of the waiting documents.
pub(super) enum Needs {
    /// None waits.
    Nothing,
    Fetch(FetchTarget),
    /// The publish statement of a referenced context in a line that is not followed.
    Entry(ListedContext),
}

/// The progress of a reference.
enum Reference {
    Loaded,
    Needs(Needs),
    Broken(ReferenceFault),
}

impl Follower {
    /// Judges documents again whose references are loaded, and refuses those with a broken reference. Returns the next need of the
    /// remaining ones.
    pub(super) fn plan_waiting(&mut self, round: &mut Round, now: u64) -> Needs {
        while let Some(last) = round.waiting.pop() {
            // each waits for one that the next refers to, and indirect references of a document are bounded by this
            let limit = self.config.documents.max_references;
            if round.waiting.len() >= limit {
                let what = "referenced contexts";
                let fault = DocumentFault::TooMany { path: String::new(), what, limit };
                let fault = FollowFault::Document(ContextFault::Document(fault));
                self.refuse_document(round, &last.urn, fault, now);
                continue;
            }
            match self.reference(round, &last, now) {
                Reference::Loaded => self.take_document(round, &last.urn, Ok(&last.bytes), now),
                Reference::Broken(why) => {
                    let fault = FollowFault::Reference { urn: last.needs, why };
                    self.refuse_document(round, &last.urn, fault, now);
                }
                Reference::Needs(needs) => {
                    round.waiting.push(last);
                    return needs;
                }
            }
        }
        Needs::Nothing
    }

    fn reference(&self, round: &mut Round, waiting: &WaitingDocument, now: u64) -> Reference {
        let index = self.state.known.get(&waiting.urn).map_or(0, |known| known.index);
        if let Some(known) = self.state.known.get(&waiting.needs) {
            if let Err(fault) = fits(waiting, index, known.index, &known.digest) {
                return Reference::Broken(fault);
            }
            return match &known.document {
                Document::Loaded(_) => Reference::Loaded,
                Document::Wanted => {
                    Reference::Needs(Needs::Fetch(FetchTarget::Document(waiting.needs.clone())))
                }
                Document::Failed { retry_at, .. } if *retry_at <= now => {
                    Reference::Needs(Needs::Fetch(FetchTarget::Document(waiting.needs.clone())))
                }
                Document::Failed { why, .. } | Document::NoRoom { why } | Document::Refused { why } => {
                    Reference::Broken(ReferenceFault::Failed(Arc::clone(why)))
                }
            };
        }
        let listed = match self.look_up(round, &waiting.needs, index, now) {
            Lookup::Listed(listed) => listed,
            Lookup::Fetch(want) => return Reference::Needs(Needs::Fetch(want)),
            Lookup::Unlisted => return Reference::Broken(ReferenceFault::Unpublished),
            Lookup::TooMany => return Reference::Broken(ReferenceFault::TooMany),
        };
        match fits(waiting, index, listed.index, &listed.digest) {
            Ok(()) => Reference::Needs(Needs::Entry(listed)),
            Err(fault) => Reference::Broken(fault),
        }
    }
}

/// Checks that a reference leads to the published digest, and to an earlier publication.
fn fits(waiting: &WaitingDocument, index: u64, other: u64, digest: &Digest) -> Result<(), ReferenceFault> {
    if *digest != waiting.digest {
        return Err(ReferenceFault::Digest);
    }
    if other >= index { Err(ReferenceFault::PublishedLater) } else { Ok(()) }
}
