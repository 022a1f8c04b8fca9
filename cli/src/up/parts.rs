//! The parts of `up`, each on its own thread and runtime, so that one ends without the others.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::layout::{Layout, SAMPLE_AGENT, spiffe};
use crate::fault::{Doing, Fault};
use crate::sample_agent::{self, SignedAgent};
use crate::signing_key::SigningKey;
use crate::up_directory::{AUTHORITY_TOML, CONSOLE_TOML, FIREWALL_TOML};

/// Time from the start of a part to its first answer.
const START: Duration = Duration::from_secs(60);

/// The running parts, in the order of their start.
#[derive(Default)]
pub struct Parts {
    running: Vec<Part>,
}

struct Part {
    name: &'static str,
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), Fault>>,
}

impl Parts {
    /// Starts the sample agent.
    pub async fn agent(
        &mut self,
        address: SocketAddr,
        signing: Option<SocketAddr>,
        dir: &Path,
    ) -> Result<(), Fault> {
        let key = signing.map(|_| SigningKey::read(dir, SAMPLE_AGENT)).transpose()?;
        self.start("sample agent", move |ready, stop| async move {
            let listener = TcpListener::bind(address).await.map_err(|e| taken(address, &e))?;
            let _ = ready.send(address);
            let signed =
                signing.zip(key).map(|(address, key)| SignedAgent::bind(address, key)).transpose()?;
            sample_agent::serve(listener, spiffe(SAMPLE_AGENT), signed, stopped(stop)).await
        })
        .await
        .map(|_| ())
    }

    /// Starts the authority and returns its address.
    pub async fn authority(&mut self, layout: &Layout) -> Result<SocketAddr, Fault> {
        let path = layout.dir.join(AUTHORITY_TOML);
        self.start("authority", move |ready, stop| async move {
            let config = crate::authority::load(&path)?;
            let tell = |bound: semgate_authority::Bound| {
                let _ = ready.send(bound.listen);
            };
            semgate_authority::run(config, Vec::new(), tell, stopped(stop))
                .await
                .map_err(|why| crate::serving::stopped("authority", &why))
        })
        .await
    }

    /// Starts the gateway and returns its addresses.
    pub async fn gateway(&mut self, layout: &Layout) -> Result<semgate_gateway::Bound, Fault> {
        let path = layout.dir.join(FIREWALL_TOML);
        self.start("firewall", move |ready, stop| async move {
            let config = crate::firewall::load(&path)?;
            let tell = |bound: semgate_gateway::Bound| drop(ready.send(bound));
            semgate_gateway::run(config, Vec::new(), tell, stopped(stop))
                .await
                .map_err(|why| crate::firewall::stopped("firewall", &why))
        })
        .await
    }

    /// Starts the console and returns its addresses.
    pub async fn console(&mut self, layout: &Layout) -> Result<semgate_console::Bound, Fault> {
        let path = layout.dir.join(CONSOLE_TOML);
        self.start("console", move |ready, stop| async move {
            let config = crate::console::load(&path)?;
            let tell = |bound: semgate_console::Bound| drop(ready.send(bound));
            semgate_console::run(config, tell, stopped(stop))
                .await
                .map_err(|why| crate::console::stopped(&why))
        })
        .await
    }

    async fn start<T, F, J>(&mut self, name: &'static str, job: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(mpsc::Sender<T>, watch::Receiver<bool>) -> J + Send + 'static,
        J: Future<Output = Result<(), Fault>>,
    {
        let (ready_sender, ready) = mpsc::channel();
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_multi_thread().enable_all().build().doing("runtime")?;
                runtime.block_on(job(ready_sender, stopped))
            })
            .doing(name)?;
        let (answer_sender, answer) = oneshot::channel();
        std::thread::spawn(move || answer_sender.send(ready.recv_timeout(START)));
        match answer.await {
            Ok(Ok(value)) => {
                self.running.push(Part { name, stop, thread });
                Ok(value)
            }
            // It ended before it answered: its own fault tells the reason.
            Ok(Err(mpsc::RecvTimeoutError::Disconnected)) => Err(ended(name, thread)),
            _ => Err(Fault::new(format_args!("the {name} does not answer after {} s", START.as_secs()))
                .hint("the machine is busy, or a file of the directory is slow to read: try again")),
        }
    }

    /// Resolves when a part has ended by itself.
    pub async fn any_ended(&self) {
        while !self.running.iter().any(|part| part.thread.is_finished()) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ends all parts, the last started first.
    ///
    /// # Errors
    /// The first fault that a part ended with.
    pub async fn stop(self) -> Result<(), Fault> {
        let ended = tokio::task::spawn_blocking(move || {
            let mut outcome = Ok(());
            for part in self.running.into_iter().rev() {
                let _ = part.stop.send(true);
                outcome = outcome.and(join(part.name, part.thread));
            }
            outcome
        });
        ended.await.doing("ending")?
    }
}

fn ended(name: &'static str, thread: JoinHandle<Result<(), Fault>>) -> Fault {
    match join(name, thread) {
        Err(fault) => fault,
        Ok(()) => Fault::new(format_args!("the {name} ended before it answered")),
    }
}

fn join(name: &'static str, thread: JoinHandle<Result<(), Fault>>) -> Result<(), Fault> {
    thread.join().unwrap_or_else(|_| Err(Fault::new(format_args!("the {name} failed"))))
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

fn taken(address: SocketAddr, e: &std::io::Error) -> Fault {
    Fault::new(format_args!("cannot listen on `{address}`: {e}")).hint(
        "the ports are in up.toml, authority.toml and firewall.toml: change them, or use another `--dir`",
    )
}
