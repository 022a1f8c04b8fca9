//! Sockets of callers: listeners, TLS, framing, and the accounts that bound what a caller may hold.

pub(crate) mod account;
pub(crate) mod carrier;
pub(crate) mod dictionaries;
pub(crate) mod executor;
pub(crate) mod framing;
pub(crate) mod iac_connection;
pub(crate) mod listen;
pub(crate) mod materials;
pub(crate) mod own_certificates;
pub(crate) mod pem_files;
pub(crate) mod quic;
pub(crate) mod reply_signer;
pub(crate) mod route_files;
pub(crate) mod shared;
pub(crate) mod sockets;
pub(crate) mod worker;
