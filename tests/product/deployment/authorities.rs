//! Several addresses of one authority.

use crate::support;

use std::net::TcpListener;

use support::gateway::{Gateway, Scripted, free_address};
use support::policies::{REPLY, status};
use support::{Up, wait_for};

use super::{edit, firewall, line, log_of};

#[test]
fn a_gateway_follows_the_address_that_answers_and_says_which() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let mut gateway = Gateway::before(&up, behind.address, "");
    gateway.kill();
    let config = up.dir.join(format!("gateway-{}.toml", gateway.l8.port()));
    // one refuses connections, one accepts and says nothing that is TLS, one is the authority
    let (dead, mute) = (free_address(), TcpListener::bind("127.0.0.1:0").unwrap());
    let deaf = mute.local_addr().unwrap();
    std::thread::spawn(move || mute.incoming().for_each(drop));
    let live = up.text("/authority_url");
    edit(
        &config,
        &line(&config, "url = "),
        &format!("urls = [\"https://{dead}\", \"https://{deaf}\", \"{live}\"]"),
    );
    // nothing is remembered: the heads come over these addresses
    std::fs::remove_dir_all(up.dir.join(format!("gateway-{}", gateway.l8.port())).join("authorities"))
        .unwrap();
    let _running = firewall(&config);
    let shown = wait_for("a fresh status", || {
        std::net::TcpStream::connect(gateway.admin).ok()?;
        let status = status(&gateway);
        (status["ready"] == true).then_some(status)
    });
    let url = shown["authorities"][0]["url"].as_str().unwrap().trim_end_matches('/').to_owned();
    assert_eq!(url, live.trim_end_matches('/'), "{}", std::fs::read_to_string(log_of(&config)).unwrap());
}
