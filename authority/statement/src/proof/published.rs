//! A proof that a context was published, which travels with it ("stapled"). It is a `tlog-proof` with the entry and the chain of the
//! statement's signer as extra data. It proves publication, and nothing about the status since.

use super::{CheckpointRules, TextProofFault, TlogProof};
use crate::checkpoint::Checkpoint;
use crate::context::{MAX_SIGNED_BYTES, SignedContext, verify_context_among};
use crate::entry::{Entry, VerifiedEntry};
use crate::format::{FormatFault, Members, limits, write};
use crate::root::Anchors;
use crate::statement::{Act, Statement};
use crate::tiles::TreeHash;
use crate::trust::Trust;
use semgate_certs::{Chain, RootKey, Roots, SignerId, Thumbprint};
use semgate_contexts::{ContextResolver, DocumentLimits, Prefix};
use serde_json::Value;

/// The member of the unprotected header that holds the text of the proof.
const MEMBER: &str = "tlog-proof";

/// Writes the proof that these hashes give for an entry in the tree of `checkpoint`. A statement of the root has no chain.
///
/// Errors: [`TextProofFault::Extra`].
pub fn prove_entry(
    entry: &[u8],
    chain: Option<&Chain>,
    index: u64,
    hashes: Vec<TreeHash>,
    checkpoint: &str,
) -> Result<TlogProof, TextProofFault> {
    let entry = std::str::from_utf8(entry).map_err(|_| TextProofFault::Extra)?;
    let extra = serde_json::json!({"entry": entry, "x5c": chain.map(Chain::to_x5c).unwrap_or_default()});
    let extra = write(&extra).map_err(|_| TextProofFault::Extra)?;
    Ok(TlogProof { extra: Some(extra), index, hashes, checkpoint: checkpoint.to_owned() })
}

/// A signed context with the proof that came with it. Both unverified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stapled {
    /// The published form of the signed context, without the proof.
    pub signed: Vec<u8>,
    /// The proof, if one came.
    pub proof: Option<TlogProof>,
}

impl Stapled {
    /// Takes a signed context apart. The signed bytes are the same with and without the proof.
    pub fn read(bytes: &[u8]) -> Result<Stapled, TextProofFault> {
        let bare = || Stapled { signed: bytes.to_vec(), proof: None };
        let malformed = |_: FormatFault| TextProofFault::Malformed;
        let json = semgate_contexts::json::read(bytes, &limits(2 * MAX_SIGNED_BYTES))
            .map_err(|fault| malformed(fault.into()))?;
        let header = json.as_object().and_then(|outer| outer.get("signatures")?.as_array()?.first());
        let header = header.and_then(|one| one.as_object()?.get("header")?.as_object());
        let Some(text) = header.and_then(|header| header.get(MEMBER)?.as_str()) else { return Ok(bare()) };
        let proof = TlogProof::read(text)?;
        // the strict reader accepted it above
        let mut value: Value = serde_json::from_slice(bytes).map_err(|_| TextProofFault::Malformed)?;
        if let Some(header) = value.pointer_mut("/signatures/0/header").and_then(Value::as_object_mut) {
            header.remove(MEMBER);
        }
        Ok(Stapled { signed: write(&value).map_err(malformed)?, proof: Some(proof) })
    }

    /// The signed context with the proof in its unprotected header.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TextProofFault> {
        let Some(proof) = &self.proof else { return Ok(self.signed.clone()) };
        let mut value: Value = serde_json::from_slice(&self.signed).map_err(|_| TextProofFault::Malformed)?;
        let header = value.pointer_mut("/signatures/0/header").and_then(Value::as_object_mut);
        header.ok_or(TextProofFault::Malformed)?.insert(MEMBER.to_owned(), proof.to_text().into());
        write(&value).map_err(|_| TextProofFault::Malformed)
    }
}

/// The root's statements known to a reader: as new as the trust document that they come from.
#[derive(Clone, Debug)]
pub struct RootKnowledge {
    /// The verified statements of the root, folded.
    pub anchors: Anchors,
    /// Certificates beside them, for signers that a proof names without a chain. Not trusted by themselves.
    pub trust: Trust,
}

impl RootKnowledge {
    /// Refuses an entry at `index` if a `signer_compromised` covers any name of its signers.
    fn check_uncompromised(&self, index: u64, signers: &[&SignerId]) -> Result<(), TextProofFault> {
        match signers.iter().filter_map(|signer| self.anchors.compromised(signer)).min() {
            Some(from) if index >= from => Err(TextProofFault::SignerCompromised { from }),
            _ => Ok(()),
        }
    }

    /// Does the same if only the certificate of the document's signer is known.
    fn check_named_uncompromised(
        &self,
        index: u64,
        by: &SignerId,
        signer: &Thumbprint,
    ) -> Result<(), TextProofFault> {
        self.check_uncompromised(index, &[by])?;
        if by.certificates().contains(signer) {
            return Ok(());
        }
        match self.trust.chain(signer) {
            Some(chain) => self.check_uncompromised(index, &[&chain.signer_id()]),
            None if self.anchors.has_compromised() => Err(TextProofFault::SignerUnknown),
            None => Ok(()),
        }
    }
}

