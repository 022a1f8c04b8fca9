//! `semgate firewall check`: the settings, what a start would find, and what an operator probably did not mean.

use std::path::PathBuf;

use clap::Args;
use semgate_certs::SpiffeId;
use semgate_gateway::config::RouteConfig;
use semgate_gateway::{Asked, Checked, Config};
use semgate_inspect::LineScope;
use semgate_statement::Lines;
use serde_json::{Value, json};

use super::{load, stopped};
use crate::fault::{Doing, Fault};

/// The configuration to check.
#[derive(Debug, Args)]
pub struct CheckGateway {
    /// `firewall.toml`
    #[arg(long)]
    config: PathBuf,
    /// Print every setting, those at their default too
    #[arg(long)]
    all: bool,
    /// Ask every authority and connect to every agent, once
    #[arg(long)]
    online: bool,
}

impl CheckGateway {
    /// Checks without binding a port, and leaves no file.
    ///
    /// # Errors
    /// The fault that would stop a start, or would let nothing pass; with `--online` a party that did not answer.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let config = load(&self.config)?;
        let checked = match semgate_gateway::check(&config) {
            Ok(checked) => checked,
            Err(why) => {
                self.print(&config, Vec::new(), json)?;
                return Err(stopped("this would not start", &why));
            }
        };
        let asked = if self.online {
            semgate_gateway::check_online(&config).map_err(|why| stopped("this would not start", &why))?
        } else {
            Vec::new()
        };
        let mut summary = summary(&config, &checked);
        summary.extend(asked.iter().map(answer));
        self.print(&config, summary, json)?;
        for remark in remarks(&config, &checked) {
            tell!("warning: {remark}");
        }
        judge(&checked)?;
        match asked.iter().filter(|one| one.answer.is_err()).count() {
            0 => Ok(0),
            silent => Err(Fault::new(format_args!(
                "{silent} of {} others did not answer as they should",
                asked.len()
            ))
            .hint("the summary names the cause of each; docs/how-to/run-a-gateway.md lists the causes")),
        }
    }

    /// Prints the settings and the summary; as TOML, the summary is comments.
    fn print(&self, config: &Config, summary: Vec<String>, json: bool) -> Result<(), Fault> {
        let effective = config.effective();
        let table: toml::Table = toml::from_str(&effective).doing("effective settings")?;
        if json {
            let mut value: Value = serde_json::to_value(&table).doing("effective settings")?;
            if let Some(object) = value.as_object_mut() {
                object.insert("summary".to_owned(), json!(summary));
            }
            out!("{value}");
            return Ok(());
        }
        if self.all {
            out_raw!("{effective}");
        } else {
            let written = crate::system::read(&self.config)?;
            let written: toml::Table = toml::from_str(&written).doing("settings")?;
            let shown = toml::to_string_pretty(&written_only(table, &written)).doing("settings")?;
            out_raw!("{shown}");
        }
        for line in summary {
            out!("# {line}");
        }
        Ok(())
    }
}

/// The settings that a file states: the others are at their default.
fn written_only(effective: toml::Table, written: &toml::Table) -> toml::Table {
    let keep = |(key, value): (String, toml::Value)| {
        let value = match (value, written.get(&key)?) {
            (toml::Value::Table(value), toml::Value::Table(written)) => written_only(value, written).into(),
            (toml::Value::Array(values), toml::Value::Array(all))
                if all.iter().any(toml::Value::is_table) =>
            {
                let one = |(value, written): (toml::Value, &toml::Value)| match (value, written) {
                    (toml::Value::Table(value), toml::Value::Table(written)) => {
                        written_only(value, written).into()
                    }
                    (value, _) => value,
                };
                toml::Value::Array(values.into_iter().zip(all).map(one).collect())
            }
            (value, _) => value,
        };
        Some((key, value))
    };
    effective.into_iter().filter_map(keep).collect()
}

