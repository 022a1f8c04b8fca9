//! An MCP server as its list of tools describes it.

use semgate_contexts::{Context, TermKind};
use semgate_policies::cedar_type;
use serde_json::{Value, json};

use super::plan::{DocumentPlan, Rule};
use crate::context::{DraftedContext, drafted_tools};
use crate::fault::Fault;

/// Operations of a client that uses tools, with the names of their policies.
const ASKS: [(&str, &str); 7] = [
    ("open", "Initialize"),
    ("ready", "Initialized"),
    ("discover", "Discover"),
    ("ping", "Ping"),
    ("cancel", "Cancelled"),
    ("progress", "Progress"),
    ("list-tools", "ListTools"),
];
/// Answers of a server with tools.
const ANSWERS: [(&str, &str); 6] = [
    ("opened", "Initialize_results"),
    ("discovered", "Discover_results"),
    ("alive", "Ping_results"),
    ("reports", "Progress"),
    ("tools-changed", "ToolListChanged"),
    ("tools", "ListTools_results"),
];

/// The part of a route that a list of tools decides.
pub struct FromTools {
    /// The server's name.
    pub name: String,
    /// Scopes of the contexts that pin its tools.
    pub contexts: Vec<String>,
    /// Lines of the route's table.
    pub settings: Vec<String>,
    /// The policies.
    pub rules: Vec<Rule>,
    /// A case for `policy test`.
    pub case: Value,
    /// Words for `semgate call`.
    pub call: String,
    /// The contexts.
    pub documents: Vec<DocumentPlan>,
}

/// Asks a server for its tools.
///
/// # Errors
/// It does not answer, or none of its tools can be a task of a context.
pub async fn read(url: &str) -> Result<FromTools, Fault> {
    let (name, drafts) = drafted_tools(url).await?;
    let mut rules: Vec<Rule> =
        ASKS.iter().map(|(id, concept)| Rule::client(*id, format!("mcp::{concept}"))).collect();
    rules.extend(ANSWERS.iter().map(|(id, concept)| Rule::agent(*id, format!("mcp::{concept}"))));
    let answers_text = drafts.iter().any(|draft| draft.answers_text);
    if answers_text {
        rules.push(Rule::agent("text", "mcp::text"));
    }
    drafts.iter().for_each(|draft| rules.extend(tasks(&draft.context)));
    let urns: Vec<String> =
        drafts.iter().map(|draft| format!("\"{}\"", draft.context.urn().as_str())).collect();
    let mut settings = vec![match urns.as_slice() {
        [one] => format!("default_context = {one}  # pins the tools: a tool that changes is withheld"),
        several => format!("default_contexts = [{}]  # pin the tools", several.join(", ")),
    }];
    if answers_text {
        settings.push(
            "admit = [\"text\"]  # tools without an output schema answer in text, which nobody inspects"
                .to_owned(),
        );
    }
    let case = json!({
        "shows": "the client may list the tools", "context": "mcp:v1.0", "concept": "ListTools", "performative": "QUERY",
        "content": {}, "expect": "permitted",
    });
    Ok(FromTools {
        name,
        contexts: drafts.iter().map(|draft| draft.context.urn().line().as_str().to_owned()).collect(),
        settings,
        rules,
        case,
        call: "--list-tools".to_owned(),
        documents: drafts.into_iter().map(document).collect(),
    })
}

fn document(draft: DraftedContext) -> DocumentPlan {
    let file = format!("contexts/{}.json", draft.context.urn().line().as_str());
    DocumentPlan { file, text: draft.text, tools: draft.tools }
}

/// Permits for the tasks of a context: the client calls, the agent answers.
pub fn tasks(context: &Context) -> Vec<Rule> {
    let line = context.urn().line();
    let mut rules = Vec::new();
    for term in context.terms() {
        let (name, says) = (term.name(), cedar_type(line, term.name()));
        rules.push(Rule::client(format!("say-{name}"), &says));
        match term.kind() {
            TermKind::Task => {
                let results = cedar_type(line, &format!("{name}_results"));
                rules.push(Rule::agent(format!("answer-{name}"), results));
            }
            TermKind::Concept => rules.push(Rule::agent(format!("answer-{name}"), &says)),
        }
    }
    rules
}