/// The rules for stapled contexts; nothing of them comes with the context.
#[derive(Clone, Debug)]
pub struct ProofRules<'a> {
    /// Roots of context certificates.
    pub roots: &'a Roots,
    /// Rules for the checkpoint.
    pub checkpoint: CheckpointRules<'a>,
    /// Prefix of URNs.
    pub prefix: &'a Prefix,
    /// Bounds of documents.
    pub documents: &'a DocumentLimits,
    /// The root's statements. Refuses publications and resumptions by compromised keys; without them such keys go unnoticed.
    pub root_knowledge: Option<&'a RootKnowledge>,
}

/// A proved publication: the statement is in the log, and it names the document.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The verified document.
    pub context: SignedContext,
    /// Log index of the statement, which is the context's status index.
    pub index: u64,
    /// Time of publication.
    pub logged_at: u64,
    /// The checkpoint that proves it.
    pub checkpoint: Checkpoint,
}

impl ProofRules<'_> {
    /// Verifies proof, statement and document, in this order; both chains are judged at the time of the statement. `others` finds contexts
    /// to which it may refer.
    pub fn verify(
        &self,
        signed: &[u8],
        proof: &TlogProof,
        others: &ContextResolver<'_>,
    ) -> Result<Proved, TextProofFault> {
        let (verified, checkpoint) = self.verify_signed(proof)?;
        let Statement::Publish { urn, digest, signer } = verified.statement() else {
            return Err(TextProofFault::NotPublished);
        };
        let at = verified.logged_at();
        let context = verify_context_among(signed, self.roots, at, self.prefix, self.documents, others)
            .map_err(TextProofFault::Context)?;
        let document = context.context();
        if document.urn() != urn || document.digest() != digest || context.signer() != *signer {
            return Err(TextProofFault::OfAnother);
        }
        if let Some(root) = self.root_knowledge {
            root.check_uncompromised(proof.index, &[verified.signer_id(), context.signer_id()])?;
        }
        Ok(Proved { context, index: proof.index, logged_at: at, checkpoint })
    }

    /// Verifies a proof and the statement of its entry, of any kind; the signer's chain is judged at the time of the entry. Refuses
    /// publications and resumptions by a compromised key; its other acts stay.
    pub fn verify_entry(&self, proof: &TlogProof) -> Result<(VerifiedEntry, Checkpoint), TextProofFault> {
        let (verified, checkpoint) = self.verify_signed(proof)?;
        if let Some(root) = self.root_knowledge {
            match verified.statement() {
                Statement::Publish { signer, .. } => {
                    root.check_named_uncompromised(proof.index, verified.signer_id(), signer)?;
                }
                Statement::Change { act: Act::Resume, .. } => {
                    root.check_uncompromised(proof.index, &[verified.signer_id()])?;
                }
                _ => {}
            }
        }
        Ok((verified, checkpoint))
    }

    fn verify_signed(&self, proof: &TlogProof) -> Result<(VerifiedEntry, Checkpoint), TextProofFault> {
        let (entry, chain) = self.extra(proof)?;
        let checkpoint = proof.verify(TreeHash::of_leaf(entry.bytes()), &self.checkpoint)?;
        let mut trust = Trust::default();
        trust.insert(chain.ok_or(TextProofFault::Extra)?);
        Ok((entry.verify(&trust, self.roots).map_err(TextProofFault::Statement)?, checkpoint))
    }

    /// Verifies a proof of a statement of the root; none for another entry. Such statements change the root keys. So the proof shows only
    /// that the log holds this one, and how many of the configured roots signed it.
    pub fn verify_root_entry(
        &self,
        proof: &TlogProof,
    ) -> Result<Option<(Entry, u64, Checkpoint)>, TextProofFault> {
        let (entry, _) = self.extra(proof)?;
        let Some(jws) = entry.signed().multi() else { return Ok(None) };
        let checkpoint = proof.verify(TreeHash::of_leaf(entry.bytes()), &self.checkpoint)?;
        let roots = self.roots.certificates().map(|der| RootKey::of(der, self.roots.limits()));
        let keys: Vec<RootKey> = roots.filter_map(Result::ok).collect();
        let signed = jws.signers(&keys, entry.logged_at());
        Ok(Some((entry, signed, checkpoint)))
    }

    /// The entry and the chain of its signer; a statement of the root has none.
    fn extra(&self, proof: &TlogProof) -> Result<(Entry, Option<Chain>), TextProofFault> {
        let wrong = |_| TextProofFault::Extra;
        let bytes = proof.extra.as_deref().ok_or(TextProofFault::Extra)?;
        let json = semgate_contexts::json::read(bytes, &limits(super::MAX_PROOF_BYTES))
            .map_err(|_| TextProofFault::Extra)?;
        let members = Members::closed(&json, &["entry", "x5c"], &[]).map_err(wrong)?;
        let entry = Entry::read(members.text("entry").map_err(wrong)?.as_bytes(), self.prefix)
            .map_err(TextProofFault::Statement)?;
        let texts: Option<Vec<&str>> =
            members.list("x5c").map_err(wrong)?.iter().map(|c| c.as_str()).collect();
        let texts = texts.ok_or(TextProofFault::Extra)?;
        if entry.signed().multi().is_some() {
            return if texts.is_empty() { Ok((entry, None)) } else { Err(TextProofFault::Extra) };
        }
        let chain = Chain::from_x5c(texts, self.roots.limits()).map_err(|_| TextProofFault::Extra)?;
        Ok((entry, Some(chain)))
    }
}
