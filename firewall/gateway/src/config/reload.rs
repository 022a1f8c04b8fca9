//! Settings that a running gateway cannot change.

use toml::{Table, Value};

use super::Config;

/// Tables whose changes a reload takes.
const RELOADED: &[&str] = &["route", "trust_domain", "credential_issuer", "floors", "limits", "authority"];

/// Limits that hold more than routes and accounts.
const FIXED: &[&str] = &[
    "body_bytes",
    "nodes",
    "reply_bytes",
    "scan_characters",
    "subscriptions",
    "tool_list_seconds",
    "policy_poll",
    "policy_settle",
    "policies",
    "context_bytes",
    "fetch_timeout",
    "crl_bytes",
];

impl Config {
    /// Names of the settings that differ in `fresh` and need a restart. `distrusted` needs none.
    pub(crate) fn needs_restart(&self, fresh: &Self) -> Vec<String> {
        let (Ok(old), Ok(new)) = (self.table(), fresh.table()) else {
            return vec!["the file".to_owned()];
        };
        let mut names: Vec<String> = differing(&old, &new);
        names.retain(|name| !RELOADED.contains(&name.as_str()));
        let limits =
            |table: &Table| table.get("limits").and_then(Value::as_table).cloned().unwrap_or_default();
        let limits = differing(&limits(&old), &limits(&new));
        let fixed = limits.into_iter().filter(|name| FIXED.contains(&name.as_str()));
        names.extend(fixed.map(|name| format!("limits.{name}")));
        if self.lists() != fresh.lists() {
            names.push("trust_domain.crls".to_owned());
        }
        let trusting = |config: &Self| {
            let mut all = config.authorities.clone();
            all.iter_mut().for_each(|authority| authority.distrusted = false);
            all
        };
        if trusting(self) != trusting(fresh) {
            names.push("authority".to_owned());
        }
        names
    }

    /// Sources of revocation lists, by trust domain.
    fn lists(&self) -> Vec<(&String, &super::CrlSource)> {
        let domains = self.trust_domains.iter();
        domains.filter_map(|domain| Some((&domain.name, domain.crls.as_ref()?))).collect()
    }
}

/// Keys whose values differ.
fn differing(old: &Table, new: &Table) -> Vec<String> {
    let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}
