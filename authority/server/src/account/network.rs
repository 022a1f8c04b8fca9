//! The network of a stranger, which owns one account.

use std::net::{IpAddr, Ipv6Addr};

/// One IPv4 address, or one IPv6 prefix of 64 bits: the least that a provider gives to one customer (RFC 6177).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    /// The network of an address. An IPv4-mapped IPv6 address belongs to the network of the IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let prefix = u128::from(address) & !u128::from(u64::MAX);
                Self(Ipv6Addr::from(prefix).into())
            }
        }
    }
}
