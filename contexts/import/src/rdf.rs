//! Contexts from RDF: SHACL node shapes and OWL classes that map onto JSON Schema, and relations between them (F0-17, F0-53).
//!
//! Sources: SHACL (W3C Recommendation of 2017-07-20), OWL 2. Nothing is fetched: neither `owl:imports` nor a context of JSON-LD that is
//! elsewhere. `docs/spec/import.md` has the table.

mod classes;
mod graph;
mod relations;
mod shapes;
pub(crate) mod vocabulary;

use oxrdf::{Graph, GraphName, NamedNode, NamedOrBlankNode, Triple};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::terms::{ContextDraft, Terms};
use graph::Reader;
use shapes::Shapes;
use vocabulary::{OWL, RDFS, SH};

/// The largest graph, in bytes and in triples.
const MAX_BYTES: usize = 16 << 20;
const MAX_TRIPLES: usize = 200_000;

/// The advice for a source that is too large.
const CHOOSE: &str = "choose shapes or classes with `--only`";

/// The syntax of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Turtle, and N-Triples, which it includes.
    Turtle,
    /// RDF/XML.
    RdfXml,
    /// JSON-LD.
    JsonLd,
}

impl Format {
    /// The syntax of files with this extension.
    #[must_use]
    pub fn of(extension: &str) -> Option<Self> {
        Some(match extension {
            "ttl" | "nt" => Self::Turtle,
            "rdf" | "owl" | "xml" => Self::RdfXml,
            "jsonld" | "json" => Self::JsonLd,
            _ => return None,
        })
    }
}

/// The triples of a graph; of JSON-LD those of the default graph.
///
/// # Errors
/// No such syntax, or past 16 MiB or 200,000 triples.
fn read(bytes: &[u8], format: Format) -> Result<Reader, ImportFault> {
    if bytes.len() > MAX_BYTES {
        return Err(ImportFault::new(format_args!("the graph has more than {MAX_BYTES} bytes")));
    }
    let mut graph = Graph::new();
    let mut add = |triple: Triple| {
        graph.insert(triple.as_ref());
        if graph.len() > MAX_TRIPLES {
            return Err(ImportFault::new(format_args!("the graph has more than {MAX_TRIPLES} triples")));
        }
        Ok(())
    };
    let unreadable = |why: String| ImportFault::new(format_args!("the graph cannot be read: {why}"));
    match format {
        Format::Turtle => {
            for triple in oxttl::TurtleParser::new().for_slice(bytes) {
                add(triple.map_err(|fault| unreadable(fault.to_string()))?)?;
            }
        }
        Format::RdfXml => {
            for triple in oxrdfxml::RdfXmlParser::new().for_slice(bytes) {
                add(triple.map_err(|fault| unreadable(fault.to_string()))?)?;
            }
        }
        Format::JsonLd => {
            for quad in oxjsonld::JsonLdParser::new().for_slice(bytes) {
                let quad = quad.map_err(|fault| unreadable(fault.to_string()))?;
                if quad.graph_name == GraphName::DefaultGraph {
                    add(Triple::new(quad.subject, quad.predicate, quad.object))?;
                }
            }
        }
    }
    Ok(Reader { graph })
}

/// Drafts a context: named node shapes and classes become concepts, or tasks where an export says so.
///
/// # Errors
/// An unreadable graph, an unknown choice, nothing to draft, or a draft that is too large.
pub fn draft(
    bytes: &[u8],
    format: Format,
    only: &[String],
    naming: &Naming<'_>,
) -> Result<ContextDraft, ImportFault> {
    let reader = read(bytes, format)?;
    let shaped = reader.of_type(&format!("{SH}NodeShape"));
    let targets: Vec<String> = shaped
        .iter()
        .flat_map(|shape| reader.objects(&shape.clone().into(), &format!("{SH}targetClass")))
        .filter_map(|class| graph::iri(&class).map(str::to_owned))
        .collect();
    let mut classes = reader.of_type(&format!("{OWL}Class"));
    classes.extend(reader.of_type(&format!("{RDFS}Class")));
    classes.retain(|class| !targets.iter().any(|target| target == class.as_str()) && !shaped.contains(class));
    classes.sort();
    classes.dedup();
    let chosen = |node: &NamedNode, shown: &str| {
        only.is_empty()
            || only.iter().any(|name| {
                name == node.as_str() || name == shown || name == vocabulary::local(node.as_str())
            })
    };
    let mut shapes = Shapes::new(&reader, &shaped, &classes);
    if let Some(unknown) = only.iter().find(|name| {
        !shaped.iter().chain(&classes).any(|node| {
            *name == node.as_str()
                || *name == vocabulary::local(node.as_str())
                || name.as_str() == shapes.name(node.as_str())
        })
    }) {
        return Err(ImportFault::new(format_args!("the graph has no shape or class `{unknown}`")));
    }
    for shape in &shaped {
        let shown = shapes.name(shape.as_str()).to_owned();
        shapes.term(shape, chosen(shape, &shown));
    }
    for class in &classes {
        let shown = shapes.name(class.as_str()).to_owned();
        let schema = classes::schema(&mut shapes, class);
        shapes.add(&shown, schema, chosen(class, &shown));
    }
    let mut terms: Terms = shapes.finish();
    relations::add(&reader, &mut terms);
    for property in reader.of_type(&format!("{OWL}AnnotationProperty")) {
        terms.remark(property.as_str(), "is left out: it annotates");
    }
    if reader
        .graph
        .triples_for_predicate(oxrdf::NamedNodeRef::new_unchecked(&format!("{OWL}imports")))
        .next()
        .is_some()
    {
        terms.remark("", "imports of the ontology are left out: nothing is fetched");
    }
    terms.finish(naming, CHOOSE)
}

/// A named node as a subject.
fn subject(node: &NamedNode) -> NamedOrBlankNode {
    node.clone().into()
}

#[cfg(test)]
mod tests;
