//! The follower thread keeps the inspector's generation current. It follows every authority and the policy directory, and
//! swaps whole generations in. No message ever triggers its work.
//!
//! A verified view goes live at once, under the live policies; only then are policies validated against it. So a revocation
//! never waits for a policy load, and a rejected policy set never delays one.

pub(in crate::control) mod addresses;
mod aside;
mod authority;
mod crls;
pub(in crate::control) mod fetch;
mod follower_states;
mod hints;
mod obstacle;
mod online;
mod policies;
mod recognise;
mod reload;
mod scan;

pub(crate) use authority::{Memory, open};
pub(crate) use follower_states::FollowerStates;
pub(crate) use online::ask;
pub(crate) use policies::{Begun, First, first, shadow_faults};
pub(crate) use recognise::Recognisers;
pub(crate) use reload::{ReloadState, TakeConfig};
pub(crate) use scan::ScanFiles;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use semgate_contexts::{Context, Digest, Line, Prefix, Version};
use semgate_inspect::{Generation, Shadow, ShadowCounts, TextScanner};
use semgate_policies::{Floors, Policies};
use semgate_statement::{Follower, View};
use tokio::signal::unix::Signal;
use tokio::sync::watch;

use self::aside::Aside;
use self::reload::Hangups;
use crate::clock::unix_now;
use crate::config::Config;
use crate::control::crls::Lists;
use crate::control::metrics::Metrics;
use crate::control::policy_state::PolicyStates;
use crate::fault::RunFault;
use crate::server::materials::{self, Materials};
use crate::server::own_certificates::OwnCertificate;
use crate::server::shared::Shared;

/// Interval for folding samples, forgetting quiet agents and setting gauges.
const UPKEEP: Duration = Duration::from_secs(5);

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Start values of the thread.
pub(crate) struct Follow {
    pub(crate) config: Arc<Config>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Metrics,
    pub(crate) reloads: Arc<ReloadState>,
    pub(crate) hangups: Signal,
    pub(crate) states: PolicyStates,
    pub(crate) followers: Vec<Follower>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) begun: Begun,
    /// Signed model and baselines of text scores.
    pub(crate) scan: Option<ScanFiles>,
    pub(crate) follower_states: Arc<FollowerStates>,
    pub(crate) materials: Arc<ArcSwap<Materials>>,
    /// Revocation lists of certificates, by trust domain.
    pub(crate) lists: BTreeMap<String, Lists>,
}

impl Follow {
    /// Spawns every task of the thread on its `LocalSet`; they end with the thread.
    ///
    /// # Errors
    /// A thread cannot start, or an authority's roots are unusable.
    pub(crate) fn spawn(self, take: TakeConfig) -> Result<(), RunFault> {
        let views = self.followers.iter().map(Follower::view).collect();
        let publisher = Rc::new(Publisher {
            views: RefCell::new(views),
            recognisers: RefCell::new(Recognisers::of(&self.config)),
            policies: RefCell::new(self.policies),
            waiting: Cell::new(self.states.live.report().live.is_none()),
            floors: RefCell::new(self.config.floors.iter().cloned().collect()),
            prefix: self.config.prefix.clone(),
            shared: Arc::clone(&self.shared),
            metrics: self.metrics.clone(),
            shadow: RefCell::default(),
            scanner: RefCell::new(self.scan.as_ref().map_or_else(TextScanner::shipped, ScanFiles::scanner)),
            counts: Arc::clone(&self.states.counts),
            reload: watch::Sender::new(()),
            roots: watch::Sender::new(()),
            retired: RefCell::default(),
            burial: Aside::start("semgate-burial")?,
        });
        for (place, (follower, settings)) in
            self.followers.into_iter().zip(&self.config.authorities).enumerate()
        {
            let tls = materials::authority(&self.config, settings)?;
            let (publisher, follower_states) = (Rc::clone(&publisher), Arc::clone(&self.follower_states));
            let task = authority::Task::new(
                place,
                &self.config,
                settings,
                follower,
                tls,
                publisher,
                follower_states,
            );
            tokio::task::spawn_local(task.run());
        }
        spawn_crls(&self.config, self.lists, &publisher)?;
        let state = Arc::clone(&self.states.live);
        let task = policies::Task::new(&self.config, self.begun, Rc::clone(&publisher), state);
        tokio::task::spawn_local(task.run());
        if let (Some(shadow), Some(state)) = (&self.config.shadow, self.states.shadow.clone()) {
            let task = policies::Task::shadow(&self.config, shadow, Rc::clone(&publisher), state)?;
            tokio::task::spawn_local(task.run());
        }
        if let Some(files) = self.scan {
            let (state, poll) = (Arc::clone(&self.states.scan), self.config.limits.policy_poll);
            let (publisher, reload) = (Rc::clone(&publisher), publisher.reload.subscribe());
            tokio::task::spawn_local(scan::Task { files, state, publisher, poll, reload }.run());
        }
        tokio::task::spawn_local(upkeep(Rc::clone(&publisher), Arc::clone(&self.materials)));
        let (config, follower_states) = (self.config, self.follower_states);
        let (state, signal) = (self.reloads, self.hangups);
        Hangups { publisher, config, follower_states, state, take, signal }.spawn();
        Ok(())
    }
}

