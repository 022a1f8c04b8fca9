use super::*;
use semgate_contexts::json;
use serde_json::{Value, json};

const NAMING: Naming<'_> = Naming { line: "drafts", version: "v1.0", title: "Drafts" };

const SHAPES: &str = r#"
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <https://acme.test/v#> .
x:PersonShape a sh:NodeShape ; sh:targetClass x:Person ; sh:closed true ; sh:description "A person." ;
  sh:property [ sh:path x:name ; sh:datatype xsd:string ; sh:minCount 1 ; sh:maxCount 1 ; sh:maxLength 40 ] ;
  sh:property [ sh:path x:age ; sh:datatype xsd:nonNegativeInteger ; sh:maxCount 1 ; sh:maxInclusive 150 ] ;
  sh:property [ sh:path x:role ; sh:in ( "clerk" "chief" ) ; sh:maxCount 1 ] ;
  sh:property [ sh:path x:born ; sh:datatype xsd:date ; sh:maxCount 1 ; sh:lessThan x:died ] ;
  sh:property [ sh:path x:knows ; sh:node x:PersonShape ; sh:maxCount 3 ] ;
  sh:property [ sh:path ( x:a x:b ) ; sh:maxCount 1 ] ;
  sh:property [ sh:path x:code ; sh:datatype xsd:string ; sh:pattern "^[A-Z]{3}$" ; sh:maxCount 1 ] .
x:Firm a owl:Class ; rdfs:comment "A firm." ; rdfs:subClassOf x:Agent ; dcterms:isPartOf x:Person ; skos:exactMatch <https://schema.org/Organization> .
x:founded a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:domain x:Firm ; rdfs:range xsd:integer .
x:label a owl:DatatypeProperty ; rdfs:domain x:Firm ; rdfs:range xsd:string .
x:head a owl:ObjectProperty , owl:FunctionalProperty ; rdfs:domain x:Firm ; rdfs:range x:Person .
x:anything a owl:DatatypeProperty ; rdfs:range xsd:string .
"#;

fn drafted() -> ContextDraft {
    draft(SHAPES.as_bytes(), Format::Turtle, &[], &NAMING).unwrap()
}

fn rule(draft: &ContextDraft, term: &str, value: &Value) -> Option<String> {
    let text = value.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let shape = draft.context.term(term).unwrap().shapes().next().unwrap();
    shape.conform(read.as_object().unwrap(), None).err().map(|fault| fault.rule)
}

#[test]
fn shapes_and_classes_become_concepts() {
    let draft = drafted();
    let person = json!({"name": "Ada", "age": 36, "role": "chief", "born": "1815-12-10", "knows": [{"name": "Bo"}], "code": "ABC"});
    for (term, value, refused) in [
        ("Person", person, None),
        ("Person", json!({"age": 1}), Some("required")),
        ("Person", json!({"name": "A", "age": -1}), Some("minimum")),
        ("Person", json!({"name": "A", "age": 151}), Some("maximum")),
        ("Person", json!({"name": "A", "role": "owner"}), Some("enum")),
        ("Person", json!({"name": "A", "born": "soon"}), Some("format")),
        ("Person", json!({"name": "A", "code": "abc"}), Some("pattern")),
        ("Person", json!({"name": "A", "knows": [{}]}), Some("required")),
        ("Person", json!({"name": "A", "other": 1}), Some("additionalProperties")),
        ("Firm", json!({"founded": 1990, "label": ["a", "b"], "head": {"name": "Ada"}}), None),
        ("Firm", json!({"founded": "1990"}), Some("type")),
    ] {
        assert_eq!(rule(&draft, term, &value).as_deref(), refused, "{term} {value}");
    }
}

#[test]
fn the_rest_of_a_graph_is_named_and_left_out() {
    let draft = drafted();
    for (at, what) in [
        ("https://acme.test/v#born", "`sh:lessThan` is left out"),
        ("https://acme.test/v#Firm", "super classes are left out"),
        ("https://acme.test/v#anything", "its domain is not one class"),
        ("<https://acme.test/v#PersonShape>", "whose path is not one predicate"),
    ] {
        assert!(
            draft.remarks.iter().any(|one| one.at == at && one.what.contains(what)),
            "{at}: {:#?}",
            draft.remarks
        );
    }
}

