//! Context documents: the closed envelope around the schemas, checked and compiled once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::canonical::jcs_of_document as jcs;
use crate::digest::Digest;
use crate::label::Labels;
use crate::relation::Relation;
use crate::term::{Shape, Term};
use crate::urn::{ContextUrn, Prefix};
use crate::vectors::{References, Space, Spaces};
use crate::{json, schema};

mod envelope;
mod fault;
mod labels;
mod reference;
mod relations;
mod terms;

use envelope::Envelope;
use terms::Terms;

pub use crate::schema::SchemaLimits;
pub use envelope::{DOCUMENT_MEMBERS, RESERVED_NAMES, TASK_MEMBERS};
pub use fault::DocumentFault;

/// The most faults that one pass over a document reports.
const MAX_FAULTS: usize = 256;

/// Bounds of a document, each with its reason.
#[derive(Debug, Clone)]
pub struct DocumentLimits {
    /// Canonical bytes: 90 kB, so that the signed form (base64, chain) stays within common 128 KiB caps.
    pub max_payload_bytes: usize,
    /// Bytes as submitted: white space and escapes may double a document, not more.
    pub max_input_bytes: usize,
    /// Nesting of the document: a schema needs two levels for each level of instance, and messages stop at 32.
    pub max_depth: usize,
    /// JSON values in the document: 90 kB of the shortest values (`0,`) would be 45,000.
    pub max_nodes: usize,
    /// Concepts and tasks together: as many as a reader can review.
    pub max_terms: usize,
    /// Code lists of a document.
    pub max_code_lists: usize,
    /// Codes of one list. Every commercial airport (about 9,000 at most) would not fit the payload anyway.
    pub max_codes: usize,
    /// Bytes of one code.
    pub max_code_bytes: usize,
    /// Labels of one code list: a few for each code that a reader would look for. A label has at most `max_code_bytes`.
    pub max_labels: usize,
    /// Relations: as many as a reader can review.
    pub max_relations: usize,
    /// Bytes of the subject or object of a relation: a long IRI.
    pub max_related_bytes: usize,
    /// Bytes of `title`.
    pub max_title_bytes: usize,
    /// Bytes of `description`: a page.
    pub max_description_bytes: usize,
    /// Names in `references`: similarity to each is computed for one vector of a message.
    pub max_reference_vectors: usize,
    /// Contexts that it refers to, with those that they refer to: the standing of each is looked up for every message.
    pub max_references: usize,
    /// Bounds of its schemas.
    pub schema: SchemaLimits,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        DocumentLimits {
            max_payload_bytes: 90_000,
            max_input_bytes: 180_000,
            max_depth: 96,
            max_nodes: 45_000,
            max_terms: 256,
            max_code_lists: 64,
            max_codes: 8_192,
            max_code_bytes: 128,
            max_labels: 8_192,
            max_relations: 256,
            max_related_bytes: 512,
            max_title_bytes: 256,
            max_description_bytes: 4_096,
            max_reference_vectors: 64,
            max_references: 16,
            schema: SchemaLimits::default(),
        }
    }
}

/// Bytes in memory for each byte of a document, without its compiled form; measured over large documents.
const TEXT_COPIES: u64 = 32;

impl DocumentLimits {
    /// The bounds of a published document, without the rules that only its author can follow: [`SchemaLimits::authored`].
    #[must_use]
    pub fn published(&self) -> Self {
        DocumentLimits { schema: SchemaLimits { authored: false, ..self.schema.clone() }, ..self.clone() }
    }

    /// The value of a document, and its canonical bytes.
    fn read(&self, bytes: &[u8]) -> Result<(Value, Vec<u8>), DocumentFault> {
        let value = json::read(bytes, &self.reader()).map_err(DocumentFault::Json)?.to_value();
        let canonical = jcs(&value).map_err(DocumentFault::Canonical)?;
        Ok((value, canonical))
    }

    fn reader(&self) -> json::Limits {
        json::Limits {
            max_bytes: self.max_input_bytes,
            max_depth: self.max_depth,
            max_nodes: self.max_nodes,
            max_string_bytes: self.max_payload_bytes,
            large_integers: true,
            ..json::Limits::default()
        }
    }
}

/// The lookup of contexts that a document refers to. It must return only contexts that the caller has verified; the digest is
/// compared here.
pub type ContextResolver<'r> = dyn Fn(&ContextUrn) -> Option<Arc<Context>> + 'r;

