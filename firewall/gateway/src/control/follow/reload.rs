//! SIGHUP: the configuration, and every file that it names, read again.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use sd_notify::NotifyState;
use tokio::signal::unix::Signal;

use super::Publisher;
use super::follower_states::FollowerStates;
use crate::config::Config;
use crate::fault::RunFault;

/// Replaces routes, limits and certificates by those of a configuration: all or none.
pub(crate) type TakeConfig = Box<dyn Fn(Arc<Config>) -> Pin<Box<dyn Future<Output = Result<(), RunFault>>>>>;

/// The fault of the last reload, for the operator's pages.
#[derive(Default)]
pub(crate) struct ReloadState(Mutex<Option<String>>);

impl ReloadState {
    /// The reason why the gateway serves another configuration than the file's, since the last SIGHUP.
    pub(crate) fn fault(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, fault: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

/// Parts of the task that handles SIGHUP.
pub(super) struct Hangups {
    pub(super) publisher: Rc<Publisher>,
    pub(super) config: Arc<Config>,
    pub(super) follower_states: Arc<FollowerStates>,
    pub(super) state: Arc<ReloadState>,
    pub(super) take: TakeConfig,
    pub(super) signal: Signal,
}

impl Hangups {
    /// Handles each SIGHUP in a task.
    pub(super) fn spawn(self) {
        self.show(None);
        tokio::task::spawn_local(self.run());
    }

    async fn run(mut self) {
        while self.signal.recv().await.is_some() {
            service_manager(&[
                NotifyState::Reloading,
                NotifyState::monotonic_usec_now().unwrap_or(NotifyState::MonotonicUsec(0)),
            ]);
            self.publisher.roots.send_replace(());
            for authority in &self.config.authorities {
                self.follower_states.bell(&authority.name).notify_one();
            }
            self.publisher.shared.audit.reopen();
            let fault = self.configuration().await.err();
            match &fault {
                None => tracing::info!("the configuration is in use as it is on disk"),
                Some(why) => {
                    tracing::error!(why, "cannot take the configuration; the gateway serves as before");
                }
            }
            self.show(fault);
            self.publisher.reload.send_replace(());
            service_manager(&[NotifyState::Ready]);
        }
    }

    /// Takes the configuration on disk. `distrusted` applies even if the rest is not taken.
    ///
    /// # Errors
    /// The reason why the old one stays. Its keys and certificates were read again, if they are good.
    async fn configuration(&mut self) -> Result<(), String> {
        match self.read() {
            Ok(fresh) => {
                let fresh = Arc::new(fresh);
                (self.take)(Arc::clone(&fresh)).await.map_err(|why| why.to_string())?;
                self.publisher.operator_floors(&fresh);
                self.config = fresh;
                Ok(())
            }
            Err(why) => {
                let files = (self.take)(Arc::clone(&self.config)).await;
                Err(files.err().map_or(why.clone(), |also| format!("{why}; {also}")))
            }
        }
    }

    fn read(&self) -> Result<Config, String> {
        let fresh = self.config.reread().map_err(|why| why.to_string())?;
        self.publisher.distrust(self.config.distrusted_by(&fresh));
        let fixed = self.config.needs_restart(&fresh);
        if fixed.is_empty() {
            return Ok(fresh);
        }
        Err(format!("a restart is needed to change `{}`", fixed.join("`, `")))
    }

    fn show(&self, fault: Option<String>) {
        let current = f64::from(u8::from(fault.is_none()));
        self.publisher.metrics.gauge("semgate_config_current", &[]).set(current);
        self.state.set(fault);
    }
}

/// Tells the service manager that started the process, if one did. A message that it does not take only delays its commands.
fn service_manager(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}
