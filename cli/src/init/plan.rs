//! The plan of a directory, complete before anything is written.

use std::net::SocketAddr;

use serde_json::Value;

/// A directory to make.
pub struct Plan {
    /// The trust domain, and the name of the authority.
    pub trust_domain: String,
    /// The name of the one client.
    pub client: String,
    /// Address of the authority.
    pub authority: SocketAddr,
    /// Its admin address.
    pub authority_admin: SocketAddr,
    /// The gateway's admin address.
    pub admin: SocketAddr,
    /// The routes, at least one.
    pub routes: Vec<RoutePlan>,
    /// Documents that the authority publishes at its start.
    pub documents: Vec<DocumentPlan>,
    /// Lines of the shipped library that it publishes too.
    pub shipped: Vec<String>,
}

/// A document, and the definitions of its tools if it is one of an MCP server.
pub struct DocumentPlan {
    /// The file, relative to the directory.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The pinned definitions, for a reviewer.
    pub tools: Option<String>,
}

/// A route, with the policies that it needs.
pub struct RoutePlan {
    /// Its name, and that of its policy file.
    pub name: String,
    /// `a2a`, `mcp` or `l8`.
    pub binding: &'static str,
    /// The listener.
    pub listen: SocketAddr,
    /// True without TLS.
    pub plain: bool,
    /// SPIFFE id of the agent.
    pub receiver: String,
    /// Address of the agent.
    pub upstream: String,
    /// Lines and versions that the agent understands.
    pub contexts: Vec<String>,
    /// Further lines of the route's table.
    pub settings: Vec<String>,
    /// The policies.
    pub rules: Vec<Rule>,
    /// A case for `policy test`, without its parties.
    pub case: Value,
    /// Words for `semgate call`.
    pub call: String,
}

impl RoutePlan {
    /// Address for callers.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.plain { "http" } else { "https" }, self.listen)
    }
}

/// The one who says something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The client, in requests to the agent.
    Client,
    /// The agent, in answers.
    Agent,
}

/// A permit.
pub struct Rule {
    /// Its id.
    pub id: String,
    /// The one who may say it.
    pub who: Speaker,
    /// The Cedar type.
    pub says: String,
}

impl Rule {
    /// A permit for the client.
    pub fn client(id: impl Into<String>, says: impl Into<String>) -> Self {
        Self { id: id.into(), who: Speaker::Client, says: says.into() }
    }

    /// A permit for the agent's answers.
    pub fn agent(id: impl Into<String>, says: impl Into<String>) -> Self {
        Self { id: id.into(), who: Speaker::Agent, says: says.into() }
    }
}