#[test]
fn relations_between_terms_are_kept() {
    assert_eq!(
        drafted().document["relations"],
        json!([{"subject": "Firm", "relation": "part_of", "object": "Person"},
               {"subject": "Firm", "relation": "same_as", "object": "https://schema.org/Organization"}])
    );
}

#[test]
fn a_property_without_a_range_is_an_open_question() {
    let text = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        <urn:x#C> a owl:Class . <urn:x#p> a owl:DatatypeProperty ; rdfs:domain <urn:x#C> .";
    let draft = draft(text.as_bytes(), Format::Turtle, &[], &NAMING).unwrap();
    assert!(draft.document.to_string().contains("open: which type"));
}

#[test]
fn one_graph_in_three_syntaxes_gives_one_draft() {
    let xml = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
        <owl:Class rdf:about="urn:x#C"/><owl:DatatypeProperty rdf:about="urn:x#p"><rdfs:domain rdf:resource="urn:x#C"/>
        <rdfs:range rdf:resource="http://www.w3.org/2001/XMLSchema#boolean"/></owl:DatatypeProperty></rdf:RDF>"#;
    let json = r#"[{"@id":"urn:x#C","@type":"http://www.w3.org/2002/07/owl#Class"},{"@id":"urn:x#p","@type":"http://www.w3.org/2002/07/owl#DatatypeProperty",
        "http://www.w3.org/2000/01/rdf-schema#domain":{"@id":"urn:x#C"},"http://www.w3.org/2000/01/rdf-schema#range":{"@id":"http://www.w3.org/2001/XMLSchema#boolean"}}]"#;
    let turtle = "<urn:x#C> a <http://www.w3.org/2002/07/owl#Class> . <urn:x#p> a <http://www.w3.org/2002/07/owl#DatatypeProperty> ;
        <http://www.w3.org/2000/01/rdf-schema#domain> <urn:x#C> ; <http://www.w3.org/2000/01/rdf-schema#range> <http://www.w3.org/2001/XMLSchema#boolean> .";
    let digests = [(xml, Format::RdfXml), (json, Format::JsonLd), (turtle, Format::Turtle)]
        .map(|(text, format)| *draft(text.as_bytes(), format, &[], &NAMING).unwrap().context.digest());
    assert!(digests[0] == digests[1] && digests[1] == digests[2]);
}

#[test]
fn attack_a_graph_names_a_context_elsewhere_and_nothing_is_fetched() {
    let text = r#"{"@context": "https://evil.test/context.jsonld", "@id": "urn:x"}"#;
    let refused = draft(text.as_bytes(), Format::JsonLd, &[], &NAMING).unwrap_err();
    assert!(refused.what.starts_with("the graph cannot be read"), "{refused}");
}

#[test]
fn attack_shapes_and_lists_in_circles_end() {
    let text = "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
        <urn:x#S> a sh:NodeShape ; sh:property [ sh:path <urn:x#p> ; sh:maxCount 1 ; sh:node _:a ] , [ sh:path <urn:x#q> ; sh:maxCount 1 ; sh:in _:l ] .
        _:a sh:property [ sh:path <urn:x#p> ; sh:maxCount 1 ; sh:node _:a ] . _:l rdf:first 1 ; rdf:rest _:l .";
    let draft = draft(text.as_bytes(), Format::Turtle, &[], &NAMING).unwrap();
    for what in ["nested too deep", "is no list"] {
        assert!(draft.remarks.iter().any(|one| one.what.contains(what)), "{what}: {:#?}", draft.remarks);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn fuzz_graphs_of_any_text_never_panic(noise in "[ -~\n]{0,60}", cut in 0_usize..2200) {
        let text: String = SHAPES.chars().take(cut).chain(noise.chars()).collect();
        for format in [Format::Turtle, Format::RdfXml, Format::JsonLd] {
            let _ = draft(text.as_bytes(), format, &[], &NAMING);
        }
    }
}
