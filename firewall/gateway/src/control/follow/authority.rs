//! Follower task of one authority: fetches the resources that the follower wants, and passes it the answers.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use semgate_statement::{
    CosignerVerifier, Follower, FollowerConfig, Lines, LogVerifier, Progress, Quorum, Step,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::rustls::ClientConfig;

use super::Publisher;
use super::addresses::Addresses;
use super::fetch::Fetcher;
use super::follower_states::FollowerStates;
use super::hints;
use super::obstacle::Obstacle;
use crate::clock::unix_now;
use crate::config::{AuthorityConfig, Config};
use crate::fault::RunFault;
use crate::server::materials;
use crate::server::pem_files;

/// Hints within this time count as one, so that a chatty authority does not overload its followers.
const HINT_PAUSE: Duration = Duration::from_millis(100);

/// Use of a follower's memory on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Read it; create it if missing.
    Keep,
    /// Read it only if present.
    Look,
    /// Neither read nor write it.
    None,
}

/// Opens the follower of an authority with its memory, so that the gateway can start while the authority is down.
///
/// # Errors
/// Unusable roots, key, lines or directory.
pub(crate) fn open(
    config: &Config,
    authority: &AuthorityConfig,
    memory: Memory,
) -> Result<Follower, RunFault> {
    let dir = config.state.join("authorities").join(&authority.name);
    let fault = |what: &'static str, why: &dyn std::fmt::Display| RunFault::File {
        path: dir.clone(),
        what,
        why: why.to_string(),
    };
    let log = LogVerifier::parse(&authority.log_key).map_err(|why| fault("log key for", &why))?;
    let roots = pem_files::roots(&authority.roots, config)?;
    let mut settings = FollowerConfig::new(&authority.name, &authority.origin, roots, log);
    settings.root_threshold = authority.root_threshold;
    settings.prefix = config.prefix.clone();
    settings.lines = Lines::parse(&authority.lines).map_err(|why| fault("lines of", &why))?;
    let keys = authority.witnesses.iter().map(|key| CosignerVerifier::parse(key));
    let keys = keys.collect::<Result<Vec<_>, _>>().map_err(|why| fault("witnesses of", &why))?;
    settings.quorum =
        Quorum::new(keys, authority.witness_quorum).map_err(|why| fault("witnesses of", &why))?;
    settings.recognised = authority.recognised_by.is_some();
    settings.max_status_age = authority.max_status_age.as_secs();
    let authorities = config.authorities.len().max(1) as u64;
    settings.limits.max_compiled_bytes = config.limits.context_bytes / authorities;
    settings.poll = authority.poll.as_secs().max(1);
    if memory == Memory::None || memory == Memory::Look && !dir.is_dir() {
        return Ok(Follower::without_memory(settings));
    }
    Follower::open(settings, &dir, unix_now()).map_err(|why| fault("follower memory", &why))
}

/// The loop of one authority.
pub(super) struct Task {
    place: usize,
    name: String,
    follower: Follower,
    fetcher: Fetcher,
    publisher: Rc<Publisher>,
    follower_states: Arc<FollowerStates>,
    random: SystemRandom,
    /// True if the contexts changed since the policies were last notified.
    unsettled: bool,
    /// Reason why the last round failed; waits are then spread out.
    obstacle: Option<Obstacle>,
    /// Last logged differences between trust list and configuration: log keys that the list omits, and a lower number of root
    /// keys.
    logged: (Vec<String>, u64),
    /// Time of the last request after a hint.
    hinted: Option<Instant>,
    /// Root files, and their contents as last read.
    roots: Roots,
    /// Task that listens for its events.
    listening: JoinHandle<()>,
}

/// Roots of an authority and of its TLS certificate, as last read.
struct Roots {
    config: Arc<Config>,
    read: [Option<Vec<u8>>; 2],
    /// Triggers another read of the files.
    look: watch::Receiver<()>,
}

impl Roots {
    fn files(authority: &AuthorityConfig) -> [Option<Vec<u8>>; 2] {
        [&authority.roots, &authority.tls_roots].map(|file| std::fs::read(file).ok())
    }
}

