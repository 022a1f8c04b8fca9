//! A condition on the direction or the version of one method of MCP or A2A is refused when it is loaded exactly where nothing that is read
//! here could come so.

use std::collections::BTreeSet;
use std::sync::Arc;

use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_message::{
    a2a,
    mcp::{self, Kind, Speaker},
};
use semgate_policies::{Policies, PolicyLimits, PolicySource};

const WAYS: [&str; 2] = ["request", "reply"];

/// Concept, direction and version.
type Way = (String, &'static str, &'static str);

/// What is loaded of these, each asked for by a permit of its own.
fn loaded(all: &[Way]) -> BTreeSet<Way> {
    let contexts: Vec<Arc<Context>> = library::all()
        .iter()
        .map(|(_, bytes)| {
            Arc::new(Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap())
        })
        .collect();
    let policy = |(n, (concept, way, version)): (usize, &Way)| {
        format!(
            "@id(\"n{n}\") permit (principal, action, resource is {concept}) when {{ context.direction == \"{way}\" && context.binding_version == \"{version}\" }};\n"
        )
    };
    let text: String = all.iter().enumerate().map(policy).collect();
    let source = PolicySource { files: vec![("p.cedar".to_owned(), text)], ..PolicySource::shipped() };
    let faults = match Policies::load(&source, &contexts, &PolicyLimits::default()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    };
    let why = |fault: &String| {
        ["`context.direction` is never", "`context.binding_version` is never"]
            .iter()
            .any(|never| fault.contains(never))
    };
    assert!(faults.iter().all(why), "{faults:#?}");
    let is_refused = |n: usize| faults.iter().any(|fault| fault.contains(&format!("`p.cedar#n{n}`")));
    all.iter().enumerate().filter(|(n, _)| !is_refused(*n)).map(|(_, way)| way.clone()).collect()
}

#[track_caller]
fn exactly(concepts: &[String], versions: &[&'static str], comes: impl Fn(&Way) -> bool) {
    let of = |concept: &String| {
        let each = WAYS.into_iter().flat_map(|way| versions.iter().map(move |version| (way, *version)));
        each.map(|(way, version)| (concept.clone(), way, version)).collect::<Vec<Way>>()
    };
    let all: Vec<Way> = concepts.iter().flat_map(of).collect();
    let expected: BTreeSet<Way> = all.iter().filter(|way| comes(way)).cloned().collect();
    assert_eq!(loaded(&all), expected);
}

#[test]
fn a_method_of_mcp_comes_as_its_row_says() {
    let operations = mcp::Operation::ALL;
    let of = |operation: &mcp::Operation| {
        let own = format!("mcp::{}", operation.concept());
        let answer = (operation.kind() == Kind::Request).then(|| format!("{own}_results"));
        std::iter::once(own).chain(answer)
    };
    let concepts: Vec<String> = operations.iter().flat_map(of).collect();
    let versions = mcp::Version::ALL.map(mcp::Version::as_str);
    exactly(&concepts, &versions, |(concept, way, version)| {
        let name = concept.trim_start_matches("mcp::");
        let (method, answers) = name.strip_suffix("_results").map_or((name, false), |method| (method, true));
        let operation = *operations.iter().find(|operation| operation.concept() == method).unwrap();
        // what a client asks is a request, and what answers a server's question is one
        let speaker = if (*way == "request") == answers { Speaker::Server } else { Speaker::Client };
        let version = mcp::Version::parse(version).unwrap();
        let asked_first = matches!(
            operation,
            mcp::Operation::Elicit | mcp::Operation::CreateMessage | mcp::Operation::ListRoots
        );
        operation.versions(speaker).contains(&version)
            // in the newer version servers ask by what a result needs first
            || (asked_first && speaker == Speaker::Server)
            // the stream of a session is asked for as the newer version's subscription is
            || (operation == mcp::Operation::Listen && speaker == Speaker::Client)
    });
}

#[test]
fn an_operation_of_a2a_is_asked_and_what_it_reads_is_told() {
    let operations: Vec<a2a::Operation> =
        a2a::Operation::ALL.into_iter().filter(|operation| !operation.sends()).collect();
    let concepts: Vec<String> =
        operations.iter().map(|operation| format!("a2a::{}", operation.as_str())).collect();
    exactly(&concepts, &["0.3", "1.0"], |(concept, way, version)| {
        let operation = a2a::Operation::parse(concept.trim_start_matches("a2a::")).unwrap();
        let version = a2a::Version::parse(version).unwrap();
        // by its path the public card is read in 1.0 alone, as all of HTTP+JSON and gRPC is
        *way == "request" && (version == a2a::Version::V10 || operation.method(version).is_some())
    });
    let told = ["a2a::AgentCard", "a2a::TaskPushNotificationConfig"].map(str::to_owned);
    exactly(&told, &["0.3", "1.0"], |(_, way, _)| *way == "reply");
    let either = ["a2a::text", "a2a::file", "a2a::data", "a2a::metadata"].map(str::to_owned);
    exactly(&either, &["0.3", "1.0"], |_| true);
}
