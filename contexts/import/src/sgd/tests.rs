use super::*;
use semgate_contexts::json;

const NAMING: Naming<'_> = Naming { line: "drafts", version: "v1.0", title: "Drafts" };

/// Two services in the words of the data set.
fn source() -> Value {
    json!([{"service_name": "Restaurants_1", "description": "Finds restaurants",
        "slots": [
            {"name": "restaurant_name", "description": "Name of the restaurant", "is_categorical": false, "possible_values": []},
            {"name": "party_size", "description": "Party size", "is_categorical": true, "possible_values": ["1", "2", "3"]},
            {"name": "price_range", "description": "Price", "is_categorical": true, "possible_values": ["cheap", "expensive"]}],
        "intents": [
            {"name": "ReserveRestaurant", "description": "Reserves a table", "is_transactional": true,
             "required_slots": ["restaurant_name"], "optional_slots": {"party_size": "2", "price_range": "dontcare"},
             "result_slots": ["restaurant_name", "party_size"]},
            {"name": "Find", "description": "Finds", "is_transactional": false, "required_slots": ["price_range", "gone"], "optional_slots": {}, "result_slots": []}]},
      {"service_name": "Hotels_1", "description": "Hotels", "slots": [], "intents": [{"name": "Find", "description": "Finds", "required_slots": [], "optional_slots": {}, "result_slots": []}]}])
}

fn accepts(draft: &ContextDraft, task: &str, value: &Value) -> bool {
    let text = value.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    draft
        .context
        .term(task)
        .unwrap()
        .shapes()
        .next()
        .unwrap()
        .conform(read.as_object().unwrap(), None)
        .is_ok()
}

#[test]
fn intents_become_tasks_and_categorical_slots_code_lists() {
    let draft = draft(&source(), &[], &NAMING).unwrap();
    let terms: Vec<&str> = draft.context.terms().map(|term| term.name()).collect();
    assert_eq!(terms, ["Hotels_1_Find", "ReserveRestaurant", "Restaurants_1_Find"]);
    assert_eq!(
        draft.document["codes"]["Restaurants_1_price_range"],
        json!(["cheap", "dontcare", "expensive"])
    );
    assert!(accepts(
        &draft,
        "ReserveRestaurant",
        &json!({"restaurant_name": "Chez", "party_size": "2", "price_range": "dontcare"})
    ));
    assert!(!accepts(&draft, "ReserveRestaurant", &json!({"party_size": "2"})));
    assert!(!accepts(&draft, "ReserveRestaurant", &json!({"restaurant_name": "Chez", "party_size": "4"})));
    for what in [
        "consider `x-require-approval`",
        "`gone` is left out",
        "takes `dontcare` too",
        "defaults of optional slots",
    ] {
        assert!(draft.remarks.iter().any(|one| one.what.contains(what)), "{what}: {:#?}", draft.remarks);
    }
}

#[test]
fn services_are_chosen_by_name() {
    let draft = draft(&source(), &["Hotels_1".to_owned()], &NAMING).unwrap();
    assert_eq!(draft.context.terms().map(|term| term.name()).collect::<Vec<_>>(), ["Find"]);
    let unknown = super::draft(&source(), &["Flights_1".to_owned()], &NAMING).unwrap_err();
    assert!(unknown.hint.unwrap().contains("Restaurants_1, Hotels_1"));
    for other in [json!({}), json!([]), json!([{"name": "x"}])] {
        assert!(super::draft(&other, &[], &NAMING).unwrap_err().what.contains("no `schema.json` of SGD"));
    }
}
