//! The gateway that a call goes to, and the one who speaks.

use std::path::Path;

use semgate_contexts::{Context, DocumentLimits, Prefix, TermKind, library};
use semgate_gateway::config::{Config, RouteConfig};
use semgate_protocol::{Binding, a2a::Version};

use super::Spoken;
use crate::client::Client;
use crate::fault::Fault;
use crate::up::{GATEWAY, OPERATOR};
use crate::up_directory::UpDirectory;

/// The caller of `up` where several may speak.
const USUAL: &str = "retailer-7";

/// A route, and a client for it.
pub struct Target {
    /// The address.
    pub url: String,
    /// A client with the speaker's certificate.
    pub client: Client,
    /// The protocol, if known.
    pub binding: Option<Spoken>,
    /// True if the route takes A2A 0.3 alone.
    pub only_0_3: bool,
    /// The value for `sender_id`.
    pub sender: Option<String>,
    /// The value for `receiver_id`.
    pub receiver: Option<String>,
    /// The gateway's admin address.
    pub admin: Option<String>,
    /// Documents that tell tasks from concepts.
    documents: Vec<Context>,
}

impl Target {
    /// A gateway of which only the address is known.
    pub fn elsewhere(url: &str, client: Client) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        Self {
            url,
            client,
            binding: None,
            only_0_3: false,
            sender: None,
            receiver: None,
            admin: None,
            documents: Vec::new(),
        }
    }

    /// A route of the gateway of this directory: the named one, or its only one.
    ///
    /// # Errors
    /// No such directory, route or speaker.
    pub fn of_directory(dir: &Path, route: Option<&str>, speaker: Option<&str>) -> Result<Self, Fault> {
        let up_dir = UpDirectory::open(dir)?;
        let config = configuration(&up_dir)?;
        let routes = &config.routes;
        let known = || routes.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
        let one = match (route, routes.as_slice()) {
            (Some(name), all) => all.iter().find(|one| one.name == name),
            (None, [one]) => Some(one),
            (None, _) => None,
        };
        let one = one.ok_or_else(|| {
            let what = route.map_or("which route?".to_owned(), |name| format!("no route `{name}` here"));
            Fault::new(what).hint(format_args!("`--route` is one of {}", known())).status(2)
        })?;
        Self::route(dir, &up_dir, &config, one, speaker)
    }

    /// The gateway at this address, as somebody of this directory.
    ///
    /// # Errors
    /// As [`Target::of_directory`].
    pub fn at(dir: &Path, url: &str, speaker: Option<&str>) -> Result<Self, Fault> {
        let up_dir = UpDirectory::open(dir)?;
        let config = configuration(&up_dir)?;
        let wanted = url.trim_end_matches('/');
        match config.routes.iter().find(|route| route.url() == wanted) {
            Some(route) => Self::route(dir, &up_dir, &config, route, speaker),
            None => Ok(Self::elsewhere(url, Client::of_agent(&up_dir, speaker_of(&up_dir, speaker)?)?)),
        }
    }

    fn route(
        dir: &Path,
        up_dir: &UpDirectory,
        config: &Config,
        route: &RouteConfig,
        speaker: Option<&str>,
    ) -> Result<Self, Fault> {
        let name = speaker_of(up_dir, speaker)?;
        let client =
            if route.plain_sender.is_some() { Client::plain() } else { Client::of_agent(up_dir, name)? };
        let binding = match route.binding {
            Binding::L8 => Spoken::L8,
            Binding::A2a => Spoken::A2a,
            Binding::Mcp => Spoken::Mcp,
            Binding::Iac => {
                return Err(Fault::new("a route of the binding `iac` takes signed messages over QUIC alone")
                    .hint("use a client of IAC, as docs/spec/iac-binding.md says")
                    .status(2));
            }
            Binding::Ldp => Spoken::Ldp,
            Binding::A2h => {
                return Err(Fault::new("a route of the binding `a2h` takes requests to people alone")
                    .hint("post to `/a2h/v1/interactions`, as docs/spec/a2h-binding.md says")
                    .status(2));
            }
        };
        let url = up_dir.up().gateway.get(&route.name).cloned();
        Ok(Self {
            binding: Some(binding),
            only_0_3: route.a2a.versions == [Version::V03],
            sender: Some(up_dir.agent(name)?.id.clone()),
            receiver: Some(route.receiver.clone()),
            admin: Some(config.admin.to_string()),
            documents: documents(dir),
            ..Self::elsewhere(&url.unwrap_or_else(|| route.url()), client)
        })
    }

    /// REQUEST for a task, QUERY for the metered question, INFORM for every other concept.
    pub fn default_performative(&self, urn: &str, concept: &str) -> &'static str {
        let context = self.documents.iter().find(|one| one.urn().as_str() == urn);
        match context.and_then(|context| context.term(concept)).map(semgate_contexts::Term::kind) {
            Some(TermKind::Task) => "REQUEST",
            _ if concept == "ambiguous_parameter" => "QUERY",
            _ => "INFORM",
        }
    }
}

fn configuration(up_dir: &UpDirectory) -> Result<Config, Fault> {
    crate::firewall::load(&up_dir.path(&up_dir.up().firewall_config))
}

/// The named speaker, or the only client.
fn speaker_of<'a>(up_dir: &'a UpDirectory, named: Option<&'a str>) -> Result<&'a str, Fault> {
    if let Some(name) = named {
        return Ok(name);
    }
    let names = || up_dir.up().agents.keys().map(String::as_str);
    let mut clients = names().filter(|name| ![GATEWAY, OPERATOR].contains(name));
    match (clients.next(), clients.next()) {
        (Some(one), None) => Ok(one),
        _ if names().any(|name| name == USUAL) => Ok(USUAL),
        _ => Err(Fault::new("who speaks?")
            .hint(format_args!("`--as` is one of {}", names().collect::<Vec<_>>().join(", ")))
            .status(2)),
    }
}

/// The shipped contexts, and those of the directory. They only tell tasks from concepts, so they are not verified.
fn documents(dir: &Path) -> Vec<Context> {
    let own = std::fs::read_dir(dir.join("contexts")).into_iter().flatten().flatten();
    let own = own.filter_map(|entry| std::fs::read(entry.path()).ok());
    let all = own.chain(library::all().iter().map(|(_, bytes)| bytes.to_vec()));
    all.filter_map(|bytes| Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).ok())
        .collect()
}
