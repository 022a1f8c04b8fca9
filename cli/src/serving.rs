//! The end of a server: by a signal, or by a fault.

use semgate_authority::RunFault;
use tokio::signal::unix::{SignalKind, signal};

use crate::fault::Fault;

/// Resolves at SIGTERM or SIGINT; never, if no handler can be installed.
pub async fn end() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// The fault of an authority, a witness or an offline job that ended.
pub fn stopped(what: &str, why: &RunFault) -> Fault {
    let hint = match why {
        RunFault::Locked(_) => "end that one first, or name another state directory",
        RunFault::Bind { .. } => {
            "another program has this address: end it, or configure another one (`listen`, `admin`)"
        }
        RunFault::Damaged { .. } => {
            "nothing is repaired by guessing: docs/how-to/run-an-authority.md tells how to restore"
        }
        RunFault::Missing { .. } => {
            "put it back from where it is kept; docs/how-to/run-an-authority.md tells what lies where"
        }
        RunFault::Io { .. } => "is it there, is there room, and may whoever runs this write it?",
        RunFault::Keys { .. } => {
            "docs/how-to/run-an-authority.md tells which key and certificate goes where, and how each is replaced"
        }
        RunFault::Config(_) => "docs/reference/config.md tells what each setting means",
        RunFault::Signer { .. } => {
            "is the token there, and unlocked? What was submitted was not done; try again"
        }
        RunFault::Stopped(_) => "its log says what came before; start it again",
    };
    Fault::new(format_args!("{what}: {why}")).hint(hint)
}
