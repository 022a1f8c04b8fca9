//! `semgate protect URL`: an authority and a gateway in front of one running agent, in one command.

use std::path::PathBuf;

use clap::Args;
use http::Uri;
use semgate_gateway::config::{Part, RouteConfig};
use semgate_protocol::Binding;

use crate::context::{agent_card, drafted_tools};
use crate::fault::Fault;
use crate::init::{self, Choices, Sources, quoted};
use crate::up::{self, UpArgs};
use crate::up_directory::{FIREWALL_TOML, UP_TOML, cert, key};

/// Put an authority and a gateway in front of a running agent
#[derive(Debug, Args)]
pub struct Protect {
    /// The agent: `http://127.0.0.1:9000`, or an MCP endpoint such as `http://127.0.0.1:8000/mcp`
    url: String,
    /// It speaks A2A; default: whichever it answers
    #[arg(long, conflicts_with = "mcp")]
    a2a: bool,
    /// It speaks MCP
    #[arg(long)]
    mcp: bool,
    /// The directory for all files; made at the first start
    #[arg(long, default_value = "./.semgate")]
    dir: PathBuf,
    #[command(flatten)]
    choices: Choices,
}

impl Protect {
    /// Runs until SIGTERM.
    ///
    /// # Errors
    /// The agent does not answer, the directory is another agent's, or the fault that stopped a part.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        if !self.dir.join(UP_TOML).exists() {
            tell!("reading the agent at {}, and making {}", self.url, self.dir.display());
            init::make(&self.dir, &self.sources().await?).await?;
        }
        let config = crate::firewall::load(&self.dir.join(FIREWALL_TOML))?;
        let wanted: Option<Uri> = self.url.parse().ok();
        let leads_here = |route: &&RouteConfig| {
            let authority = wanted.as_ref().and_then(Uri::authority);
            authority.is_some_and(|authority| route.upstream.host_header() == authority.as_str())
        };
        let route = config.routes.iter().find(leads_here).ok_or_else(|| {
            Fault::new(format_args!("`{}` has no route to `{}`", self.dir.display(), self.url))
                .hint("it protects another agent: name another directory with `--dir`")
        })?;
        let lines = self.remarks(route);
        up::run_showing(UpArgs::in_dir(&self.dir), json, &lines).await
    }

    async fn sources(&self) -> Result<Sources, Fault> {
        let url = vec![self.url.clone()];
        let is_a2a = match (self.a2a, self.mcp) {
            (true, _) => true,
            (_, true) => false,
            _ => self.shows_card().await?,
        };
        let (a2a, mcp) = if is_a2a { (url, Vec::new()) } else { (Vec::new(), url) };
        Ok(Sources { a2a, mcp, l8: Vec::new(), choices: self.choices.clone() })
    }

    /// True for an agent with a card, false for an MCP server.
    async fn shows_card(&self) -> Result<bool, Fault> {
        let Err(no_card) = agent_card(&self.url).await else { return Ok(true) };
        match drafted_tools(&self.url).await {
            Ok(_) => Ok(false),
            Err(no_tools) => Err(Fault::new(format_args!(
                "`{}` is neither an A2A agent ({}) nor an MCP server ({})",
                self.url,
                no_card.what(),
                no_tools.what()
            ))
            .hint("start the agent first, and name the endpoint of an MCP server with its path")),
        }
    }

    fn remarks(&self, route: &RouteConfig) -> Vec<String> {
        let (dir, client) = (&self.dir, &self.choices.client);
        let path = |relative: PathBuf| quoted(&dir.join(relative).display().to_string());
        let words = match route.binding {
            Binding::Mcp => "--list-tools",
            _ if route.agent.admit.contains(&Part::Text) => "--text hello",
            _ => "--card",
        };
        let mut lines = Vec::new();
        if route.takes_certificates() {
            lines.push(format!(
                "clients show {} and {}, and trust {}",
                path(cert(client)),
                path(key(client)),
                path("roots.pem".into())
            ));
        }
        lines.push(format!(
            "try it: semgate call --dir {} --route {} {words}",
            quoted(&dir.display().to_string()),
            route.name
        ));
        lines
    }
}
