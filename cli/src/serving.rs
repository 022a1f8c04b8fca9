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
            "the authority repairs nothing by itself: docs/how-to/run-an-authority.md describes how to restore"
        }
        RunFault::Missing { .. } => {
            "restore it from its copy; docs/how-to/run-an-authority.md describes each file"
        }
        RunFault::Io { .. } => {
            "check that it exists, that the disk has room, and that this user may write it"
        }
        RunFault::Keys { .. } => {
            "docs/how-to/run-an-authority.md describes each key and certificate, and how to replace it"
        }
        RunFault::Config(_) => "docs/reference/config.md describes each setting",
        RunFault::Signer { .. } => {
            "check that the token is present and unlocked; the submission was not carried out, so try again"
        }
        RunFault::Stopped(_) => "its log shows the cause; start it again",
    };
    Fault::new(format_args!("{what}: {why}")).hint(hint)
}