/// A checked, compiled context document. Nothing in it can be changed; share it by `Arc`.
#[derive(Debug)]
pub struct Context {
    urn: ContextUrn,
    digest: Digest,
    bytes: Arc<[u8]>,
    title: Option<String>,
    terms: BTreeMap<String, Term>,
    codes: BTreeMap<String, Vec<String>>,
    labels: BTreeMap<String, Labels>,
    relations: Vec<Relation>,
    references: Vec<Arc<Context>>,
    /// The document with borrowed schemas among its own definitions; none if it borrows nothing.
    bundle: Option<Value>,
    spaces: Spaces,
    vectors: Arc<References>,
    compiled_bytes: u64,
}

impl Context {
    /// Reads a document that refers to no other, in any JSON form, checks it, brings it into canonical form and compiles it.
    ///
    /// # Errors
    /// The first [`DocumentFault`]; [`DocumentFault::ReferenceMissing`] if it does refer to another.
    pub fn check(bytes: &[u8], prefix: &Prefix, limits: &DocumentLimits) -> Result<Context, DocumentFault> {
        Context::check_among(bytes, prefix, limits, &|_| None)
    }

    /// Like [`Context::check`], for a document that may refer to those that `others` finds, by URN and digest
    /// (`docs/spec/context-document.md`). Nothing is fetched.
    ///
    /// # Errors
    /// The first [`DocumentFault`].
    pub fn check_among(
        bytes: &[u8],
        prefix: &Prefix,
        limits: &DocumentLimits,
        others: &ContextResolver<'_>,
    ) -> Result<Context, DocumentFault> {
        let (value, canonical) = limits.read(bytes)?;
        Context::build(&value, canonical, prefix, limits, others)
    }

    /// Like [`Context::check_among`], for bytes that must already be their own canonical form (RFC 8785), as in a signed
    /// document. It leaves out the rules that only the author can follow: [`SchemaLimits::authored`].
    ///
    /// # Errors
    /// [`DocumentFault::NotCanonical`] if they are not; otherwise as [`Context::check_among`].
    pub fn from_canonical(
        bytes: &[u8],
        prefix: &Prefix,
        limits: &DocumentLimits,
        others: &ContextResolver<'_>,
    ) -> Result<Context, DocumentFault> {
        let (value, canonical) = limits.read(bytes)?;
        if canonical != bytes {
            return Err(DocumentFault::NotCanonical);
        }
        Context::build(&value, canonical, prefix, &limits.published(), others)
    }

    /// All faults of a document that one pass finds; empty exactly where [`Context::check_among`] accepts it. Faults of
    /// single schemas come first, in the order of the document and at most 256. A fault of the whole stands alone.
    pub fn faults(
        bytes: &[u8],
        prefix: &Prefix,
        limits: &DocumentLimits,
        others: &ContextResolver<'_>,
    ) -> Vec<DocumentFault> {
        let Err(first) = Context::check_among(bytes, prefix, limits, others) else { return Vec::new() };
        let Ok((mut value, _)) = limits.read(bytes) else { return vec![first] };
        let mut faults = Vec::new();
        // reports an unknown or misnamed member, and checks the rest without it
        loop {
            match Envelope::read(&value, prefix, limits) {
                Ok(_) => break,
                Err(fault) => {
                    let gone = fault.path().is_some_and(|path| envelope::remove_part(&mut value, path));
                    faults.push(fault);
                    if !gone || faults.len() >= MAX_FAULTS {
                        return faults;
                    }
                }
            }
        }
        let Ok(envelope) = Envelope::read(&value, prefix, limits) else { return faults };
        faults.extend(match reference::bundle(&value, &envelope.urn, prefix, limits, others) {
            Err(fault) => vec![fault],
            Ok(None) => terms::faults(&envelope, limits),
            Ok(Some(bundle)) => match envelope.rebound(&bundle) {
                Err(fault) => vec![fault],
                Ok(envelope) => terms::faults(&envelope, limits),
            },
        });
        faults.truncate(MAX_FAULTS);
        if faults.is_empty() { vec![first] } else { faults }
    }

    fn build(
        value: &Value,
        canonical: Vec<u8>,
        prefix: &Prefix,
        limits: &DocumentLimits,
        others: &ContextResolver<'_>,
    ) -> Result<Context, DocumentFault> {
        if canonical.len() > limits.max_payload_bytes {
            return Err(DocumentFault::TooLarge { bytes: canonical.len(), limit: limits.max_payload_bytes });
        }
        let envelope = Envelope::read(value, prefix, limits)?;
        let bundle = reference::bundle(value, &envelope.urn, prefix, limits, others)?;
        let Terms { terms, bytes, spaces, vectors } = match &bundle {
            None => terms::compile(&envelope, limits)?,
            Some(bundle) => terms::compile(&envelope.rebound(bundle)?, limits)?,
        };
        relations::check(&envelope.relations, &terms)?;
        let text = canonical.len() as u64;
        let (references, bundle) = bundle.map(|b| (b.references, b.document)).unzip();
        Ok(Context {
            urn: envelope.urn,
            digest: Digest::of(&canonical),
            bytes: canonical.into(),
            title: envelope.title,
            terms,
            codes: envelope.codes,
            labels: envelope.labels,
            relations: envelope.relations,
            references: references.unwrap_or_default(),
            bundle,
            spaces,
            vectors,
            compiled_bytes: bytes.saturating_add(TEXT_COPIES.saturating_mul(text)),
        })
    }

