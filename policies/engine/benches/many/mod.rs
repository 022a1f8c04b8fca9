//! The large case: ten thousand policies over a thousand contexts and ten thousand agents. Ten of the policies concern the message that is
//! measured, each further context has ten of its own, in the forms that operators write.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::sync::Arc;

use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::PolicySource;

/// Contexts beside the shipped ones.
pub const CONTEXTS: usize = 999;
/// Agents beside the shipped ones.
pub const AGENTS: usize = 10_000;

/// The shipped contexts.
pub fn shipped_contexts() -> Vec<Arc<Context>> {
    library::all().iter().map(|(_, bytes)| check(bytes)).collect()
}

/// The shipped contexts and as many more as the case has.
pub fn contexts() -> Vec<Arc<Context>> {
    contexts_and(CONTEXTS)
}

/// The shipped contexts and so many more: `trade0` and so on, of the shape of `supplyChain`.
pub fn contexts_and(further: usize) -> Vec<Arc<Context>> {
    shipped_contexts().into_iter().chain((0..further).map(|n| check(document(n).as_bytes()))).collect()
}

/// The document of one of the further contexts.
pub fn document(n: usize) -> String {
    let (_, model) = library::all().iter().find(|(name, _)| name.contains("supplyChain")).unwrap();
    let model = std::str::from_utf8(model).unwrap();
    model.replace("contexts:supplyChain:", &format!("contexts:trade{n}:"))
}

fn check(bytes: &[u8]) -> Arc<Context> {
    Arc::new(Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap())
}

/// Ten policies, of which seven concern the supply chain and three read values of it, one of each concept, so that no verdict on any of the
/// three can be remembered.
pub fn ten() -> PolicySource {
    let mut text = String::new();
    for (n, concept) in ["current_decision", "decision_contingency", "local_observation"].iter().enumerate() {
        let _ = writeln!(
            text,
            "@id(\"p{n}\") permit(principal in Group::\"partners\", action, resource is supplyChain::{concept});"
        );
    }
    for (n, (concept, value)) in [
        ("current_decision", "resource.quantity == 300000"),
        ("decision_contingency", "resource.then_change_text == \"stop\""),
        ("local_observation", "resource.observed_fact_text == \"nothing\""),
    ]
    .into_iter()
    .enumerate()
    {
        let _ = writeln!(
            text,
            "@id(\"p{}\") forbid(principal, action, resource is supplyChain::{concept}) when {{ {value} }};",
            n + 3
        );
    }
    text.push_str("@id(\"p6\") forbid(principal in Group::\"no-free-text\", action, resource) when { context.free_text };\n");
    for n in 7..10 {
        let _ = writeln!(
            text,
            "@id(\"p{n}\") forbid(principal, action, resource is payment::transfer) when {{ resource.amount == decimal(\"{n}000.0\") }};"
        );
    }
    PolicySource { files: vec![("ten.cedar".to_owned(), text)], ..PolicySource::shipped() }
}

/// Those ten, and ten for each further context of the case.
pub fn ten_thousand() -> PolicySource {
    ten_and(CONTEXTS)
}

/// Those ten, and ten for each of so many further contexts.
pub fn ten_and(further: usize) -> PolicySource {
    let mut source = ten();
    for (file, first) in (0..further).step_by(50).enumerate() {
        let mut text = String::new();
        for n in first..further.min(first + 50) {
            of_context(n, &mut text);
        }
        source.files.push((format!("trade-{file:02}.cedar"), text));
    }
    let mut entities: serde_json::Value = serde_json::from_slice(&source.entities).unwrap();
    let groups = entities["groups"].as_array_mut().unwrap();
    groups.extend((0..further).map(|n| format!("trade-{n}").into()));
    let agents = entities["agents"].as_array_mut().unwrap();
    agents.extend((0..AGENTS).map(|n| {
        let group = n % further;
        serde_json::json!({
            "id": agent(n), "groups": [format!("trade-{group}")], "credentials": [format!("member-{group}")],
        })
    }));
    source.entities = serde_json::to_vec(&entities).unwrap();
    source
}

fn agent(n: usize) -> String {
    format!("spiffe://semgate.test/customer/{n}")
}

fn of_context(n: usize, text: &mut String) {
    for concept in ["current_decision", "decision_contingency", "local_observation"] {
        let _ = writeln!(
            text,
            "permit (principal in Group::\"trade-{n}\", action in [Action::\"INFORM\", Action::\"REQUEST\"], resource is trade{n}::{concept});"
        );
    }
    for k in 1..4 {
        let _ = writeln!(
            text,
            "forbid (principal, action, resource is trade{n}::current_decision)
               when {{ resource.quantity == {k}00000 }} unless {{ principal.credentials.contains(\"member-{n}\") }};"
        );
    }
    let _ = writeln!(
        text,
        "permit (principal == Agent::\"{}\", action, resource is trade{n}::current_decision);
         forbid (principal == Agent::\"{}\", action == Action::\"REQUEST\", resource is trade{n}::local_observation);
         forbid (principal in Group::\"trade-{n}\", action, resource is trade{n}::decision_contingency) when {{ context.free_text && context.direction == \"reply\" }};
         permit (principal == Agent::\"{}\", action, resource) when {{ resource has quantity && resource.quantity <= {n} }};",
        agent(n),
        agent(n + CONTEXTS),
        agent(n + 2 * CONTEXTS),
    );
}

/// Resident memory of this process in MiB; `None` where the system does not say.
pub fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
