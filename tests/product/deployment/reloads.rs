//! SIGHUP: routes and limits change without a restart, all or none.

use crate::support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address, read_message};
use support::policies::{REPLY, message, metrics, status};
use support::{Answer, PATIENCE, Up, wait_for};

use super::edit;

fn route(name: &str, listen: SocketAddr, behind: SocketAddr, contexts: &str) -> String {
    format!(
        "[[route]]\nname = \"{name}\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/l8\"\ncontexts = [\"{contexts}\"]\n\n"
    )
}

fn decision() -> String {
    message(&json!({"d": {"concept": "current_decision", "item_id": "beer", "quantity": 120}}))
}

/// A connection that is kept.
fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(stream: &mut TcpStream, body: &str) {
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
}

fn ask(stream: &mut TcpStream, body: &str) -> Answer {
    send(stream, body);
    Answer::read(stream)
}

/// An agent that answers one message once it is let.
fn slow_agent() -> (SocketAddr, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ((arrived, arrival), (allow, allowed)) = (mpsc::channel(), mpsc::channel());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_message(&mut stream, &mut vec![0; 64 * 1024]).unwrap();
        arrived.send(()).unwrap();
        allowed.recv().unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{REPLY}", REPLY.len()).unwrap();
    });
    (address, arrival, allow)
}

fn config(up: &Up, gateway: &Gateway) -> PathBuf {
    up.dir.join(format!("gateway-{}.toml", gateway.l8.port()))
}

fn hang_up(gateway: &Gateway) {
    assert!(Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status().unwrap().success());
}

/// What `/status` says of the configuration once the last reload has failed for this reason.
fn failure(gateway: &Gateway, reason: &str) -> Value {
    wait_for(reason, || {
        let config = status(gateway)["config"].clone();
        config["fault"].as_str().is_some_and(|fault| fault.contains(reason)).then_some(config)
    })
}

fn names(gateway: &Gateway) -> Vec<String> {
    let routes = status(gateway)["routes"].as_array().unwrap().clone();
    routes.iter().map(|route| route["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_reload_adds_changes_and_removes_routes_and_the_others_keep_their_connections() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let (slow, arrival, allow) = slow_agent();
    let [stays, changes, goes, comes] = [0; 4].map(|_| free_address());
    let old = route("stays", stays, behind.address, "*")
        + &route("changes", changes, behind.address, "*")
        + &route("goes", goes, slow, "*");
    let gateway = Gateway::serving(&up, stays, &old, "");
    let config = config(&up, &gateway);

    let mut kept = connect(stays);
    assert_eq!(ask(&mut kept, &decision()).status, 200);
    let mut changed = connect(changes);
    assert_eq!(ask(&mut changed, &decision()).status, 200);
    let mut flying = connect(goes);
    send(&mut flying, &decision());
    arrival.recv_timeout(PATIENCE).unwrap();

    edit(
        &config,
        &route("changes", changes, behind.address, "*"),
        &route("changes", changes, behind.address, "payment"),
    );
    edit(&config, &route("goes", goes, slow, "*"), &route("comes", comes, behind.address, "*"));
    hang_up(&gateway);
    wait_for("the new route", || TcpStream::connect(comes).ok());
    assert_eq!(ask(&mut connect(comes), &decision()).status, 200);
    assert_eq!(names(&gateway), ["stays", "changes", "comes"]);
    assert_eq!(status(&gateway)["config"], json!({"current": true, "fault": null}));

    assert_eq!(ask(&mut kept, &decision()).status, 200, "the same connection goes on");
    let refused = ask(&mut connect(changes), &decision());
    assert_eq!((refused.status, refused.code().as_str()), (404, "context_unknown"), "{}", refused.head);
    // it accepts no message under the former contexts
    assert_eq!(changed.read(&mut [0]).unwrap(), 0);
    wait_for("the end of the removed listener", || TcpStream::connect(goes).is_err().then_some(()));
    allow.send(()).unwrap();
    assert_eq!(Answer::read(&mut flying).status, 200, "a message in flight has its answer");
}

#[test]
fn a_reload_that_cannot_be_taken_whole_changes_nothing_and_says_why() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let [stays, comes] = [0; 2].map(|_| free_address());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = Gateway::serving(&up, stays, &route("stays", stays, behind.address, "*"), "");
    let config = config(&up, &gateway);
    let good = std::fs::read_to_string(&config).unwrap();
    let mut kept = connect(stays);
    assert_eq!(ask(&mut kept, &decision()).status, 200);

    let unchanged = |kept: &mut TcpStream, what: &str| {
        assert_eq!(names(&gateway), ["stays"], "{what}");
        assert!(TcpStream::connect(comes).is_err(), "{what}: no part of it is taken");
        assert_eq!(ask(kept, &decision()).status, 200, "{what}");
        assert!(metrics(&gateway).contains("semgate_config_current 0"), "{what}");
    };
    let new = route("comes", comes, behind.address, "*");
    let occupied = route("occupied", taken.local_addr().unwrap(), behind.address, "*");
    let strange =
        new.replace("[\"*\"]", "[\"*\"]\nhandshake = { certificate = \"none.pem\", key = \"none.key\" }");
    for (text, reason) in [
        (format!("{good}{new}{occupied}"), "cannot listen on"),
        (format!("{good}{new}[limits]\nidle_timeout = \"never\"\n"), "`limits.idle_timeout`"),
        (format!("{good}{strange}"), "none.pem"),
        (
            format!("workers = 7\n{good}{new}[limits]\nbody_bytes = 4096\n"),
            "a restart is needed to change `workers`, `limits.body_bytes`",
        ),
        (
            good.replacen("max_status_age = \"15m\"", "max_status_age = \"14m\"", 1) + &new,
            "a restart is needed to change `authority`",
        ),
    ] {
        std::fs::write(&config, text).unwrap();
        hang_up(&gateway);
        let shown = failure(&gateway, reason);
        assert_eq!(shown["current"], false);
        unchanged(&mut kept, reason);
    }
    assert!(gateway.log().contains("cannot take the configuration; the gateway serves as before"));

    // the same route alone is taken, with another limit
    std::fs::write(&config, format!("{good}{new}[limits]\nrate_per_second = 1\nrate_burst = 3\n")).unwrap();
    hang_up(&gateway);
    wait_for("the new route", || TcpStream::connect(comes).ok());
    wait_for("the gauge", || metrics(&gateway).contains("semgate_config_current 1").then_some(()));
    let codes: Vec<u16> = (0..8).map(|_| ask(&mut connect(comes), &decision()).status).collect();
    assert!(codes.contains(&200) && codes.contains(&429), "the new rate counts: {codes:?}");
}