    /// The estimated bytes in memory (`docs/spec/context-document.md`, "Memory"). Each distinct pattern and each definition
    /// counts once. Referenced contexts count for themselves; borrowed schemas count here.
    pub fn compiled_bytes(&self) -> u64 {
        self.compiled_bytes
    }

    /// The same document without its compiled form. Names, types and references stay for policies that mention it, and no
    /// content conforms. For a document that never counts again.
    #[must_use]
    pub fn retired(&self) -> Context {
        Context {
            urn: self.urn.clone(),
            digest: self.digest,
            bytes: Arc::clone(&self.bytes),
            title: self.title.clone(),
            terms: self.terms.iter().map(|(name, term)| (name.clone(), term.retired())).collect(),
            codes: self.codes.clone(),
            labels: self.labels.clone(),
            relations: self.relations.clone(),
            references: self.references.iter().map(|other| Arc::new(other.retired())).collect(),
            bundle: self.bundle.clone(),
            spaces: self.spaces.clone(),
            vectors: Arc::clone(&self.vectors),
            compiled_bytes: (self.shapes().map(|shape| schema::field_bytes(shape.fields())))
                .fold(TEXT_COPIES.saturating_mul(self.bytes.len() as u64), u64::saturating_add),
        }
    }

    /// The name and version that the document gives itself, in canonical form.
    pub fn urn(&self) -> &ContextUrn {
        &self.urn
    }

    /// Digest of [`Context::bytes`].
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The canonical payload (RFC 8785), which is signed and published.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// The contexts that it refers to, and those that they refer to, each once: it counts only while all of them count
    /// (`docs/design/firewall.md` §5).
    pub fn references(&self) -> &[Arc<Context>] {
        &self.references
    }

    /// The document in which every `$ref` of [`Shape::schema`] leads to a schema: schemas borrowed from other contexts stand
    /// among its definitions. The signed form is [`Context::bytes`].
    pub fn bundled(&self) -> Value {
        match &self.bundle {
            Some(document) => document.clone(),
            // the bytes were written from a JSON value
            None => serde_json::from_slice(&self.bytes).unwrap_or(Value::Null),
        }
    }

    /// Returns true for a document without its compiled form: see [`Context::retired`].
    pub fn is_retired(&self) -> bool {
        self.shapes().all(|shape| shape.compiled.validator.is_retired())
    }

    /// `title`, if the document has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The concept or task of that name.
    pub fn term(&self, name: &str) -> Option<&Term> {
        self.terms.get(name)
    }

    /// All concepts and tasks, by name.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.values()
    }

    /// All shapes of all terms, by name of the term.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.terms.values().flat_map(Term::shapes)
    }

    /// The codes of a list, in the order of the document. A list that came with a schema of another context has the name in
    /// [`crate::FieldType::Text`].
    pub fn code_list(&self, name: &str) -> Option<&[String]> {
        if let Some((urn, name)) = name.split_once("#/codes/") {
            let other = self.references.iter().find(|other| other.urn.as_str() == urn)?;
            return other.codes.get(name).map(Vec::as_slice);
        }
        self.codes.get(name).map(Vec::as_slice)
    }

    /// The names of its own code lists, in order.
    pub fn code_lists(&self) -> impl Iterator<Item = &str> {
        self.codes.keys().map(String::as_str)
    }

    /// The labels of its own code lists.
    pub(crate) fn own_labels(&self) -> &BTreeMap<String, Labels> {
        &self.labels
    }

    /// The relations that the document writes down, in its order. They judge no message.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The space of each embedding model that a schema of the document names, by the name of the model.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.spaces.values()
    }

    /// The reference vectors of the document.
    pub(crate) fn reference_vectors(&self) -> &References {
        &self.vectors
    }

    /// All code lists that its schemas name, those that came with schemas of other contexts by the names they have here.
    pub(crate) fn all_code_lists(&self) -> BTreeMap<String, Vec<String>> {
        let borrowed = self.references.iter().flat_map(|other| {
            other.codes.iter().map(|(name, codes)| (format!("{}#/codes/{name}", other.urn), codes.clone()))
        });
        self.codes.clone().into_iter().chain(borrowed).collect()
    }
}

#[cfg(test)]
mod approval_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
