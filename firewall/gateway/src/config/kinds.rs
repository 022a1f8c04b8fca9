//! Kinds of routes, and the options that each kind supports. An unsupported option stops the start, since the operator relies
//! on it.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::fault::closest;
use super::read::fields;
use super::route::{
    A2aOptions, AgentOptions, GroupOptions, L8Options, McpOptions, OwnedOptions, Part, SpeechOptions,
};
use super::{A2hOptions, ConfigFault, IacOptions, LdpOptions, RouteConfig};
use semgate_protocol::Binding;

/// Kind of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To one agent, over this binding.
    Agent(Binding),
    /// Native L8 to every member of a group. Each member's own route decides on messages to it.
    Group,
}

/// Address of a route that leads nowhere: the gateway answers there by itself. It is never connected to.
const NOWHERE: &str = "http://127.0.0.1:9/";

const L8: Kind = Kind::Agent(Binding::L8);
const A2A: Kind = Kind::Agent(Binding::A2a);
const MCP: Kind = Kind::Agent(Binding::Mcp);
const A2H: Kind = Kind::Agent(Binding::A2h);
const LDP: Kind = Kind::Agent(Binding::Ldp);
const IAC: Kind = Kind::Agent(Binding::Iac);

/// Kinds that lead to one agent.
const AGENTS: &[Kind] = &[L8, A2A, MCP, LDP, IAC];
/// Kinds whose messages state a performative.
const SPEECH: &[Kind] = &[L8, A2A, IAC];
/// Kinds with tasks or sessions that have owners.
const OWNED: &[Kind] = &[A2A, MCP];
/// Kinds whose messages may hold a handshake beside concepts.
const SHAKEN: &[Kind] = &[L8, A2A];

/// Kinds that may carry free text.
const TEXTS: &[Kind] = &[A2A, MCP, LDP];

/// Each struct of options: the names of its keys, and the kinds that support them.
pub(super) fn options() -> [(&'static [&'static str], &'static [Kind]); 10] {
    [
        (fields::<AgentOptions>(), AGENTS),
        (fields::<SpeechOptions>(), SPEECH),
        (fields::<OwnedOptions>(), OWNED),
        (fields::<L8Options>(), &[L8]),
        (fields::<A2aOptions>(), &[A2A]),
        (fields::<McpOptions>(), &[MCP]),
        (fields::<A2hOptions>(), &[A2H]),
        (fields::<LdpOptions>(), &[LDP]),
        (fields::<IacOptions>(), &[IAC]),
        (fields::<GroupOptions>(), &[Kind::Group]),
    ]
}

impl RouteConfig {
    /// The kind of the route.
    pub(super) fn kind(&self) -> Kind {
        if self.group.is_some() { Kind::Group } else { Kind::Agent(self.binding) }
    }

    /// The table of the file that reads back as this route.
    pub(super) fn table(&self) -> Result<toml::Table, toml::ser::Error> {
        let (kind, mut table) = (self.kind(), toml::Table::try_from(self)?);
        if let Some(group) = &self.group {
            table.retain(|key, _| key != "receiver" && key != "upstream");
            table.extend(toml::Table::try_from(group)?);
        }
        if kind == A2H {
            table.remove("upstream");
        }
        let layers = [
            (AGENTS, toml::Table::try_from(&self.agent)?),
            (SPEECH, toml::Table::try_from(&self.speech)?),
            (OWNED, toml::Table::try_from(&self.owned)?),
            (&[L8], toml::Table::try_from(&self.l8)?),
            (&[A2A], toml::Table::try_from(&self.a2a)?),
            (&[MCP], toml::Table::try_from(&self.mcp)?),
            (&[A2H], toml::Table::try_from(&self.a2h)?),
            (&[LDP], toml::Table::try_from(&self.ldp)?),
            (&[IAC], toml::Table::try_from(&self.iac)?),
        ];
        table.extend(
            layers.into_iter().filter(|(kinds, _)| kinds.contains(&kind)).flat_map(|(_, layer)| layer),
        );
        Ok(table)
    }
}

