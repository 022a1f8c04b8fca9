//! A token with a thread of its own, which alone calls the module. Callers queue work and wait, each up to its limit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use cryptoki::context::Pkcs11;
use semgate_certs::{DeviceFault, PublicKey};

use super::token::Token;
use super::uri::{PinSource, Pkcs11Uri};

/// Jobs that wait for a token. The sequencer, the minting of signers and a few readers ask at once; more means that the token is too slow.
const QUEUE: usize = 64;

/// A call to a token.
enum Work {
    /// The public half of a key.
    Public(Pkcs11Uri, SyncSender<Result<PublicKey, DeviceFault>>),
    /// A signature over a message.
    Sign(Pkcs11Uri, Vec<u8>, SyncSender<Result<[u8; 64], DeviceFault>>),
}

/// A call, and the time at which its caller gives up.
struct Job {
    work: Work,
    until: Instant,
}

/// The identity of a token of a module in this process.
type Name = (Option<String>, Option<String>, PinSource);

/// The tokens of one module. Locked while the module ends, which may take for ever.
type Module = Arc<Mutex<BTreeMap<Name, Arc<Device>>>>;

/// Tokens of all modules. Keys in a token share it: PKCS#11 keeps its state by process and token. Never locked during a call to a module,
/// so one that hangs blocks no other.
static MODULES: Mutex<BTreeMap<PathBuf, Module>> = Mutex::new(BTreeMap::new());

/// Interval between looks at a module that is ending.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

fn module_at(path: &Path) -> Module {
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(modules.entry(path.to_owned()).or_default())
}

/// The calling side of a token.
pub(super) struct Device {
    to: SyncSender<Job>,
    limit: Duration,
    /// Start of the call that is under way.
    busy: Arc<Mutex<Option<Instant>>>,
}

impl Device {
    /// The token that a URI names; the limit is that of the first caller.
    pub fn of(uri: &Pkcs11Uri, limit: Duration) -> Result<Arc<Device>, DeviceFault> {
        let name = (uri.token.clone(), uri.serial.clone(), uri.pin.clone());
        let (module, began) = (module_at(&uri.module), Instant::now());
        let mut devices = loop {
            match module.try_lock() {
                Ok(devices) => break devices,
                Err(TryLockError::Poisoned(devices)) => break devices.into_inner(),
                Err(TryLockError::WouldBlock) if began.elapsed() > limit => return Err(DeviceFault::Timeout),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_AGAIN),
            }
        };
        if let Some(device) = devices.get(&name) {
            return Ok(Arc::clone(device));
        }
        let (to, from) = sync_channel(QUEUE);
        let busy = Arc::new(Mutex::new(None));
        let (token, marks) = (Token::new(uri), Arc::clone(&busy));
        let thread = std::thread::Builder::new().name("pkcs11".to_owned());
        thread.spawn(move || serve(token, &from, &marks)).map_err(|_| DeviceFault::Module)?;
        let device = Arc::new(Device { to, limit, busy });
        devices.insert(name, Arc::clone(&device));
        Ok(device)
    }

    /// The public half of a key.
    pub fn public(&self, uri: &Pkcs11Uri) -> Result<PublicKey, DeviceFault> {
        let (answer, from) = sync_channel(1);
        self.ask(Work::Public(uri.clone(), answer), &from)
    }

    /// Signs.
    pub fn sign(&self, uri: &Pkcs11Uri, message: &[u8]) -> Result<[u8; 64], DeviceFault> {
        let (answer, from) = sync_channel(1);
        self.ask(Work::Sign(uri.clone(), message.to_vec(), answer), &from)
    }

    fn ask<T>(&self, work: Work, from: &Receiver<Result<T, DeviceFault>>) -> Result<T, DeviceFault> {
        let since = *self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_some_and(|since| since.elapsed() > self.limit) {
            // it hangs: nobody else waits for it before it moves again
            return Err(DeviceFault::Timeout);
        }
        let job = Job { work, until: Instant::now() + self.limit };
        self.to.try_send(job).map_err(|fault| match fault {
            TrySendError::Full(_) => DeviceFault::Timeout,
            TrySendError::Disconnected(_) => DeviceFault::Module,
        })?;
        match from.recv_timeout(self.limit) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(DeviceFault::Timeout),
            Err(RecvTimeoutError::Disconnected) => Err(DeviceFault::Module),
        }
    }
}

/// Ends a module so that it can begin again. Only if no other token of it is in use, because their sessions would end too.
pub(super) fn restart(path: &Path, module: &Pkcs11) -> bool {
    let tokens = module_at(path);
    let tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    tokens.len() <= 1 && module.clone().finalize().is_ok()
}

fn serve(mut token: Token, from: &Receiver<Job>, busy: &Mutex<Option<Instant>>) {
    let mark = |at: Option<Instant>| *busy.lock().unwrap_or_else(PoisonError::into_inner) = at;
    while let Ok(job) = from.recv() {
        // the caller gave up and was answered: nothing is signed for nobody
        if Instant::now() >= job.until {
            continue;
        }
        mark(Some(Instant::now()));
        match job.work {
            Work::Public(uri, answer) => {
                let _ = answer.send(token.public(&uri));
            }
            Work::Sign(uri, message, answer) => {
                let _ = answer.send(token.sign(&uri, &message));
            }
        }
        mark(None);
    }
}

#[cfg(test)]
mod tests;
