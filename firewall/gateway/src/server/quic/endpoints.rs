//! QUIC endpoints of one core, by address.
//!
//! A socket of UDP carries all connections of its address, so two endpoints on it would take each other's packets. A reload
//! therefore continues the endpoint: the new route takes its next connections, and the old one keeps those it has.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, ServerConfig, TokioRuntime};

/// The endpoints that listeners of one core hold.
#[derive(Debug, Default)]
pub(crate) struct Endpoints(RefCell<HashMap<SocketAddr, Weak<Endpoint>>>);

impl Endpoints {
    /// The endpoint of the socket's address. A listener that holds it already shares it, and its socket stays in use.
    ///
    /// # Errors
    /// The runtime cannot use the socket.
    pub(crate) fn of(&self, socket: UdpSocket, server: ServerConfig) -> std::io::Result<Rc<Endpoint>> {
        let address = socket.local_addr()?;
        let mut held = self.0.borrow_mut();
        held.retain(|_, endpoint| endpoint.strong_count() > 0);
        if let Some(endpoint) = held.get(&address).and_then(Weak::upgrade) {
            endpoint.set_server_config(Some(server));
            return Ok(endpoint);
        }
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(server), socket, runtime)?;
        let endpoint = Rc::new(endpoint);
        held.insert(address, Rc::downgrade(&endpoint));
        Ok(endpoint)
    }
}