/// Reads every `[[route]]`. A group takes receiver and upstream from its first member.
///
/// # Errors
/// Refuses an unknown key, an invalid value, an option that the kind does not support, and a member that is no route of `l8`.
pub(super) fn routes(written: Spanned<DeValue<'_>>, text: &str) -> Result<Vec<RouteConfig>, ConfigFault> {
    let span = written.span();
    let fault = || ConfigFault::value("route", "a list, `[[route]]`").at(text, &span);
    let DeValue::Array(all) = written.into_inner() else { return Err(fault()) };
    let tables = all.into_iter().map(|value| match (value.span(), value.into_inner()) {
        (span, DeValue::Table(table)) => Ok((table, span)),
        _ => Err(fault()),
    });
    let tables = tables.collect::<Result<Vec<_>, _>>()?;
    let agents = tables.clone();
    tables.into_iter().map(|(table, span)| Reader::new(table, span, text).route(&agents)).collect()
}

/// The text of a key.
fn word<'t>(table: &'t DeTable<'_>, key: &str) -> Option<&'t str> {
    table.get(key).and_then(|value| value.get_ref().as_str())
}

struct Reader<'t> {
    table: DeTable<'t>,
    span: Range<usize>,
    text: &'t str,
    name: String,
    kind: Kind,
}

impl<'t> Reader<'t> {
    fn new(table: DeTable<'t>, span: Range<usize>, text: &'t str) -> Self {
        let binding = word(&table, "binding").and_then(Binding::parse).unwrap_or(Binding::L8);
        let kind = if table.contains_key("group") { Kind::Group } else { Kind::Agent(binding) };
        let name = word(&table, "name").unwrap_or_default().to_owned();
        Self { table, span, text, name, kind }
    }

