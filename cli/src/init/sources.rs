//! The agents to protect: who they are is read from themselves.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use clap::Args;
use http::Uri;
use semgate_authority::PROTOCOL_LINES;

use super::agent_card;
use super::plan::{Plan, RoutePlan};
use super::rules::agent_id;
use super::tools;
use super::typed::Typed;
use crate::context::{agent_card as fetch_card, line_label};
use crate::fault::Fault;
use crate::up::{GATEWAY, OPERATOR, Ports};

/// Running agents, and how others reach them.
#[derive(Debug, Clone, Args)]
pub struct Sources {
    /// An A2A agent on this machine: `http://127.0.0.1:9000`
    #[arg(long, value_name = "URL")]
    pub a2a: Vec<String>,
    /// The endpoint of an MCP server on this machine: `http://127.0.0.1:8000/mcp`
    #[arg(long, value_name = "URL")]
    pub mcp: Vec<String>,
    /// An agent on this machine that speaks native L8; needs `--context`
    #[arg(long, value_name = "URL", requires = "contexts")]
    pub l8: Vec<String>,
    #[command(flatten)]
    pub choices: Choices,
}

/// Choices for all of them.
#[derive(Debug, Clone, Args)]
pub struct Choices {
    /// A context that agents of A2A and L8 understand: a document, or a shipped line such as `travel`
    #[arg(long = "context", value_name = "FILE|LINE")]
    pub contexts: Vec<String>,
    /// Name of the one client that may speak
    #[arg(long, value_name = "NAME", default_value = "client-1")]
    pub client: String,
    /// The gateway's address for the first agent; those after it get the next ports. Default: free ports on loopback
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Listeners without TLS, for clients that show no certificate: everyone on this machine is the client
    #[arg(long)]
    pub plain: bool,
    /// The trust domain, and the name of the authority
    #[arg(long, value_name = "NAME", default_value = "semgate.test")]
    pub trust_domain: String,
}

