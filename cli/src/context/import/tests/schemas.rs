//! Schemas as real servers write them: references to any place, older drafts, and arguments of every name.

use super::{draft_of, of, schema};
use semgate_contexts::Context;
use semgate_contexts::json::{self, Json};
use serde_json::{Value, json};

/// True if the parameters of a task take this instance.
fn takes(context: &Context, task: &str, instance: &Value) -> bool {
    let bytes = instance.to_string();
    let read = json::read(bytes.as_bytes(), &json::Limits::default()).unwrap();
    let Json::Object(object) = &read else { panic!("{instance}") };
    context.term(task).unwrap().shapes().next().unwrap().conform(object, None).is_ok()
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "inputSchema": schema})
}

/// Holds one tool against instances that it takes, and others.
fn shows(schema: Value, good: &[Value], bad: &[Value]) {
    let (context, warnings) = of(&[tool("f", schema)]);
    for (instances, fits) in [(good, true), (bad, false)] {
        for instance in instances {
            assert_eq!(takes(&context, "f", instance), fits, "{instance}: {warnings:#?}");
        }
    }
}

#[test]
fn references_into_properties_items_and_branches_mean_what_they_say() {
    let input = json!({"type": "object", "additionalProperties": false, "properties": {
        "more": {"type": ["boolean", "string"]}, "again": {"$ref": "#/properties/more", "description": "the same"},
        "node": {"type": "object", "properties": {"position": {"type": "array", "items": {"type": "number"}, "maxItems": 2}}},
        "position": {"$ref": "#/properties/node/properties/position"},
        "step": {"$ref": "#/properties/node/properties/position/items"},
        "either": {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["x"]}]},
        "second": {"$ref": "#/properties/either/anyOf/1"},
        "odd/name %": {"type": "integer"}, "escaped": {"$ref": "#/properties/odd~1name%20%25"},
    }});
    shows(
        input,
        &[
            json!({"again": false}),
            json!({"position": [1, 2], "node": {"position": [1]}}),
            json!({"step": 1.5}),
            json!({"second": "x", "either": null}),
            json!({"escaped": 4}),
        ],
        &[
            json!({"again": 3}),
            json!({"position": [1, 2, 3]}),
            json!({"node": {"position": ["a"]}}),
            json!({"step": "1"}),
            json!({"second": null}),
            json!({"escaped": "4"}),
        ],
    );
}

#[test]
fn a_tree_refers_to_itself_from_its_root_and_by_an_anchor() {
    let tree = json!({"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
        "name": {"type": "string", "maxLength": 9}, "children": {"type": "array", "items": {"$ref": "#"}}}});
    let good = [json!({"name": "a", "children": [{"name": "b", "children": []}]})];
    let bad = [json!({"name": "a", "children": [{"name": 1}]}), json!({"name": "a", "children": [{}]})];
    shows(tree, &good, &bad);
    let anchored = json!({"type": "object", "properties": {"n": {"$ref": "#node"}}, "$defs": {
        "N": {"$anchor": "node", "type": "object", "properties": {"next": {"$ref": "#node"}, "v": {"type": "integer"}}}}});
    shows(anchored, &[json!({"n": {"next": {"v": 1}}})], &[json!({"n": {"next": {"v": "1"}}})]);
}