/// The findings of a start, one line each.
fn summary(config: &Config, checked: &Checked) -> Vec<String> {
    let mut lines = vec![format!("admin: {}", config.admin)];
    lines.extend(config.probe.iter().map(|probe| format!("probes: http://{}", probe.listen)));
    lines.extend(config.authorities.iter().map(|one| {
        let addresses: Vec<_> = one.addresses().map(ToString::to_string).collect();
        format!("authority `{}`: {}", one.name, addresses.join(", "))
    }));
    lines.extend(config.routes.iter().map(|route| {
        let scopes = route.contexts.iter().map(|scope| {
            let known = checked.known.iter().filter(|urn| scope.holds(urn)).count();
            if known == 0 {
                format!("`{scope}` (not known yet)")
            } else {
                format!("`{scope}` ({known} known)")
            }
        });
        let scopes = scopes.collect::<Vec<_>>().join(", ");
        let (name, binding) = (&route.name, route.binding.as_str());
        format!(
            "route `{name}`: {binding} at {}, for `{}` at {}; contexts {scopes}",
            route.listen, route.receiver, route.upstream
        )
    }));
    lines.extend(checked.certificates.iter().map(|one| {
        format!("certificate `{}`: `{}`, {} days left", one.file.display(), one.subject, one.days_left)
    }));
    lines.push(match checked.policies {
        0 => "policies: none would be live yet".to_owned(),
        live => format!("policies: {live} would be live"),
    });
    lines
}

fn answer(asked: &Asked) -> String {
    let Asked { name, address, answer } = asked;
    match answer {
        Ok(what) => format!("{name} at {address}: {what}"),
        Err((cause, why)) => format!("{name} at {address}: {cause}: {why}"),
    }
}

/// Remarks about a configuration that would start, one line each. They stop nothing.
pub fn remarks(config: &Config, checked: &Checked) -> Vec<String> {
    let wrong = &checked.policies_wrong;
    let waiting = checked.policies_waiting.iter().filter(|fault| !wrong.contains(fault));
    let mut all: Vec<String> =
        waiting.map(|why| format!("until the contexts are known, nothing passes: {why}")).collect();
    all.extend(checked.unserved.iter().map(|urn| {
        format!("no authority serves `{urn}`, so its operations are refused: its authority publishes it with `publish_at_start`")
    }));
    all.extend(checked.policies_idle.iter().map(|why| format!("`policies`: {why}")));
    all.extend(
        checked.shadow_faults.iter().map(|why| format!("the shadow policies would decide nothing: {why}")),
    );
    all.extend(checked.floors.iter().map(|why| format!("`[floors]`: {why}")));
    all.extend(checked.unlisted_log_keys.iter().map(|(authority, key)| {
        format!("`log_key` of `{authority}`: no trust list of its log names `{key}`: check for a typing error, or the key of another log")
    }));
    all.extend(checked.open_secrets.iter().map(|path| {
        format!("`{}` is readable by users other than its owner: it must have mode 0600", path.display())
    }));
    all.extend(checked.certificates.iter().filter(|one| one.soon).map(|one| {
        let (file, subject, days) = (one.file.display(), &one.subject, one.days_left);
        format!("`{file}`: `{subject}` ends in {days} days: renew it with `semgate cert renew`")
    }));
    all.extend(checked.default_contexts.iter().cloned());
    all.extend(config.routes.iter().flat_map(|route| strays(config, route)));
    all
}

/// Settings of a route that lead nowhere: lines of no authority, and a receiver of no trust domain.
fn strays(config: &Config, route: &RouteConfig) -> Vec<String> {
    let held = |scope: &LineScope| match scope {
        LineScope::All => true,
        LineScope::Line(line) | LineScope::Major(line, _) | LineScope::Exact(line, _) => {
            let lines = config.authorities.iter().filter_map(|one| Lines::parse(&one.lines).ok());
            lines.into_iter().any(|lines| lines.holds(line).is_some())
        }
    };
    let name = &route.name;
    let mut strays: Vec<String> = route
        .contexts
        .iter()
        .filter(|scope| !held(scope))
        .map(|scope| format!("route `{name}`: no `[[authority]]` has `{scope}` among its `lines`"))
        .collect();
    let domain = SpiffeId::parse(&route.receiver).ok().map(|id| id.trust_domain().as_str().to_owned());
    if let Some(domain) = domain
        && !config.trust_domains.iter().any(|known| known.name == domain)
    {
        strays.push(format!("route `{name}`: the receiver is in `{domain}`, which is no `[[trust_domain]]`"));
    }
    strays
}

/// Refuses what would start and let nothing pass.
pub fn judge(checked: &Checked) -> Result<(), Fault> {
    if !checked.policies_wrong.is_empty() {
        let why = checked.policies_wrong.join("; ");
        return Err(Fault::new(format_args!("this would start, and nothing would pass: {why}")).hint(
            "`semgate policy check` with the contexts of the authority shows every fault with its location",
        ));
    }
    if !checked.unkept.is_empty() {
        let why = checked.unkept.join("; ");
        return Err(Fault::new(format_args!("`[audit_values]` would keep nothing: {why}"))
            .hint("name members as policies do: `semgate policy check --schema` prints them"));
    }
    Ok(())
}