/// Creates the client for requests and events of an authority.
fn reach(
    config: &Config,
    authority: &AuthorityConfig,
    tls: Arc<ClientConfig>,
    follower_states: &FollowerStates,
) -> (JoinHandle<()>, Fetcher) {
    let (timeout, bell) = (config.limits.fetch_timeout, follower_states.bell(&authority.name));
    let addresses = Addresses::of(authority);
    let fetcher = Fetcher::new(addresses.clone(), Some(&tls), timeout);
    (tokio::task::spawn_local(hints::listen(addresses, tls, timeout, bell)), fetcher)
}

impl Task {
    pub(super) fn new(
        place: usize,
        config: &Arc<Config>,
        authority: &AuthorityConfig,
        follower: Follower,
        tls: Arc<ClientConfig>,
        publisher: Rc<Publisher>,
        follower_states: Arc<FollowerStates>,
    ) -> Self {
        let (look, read) = (publisher.roots.subscribe(), Roots::files(authority));
        let (listening, fetcher) = reach(config, authority, tls, &follower_states);
        Self {
            place,
            name: authority.name.clone(),
            follower,
            fetcher,
            roots: Roots { config: Arc::clone(config), read, look },
            listening,
            publisher,
            follower_states,
            random: SystemRandom::new(),
            unsettled: false,
            obstacle: None,
            logged: (Vec::new(), 0),
            hinted: None,
        }
    }

    pub(super) async fn run(mut self) {
        self.tell_keys();
        loop {
            if self.roots.look.has_changed().unwrap_or(false) {
                self.roots.look.mark_unchanged();
                self.read_roots();
            }
            match self.follower.next(unix_now()) {
                Step::Get(request) => self.get(request).await,
                Step::Idle { until } => {
                    if std::mem::take(&mut self.unsettled) {
                        self.publisher.reload.send_replace(());
                    }
                    self.wait(until).await;
                }
            }
        }
    }

    /// Reloads the roots from their files and verifies the remembered data with them. Keeps the old roots if the files are
    /// unusable.
    fn read_roots(&mut self) {
        let config = Arc::clone(&self.roots.config);
        let Some(authority) = config.authorities.get(self.place) else { return };
        let read = Roots::files(authority);
        if read == self.roots.read {
            return;
        }
        let fresh = open(&config, authority, Memory::Keep)
            .and_then(|follower| Ok((follower, materials::authority(&config, authority)?)));
        match fresh {
            Ok((follower, tls)) => {
                tracing::warn!(authority = self.name, "reloaded the roots of the authority");
                self.listening.abort();
                (self.listening, self.fetcher) = reach(&config, authority, tls, &self.follower_states);
                (self.follower, self.roots.read) = (follower, read);
                self.show();
            }
            Err(why) => {
                tracing::error!(authority = self.name, %why, "cannot reload the roots of the authority; the old ones stay in use")
            }
        }
    }

    async fn get(&mut self, request: semgate_statement::follower::Request) {
        let fetched = self.fetcher.get(&request).await;
        self.listen();
        let (outcome, unanswered) = match fetched {
            Ok(answer) => {
                self.follower_states.answers_at(&self.name, self.fetcher.address());
                (self.follower.answer(&request.path, answer, unix_now()), None)
            }
            Err(why) => (self.follower.unreachable(&request.path, unix_now()), Some(Obstacle::from(&why))),
        };
        let counted = match outcome {
            Ok(Progress::ViewChanged) => {
                self.show();
                self.obstruct(None);
                "changed"
            }
            Ok(Progress::Same) => {
                self.obstruct(None);
                "same"
            }
            Err(why) => {
                self.obstruct(Some(unanswered.unwrap_or_else(|| Obstacle::from(&why))));
                // a refused head still revokes, and at once
                if !self.publisher.shows(self.place, &self.follower.view()) {
                    self.show();
                }
                "failed"
            }
        };
        let cause = self.obstacle.as_ref().map_or("", Obstacle::cause).to_owned();
        let labels = [("authority", self.name.clone()), ("outcome", counted.to_owned()), ("cause", cause)];
        self.publisher.metrics.counter("semgate_follow_total", &labels).increment(1);
        self.log_reports();
    }

