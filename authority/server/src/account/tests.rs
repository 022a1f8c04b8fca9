use std::net::{IpAddr, Ipv4Addr};

use super::*;

fn accounts(change: impl FnOnce(&mut Limits)) -> Arc<Accounts> {
    let mut limits =
        Limits { connections: 16, followers: 8, queue: 16, address_connections: 4, ..Limits::default() };
    change(&mut limits);
    Accounts::new(&limits)
}

fn address(n: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, n).into()
}

fn stranger(n: u8) -> Owner {
    Owner::Stranger(Network::of(address(n)))
}

#[test]
fn attack_strangers_from_many_networks_leave_a_share_of_the_connections_to_verified_peers() {
    let accounts = accounts(|_| {});
    let mut held = Vec::new();
    let mut excess = Vec::new();
    for n in 0..40 {
        match accounts.begin(address(n)).finish(None) {
            Ok(charge) => held.push(charge),
            Err(why) => excess.push(why),
        }
    }
    // of 16 connections two are for handshakes and four for verified peers
    assert_eq!((held.len(), excess.len()), (10, 30));
    assert!(excess.iter().all(|why| *why == Excess::Strangers), "{excess:?}");
    // the peer is behind a network whose account is full, and is verified
    for n in 0..4 {
        held.push(accounts.begin(address(0)).finish(Some(&format!("spiffe://a.test/{}", n / 2))).unwrap());
    }
    assert_eq!(accounts.begin(address(0)).finish(Some("spiffe://a.test/9")).unwrap_err(), Excess::All);
    drop(held);
    assert!(accounts.balances().accounts.is_empty(), "what was given back leaves no account");
    assert!(accounts.balances().held.iter().all(|held| held.all == 0 && held.strangers == 0));
}

#[test]
fn an_account_holds_its_share_and_no_more() {
    let accounts = accounts(|_| {});
    let of_address: Vec<_> = (0..6).map(|_| accounts.begin(address(1)).finish(None)).collect();
    assert_eq!(of_address.iter().filter(|one| one.is_ok()).count(), 4);
    assert_eq!(of_address[5].as_ref().unwrap_err(), &Excess::Account);
    let peer = Owner::verified("spiffe://a.test/ada");
    let submissions: Vec<_> = (0..3).map(|_| accounts.charge(&peer, ScarceResource::Submission)).collect();
    assert_eq!(submissions[2].as_ref().unwrap_err(), &Excess::Account, "an eighth of 16");
    let other = Owner::verified("spiffe://a.test/grace");
    assert!(accounts.charge(&other, ScarceResource::Submission).is_ok(), "another account has its own share");
    assert_eq!(accounts.charge(&stranger(1), ScarceResource::Submission).unwrap_err(), Excess::Account);
}

#[test]
fn attack_anonymous_streams_displace_no_verified_one() {
    let accounts = accounts(|_| {});
    let anonymous: Vec<_> = (0..9).map(|n| accounts.charge(&stranger(n), ScarceResource::Stream)).collect();
    assert_eq!(anonymous.iter().filter(|one| one.is_ok()).count(), 6);
    assert_eq!(anonymous[8].as_ref().unwrap_err(), &Excess::Strangers);
    let peer = Owner::verified("spiffe://a.test/gateway");
    let verified: Vec<_> = (0..3).map(|_| accounts.charge(&peer, ScarceResource::Stream)).collect();
    assert_eq!(verified.iter().filter(|one| one.is_ok()).count(), 2);
}

#[tokio::test]
async fn attack_handshakes_that_never_end_give_way_to_new_ones() {
    let accounts = accounts(|limits| limits.connections = 64);
    // eight handshakes at once, two of them of one network
    let mut slow: Vec<_> = (0..8).map(|n| accounts.begin(address(n))).collect();
    let gateway = accounts.begin(address(100));
    slow[0].displaced().await;
    assert_eq!(accounts.balances().handshakes.len(), 8);
    assert!(gateway.finish(Some("spiffe://a.test/gateway")).is_ok());
    let mut same: Vec<_> = (0..3).map(|_| accounts.begin(address(200))).collect();
    same[0].displaced().await;
    drop((slow, same));
    assert_eq!(accounts.balances().handshakes.len(), 0);
}

#[test]
fn an_ipv6_prefix_and_an_ipv4_address_are_one_network_each() {
    let of = |text: &str| Network::of(text.parse().unwrap());
    assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff:ffff:ffff:ffff"));
    assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
}
