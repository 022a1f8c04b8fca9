//! A server under a service manager: its sockets, its start, and its end by a signal or by a fault.

use listenfd::ListenFd;
use sd_notify::NotifyState;
use semgate_authority::RunFault;
use semgate_gateway::ListeningSocket;
use tokio::signal::unix::{SignalKind, signal};

use crate::fault::Fault;

/// The sockets that a service manager bound and passed on.
pub type Inherited = std::io::Result<Vec<ListeningSocket>>;

/// Takes the sockets of `LISTEN_FDS`, before the process has a second thread.
pub fn inherited() -> Inherited {
    let mut passed = ListenFd::from_env();
    let mut sockets = Vec::new();
    for at in 0..passed.len() {
        let socket = match passed.take_tcp_listener(at) {
            Ok(listener) => listener.map(ListeningSocket::Tcp),
            Err(_) => passed.take_unix_listener(at)?.map(ListeningSocket::Unix),
        };
        sockets.extend(socket);
    }
    Ok(sockets)
}

/// The sockets of a server that listens on TCP alone.
///
/// # Errors
/// One of them is another socket.
pub fn tcp(sockets: Vec<ListeningSocket>) -> Result<Vec<std::net::TcpListener>, Fault> {
    let only = |socket| match socket {
        ListeningSocket::Tcp(listener) => Ok(listener),
        ListeningSocket::Udp(_) | ListeningSocket::Unix(_) => {
            Err(Fault::new("a unix or udp socket was passed, and the authority listens on tcp alone"))
        }
    };
    sockets.into_iter().map(only).collect()
}

/// Tells the service manager, if there is one, that the server answers.
pub fn ready() {
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}

/// Resolves at SIGTERM or SIGINT, and tells the service manager; never, if no handler can be installed. The handlers are there once this
/// returns, so a signal right after the start ends the server as any other.
pub fn end() -> impl Future<Output = ()> {
    let handlers = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = handlers else { return std::future::pending().await };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
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