    /// Shows the operator the obstacle of the last round, or that there was none. Logs a new one.
    fn obstruct(&mut self, obstacle: Option<Obstacle>) {
        let before = std::mem::replace(&mut self.obstacle, obstacle.clone());
        if let Some(why) =
            obstacle.as_ref().filter(|now| before.as_ref().is_none_or(|was| was.cause() != now.cause()))
        {
            let cause = why.cause();
            tracing::warn!(authority = self.name, cause, %why, "cannot follow the authority; the last good view stays in use");
        }
        if before != obstacle {
            self.follower_states.obstructs(&self.name, obstacle);
        }
    }

    /// Publishes the follower's current view for the judgement of messages.
    fn show(&mut self) {
        self.publisher.view_changed(self.place, self.follower.view());
        self.tell_keys();
        self.unsettled = true;
    }

    /// Logs configured log keys that no trust list names, and a list that asks for fewer root keys than configured. It stops
    /// nothing. Such keys do not count, but enough configured root keys signed the list, and the root's statement applies.
    fn tell_keys(&mut self) {
        let (view, demanded) = (self.follower.view(), self.follower.config().root_threshold);
        let threshold = if view.root_threshold() < demanded { view.root_threshold() } else { 0 };
        let now = (view.unlisted_log_keys().to_vec(), threshold);
        if self.logged == now {
            return;
        }
        self.logged = now;
        if threshold > 0 {
            tracing::warn!(
                authority = self.name,
                threshold,
                demanded,
                "the trust list sets a lower threshold than `root_threshold`, and enough root keys signed it"
            );
        }
        for key in view.unlisted_log_keys() {
            tracing::warn!(
                authority = self.name,
                key,
                "no trust list of this log names the configured `log_key`: check for a typing error, or the key of another log"
            );
        }
    }

    /// Forwards a hint that arrives during a round, so that a revocation need not wait for the end of a long one.
    fn listen(&mut self) {
        if self.hinted.is_some_and(|at| at.elapsed() < HINT_PAUSE) {
            return;
        }
        let bell = self.follower_states.bell(&self.name);
        let rung = std::pin::pin!(bell.notified()).as_mut().enable();
        if rung {
            self.follower.hint();
            self.hinted = Some(Instant::now());
        }
    }

    /// Shows the operator if the memory on disk is up to date. The follower's report has already logged the fault.
    fn show_memory(&self) {
        let memory = self.follower.memory();
        let before = self.follower_states.memory(&self.name);
        self.follower_states.remembers(&self.name, memory);
        if memory.complete && before.is_some_and(|before| !before.complete && before.fault.is_some()) {
            tracing::info!(authority = self.name, "the follower state is complete on disk again");
        }
        for (name, holds) in
            [("semgate_memory_whole", memory.complete), ("semgate_memory_reserve", memory.reserve)]
        {
            let labels = [("authority", self.name.clone())];
            self.publisher.metrics.gauge(name, &labels).set(f64::from(u8::from(holds)));
        }
    }

    /// Logs the follower's reports, with the place of the evidence where some is kept.
    fn log_reports(&mut self) {
        self.show_memory();
        for report in self.follower.reports() {
            let evidence = report.evidence.as_ref().map(|place| tracing::field::display(place.display()));
            tracing::warn!(authority = self.name, %report, evidence, "reported by the follower");
        }
    }

    /// Waits until the time or until a hint.
    async fn wait(&mut self, until: u64) {
        let mut pause = Duration::from_secs(until.saturating_sub(unix_now()).max(1));
        if self.obstacle.is_some() {
            pause = pause.saturating_add(self.jitter(pause));
        }
        let bell = self.follower_states.bell(&self.name);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = bell.notified() => {
                self.follower.hint();
                // The first hint is followed at once, so that a revocation does not wait.
                let since = self.hinted.map_or(HINT_PAUSE, |at| at.elapsed());
                tokio::time::sleep(HINT_PAUSE.saturating_sub(since)).await;
                self.hinted = Some(Instant::now());
            }
        }
    }

    /// Random delay of up to a quarter of `pause`, so that gateways that lost one authority do not return together.
    fn jitter(&self, pause: Duration) -> Duration {
        let mut byte = [0_u8; 1];
        let _ = self.random.fill(&mut byte);
        pause.mul_f64(f64::from(byte[0]) / 1024.0)
    }
}
