//! State that every page shares.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semgate_certs::SpiffeId;
use tokio::sync::{RwLock, watch};

use crate::audit::{Audit, Entry};
use crate::client::{CallFault, Server};
use crate::clock::now;
use crate::config::{Config, GatewayConfig, PersonConfig};
use crate::fault::RunFault;
use crate::feed::Feeds;
use crate::library::Library;
use crate::materials::Current;
use crate::sessions::{Factor, Session, Sessions};
use crate::sets::Sets;

/// The header by which a console names the person it acts for.
const PERSON: &str = "semgate-person";
/// The header that states how the person logged in.
const FACTOR: &str = "semgate-factor";

/// Characters of a target or a detail in the audit log: longer than every URN and id.
const MAX_TARGET: usize = 256;
/// Time for the outcomes of open acts to reach the disk once the console stops.
const LAST_RECORDS: Duration = Duration::from_secs(5);

/// The running console.
pub(crate) struct App {
    pub(crate) config: Config,
    /// The origin of every page, to compare `Origin` with.
    pub(crate) origin: String,
    pub(crate) materials: Current,
    pub(crate) audit: Audit,
    /// Documents of published contexts, by digest.
    pub(crate) library: Library,
    /// Live verdicts of every gateway.
    pub(crate) feeds: Feeds,
    /// Analysed policy sets.
    pub(crate) sets: Sets,
    persons: Vec<Arc<PersonConfig>>,
    sessions: Mutex<Sessions>,
    /// Every open act holds it for reading.
    acts: Arc<RwLock<()>>,
    /// True once the console stops and waits for no answer any more.
    ending: watch::Sender<bool>,
}

impl App {
    /// Opens all files.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(crate) fn open(config: Config) -> Result<Self, RunFault> {
        Ok(Self {
            origin: config.origin(),
            materials: Current::open(&config)?,
            audit: Audit::open(&config.audit_file)?,
            library: Library::default(),
            feeds: Feeds::new(config.gateways.iter().map(|gateway| gateway.name.as_str())),
            sets: Sets::default(),
            persons: config.persons.iter().cloned().map(Arc::new).collect(),
            sessions: Mutex::new(Sessions::new()?),
            acts: Arc::default(),
            ending: watch::Sender::new(false),
            config,
        })
    }

    /// The sessions. Held for no longer than a look.
    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The person with this certificate.
    pub(crate) fn person(&self, id: &SpiffeId) -> Option<Arc<PersonConfig>> {
        self.persons.iter().find(|person| person.id == id.as_str()).cloned()
    }

    /// The person with this Human Card.
    pub(crate) fn human(&self, id: &str) -> Option<Arc<PersonConfig>> {
        self.persons.iter().find(|person| person.human.as_deref() == Some(id)).cloned()
    }

    /// The authority, read by the console itself.
    pub(crate) fn authority(&self) -> Server {
        Server::new(&self.config.authority.url, Some(self.materials.get().authority.clone()))
    }

    /// The authority, called in the name of a person.
    ///
    /// # Errors
    /// None in practice: a SPIFFE id is a header.
    pub(crate) fn authority_for(&self, session: &Session) -> Result<Server, CallFault> {
        self.authority().with(PERSON, &session.person.id)
    }

    /// The admin address of a gateway.
    pub(crate) fn admin(&self, gateway: &GatewayConfig) -> Server {
        Server::new(&gateway.admin, self.connector(gateway))
    }

    /// The approvals of a gateway, called in the name of a person; `None` if it asks nobody.
    ///
    /// # Errors
    /// The person has no Human Card, or its id is no header.
    pub(crate) fn approvals(
        &self,
        gateway: &GatewayConfig,
        session: &Session,
    ) -> Option<Result<Server, CallFault>> {
        let url = gateway.approvals.as_deref()?;
        let Some(human) = &session.person.human else {
            return Some(Err(CallFault::Silent("you have no human card".to_owned())));
        };
        let server = Server::new(url, self.connector(gateway));
        Some(server.with(PERSON, human).and_then(|server| server.with(FACTOR, session.factor.as_str())))
    }

    fn connector(&self, gateway: &GatewayConfig) -> Option<tokio_rustls::TlsConnector> {
        let at = self.config.gateways.iter().position(|one| one.name == gateway.name)?;
        self.materials.get().gateways.get(at)?.clone()
    }

    /// Records an act on disk, away from the async threads.
    ///
    /// # Errors
    /// The disk refuses: the act must not happen.
    pub(crate) async fn record(self: &Arc<Self>, act: &Act<'_>, outcome: &str) -> std::io::Result<()> {
        self.write(&Arc::new(act.owned()), outcome).await
    }

    /// Notes the act of a stranger, at most once a second.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) async fn note(self: &Arc<Self>, act: &Act<'_>, outcome: &'static str) -> std::io::Result<()> {
        let Some(suppressed) = self.audit.due(now()) else { return Ok(()) };
        let (app, act) = (Arc::clone(self), act.owned());
        let noted = tokio::task::spawn_blocking(move || app.audit.note(&act.entry(), outcome, suppressed));
        noted.await.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))
    }

    async fn write(self: &Arc<Self>, act: &Arc<OwnedAct>, outcome: &str) -> std::io::Result<()> {
        let (app, act, outcome) = (Arc::clone(self), Arc::clone(act), outcome.to_owned());
        let written = tokio::task::spawn_blocking(move || app.audit.write(&act.entry(), &outcome)).await;
        written.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))
    }

    /// Ends every open act: its outcome is recorded as unknown. Returns once the records are on disk, or after 5 seconds.
    pub(crate) async fn end_acts(&self) {
        self.ending.send_replace(true);
        if tokio::time::timeout(LAST_RECORDS, self.acts.write()).await.is_err() {
            tracing::error!("the outcome of an open act could not be recorded; its intention was");
        }
    }
}