#[test]
fn a_root_that_is_a_reference_is_the_definition_that_it_names() {
    // zod-to-json-schema with a name
    let named = json!({"$ref": "#/definitions/Args", "$schema": "http://json-schema.org/draft-07/schema#", "definitions": {
        "Args": {"type": "object", "properties": {"q": {"type": "string", "maxLength": 5}}, "required": ["q"]}}});
    shows(named, &[json!({"q": "x"})], &[json!({}), json!({"q": 1})]);
    // its own id before the fragment
    let id = json!({"$id": "https://x.test/s.json", "type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"$ref": "https://x.test/s.json#/properties/a"}}});
    shows(id, &[json!({"b": 1})], &[json!({"b": "1"})]);
}

#[test]
fn tuples_of_older_drafts_hold_each_place_and_what_follows() {
    let pair = |more: Value| {
        let mut pair =
            json!({"type": "array", "items": [{"type": "integer"}, {"type": "string", "maxLength": 3}]});
        if !more.is_null() {
            pair["additionalItems"] = more;
        }
        json!({"type": "object", "properties": {"p": pair}})
    };
    let (good, wrong) = ([json!({"p": [1, "a"]})], json!({"p": ["a", 1]}));
    shows(pair(json!(false)), &good, &[wrong.clone(), json!({"p": [1, "a", 2]})]);
    shows(pair(json!({"type": "boolean"})), &[json!({"p": [1, "a", true]})], &[json!({"p": [1, "a", 2]})]);
    shows(pair(Value::Null), &[json!({"p": [1, "a", 2]})], &[wrong]);
    // beside one schema for all items it says nothing
    let plain = json!({"type": "array", "items": {"type": "integer"}, "additionalItems": false});
    shows(
        json!({"type": "object", "properties": {"p": plain}}),
        &[json!({"p": [1, 2]})],
        &[json!({"p": ["a"]})],
    );
}

#[test]
fn dependencies_of_older_drafts_ask_for_names_or_a_schema() {
    let input = json!({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#", "properties": {
        "card": {"type": "integer"}, "address": {"type": "string", "maxLength": 5}, "mode": {"type": "integer"}},
        "dependencies": {"card": ["address"], "mode": {"required": ["card"]}}});
    let good = [
        json!({"card": 1, "address": "x"}),
        json!({"address": "x"}),
        json!({"mode": 1, "card": 1, "address": "x"}),
    ];
    shows(input, &good, &[json!({"card": 1}), json!({"mode": 1})]);
}

#[test]
fn beside_a_reference_an_older_draft_says_nothing_and_a_newer_one_more() {
    let with = |dialect: Option<&str>| {
        let mut input = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a", "maximum": 5}}});
        if let Some(dialect) = dialect {
            input["$schema"] = json!(dialect);
        }
        input
    };
    shows(with(Some("http://json-schema.org/draft-07/schema#")), &[json!({"b": 9})], &[json!({"b": "9"})]);
    shows(with(None), &[json!({"b": 4})], &[json!({"b": 9})]);
    let exclusive = json!({"type": "object", "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": true}}});
    shows(exclusive, &[json!({"n": 0.5})], &[json!({"n": 0})]);
}

#[test]
fn arguments_that_name_types_in_native_l8_are_arguments_of_a_tool() {
    for name in ["task", "concept", "concept_type", "Task"] {
        let input = json!({"type": "object", "properties": {name: {"type": "string", "maxLength": 9}}, "required": [name]});
        shows(input, &[json!({name: "x"})], &[json!({}), json!({name: 1})]);
    }
}

#[test]
fn attack_a_place_that_takes_nothing_inside_a_negation_would_let_all_through() {
    let bad = json!({"type": "string", "pattern": "^(a+)\\1$"});
    for keyword in ["not", "oneOf", "if"] {
        let mut turned = json!({"type": "string", "maxLength": 9});
        turned[keyword] = if keyword == "oneOf" { json!([bad, {"type": "string"}]) } else { bad.clone() };
        let input = json!({"type": "object", "properties": {"p": turned, "q": {"type": "integer"}}});
        shows(input, &[json!({"q": 1})], &[json!({"p": "x"})]);
    }
    // the same by way of a definition
    let shared = json!({"type": "object", "properties": {"p": {"type": "string", "not": {"$ref": "#/$defs/D"}}}, "$defs": {"D": bad}});
    let refused = draft_of(&[tool("f", shared)]).parts(&super::NAMING).err().unwrap().to_string();
    assert!(refused.contains("the pattern does not compile"), "{refused}");
}

#[test]
fn definitions_of_two_tools_never_share_a_name() {
    let point = |kind: &str| json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"type": kind}}});
    let other = |kind: &str| json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/b_c"}}, "$defs": {"b_c": {"type": kind}}});
    let (context, _) = of(&[tool("a_b", point("integer")), tool("a", other("boolean"))]);
    assert!(takes(&context, "a_b", &json!({"p": 1})) && !takes(&context, "a_b", &json!({"p": true})));
    assert!(takes(&context, "a", &json!({"p": true})) && !takes(&context, "a", &json!({"p": 1})));
    let reference = schema(&context, "a_b")["properties"]["p"]["$ref"].as_str().unwrap().to_owned();
    assert_eq!(reference, "#/$defs/a_b_c");
}

#[test]
fn bug_definitions_of_one_tool_whose_places_read_alike_shared_a_name() {
    for keys in [["a/b", "a_b", "a~b"], ["x y", "x_y", "x.y"], ["é", "ü", "_"]] {
        let pointer = |key: &str| format!("#/$defs/{}", key.replace('~', "~0").replace('/', "~1"));
        let mut input = json!({"type": "object", "properties": {}, "$defs": {}});
        for (n, key) in keys.into_iter().enumerate() {
            input["properties"][format!("p{n}")] = json!({"$ref": pointer(key)});
            input["$defs"][key] = json!({"const": key});
        }
        let (context, warnings) = of(&[tool("three", input.clone()), tool("other", input)]);
        for task in ["three", "other"] {
            for (n, _) in keys.iter().enumerate() {
                for (m, value) in keys.iter().enumerate() {
                    let instance = json!({format!("p{n}"): value});
                    assert_eq!(takes(&context, task, &instance), n == m, "{instance}: {warnings:#?}");
                }
            }
        }
    }
}

