//! Sockets of the gateway by their addresses. A reload continues a socket together with its queue of connections.

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use socket2::{Domain, Protocol as Transport, Socket, Type};

use crate::config::Listen;
use crate::fault::RunFault;

/// Connections that wait in the kernel while the core is busy.
const BACKLOG: i32 = 1024;

/// A bound listener, not yet in a runtime.
#[derive(Debug)]
pub enum ListeningSocket {
    /// A TCP listener.
    Tcp(std::net::TcpListener),
    /// A socket of UDP, for QUIC.
    Udp(std::net::UdpSocket),
    /// A listener of a Unix stream socket.
    Unix(std::os::unix::net::UnixListener),
}

impl ListeningSocket {
    fn again(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Tcp(listener) => Self::Tcp(listener.try_clone()?),
            Self::Udp(socket) => Self::Udp(socket.try_clone()?),
            Self::Unix(listener) => Self::Unix(listener.try_clone()?),
        })
    }

    fn set_nonblocking(&self) -> std::io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.set_nonblocking(true),
            Self::Udp(socket) => socket.set_nonblocking(true),
            Self::Unix(listener) => listener.set_nonblocking(true),
        }
    }

    /// The address; `None` for an unnamed socket.
    fn address(&self) -> Option<Listen> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(Listen::Tcp),
            Self::Udp(socket) => socket.local_addr().ok().map(Listen::Quic),
            Self::Unix(listener) => {
                listener.local_addr().ok()?.as_pathname().map(|path| Listen::Unix(path.to_owned()))
            }
        }
    }
}

/// The listeners of one address.
struct Held {
    key: String,
    taken: Listen,
    /// One for each core.
    all: Vec<ListeningSocket>,
}

/// The sockets of all routes, kept open while a route listens there.
pub(crate) struct Sockets {
    cores: usize,
    held: Vec<Held>,
    /// Sockets of the process that started this one, until an address takes them.
    inherited: Vec<ListeningSocket>,
}

impl Sockets {
    /// For this number of cores. An address takes a socket of `inherited` that is bound to it.
    pub(crate) fn new(cores: usize, inherited: Vec<ListeningSocket>) -> Self {
        Self { cores, held: Vec::new(), inherited }
    }

    /// Binds `address` for one thread, or takes the inherited socket.
    ///
    /// # Errors
    /// [`RunFault::Bind`].
    pub(crate) fn one(&mut self, address: SocketAddr) -> Result<std::net::TcpListener, RunFault> {
        let fault =
            |why: std::io::Error| RunFault::Bind { address: address.to_string(), why: why.to_string() };
        let socket = match self.inherited(&Listen::Tcp(address)) {
            Some(ListeningSocket::Tcp(socket)) => socket,
            _ => std::net::TcpListener::bind(address).map_err(fault)?,
        };
        socket.set_nonblocking(true).map_err(fault)?;
        Ok(socket)
    }

    /// # Errors
    /// An inherited socket at an address that no setting names: its callers would wait for ever.
    pub(crate) fn all_taken(&self) -> Result<(), RunFault> {
        let Some(left) = self.inherited.first() else { return Ok(()) };
        let address =
            left.address().map_or("a socket without a name".to_owned(), |address| address.to_string());
        let why = "it was passed to this process, and no setting names it".to_owned();
        Err(RunFault::Bind { address, why })
    }

    fn inherited(&mut self, listen: &Listen) -> Option<ListeningSocket> {
        let at = self.inherited.iter().position(|bound| bound.address().as_ref() == Some(listen))?;
        Some(self.inherited.swap_remove(at))
    }

    /// Binds `listen` once for each core, or continues the sockets that are bound there. Returns the address with the actual
    /// port. `name` tells listeners with a free port apart.
    ///
    /// # Errors
    /// [`RunFault::Bind`].
    pub(crate) fn bind(
        &mut self,
        name: &str,
        listen: &Listen,
    ) -> Result<(Vec<ListeningSocket>, Listen), RunFault> {
        let fault =
            |why: std::io::Error| RunFault::Bind { address: listen.to_string(), why: why.to_string() };
        let key = key(name, listen);
        if !self.held.iter().any(|held| held.key == key) {
            let (all, taken) = match self.inherited(listen) {
                Some(one) => (shared(one, self.cores).map_err(fault)?, listen.clone()),
                None => bind(listen, self.cores).map_err(fault)?,
            };
            self.held.push(Held { key: key.clone(), taken, all });
        }
        let held = self.held.iter().find(|held| held.key == key);
        let held = held.ok_or_else(|| RunFault::system("sockets", "a socket is missing"))?;
        let all = held.all.iter().map(ListeningSocket::again).collect::<Result<_, _>>().map_err(fault)?;
        Ok((all, held.taken.clone()))
    }

    /// Closes all sockets but those of these names and addresses.
    pub(crate) fn keep_only<'a>(&mut self, used: impl IntoIterator<Item = (String, &'a Listen)>) {
        let used: Vec<String> = used.into_iter().map(|(name, listen)| key(&name, listen)).collect();
        self.held.retain(|held| used.contains(&held.key));
    }
}

fn key(name: &str, listen: &Listen) -> String {
    match listen {
        _ if listen.takes_free_port() => format!("{name} {listen}"),
        _ => listen.to_string(),
    }
}

/// One socket for all cores.
fn shared(one: ListeningSocket, cores: usize) -> std::io::Result<Vec<ListeningSocket>> {
    one.set_nonblocking()?;
    let mut all = (1..cores).map(|_| one.again()).collect::<Result<Vec<_>, _>>()?;
    all.push(one);
    Ok(all)
}

fn bind(listen: &Listen, cores: usize) -> std::io::Result<(Vec<ListeningSocket>, Listen)> {
    match listen {
        Listen::Tcp(address) => {
            let (mut all, mut address) = (Vec::with_capacity(cores), *address);
            alone(address, Type::STREAM)?;
            for _ in 0..cores {
                let listener = tcp(address)?;
                address = listener.local_addr()?;
                all.push(ListeningSocket::Tcp(listener));
            }
            Ok((all, Listen::Tcp(address)))
        }
        Listen::Quic(address) => {
            let (mut all, mut address) = (Vec::with_capacity(cores), *address);
            alone(address, Type::DGRAM)?;
            for _ in 0..cores {
                let socket = udp(address)?;
                address = socket.local_addr()?;
                all.push(ListeningSocket::Udp(socket));
            }
            Ok((all, Listen::Quic(address)))
        }
        Listen::Unix(path) => Ok((shared(ListeningSocket::Unix(unix(path)?), cores)?, listen.clone())),
    }
}

/// Refuses an address already in use. Cores share theirs, so the kernel would also share it with another gateway of this
/// user. Chance would then select the policies for a message.
fn alone(address: std::net::SocketAddr, kind: Type) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if kind == Type::STREAM {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())
}

fn tcp(address: std::net::SocketAddr) -> std::io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Transport::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn udp(address: std::net::SocketAddr) -> std::io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Transport::UDP))?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Binds a Unix socket. Removes only an old socket, never another kind of file.
fn unix(path: &Path) -> std::io::Result<std::os::unix::net::UnixListener> {
    if let Ok(old) = std::fs::symlink_metadata(path)
        && old.file_type().is_socket()
    {
        std::fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
