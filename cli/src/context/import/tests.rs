use super::*;
use serde_json::json;

fn context(mut draft: Draft) -> (Context, Vec<String>) {
    let context = good(&mut draft, "urn:contexts:drafts:v1.0", "Drafts").unwrap();
    (context, draft.warnings)
}

fn of(tools: &[Value]) -> (Context, Vec<String>) {
    let mut draft = Draft::default();
    for tool in tools {
        mcp::task(&mut draft, tool["name"].as_str().unwrap(), std::slice::from_ref(tool));
    }
    context(draft)
}

fn schema(context: &Context, task: &str) -> Value {
    context.term(task).unwrap().shapes().next().unwrap().schema().clone()
}

#[test]
fn a_tool_becomes_a_task_with_its_words_and_its_pin() {
    let tool = json!({"name": "get-sum", "description": "Adds.", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}});
    let (context, _) = of(std::slice::from_ref(&tool));
    let schema = schema(&context, "get_sum");
    assert_eq!(schema["description"], "Adds.");
    let pin = semgate_inspect::tools::digest_of(&tool).unwrap();
    assert_eq!(schema["$comment"], format!("mcp-tool get-sum {pin}"));
}

#[test]
fn definitions_move_to_the_top_under_names_of_their_own() {
    let (context, _) = of(&[
        json!({"name": "f", "inputSchema": {"type": "object", "properties": {"p": {"$ref": "#/$defs/Point"}},
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}}}}}}),
    ]);
    assert_eq!(schema(&context, "f")["properties"]["p"]["$ref"], "#/$defs/f_Point");
}

#[test]
fn what_cannot_be_kept_takes_nothing_and_is_told() {
    let (context, warnings) = of(&[json!({"name": "f", "inputSchema": {"type": "object", "properties": {
        "back": {"type": "string", "pattern": "^(a+)\\1$"},
        "far": {"$ref": "https://evil.test/schema.json"},
        "any": {"title": "Any"},
        "deep": {"enum": [{"a": 1}]},
        "odd": {"type": "string", "x-mystery": 1, "format": "telephone"},
    }}})]);
    let schema = schema(&context, "f");
    for name in ["back", "deep"] {
        assert_eq!(schema["properties"][name], json!(false), "{name}");
    }
    assert_eq!(schema["properties"]["any"], json!(true));
    for told in
        ["/back`", "f/parameters/far`", "f/parameters/any`", "/deep`", "not asserted", "says nothing here"]
    {
        assert!(warnings.iter().any(|warning| warning.contains(told)), "{told}: {warnings:#?}");
    }
}

#[test]
fn a_tool_that_no_context_can_hold_is_left_out_and_told() {
    let good = json!({"name": "f", "inputSchema": {"type": "object"}});
    let (context, warnings) = of(&[
        good.clone(),
        json!({"name": "f", "inputSchema": {"type": "object"}}),
        json!({"name": "g h", "inputSchema": {"type": "object"}}),
    ]);
    assert_eq!(context.terms().count(), 1);
    assert_eq!(warnings.iter().filter(|warning| warning.contains("left out")).count(), 2);
}

#[test]
fn skills_of_a_card_become_tasks_with_open_questions() {
    let card = json!({"name": "Recipe agent", "skills": [{"id": "find-recipe", "name": "Find", "description": "Finds one.", "tags": []}]});
    let (draft, name) = a2a::drafted(&card);
    assert_eq!(label(&name), "Recipe-agent");
    let (context, warnings) = context(draft);
    assert!(schema(&context, "find_recipe")["$comment"].as_str().unwrap().starts_with("open:"));
    assert_eq!(warnings.len(), 2);
}
