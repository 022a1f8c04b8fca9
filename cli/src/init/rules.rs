//! The text of policies, entities and cases.

use serde_json::{Value, json};

use super::plan::{Plan, RoutePlan, Speaker};
use crate::fault::{Doing, Fault};

/// The SPIFFE id of an agent of this trust domain.
pub fn agent_id(trust_domain: &str, name: &str) -> String {
    format!("spiffe://{trust_domain}/agent/{name}")
}

/// The policy file of a route.
pub fn policies(plan: &Plan, route: &RoutePlan) -> String {
    let client = agent_id(&plan.trust_domain, &plan.client);
    let (name, receiver) = (&route.name, &route.receiver);
    let mut text = format!(
        "// Everything that `{}` may ask of `{name}`, and `{name}` may answer. What no policy permits is refused.\n\
         // Narrow a permit with `when {{ … }}`, or forbid: docs/how-to/write-policies.md. Take away what nobody needs.\n",
        plan.client
    );
    for rule in &route.rules {
        let (principal, when) = match rule.who {
            Speaker::Client => (&client, format!("context.receiver == Agent::\"{receiver}\"")),
            Speaker::Agent => (receiver, "context.direction == \"reply\"".to_owned()),
        };
        text.push_str(&format!(
            "\n@id(\"{}\")\npermit (principal == Agent::\"{principal}\", action, resource is {})\nwhen {{ {when} }};\n",
            rule.id, rule.says
        ));
    }
    text
}

/// `entities.json`: the client and the agents.
///
/// # Errors
/// None in practice: names have a JSON form.
pub fn entities(plan: &Plan) -> Result<String, Fault> {
    let agent = |id: &str, alias: &str| json!({"id": id, "alias": alias, "groups": [], "credentials": []});
    let mut agents = vec![agent(&agent_id(&plan.trust_domain, &plan.client), &plan.client)];
    agents.extend(plan.routes.iter().map(|route| agent(&route.receiver, &route.name)));
    let entities = json!({"groups": [], "agents": agents});
    Ok(serde_json::to_string_pretty(&entities).doing("`entities.json`")? + "\n")
}

/// The test cases: one for each route.
///
/// # Errors
/// As [`entities`].
pub fn cases(plan: &Plan) -> Result<String, Fault> {
    let case = |route: &RoutePlan| {
        let mut case = route.case.clone();
        if let Value::Object(members) = &mut case {
            members.insert("sender".to_owned(), json!(plan.client));
            members.insert("receiver".to_owned(), json!(route.name));
            members.insert("protocol".to_owned(), json!(route.binding));
        }
        case
    };
    let cases: Vec<Value> = plan.routes.iter().map(case).collect();
    Ok(serde_json::to_string_pretty(&cases).doing("cases")? + "\n")
}