impl Sources {
    /// Reads every agent.
    ///
    /// # Errors
    /// No agent is named, one does not answer, or an option cannot be used.
    pub async fn plan(&self) -> Result<Plan, Fault> {
        self.check()?;
        let typed = Typed::read(&self.choices.contexts)?;
        let mut ports = Ports::default();
        let [authority, authority_admin, admin] = ports.fill([None, None, None])?;
        let mut plan = Plan {
            trust_domain: self.choices.trust_domain.clone(),
            client: self.choices.client.clone(),
            authority,
            authority_admin,
            admin,
            routes: Vec::new(),
            documents: typed.as_ref().map(Typed::documents).unwrap_or_default(),
            shipped: PROTOCOL_LINES.map(str::to_owned).to_vec(),
        };
        let new = |line: &&String| !PROTOCOL_LINES.contains(&line.as_str());
        plan.shipped.extend(typed.iter().flat_map(Typed::shipped).filter(new).cloned());
        for url in &self.a2a {
            let route = self.agent(url, typed.as_ref(), &mut ports).await?;
            self.add(&mut plan, route);
        }
        for url in &self.mcp {
            self.server(url, &mut plan, &mut ports).await?;
        }
        for (url, typed) in self.l8.iter().zip(std::iter::repeat(&typed)) {
            let Some(typed) = typed else { continue };
            let mut route = self.route("l8", "agent", &local(url)?.to_string(), &mut ports)?;
            route.contexts = typed.scopes();
            route.rules = typed.rules();
            (route.case, route.call) = (typed.case(), typed.call());
            self.add(&mut plan, route);
        }
        Ok(plan)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.a2a.is_empty() && self.mcp.is_empty() && self.l8.is_empty() {
            return Err(Fault::new("no agent is named")
                .hint("give the address of a running one: `--a2a URL`, `--mcp URL` or `--l8 URL --context FILE`")
                .status(2));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let good = |name: &str| !name.is_empty() && name.len() <= 64 && name.chars().all(plain);
        if !good(&self.choices.client) || [OPERATOR, GATEWAY].contains(&self.choices.client.as_str()) {
            return Err(Fault::new(format_args!(
                "`--client`: `{}` is no name for a client",
                self.choices.client
            ))
            .hint("letters, digits, `-`, `_` and `.`; neither `operator` nor `gateway`")
            .status(2));
        }
        if self.choices.plain && self.choices.listen.is_some_and(|listen| !listen.ip().is_loopback()) {
            return Err(Fault::new("`--plain` needs a listener on loopback")
                .hint("without certificates everyone who connects is the client")
                .status(2));
        }
        Ok(())
    }

    /// A route of this binding, complete but for what the agent's description decides.
    fn route(
        &self,
        binding: &'static str,
        name: &str,
        upstream: &str,
        ports: &mut Ports,
    ) -> Result<RoutePlan, Fault> {
        let [listen] = ports.fill([None])?;
        Ok(RoutePlan {
            name: name.to_owned(),
            binding,
            listen,
            plain: self.choices.plain,
            receiver: String::new(),
            upstream: upstream.to_owned(),
            contexts: Vec::new(),
            settings: Vec::new(),
            rules: Vec::new(),
            case: serde_json::Value::Null,
            call: String::new(),
        })
    }

    async fn agent(&self, url: &str, typed: Option<&Typed>, ports: &mut Ports) -> Result<RoutePlan, Fault> {
        let uri = local(url)?;
        let card = fetch_card(url).await?;
        let read = agent_card::read(&card, typed).map_err(|fault| fault.within(format_args!("`{url}`")))?;
        // a card may name an address that only its readers know; the agent answers at the one given here
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let upstream = format!("http://{authority}{}", read.path);
        let mut route = self.route("a2a", &line_label(&read.name), &upstream, ports)?;
        route.contexts = typed.map_or(vec!["a2a:v1".to_owned()], Typed::scopes);
        route.settings = read.settings;
        route.rules = read.rules;
        route.rules.extend(typed.map(Typed::rules).unwrap_or_default());
        (route.case, route.call) = (read.case, read.call);
        Ok(route)
    }

    async fn server(&self, url: &str, plan: &mut Plan, ports: &mut Ports) -> Result<(), Fault> {
        let uri = local(url)?;
        let read = tools::read(url).await?;
        let mut route = self.route("mcp", &line_label(&read.name), &uri.to_string(), ports)?;
        route.contexts = read.contexts;
        route.settings = read.settings;
        route.rules = read.rules;
        (route.case, route.call) = (read.case, read.call);
        let files: BTreeSet<&String> = plan.documents.iter().map(|one| &one.file).collect();
        if let Some(twice) = read.documents.iter().find(|one| files.contains(&one.file)) {
            return Err(Fault::new(format_args!("two servers would share `{}`", twice.file)).hint(
                "begin with one of them, and add the other by hand with `semgate context import --line`",
            ));
        }
        plan.documents.extend(read.documents);
        self.add(plan, route);
        Ok(())
    }

    /// Adds a route under a name of its own.
    fn add(&self, plan: &mut Plan, mut route: RoutePlan) {
        let taken =
            |name: &str| plan.routes.iter().any(|other| other.name == name) || name == self.choices.client;
        let base = route.name.to_ascii_lowercase();
        let named = (1..).map(|n| if n == 1 { base.clone() } else { format!("{base}-{n}") });
        route.name = named.into_iter().find(|name| !taken(name)).unwrap_or_default();
        route.receiver = agent_id(&self.choices.trust_domain, &route.name);
        if let Some(first) = self.choices.listen {
            let after = u16::try_from(plan.routes.len()).unwrap_or_default();
            route.listen = SocketAddr::new(first.ip(), first.port().saturating_add(after));
        }
        plan.routes.push(route);
    }
}

/// The address of an agent without TLS on this machine.
fn local(url: &str) -> Result<Uri, Fault> {
    let uri: Option<Uri> = url.parse().ok();
    let is_local = |uri: &Uri| {
        uri.scheme_str() == Some("http")
            && uri.query().is_none()
            && matches!(uri.host(), Some("127.0.0.1" | "[::1]" | "localhost"))
    };
    uri.filter(is_local).ok_or_else(|| {
        Fault::new(format_args!("`{url}` is not an `http://` address on this machine"))
            .hint("run Semgate beside the agent; docs/how-to/run-a-gateway.md has routes to agents elsewhere")
            .status(2)
    })
}