    fn route(mut self, agents: &[(DeTable<'t>, Range<usize>)]) -> Result<RouteConfig, ConfigFault> {
        self.fits()?;
        let agent = self.layer(AGENTS)?;
        let (speech, owned) = (self.layer(SPEECH)?, self.layer(OWNED)?);
        let (l8, a2a, mcp) = (self.layer(&[L8])?, self.layer(&[A2A])?, self.layer(&[MCP])?);
        let (a2h, ldp) = (self.layer(&[A2H])?, self.layer(&[LDP])?);
        let iac = self.layer(&[IAC])?;
        let mut group: GroupOptions = self.layer(&[Kind::Group])?;
        if self.kind == Kind::Group {
            self.stand_in(&group, agents)?;
            if group.replies == 0 {
                group.replies = group.members.len();
            }
        }
        if self.kind == A2H {
            self.answers_itself()?;
        }
        self.unknown()?;
        let (table, kind) = (std::mem::take(&mut self.table), self.kind);
        let group = (kind == Kind::Group).then_some(group);
        let route =
            RouteConfig { agent, speech, owned, l8, a2a, mcp, a2h, ldp, iac, group, ..self.read(table)? };
        admitted(&route)?;
        Ok(route)
    }

    /// Refuses an option that the kind does not support, the first in the file.
    fn fits(&self) -> Result<(), ConfigFault> {
        let kinds_of = |name: &str| {
            let layer = options().into_iter().find(|(names, _)| names.contains(&name));
            layer.map(|(_, kinds)| kinds).filter(|kinds| !kinds.contains(&self.kind))
        };
        let asked = self.table.iter().filter(|(key, value)| asks(key.get_ref(), value.get_ref()));
        let strange = asked.filter_map(|(key, _)| Some((key, kinds_of(key.get_ref())?)));
        match strange.min_by_key(|(key, _)| key.span().start) {
            Some((key, kinds)) => Err(self.fault(key.get_ref(), &key.span(), &left_out(self.kind, kinds))),
            None => Ok(()),
        }
    }

    /// Reads the options that these kinds support; the defaults in a route of another kind, whose values are still typed.
    fn layer<T: DeserializeOwned + Default>(&mut self, kinds: &[Kind]) -> Result<T, ConfigFault> {
        let own = fields::<T>().iter().filter_map(|name| self.table.remove_entry(*name)).collect();
        let read = self.read(own)?;
        Ok(if kinds.contains(&self.kind) { read } else { T::default() })
    }

    fn read<T: DeserializeOwned>(&self, table: DeTable<'t>) -> Result<T, ConfigFault> {
        T::deserialize(Deserializer::from(Spanned::new(self.span.clone(), table)))
            .map_err(|fault| ConfigFault::parsed(fault, self.text, &format!("route `{}`: ", self.name)))
    }

    fn fault(&self, name: &str, span: &Range<usize>, must: &str) -> ConfigFault {
        ConfigFault::value(format_args!("route `{}`: {name}", self.name), must).at(self.text, span)
    }

    /// Puts the first member's receiver and upstream into the table of a group.
    fn stand_in(
        &mut self,
        group: &GroupOptions,
        agents: &[(DeTable<'t>, Range<usize>)],
    ) -> Result<(), ConfigFault> {
        let fault = |name: &str, must: &str| Err(self.fault(name, &self.span, must));
        if word(&self.table, "binding") != Some("l8") {
            return fault("group", "in the binding `l8`");
        }
        if self.table.contains_key("receiver") || self.table.contains_key("upstream") {
            return fault("group", "instead of `receiver` and `upstream`");
        }
        let mut members = Vec::new();
        for name in &group.members {
            let fits = |table: &&DeTable<'_>| {
                word(table, "name") == Some(name)
                    && word(table, "binding") == Some("l8")
                    && !table.contains_key("group")
            };
            match agents.iter().map(|(table, _)| table).find(fits) {
                Some(member) => members.push(member),
                None => return fault("members", "names of routes of the binding `l8` without a `group`"),
            }
        }
        let Some(first) = members.first() else {
            return fault("members", "names of 1 to 64 routes, each once");
        };
        for key in ["receiver", "upstream"] {
            if let Some((key, value)) = first.get_key_value(key) {
                self.table.insert(key.clone(), value.clone());
            }
        }
        Ok(())
    }

    /// Completes a route of the gateway's own: it has no upstream, and understands the protocol alone unless it says more.
    fn answers_itself(&mut self) -> Result<(), ConfigFault> {
        if let Some((key, _)) = self.table.get_key_value("upstream") {
            let must = "left out of a route of the binding `a2h`: the gateway answers by itself";
            return Err(self.fault("upstream", &key.span(), must));
        }
        let added = |value| Spanned::new(self.span.clone(), value);
        let line = added(DeValue::String(Binding::A2h.as_str().into()));
        let contexts = added(DeValue::Array([line].into_iter().collect()));
        let upstream = added(DeValue::String(NOWHERE.into()));
        let key = |name: &'static str| Spanned::new(self.span.clone(), name.into());
        let (contexts_key, upstream_key) = (key("contexts"), key("upstream"));
        if !self.table.contains_key("contexts") {
            self.table.insert(contexts_key, contexts);
        }
        self.table.insert(upstream_key, upstream);
        Ok(())
    }

    /// Refuses a key of no kind.
    fn unknown(&self) -> Result<(), ConfigFault> {
        let known = fields::<RouteConfig>();
        let strange = self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = strange else { return Ok(()) };
        let layers = options().into_iter().flat_map(|(names, _)| names.iter().copied());
        let close = closest(key.get_ref(), layers.chain(known.iter().copied()));
        let hint = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
        let what = format!("unknown field `{}`{hint}", key.get_ref());
        Err(ConfigFault::Wrong { line: 0, column: 0, what }.at(self.text, &key.span()))
    }
}

/// True of a value that changes something. A disabled switch, an empty list and the strictest word do not: an effective
/// configuration may print them.
fn asks(name: &str, value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Boolean(on) => *on,
        DeValue::Array(list) => !list.is_empty() || !["admit", "default_contexts", "meta"].contains(&name),
        DeValue::String(word) => name != "undefined" || word != "reject",
        _ => true,
    }
}

impl Part {
    /// The kinds that support it.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Text => TEXTS,
            Self::File => &[A2A, MCP, IAC],
            Self::Data => &[A2A],
            Self::Handshake => SHAKEN,
        }
    }
}

/// Refuses a part that the kind cannot have.
fn admitted(route: &RouteConfig) -> Result<(), ConfigFault> {
    let kind = route.kind();
    let Some(part) = route.agent.admit.iter().find(|part| !part.kinds().contains(&kind)) else {
        return Ok(());
    };
    let word = format!("{part:?}").to_lowercase();
    let must = format!("without `{word}`: {}", left_out(kind, part.kinds()));
    Err(ConfigFault::value(format_args!("route `{}`: admit", route.name), must))
}

fn left_out(kind: Kind, kinds: &[Kind]) -> String {
    if kind == Kind::Group && kinds != [A2A] && kinds != [MCP] {
        return "left out of a route to a group: set it on the route of each member".to_owned();
    }
    let word = |kind: &Kind| match kind {
        Kind::Agent(binding) => format!("`{binding}`"),
        Kind::Group => "`l8` with a `group`".to_owned(),
    };
    let words = kinds.iter().map(word).collect::<Vec<_>>().join(" or ");
    format!("left out unless the binding is {words}")
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