/// Spawns a task for each trust domain whose revocation lists come from an authority.
fn spawn_crls(
    config: &Arc<Config>,
    mut lists: BTreeMap<String, Lists>,
    publisher: &Rc<Publisher>,
) -> Result<(), RunFault> {
    for domain in &config.trust_domains {
        let Some(lists) = lists.remove(&domain.name) else { continue };
        let Some(source) = &domain.crls else { continue };
        let from = config.authorities.iter().find(|authority| authority.name == source.authority);
        let Some(from) = from else { continue };
        let tls = materials::authority(config, from)?;
        let addresses = addresses::Addresses::of(from);
        let fetcher = fetch::Fetcher::new(addresses, Some(&tls), config.limits.fetch_timeout);
        let task = crls::Task {
            domain: domain.name.clone(),
            roots: domain.roots.clone(),
            source: source.clone(),
            config: Arc::clone(config),
            publisher: Rc::clone(publisher),
        };
        tokio::task::spawn_local(task.run(fetcher, lists));
    }
    Ok(())
}

/// Builds generations. It lives on one thread, so two changes never race.
struct Publisher {
    views: RefCell<Vec<Arc<View>>>,
    /// Statements of authorities about each other, between the views and the generations.
    recognisers: RefCell<Recognisers>,
    policies: RefCell<Arc<Policies>>,
    /// True if the policies only stand in for the operator's.
    waiting: Cell<bool>,
    /// Shadow policies.
    shadow: RefCell<Option<(Arc<Policies>, Shadow)>>,
    counts: Arc<ShadowCounts>,
    /// Model and baselines of text scores.
    scanner: RefCell<Arc<TextScanner>>,
    floors: RefCell<BTreeMap<Line, Version>>,
    prefix: Prefix,
    shared: Arc<Shared>,
    metrics: Metrics,
    /// Triggers a check of the policies.
    reload: watch::Sender<()>,
    /// Triggers a check of the authorities' roots.
    roots: watch::Sender<()>,
    /// Former generations, until their last holder drops them.
    retired: RefCell<Vec<Arc<Generation>>>,
    /// Thread that drops them.
    burial: Aside,
}

/// The lowest accepted version of each line: the higher of the operator's floor and its authority's.
pub(crate) fn floors(config: &Config, views: &[Arc<View>]) -> Floors {
    floors_above(&config.floors.iter().cloned().collect(), views)
}

/// The floors above those of an operator.
fn floors_above(operator: &Floors, views: &[Arc<View>]) -> Floors {
    let mut floors = operator.clone();
    for view in views {
        // own lines only: an authority cannot change the floors of another's lines
        let own = view.floors().iter().filter(|(line, _)| view.lines().holds(line).is_some());
        for (line, version) in own {
            let floor = floors.entry(line.clone()).or_insert(*version);
            *floor = (*floor).max(*version);
        }
    }
    floors
}

impl Publisher {
    /// Returns true if messages are judged by this view of an authority.
    fn shows(&self, place: usize, view: &Arc<View>) -> bool {
        self.views.borrow().get(place).is_some_and(|shown| Arc::ptr_eq(shown, view))
    }

    fn view_changed(&self, place: usize, view: Arc<View>) {
        if let Some(slot) = self.views.borrow_mut().get_mut(place) {
            *slot = view;
        }
        self.publish();
    }

    /// Distrusts these authorities, and no others.
    fn distrust(&self, names: Vec<String>) {
        let listed = names.join(", ");
        if self.recognisers.borrow_mut().distrust(names) {
            tracing::warn!(authorities = listed, "these authorities are distrusted now, and no others");
            self.publish();
        }
    }

    /// Takes the operator's floors.
    fn operator_floors(&self, config: &Config) {
        let floors = config.floors.iter().cloned().collect();
        if self.floors.replace(floors) != *self.floors.borrow() {
            self.publish();
        }
    }

    fn policies(&self) -> Arc<Policies> {
        Arc::clone(&self.policies.borrow())
    }

    fn policies_changed(&self, policies: Policies) {
        *self.policies.borrow_mut() = Arc::new(policies);
        self.waiting.set(false);
        self.publish();
    }

    fn shadow_policies(&self) -> Option<Arc<Policies>> {
        self.shadow.borrow().as_ref().map(|(policies, _)| Arc::clone(policies))
    }

    fn shadow_changed(&self, policies: Policies, one_in: u64) {
        let policies = Arc::new(policies);
        let shadow = Shadow::new(Arc::clone(&policies), one_in, Arc::clone(&self.counts));
        *self.shadow.borrow_mut() = Some((policies, shadow));
        self.publish();
    }

