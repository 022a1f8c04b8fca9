//! Tests of `answer`.

use super::*;

#[test]
fn f0_27_an_ambiguous_destination_is_answered_with_the_papers_options() {
    let question = json!({"concept": "ambiguous_parameter", "parameter": "dest_code", "value": "New York"});
    let options =
        json!({"concept": "parameter_options", "parameter": "dest_code", "options": ["JFK", "LGA", "EWR"]});
    assert_eq!(answer("urn:contexts:travel:v2.1", &question), Answer::Says("INFORM", options));
}

#[test]
fn a_question_whose_options_it_does_not_know_gets_none() {
    let question = json!({"concept": "ambiguous_parameter", "parameter": "date", "value": "next friday"});
    assert_eq!(answer("urn:contexts:travel:v2.1", &question), Answer::Has);
}

#[test]
fn a_flight_is_booked_whichever_member_names_the_task() {
    for member in NAMING {
        let question =
            json!({member: "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"});
        let Answer::Says("INFORM", reply) = answer("urn:contexts:travel:v2.1", &question) else {
            panic!("{member}")
        };
        assert_eq!(reply["status"], "confirmed");
    }
}

#[test]
fn concepts_of_the_library_are_restated_and_others_only_taken() {
    let content = json!({"a": {"concept_type": "current_decision", "item_id": "beer", "quantity": 1}});
    assert_eq!(answer("urn:contexts:supplyChain:v1.0", &content), Answer::Says("AGREE", content.clone()));
    assert_eq!(answer("urn:contexts:acme.parts:v1.0", &content), Answer::Has);
}
