//! Sockets of the gateway by their addresses. A reload continues a socket together with its queue of connections.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use socket2::{Domain, Protocol as Transport, Socket, Type};

use crate::config::Listen;
use crate::fault::RunFault;

/// Connections that wait in the kernel while the core is busy.
const BACKLOG: i32 = 1024;

/// A bound listener of one core, not yet in a runtime.
pub(crate) enum Bound {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl Bound {
    fn again(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Tcp(listener) => Self::Tcp(listener.try_clone()?),
            Self::Unix(listener) => Self::Unix(listener.try_clone()?),
        })
    }
}

/// The listeners of one address.
struct Held {
    key: String,
    taken: Listen,
    /// One for each core.
    all: Vec<Bound>,
}

/// The sockets of all routes, kept open while a route listens there.
pub(crate) struct Sockets {
    cores: usize,
    held: Vec<Held>,
}

impl Sockets {
    pub(crate) fn new(cores: usize) -> Self {
        Self { cores, held: Vec::new() }
    }

    /// Binds `listen` once for each core, or continues the sockets that are bound there. Returns the address with the actual
    /// port. `name` tells listeners with a free port apart.
    ///
    /// # Errors
    /// [`RunFault::Bind`].
    pub(crate) fn bind(&mut self, name: &str, listen: &Listen) -> Result<(Vec<Bound>, Listen), RunFault> {
        let fault =
            |why: std::io::Error| RunFault::Bind { address: listen.to_string(), why: why.to_string() };
        let key = key(name, listen);
        if !self.held.iter().any(|held| held.key == key) {
            let (all, taken) = bind(listen, self.cores).map_err(fault)?;
            self.held.push(Held { key: key.clone(), taken, all });
        }
        let held = self.held.iter().find(|held| held.key == key);
        let held = held.ok_or_else(|| RunFault::system("sockets", "a socket is missing"))?;
        let all = held.all.iter().map(Bound::again).collect::<Result<_, _>>().map_err(fault)?;
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
        Listen::Tcp(address) if address.port() == 0 => format!("{name} {listen}"),
        _ => listen.to_string(),
    }
}

fn bind(listen: &Listen, cores: usize) -> std::io::Result<(Vec<Bound>, Listen)> {
    let mut all = Vec::with_capacity(cores);
    match listen {
        Listen::Tcp(address) => {
            let mut address = *address;
            alone(address)?;
            for _ in 0..cores {
                let listener = tcp(address)?;
                address = listener.local_addr()?;
                all.push(Bound::Tcp(listener));
            }
            Ok((all, Listen::Tcp(address)))
        }
        Listen::Unix(path) => {
            let listener = unix(path)?;
            for _ in 1..cores {
                all.push(Bound::Unix(listener.try_clone()?));
            }
            all.push(Bound::Unix(listener));
            Ok((all, listen.clone()))
        }
    }
}

/// Refuses an address already in use. Cores share theirs, so the kernel would also share it with another gateway of this
/// user. Chance would then select the policies for a message.
fn alone(address: std::net::SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Transport::TCP))?;
    socket.set_reuse_address(true)?;
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
