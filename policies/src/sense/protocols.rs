//! Which way each method and each card of MCP and A2A comes, and in which versions of its protocol: the tables of `docs/spec/mcp-binding.md`
//! and `docs/spec/a2a-binding.md`. A test in the room that reads messages holds them against what is read there.

use semgate_contexts::{Term, TermKind, Version};

/// The bindings that have a vocabulary of their own: a line of this name and version, which that binding alone says
/// (`docs/policy.md`, protocols).
pub(super) const PROTOCOLS: [(&str, Version); 2] = [("a2a", Version::new(1, 0)), ("mcp", Version::new(1, 0))];

/// What `context.binding_version` can be, by the binding.
pub(super) const BINDING_VERSIONS: [(&str, &[&str]); 3] =
    [("a2a", &["0.3", "1.0"]), ("l8", &[""]), ("mcp", &["2025-06-18", "2025-11-25", "2026-07-28"])];

/// What the `$comment` of a task's parameters begins with where the task is signed as a tool (`docs/spec/mcp-binding.md`, tools).
const TOOL_MARK: &str = "mcp-tool";

/// Whether a term is a tool of MCP: the one thing that a signed context says there.
pub(crate) fn is_tool(term: &Term) -> bool {
    let comment = || term.shapes().next()?.schema().get("$comment")?.as_str();
    let words =
        |comment: &str| comment.split(' ').nth(1).is_some() && comment.split(' ').next() == Some(TOOL_MARK);
    term.kind() == TermKind::Task && comment().is_some_and(words)
}

/// Whether a concept of a line can be a request in a version of the line: what a protocol alone says and what always answers cannot.
pub(crate) fn is_asked(line: &str, version: Version, concept: &str) -> bool {
    let of = PROTOCOLS.iter().any(|(own, of)| *own == line && *of == version);
    !of || comes(line, concept).is_none_or(|comes| !comes.asked.is_empty())
}

/// The versions in which something comes, by the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comes {
    asked: &'static [&'static str],
    told: &'static [&'static str],
}

impl Comes {
    /// The versions in which it comes this way.
    pub fn versions(self, direction: &str) -> &'static [&'static str] {
        if direction == "request" { self.asked } else { self.told }
    }
}

/// When a concept that one protocol alone says comes; none where that is either way and in every version.
pub(super) fn comes(protocol: &str, concept: &str) -> Option<Comes> {
    match protocol {
        "a2a" => a2a(concept),
        "mcp" => mcp(concept),
        _ => None,
    }
}

fn a2a(concept: &str) -> Option<Comes> {
    const NEW: &[&str] = &["1.0"];
    const BOTH: &[&str] = &["0.3", "1.0"];
    let (asked, told): (&[&str], &[&str]) = match concept {
        // 0.3 has no lists of tasks, and the public card is read by a path of 1.0
        "ListTasks" | "GetAgentCard" => (NEW, &[]),
        "GetTask"
        | "CancelTask"
        | "SubscribeToTask"
        | "CreateTaskPushNotificationConfig"
        | "GetTaskPushNotificationConfig"
        | "ListTaskPushNotificationConfigs"
        | "DeleteTaskPushNotificationConfig"
        | "GetExtendedAgentCard" => (BOTH, &[]),
        "AgentCard" | "TaskPushNotificationConfig" => (&[], BOTH),
        _ => return None,
    };
    Some(Comes { asked, told })
}

fn mcp(concept: &str) -> Option<Comes> {
    const OLD: &[&str] = &["2025-06-18", "2025-11-25"];
    const NEW: &[&str] = &["2026-07-28"];
    const BOTH: &[&str] = &["2025-06-18", "2025-11-25", "2026-07-28"];
    let (method, answers) = match concept.strip_suffix("_results") {
        Some(method) => (method, true),
        None => (concept, false),
    };
    let (client, server): (&[&str], &[&str]) = match method {
        "Initialize"
        | "SubscribeResource"
        | "UnsubscribeResource"
        | "SetLoggingLevel"
        | "Initialized"
        | "RootsListChanged" => (OLD, &[]),
        "Discover" => (NEW, &[]),
        "Ping" => (OLD, OLD),
        // the stream of a session is a `Listen` of the versions with sessions
        "ListTools"
        | "CallTool"
        | "ListResources"
        | "ListResourceTemplates"
        | "ReadResource"
        | "ListPrompts"
        | "GetPrompt"
        | "Complete"
        | "Listen" => (BOTH, &[]),
        // in 2026-07-28 as what a result needs first
        "Elicit" | "CreateMessage" | "ListRoots" => (&[], BOTH),
        "Progress" => (OLD, BOTH),
        "LogMessage"
        | "ToolListChanged"
        | "ResourceListChanged"
        | "PromptListChanged"
        | "ResourceUpdated" => (&[], BOTH),
        "ElicitationComplete" => (&[], OLD),
        "SubscriptionsAcknowledged" | "InputRequired" => (&[], NEW),
        _ => return None,
    };
    Some(if answers { Comes { asked: server, told: client } } else { Comes { asked: client, told: server } })
}
