//! The names of RDF that imports and exports share.

/// SHACL.
pub(crate) const SH: &str = "http://www.w3.org/ns/shacl#";
/// XML Schema datatypes.
pub(crate) const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// RDF itself.
pub(crate) const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
/// RDF Schema.
pub(crate) const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
/// OWL.
pub(crate) const OWL: &str = "http://www.w3.org/2002/07/owl#";
/// Dublin Core terms.
pub(crate) const DCTERMS: &str = "http://purl.org/dc/terms/";
/// SKOS.
pub(crate) const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";
/// Terms of Semgate, for facts that SHACL has no word for.
pub(crate) const OWN: &str = "urn:semgate:terms#";

/// The datatype of a text with this `format`, where XML Schema has one.
pub(crate) const DATATYPES: [[&str; 2]; 4] =
    [["date", "date"], ["date-time", "dateTime"], ["time", "time"], ["duration", "duration"]];

/// The name at the end of an IRI.
pub(crate) fn local(iri: &str) -> &str {
    iri.rsplit(['#', '/', ':']).find(|piece| !piece.is_empty()).unwrap_or(iri)
}
