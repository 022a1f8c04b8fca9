//! Free ports for a first start, reserved from other first starts until the parts listen on them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use crate::fault::Fault;

/// The range of free ports: below 32768, where Linux begins to assign ports to outgoing connections. So none of them takes a port before
/// its part listens on it.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// The range of free UDP ports, apart from the marks of TCP ports.
const UDP_PORTS: std::ops::Range<u16> = 12_000..20_000;
/// Tries for each address: one is almost certainly free.
const TRIES: u16 = 200;

/// Ports of this process. A TCP port cannot be reserved for a part that binds it itself, so the UDP port of the same number marks it. Each
/// search takes only ports with a free mark, so two first starts never write the same port into their files.
#[derive(Debug, Default)]
pub struct Ports {
    marks: Vec<UdpSocket>,
    /// Marks of ports whose part binds UDP: the TCP ports of the same numbers.
    marks_of_udp: Vec<TcpListener>,
}

impl Ports {
    /// Fills in free loopback ports for missing addresses, and for given ones with port 0: addresses written into files must be stable.
    ///
    /// # Errors
    /// No free port was found.
    pub fn fill<const N: usize>(&mut self, given: [Option<SocketAddr>; N]) -> Result<[SocketAddr; N], Fault> {
        let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
        // The start differs from process to process, so that the search is short.
        let mut next = BuildHasher::hash_one(&RandomState::new(), std::process::id());
        for (slot, given) in addresses.iter_mut().zip(given) {
            *slot = match given {
                Some(address) if address.port() != 0 => address,
                given => {
                    self.free(given.map_or(Ipv4Addr::LOCALHOST.into(), |given| given.ip()), &mut next)?
                }
            };
        }
        Ok(addresses)
    }

    /// Does the same for parts that bind UDP.
    ///
    /// # Errors
    /// No free port was found.
    pub fn fill_udp<const N: usize>(
        &mut self,
        given: [Option<SocketAddr>; N],
    ) -> Result<[SocketAddr; N], Fault> {
        let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
        let mut next = BuildHasher::hash_one(&RandomState::new(), std::process::id());
        for (slot, given) in addresses.iter_mut().zip(given) {
            *slot = match given {
                Some(address) if address.port() != 0 => address,
                given => {
                    let at = given.map_or(Ipv4Addr::LOCALHOST.into(), |given| given.ip());
                    self.free_udp(at, &mut next)?
                }
            };
        }
        Ok(addresses)
    }

    fn free_udp(&mut self, at: IpAddr, next: &mut u64) -> Result<SocketAddr, Fault> {
        let span = u64::from(UDP_PORTS.end - UDP_PORTS.start);
        for _ in 0..TRIES {
            *next = next.wrapping_add(1);
            let port = UDP_PORTS.start + u16::try_from(*next % span).unwrap_or_default();
            let address = SocketAddr::from((at, port));
            let Ok(mark) = TcpListener::bind(address) else { continue };
            if UdpSocket::bind(address).is_ok() {
                self.marks_of_udp.push(mark);
                return Ok(address);
            }
        }
        Err(none_free())
    }

    fn free(&mut self, at: IpAddr, next: &mut u64) -> Result<SocketAddr, Fault> {
        let span = u64::from(PORTS.end - PORTS.start);
        for _ in 0..TRIES {
            *next = next.wrapping_add(1);
            let port = PORTS.start + u16::try_from(*next % span).unwrap_or_default();
            let address = SocketAddr::from((at, port));
            // The mark first: its holder may test the port without another testing it too.
            let Ok(mark) = UdpSocket::bind(address) else { continue };
            if TcpListener::bind(address).is_ok() {
                self.marks.push(mark);
                return Ok(address);
            }
        }
        Err(none_free())
    }
}

fn none_free() -> Fault {
    Fault::new("no free port was found").hint("give the addresses: see `semgate up --help`")
}

#[cfg(test)]
mod tests;
