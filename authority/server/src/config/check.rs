//! Forms of values in `authority.toml`, checks of a whole configuration, and its paths.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use semgate_certs::{SpiffeId, TrustDomain};
use semgate_statement::root::MAX_ROOT_KEYS;
use semgate_statement::{CosignerVerifier, Quorum};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use super::duration::text;
use super::{Config, KeysConfig, StartDocument, WitnessConfig};
use super::{MAX_ROLE_LIFETIME, MIN_ROLE_LIFETIME, ROLE_LIFETIME};
use super::{MAX_STATUS_LIFETIME, MIN_STATUS_LIFETIME};
use crate::pkcs11::{Pkcs11Uri, names_device};

/// Reads a text that is empty only if it is not set.
pub(super) fn stated<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() {
        Err(D::Error::custom("an empty text; omit the key for its default"))
    } else {
        Ok(text)
    }
}

/// The beginning of context URNs.
pub(super) mod prefix {
    use semgate_contexts::Prefix;

    use super::{Deserialize, Deserializer, Error, Serializer};

    pub fn serialize<S: Serializer>(prefix: &Prefix, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(prefix.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Prefix, D::Error> {
        let text = String::deserialize(from)?;
        Prefix::parse(&text).map_err(|e| D::Error::custom(format!("`prefix`: {e}")))
    }
}

/// Trust domains by their names.
pub(super) mod domains {
    use super::{Deserialize, Deserializer, Error, Serializer, TrustDomain};

    pub fn serialize<S: Serializer>(domains: &Option<Vec<TrustDomain>>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(domains.iter().flatten().map(TrustDomain::as_str))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<TrustDomain>>, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        let domains = names.iter().map(|name| {
            TrustDomain::parse(name)
                .map_err(|e| D::Error::custom(format!("`tls.trust_domains`, `{name}`: {e}")))
        });
        domains.collect::<Result<_, _>>().map(Some)
    }
}

/// Acts by their names, each at most once. Refuses `publish`, because a document cannot wait for a second person.
pub(super) mod acts {
    use semgate_policies::PublisherAct;

    use super::{Deserialize, Deserializer, Error, Serializer};

    pub fn serialize<S: Serializer>(acts: &[PublisherAct], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(acts.iter().map(|act| act.as_str()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PublisherAct>, D::Error> {
        let mut acts = Vec::new();
        for name in Vec::<String>::deserialize(from)? {
            let act = PublisherAct::parse(&name).filter(|act| *act != PublisherAct::Publish);
            let act = act.ok_or_else(|| {
                D::Error::custom(format!(
                    "`four_eyes`: `{name}` is not one of `revoke`, `suspend`, `resume`, `retire`, `floor`, `override`"
                ))
            })?;
            if acts.contains(&act) {
                return Err(D::Error::custom(format!("`four_eyes`: `{name}` is named twice")));
            }
            acts.push(act);
        }
        Ok(acts)
    }
}

impl Config {
    /// Fills in the defaults that depend on other values, and checks everything but the paths.
    pub(super) fn check(&mut self) -> Result<(), String> {
        whole_seconds("status_lifetime", self.status_lifetime, MIN_STATUS_LIFETIME..=MAX_STATUS_LIFETIME)?;
        name("authority", &self.authority)?;
        if self.origin.is_empty() {
            self.origin = format!("{}/log", self.authority);
        }
        name("origin", &self.origin)?;
        self.admin.check()?;
        self.check_publishers()?;
        self.keys.check()?;
        if !(1..=MAX_ROOT_KEYS).contains(&self.root_threshold) {
            let threshold = self.root_threshold;
            return Err(format!(
                "`root_threshold` is {threshold}; it must be at least 1 and at most {MAX_ROOT_KEYS}"
            ));
        }
        self.fill_domains();
        if names_device(&self.tls.key).is_some() {
            return Err("`tls.key` must be a file; connections cannot use keys in devices".to_owned());
        }
        if self.public_url.is_empty() {
            self.public_url = format!("https://{}", self.authority);
        }
        check_public_url(&self.public_url)?;
        self.check_witnesses()?;
        self.limits.check()
    }

    fn check_publishers(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for one in &self.publishers {
            SpiffeId::parse(&one.id).map_err(|e| format!("publisher `{}`: {e}", one.id))?;
            if !ids.insert(&one.id) {
                return Err(format!("publisher `{}` is named twice", one.id));
            }
        }
        for id in &self.consoles {
            SpiffeId::parse(id).map_err(|e| format!("`consoles`, `{id}`: {e}"))?;
            if !ids.insert(id) {
                return Err(format!("`consoles`: `{id}` is named twice, or is a publisher too"));
            }
        }
        Ok(())
    }

    fn fill_domains(&mut self) {
        let ids = self.publishers.iter().map(|p| &p.id).chain(&self.consoles);
        let ids = ids.filter_map(|id| SpiffeId::parse(id).ok());
        let own = ids.map(|id| id.trust_domain().clone()).chain(TrustDomain::parse(&self.authority));
        let domains = self.tls.trust_domains.get_or_insert_with(|| own.collect());
        domains.sort();
        domains.dedup();
    }

    fn check_witnesses(&mut self) -> Result<(), String> {
        let need = *self.witness_quorum.get_or_insert(self.witnesses.len());
        let keys = self.witnesses.iter().map(|witness| CosignerVerifier::parse(&witness.key));
        let keys = keys.collect::<Result<_, _>>().map_err(|e| format!("`witness.key`: {e}"))?;
        Quorum::new(keys, need).map_err(|e| format!("`witness_quorum`: {e}"))?;
        match self.witnesses.iter().find(|witness| !witness.has_good_url()) {
            Some(WitnessConfig { url, .. }) => Err(format!(
                "`witness.url` is `{url}`; it is `https://host[:port][/path]`, or `http://` on loopback"
            )),
            None => Ok(()),
        }
    }

    /// Makes relative paths relative to `base`.
    pub(super) fn resolve(&mut self, base: &Path) {
        if self.audit.as_os_str().is_empty() {
            self.audit = self.state.join("audit.jsonl");
        }
        let Self { state, audit, roots, tls, keys, publish_at_start, .. } = self;
        let starts = publish_at_start.iter_mut().filter_map(|one| match one {
            StartDocument::File(path) => Some(path),
            StartDocument::Shipped(_) => None,
        });
        let optional = [&mut self.last_checkpoint, &mut self.policies, &mut self.crls, &mut tls.client_crls];
        let files = [state, audit, roots, &mut tls.certificate, &mut tls.key, &mut tls.client_roots];
        let witnesses = self.witnesses.iter_mut().filter_map(|witness| witness.roots.as_mut());
        let pairs = [&mut keys.context_issuing, &mut keys.status, &mut keys.feed];
        let pairs = pairs.into_iter().flat_map(|pair| [&mut pair.certificate, &mut pair.key]);
        let log = std::iter::once(&mut keys.log.key).chain(&mut keys.log.also);
        let optional = optional.into_iter().filter_map(Option::as_mut);
        let all = optional.chain(files).chain(witnesses).chain(pairs).chain(log).chain(starts);
        all.filter(|path| names_device(path).is_none()).for_each(|path| *path = base.join(&*path));
    }

    /// A checkpoint restored together with the state would protect against nothing.
    pub(super) fn check_last_checkpoint(&self) -> Result<(), String> {
        if self.last_checkpoint.as_ref().is_some_and(|file| file.starts_with(&self.state)) {
            return Err(
                "`last_checkpoint` is inside `state`: a restored backup would also restore it".to_owned()
            );
        }
        Ok(())
    }
}

impl KeysConfig {
    /// Checks the URIs of keys in devices, and fills in the lifetime of the leaves that the authority makes for itself.
    fn check(&mut self) -> Result<(), String> {
        let keys = [&self.context_issuing.key, &self.status.key, &self.feed.key, &self.log.key];
        for uri in keys.into_iter().chain(&self.log.also).filter_map(|key| names_device(key)) {
            Pkcs11Uri::parse(uri).map_err(|fault| format!("`keys`: {fault}"))?;
        }
        if !self.renew {
            return match self.role_lifetime {
                Some(_) => Err("`keys.role_lifetime` has no effect with `renew = false`".to_owned()),
                None => Ok(()),
            };
        }
        let lifetime = *self.role_lifetime.get_or_insert(ROLE_LIFETIME);
        whole_seconds("keys.role_lifetime", lifetime, MIN_ROLE_LIFETIME..=MAX_ROLE_LIFETIME)
    }
}

impl WitnessConfig {
    fn has_good_url(&self) -> bool {
        let Ok(uri) = self.url.parse::<http::Uri>() else { return false };
        let Some(host) = uri.host() else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback =
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let good = uri.scheme_str() == Some("https") || (uri.scheme_str() == Some("http") && is_loopback);
        good && uri.query().is_none()
    }
}

fn whole_seconds(
    name: &str,
    value: Duration,
    bounds: std::ops::RangeInclusive<Duration>,
) -> Result<(), String> {
    if bounds.contains(&value) && value.subsec_nanos() == 0 {
        return Ok(());
    }
    let (low, high) = (text(*bounds.start()), text(*bounds.end()));
    Err(format!("`{name}` is {}; it must be whole seconds, at least {low} and at most {high}", text(value)))
}

/// Checks a name for use in signed notes: a space, a plus or a line break would end it early (C2SP signed-note).
fn name(what: &str, text: &str) -> Result<(), String> {
    let wrong = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    if text.is_empty() || text.len() > 200 || text.contains(wrong) {
        return Err(format!(
            "`{what}` is empty, longer than 200 bytes, or has a space, a control character or `+`"
        ));
    }
    Ok(())
}

fn check_public_url(url: &str) -> Result<(), String> {
    let host = url.strip_prefix("https://").unwrap_or_default();
    if host.is_empty() || host.ends_with('/') || !host.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("`public_url` is not an https address without a final slash".to_owned());
    }
    Ok(())
}