    fn scanner_changed(&self, scanner: Arc<TextScanner>) {
        *self.scanner.borrow_mut() = scanner;
        self.publish();
    }

    fn publish(&self) {
        let views = self.recognisers.borrow_mut().judge(&self.views.borrow());
        let policies = Arc::clone(&self.policies.borrow());
        match Generation::new(views, policies, self.floors.borrow().clone(), self.prefix.clone()) {
            Ok(generation) => {
                let shadow = self.shadow.borrow().as_ref().map(|(_, shadow)| shadow.clone());
                let generation = generation.with_shadow(shadow);
                let generation = generation.with_scanner(Arc::clone(&self.scanner.borrow()));
                let generation = if self.waiting.get() { generation.standing_in() } else { generation };
                let (number, before) = self.shared.inspector.replace(generation);
                self.retired.borrow_mut().push(before);
                tracing::debug!(number, "a new generation is live");
            }
            // the start accepted the same parts, so this is a bug; the last good generation stays
            Err(why) => tracing::error!(%why, "cannot build a generation"),
        }
        self.gauges();
    }

    /// Drops unused generations on a thread that no message waits for: 10,000 policies take 30 milliseconds.
    fn bury(&self) {
        let mut retired = self.retired.borrow_mut();
        // nobody can obtain a former generation again, so the last holder stays the last
        let (held, free) = retired.drain(..).partition(|generation| Arc::strong_count(generation) > 1);
        *retired = held;
        let free: Vec<Arc<Generation>> = free;
        if !free.is_empty() {
            self.burial.bury(free);
        }
    }

    /// The lowest accepted version of each line.
    fn floors(&self) -> Floors {
        floors_above(&self.floors.borrow(), &self.views.borrow())
    }

    /// Every verified document, in any status, since policies may still name it.
    fn contexts(&self) -> Vec<Arc<Context>> {
        documents(&self.views.borrow())
    }

    /// Digests of the documents, sorted.
    fn digests(&self) -> Vec<Digest> {
        let mut digests: Vec<_> = self.contexts().iter().map(|context| *context.digest()).collect();
        digests.sort_by_key(|digest| *digest.as_bytes());
        digests
    }

    fn gauges(&self) {
        let generation = self.shared.inspector.generation();
        #[allow(clippy::cast_precision_loss, reason = "gauges are floats by their format")]
        let set = |name, labels: &[(&'static str, String)], value: u64| {
            self.metrics.gauge(name, labels).set(value as f64)
        };
        set("semgate_generation", &[], generation.number());
        set("semgate_held_bytes", &[], self.shared.accounts.held() as u64);
        set("semgate_audit_written", &[], self.shared.audit.written());
        set("semgate_audit_lost", &[], self.shared.audit.lost());
        set("semgate_audit_ocsf_lost", &[], self.shared.audit.ocsf_lost());
        for view in generation.views() {
            let labels = [("authority", view.authority().to_owned())];
            set("semgate_log_size", &labels, view.size());
            set("semgate_log_keys_unlisted", &labels, view.unlisted_log_keys().len() as u64);
            set("semgate_distrusted", &labels, u64::from(view.is_distrusted()));
            set("semgate_contexts_unrecognised", &labels, view.unrecognised_contexts(unix_now()));
            set("semgate_status_expires", &labels, view.counts_until());
            set("semgate_contexts", &labels, view.contexts().count() as u64);
            set("semgate_contexts_left_out", &labels, view.left_out().count() as u64);
            set("semgate_context_bytes", &labels, view.compiled_bytes());
        }
    }
}

/// The documents of several views.
pub(crate) fn documents(views: &[Arc<View>]) -> Vec<Arc<Context>> {
    views.iter().flat_map(|view| view.contexts().filter_map(|loaded| loaded.context.clone())).collect()
}

async fn upkeep(publisher: Rc<Publisher>, materials: Arc<ArcSwap<Materials>>) {
    let mut warned = None;
    loop {
        certificates(&publisher.metrics, &materials.load().own, &mut warned);
        tokio::time::sleep(UPKEEP).await;
        publisher.metrics.upkeep();
        publisher.gauges();
        publisher.bury();
    }
}

/// Shows the ends of the gateway's own certificates, and warns of a near one once a day.
#[allow(clippy::cast_precision_loss, reason = "gauges are floats by their format")]
fn certificates(metrics: &Metrics, own: &[OwnCertificate], warned: &mut Option<u64>) {
    let now = unix_now();
    for own in own {
        let labels = [("certificate", own.name.clone())];
        metrics.gauge("semgate_certificate_expiry_seconds", &labels).set(own.ends() as f64);
    }
    if warned.replace(now / DAY) != Some(now / DAY) {
        for what in own.iter().flat_map(|own| own.ending(now)) {
            tracing::warn!(certificate = what, "a certificate of the gateway ends soon");
        }
    }
}