#[test]
fn bug_a_definition_named_as_the_mark_of_another_took_its_place() {
    let mut used = std::collections::BTreeSet::from(["t_p".to_owned()]);
    let first = super::names::definition("t", "", "p", "/$defs/p", &mut used.clone());
    used.insert(first.clone());
    let second = super::names::definition("t", "", "p", "/$defs/p", &mut used.clone());
    used.insert(second.clone());
    let third = super::names::definition("t", "", "p", "/$defs/p", &mut used);
    assert!(first != second && second != third && third != first, "{first} {second} {third}");
}

#[test]
fn bug_old_dependencies_replaced_the_newer_ones_of_the_same_member() {
    let required = |keys: [&str; 2]| {
        let mut input = json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}, "z": {"type": "integer"}}});
        for key in keys {
            input[key] = json!({"x": [if key == "dependencies" { "z" } else { "y" }]});
        }
        input
    };
    let schemas = |keys: [&str; 2]| {
        let mut input = required(["dependencies", "dependencies"]);
        input.as_object_mut().unwrap().remove("dependencies");
        for key in keys {
            input[key] = json!({"x": {"required": [if key == "dependencies" { "z" } else { "y" }]}});
        }
        input
    };
    let good = [json!({"x": 1, "y": 1, "z": 1}), json!({"y": 1})];
    let bad = [json!({"x": 1, "y": 1}), json!({"x": 1, "z": 1})];
    for (old, new) in [("dependencies", "dependentRequired"), ("dependentRequired", "dependencies")] {
        shows(required([old, new]), &good, &bad);
    }
    for (old, new) in [("dependencies", "dependentSchemas"), ("dependentSchemas", "dependencies")] {
        shows(schemas([old, new]), &good, &bad);
    }
    // a name that both ask for stands once
    let twice = json!({"type": "object", "properties": {"x": true, "y": true}, "dependentRequired": {"x": ["y"]}, "dependencies": {"x": ["y"]}});
    shows(twice, &[json!({"x": 1, "y": 1})], &[json!({"x": 1})]);
    let tuples = json!({"type": "object", "properties": {"p": {"type": "array", "prefixItems": [{"type": "integer"}], "items": [{"minimum": 3}]}}});
    let refused = draft_of(&[tool("f", tuples)]).parts(&super::NAMING).err().unwrap().to_string();
    assert!(refused.contains("two tuples in one schema"), "{refused}");
}

#[test]
fn attack_a_reference_to_nothing_inside_a_negation_let_all_through() {
    let places = [
        json!({"$ref": "https://evil.test/s"}),
        json!({"$ref": "#/$defs/Missing"}),
        json!({"$ref": 7}),
        json!(7),
    ];
    for nothing in &places {
        let turned = [
            json!({"not": nothing}),
            json!({"if": nothing, "then": {"maxLength": 0}}),
            json!({"oneOf": [nothing, {"type": "string"}]}),
            json!({"not": {"anyOf": [nothing, {"type": "integer"}]}}),
            json!({"contains": nothing, "minContains": 0, "maxContains": 1}),
        ];
        for mut turned in turned {
            turned["maxLength"] = json!(9);
            let input = json!({"type": "object", "properties": {"p": turned, "q": {"type": "integer"}}});
            shows(input, &[json!({"q": 1})], &[json!({"p": "x"}), json!({"p": ["x", "x"]})]);
        }
        // elsewhere the place itself takes nothing
        let input = json!({"type": "object", "properties": {"p": nothing, "q": {"anyOf": [nothing, {"type": "integer"}]}}});
        shows(input, &[json!({"q": 1})], &[json!({"p": "x"}), json!({"q": "x"})]);
        // by way of a definition, and at the root of a side, the tool is left out
        let shared = json!({"type": "object", "properties": {"p": {"not": {"$ref": "#/$defs/D"}}}, "$defs": {"D": {"allOf": [nothing]}}});
        let root = json!({"type": "object", "not": nothing});
        for input in [shared, root] {
            let mut draft = draft_of(&[tool("f", input), tool("g", json!({"type": "object"}))]);
            draft.parts(&super::NAMING).unwrap();
            assert_eq!(draft.left_out[0].0, "f", "{:?}", draft.left_out);
        }
    }
}