/// Carries out an act once its record is on disk, then records the outcome. It goes on when the browser leaves.
///
/// # Errors
/// The record cannot be written, and nothing was sent; or the fault of the act.
pub(crate) async fn carry_out<T: Send + 'static>(
    app: &Arc<App>,
    act: &Act<'_>,
    sent: impl Future<Output = Result<T, CallFault>> + Send + 'static,
) -> Result<T, Undone> {
    let (app, act) = (Arc::clone(app), Arc::new(act.owned()));
    let whole = tokio::spawn(async move {
        let _open = Arc::clone(&app.acts).read_owned().await;
        app.write(&act, "intended").await.map_err(Undone::Unrecorded)?;
        let mut ending = app.ending.subscribe();
        // a task of its own, so that a panic has an outcome too
        let mut sending = tokio::spawn(sent);
        let answer = tokio::select! {
            answer = &mut sending => answer.unwrap_or_else(|_| Err(lost("the act broke off"))),
            _ = ending.wait_for(|ends| *ends) => Err(lost("the console stops")),
        };
        let word = answer.as_ref().map_or_else(|fault| fault.code().to_owned(), |_| "done".to_owned());
        if let Err(why) = app.write(&act, &word).await {
            tracing::error!(%why, "the outcome of an act could not be recorded; its intention was");
        }
        answer.map_err(Undone::Fault)
    });
    whole.await.unwrap_or_else(|_| Err(Undone::Fault(lost("the act broke off"))))
}

fn lost(why: &str) -> CallFault {
    CallFault::Lost(why.to_owned())
}

/// An act that was not done.
pub(crate) enum Undone {
    /// Its record could not be written, so nothing was sent.
    Unrecorded(std::io::Error),
    /// The server refused or did not answer.
    Fault(CallFault),
}

/// An act of a person, for the audit log.
pub(crate) struct Act<'a> {
    /// The person and the proof; `None` for a login that failed.
    pub(crate) by: Option<(&'a PersonConfig, &'a Factor)>,
    pub(crate) act: &'a str,
    pub(crate) target: &'a str,
    pub(crate) server: &'a str,
    /// Named particulars, such as the digest of a decision.
    pub(crate) detail: BTreeMap<&'static str, String>,
}

struct OwnedAct {
    person: String,
    factor: String,
    roles: Vec<&'static str>,
    act: String,
    target: String,
    server: String,
    detail: BTreeMap<&'static str, String>,
}

impl Act<'_> {
    fn owned(&self) -> OwnedAct {
        let roles = self.by.map(|(person, _)| person.roles.iter().map(|role| role.as_str()).collect());
        OwnedAct {
            person: self.by.map(|(person, _)| person.id.clone()).unwrap_or_default(),
            factor: self.by.map(|(_, factor)| factor.as_str().to_owned()).unwrap_or_default(),
            roles: roles.unwrap_or_default(),
            act: self.act.to_owned(),
            target: bounded(self.target),
            server: self.server.to_owned(),
            detail: self.detail.iter().map(|(name, value)| (*name, bounded(value))).collect(),
        }
    }
}

impl OwnedAct {
    fn entry(&self) -> Entry<'_> {
        Entry {
            person: &self.person,
            factor: &self.factor,
            roles: self.roles.clone(),
            act: &self.act,
            target: &self.target,
            server: &self.server,
            detail: &self.detail,
        }
    }
}

fn bounded(text: &str) -> String {
    text.chars().take(MAX_TARGET).collect()
}

#[cfg(test)]
mod tests;
