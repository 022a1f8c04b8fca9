//! Words and patterns of servers, brought into the form that a context demands.

use super::{drafted, forms, of, schema};
use serde_json::{Value, json};

#[test]
fn a_pattern_without_a_length_gets_one_that_refuses_nothing_and_is_named() {
    let input = json!({"type": "object", "properties": {
        "id": {"type": "string", "pattern": "^[a-z]+$"},
        "other": {"type": "string", "maxLength": 9, "not": {"pattern": "^x"}},
        "bound": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9},
    }});
    let (context, warnings) = of(&[json!({"name": "f", "inputSchema": input})]);
    let schema = schema(&context, "f");
    for (pointer, most) in
        [("/properties/id", 262_144), ("/properties/other/not", 262_144), ("/properties/bound", 9)]
    {
        assert_eq!(schema.pointer(pointer).unwrap()["maxLength"], json!(most), "{pointer}");
    }
    let added: Vec<_> = warnings.iter().filter(|warning| warning.contains("is added")).collect();
    assert!(added.len() == 2 && added[0].contains("f/parameters/properties/id"), "{warnings:#?}");
}

#[test]
fn attack_a_description_that_a_reader_sees_otherwise_than_it_is_loses_what_nobody_sees() {
    let tool = |description: &str| {
        let argument = json!({"type": "integer", "description": description});
        json!({"name": "f", "description": description,
            "inputSchema": {"type": "object", "properties": {"n": argument}}})
    };
    let words = |tool: &Value| {
        let (context, warnings) = of(std::slice::from_ref(tool));
        let schema = schema(&context, "f");
        let both = ["/description", "/properties/n/description"]
            .map(|at| schema.pointer(at).unwrap().as_str().unwrap().to_owned());
        (both, warnings.into_iter().filter(|warning| warning.contains("invisible characters")).count())
    };
    // line breaks are what descriptions have, and are no remark
    assert_eq!(
        words(&tool("Adds.\n\tTwo numbers.")),
        (["Adds.  Two numbers.", "Adds.  Two numbers."].map(str::to_owned), 0)
    );
    assert_eq!(words(&tool("Pays\u{202e}OT\u{2066}.")), (["PaysOT.", "PaysOT."].map(str::to_owned), 2));
    // who reviews the draft is shown the whole of what lost something, and nothing of what did not
    let unseen = |description: &str| {
        let part = drafted(vec![("2026-07-28", vec![tool(description)])]);
        forms::unseen(&part.tasks[0]).len()
    };
    assert_eq!((unseen("Adds.\nTwo numbers."), unseen("Pays\u{202e}OT.")), (0, 2));
}
