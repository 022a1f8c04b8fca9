//! What messages are judged by moves while the gateway runs.

use crate::common;

use common::agent::Agent;
use common::authority::Live;
use common::{Gateway, House, message, plain_route, reply, wait};
use semgate_gateway::RunFault;
use semgate_policies::PolicySource;
use semgate_statement::Act;
use semgate_statement::testing::MemoryAuthority;
use std::time::{Duration, Instant};

fn code(gateway: &Gateway) -> String {
    let answer = gateway.say(&message());
    if answer.status == 200 { "allowed".to_owned() } else { answer.problem().1 }
}

#[test]
fn without_any_status_everything_is_stale_and_nothing_is_fetched_for_a_message() {
    let house = House::new();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    assert_eq!(code(&gateway), "status_stale");
    let ready = gateway.admin("/readyz");
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("has not answered yet"), "{ready:?}");
    assert_eq!(gateway.admin("/healthz").status, 200);
    assert!(agent.seen().is_empty());
}

#[test]
fn the_admin_address_is_called_by_its_own_names_only_and_by_no_page() {
    let house = House::new();
    let agent = Agent::saying(&reply());
    let named = plain_route(agent.port).replacen("\"evil.test\"]", "\"gw.internal\", \"*\"]", 1);
    let gateway = Gateway::start(house.config(&named, ""));
    let port = gateway.bound.admin.port();
    for host in ["localhost", "127.0.0.1", "[::1]", "gw.internal"] {
        let with_port = format!("Host: {host}:{port}\r\n");
        for headers in
            [format!("Host: {host}\r\n"), format!("{with_port}Origin: http://{host}:{port}\r\n"), with_port]
        {
            assert_eq!(gateway.admin_as("/metrics", &headers).status, 200, "{headers}");
        }
    }
    for headers in [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\n"),
        "Host: 127.0.0.1.evil.example\r\n".to_owned(),
        "Host: localhost\r\nOrigin: http://evil.example\r\n".to_owned(),
        "Host: localhost\r\nOrigin: null\r\n".to_owned(),
    ] {
        for path in ["/healthz", "/readyz", "/metrics", "/status", "/checkpoints", "/none"] {
            let answer = gateway.admin_as(path, &headers);
            assert!(answer.status == 403 && answer.body.starts_with("host_refused: "), "{headers}{answer:?}");
        }
    }
}

#[test]
fn a_gateway_starts_and_goes_on_while_the_authority_is_away_until_the_status_is_stale() {
    let mut house = House::new();
    // longer than a start takes on a machine that is busy with other things
    house.authority.lifetime = 15;
    house.authority.now = common::now();
    house.authority.renew();
    house.remember();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    assert_eq!(code(&gateway), "allowed");
    assert_eq!(gateway.admin("/readyz").status, 200);
    wait("stale", || code(&gateway) == "status_stale");
    assert!(gateway.say(&message()).header("retry-after").is_some());
    assert_eq!(gateway.admin("/readyz").status, 503);
}

#[test]
fn a_first_start_learns_everything_and_a_revocation_bites_within_a_second() {
    let mut house = House::new();
    let live = Live::start(&house);
    house.url = live.url();
    let agent = Agent::saying(&reply());
    // the poll alone would take an hour: what follows is the stream's work
    let config = house.config(&plain_route(agent.port), "");
    let config = semgate_gateway::Config::parse(
        &config.effective().replace("poll = \"1s\"", "poll = \"1h\""),
        house.dir.path(),
    )
    .unwrap();
    let gateway = Gateway::start(config);
    gateway.ready();
    assert_eq!(code(&gateway), "allowed");
    let status = gateway.admin("/status").json();
    assert_eq!(status["authorities"][0]["contexts"], semgate_contexts::library::all().len());
    assert_eq!(status["authorities"][0]["floors"]["payment"], "v1.1");
    assert_eq!(status["policies"]["current"], true);
    assert!(status["policies"]["digest"].as_str().unwrap().starts_with("sha-256:"));

    live.change(|authority| {
        let _ = authority.change(Act::Suspend, "supplyChain:v1.0");
    });
    let began = Instant::now();
    wait("suspended", || code(&gateway) == "context_suspended");
    live.change(|authority| {
        let _ = authority.change(Act::Resume, "supplyChain:v1.0");
    });
    wait("resumed", || code(&gateway) == "allowed");
    live.change(|authority| {
        let _ = authority.change(Act::Revoke, "supplyChain:v1.0");
    });
    let revoked = Instant::now();
    wait("revoked", || code(&gateway) == "context_revoked");
    assert!(revoked.elapsed() < Duration::from_secs(5), "{:?}", revoked.elapsed());
    assert!(began.elapsed() < Duration::from_secs(15));
}

/// A gateway that follows a live authority, and is ready.
fn following() -> (House, Live, Agent, Gateway) {
    let mut house = House::new();
    let live = Live::start(&house);
    house.url = live.url();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    gateway.ready();
    (house, live, agent, gateway)
}

#[test]
fn revocations_arrive_by_polling_when_there_is_no_stream() {
    let (_house, live, _agent, gateway) = following();
    {
        // no event: only the head changes
        let mut authority = live.authority.lock().unwrap();
        authority.now = common::now();
        authority.change(Act::Revoke, "supplyChain:v1.0");
    }
    wait("revoked", || code(&gateway) == "context_revoked");
}

#[test]
fn a_revocation_is_remembered_over_a_restart_without_the_authority() {
    let mut house = House::new();
    house.authority.change(Act::Revoke, "supplyChain:v1.0");
    house.remember();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    assert_eq!(code(&gateway), "context_revoked");
}

#[test]
fn the_roots_of_an_authority_are_read_again_on_sighup_and_what_is_remembered_is_judged_by_them() {
    let (house, _live, _agent, gateway) = following();
    assert_eq!(code(&gateway), "allowed");
    let path = house.path("contexts.pem");
    let roots = std::fs::read(&path).unwrap();
    let write = |roots: &[u8]| {
        std::fs::write(&path, roots).unwrap();
        let pid = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    };
    // a file without roots changes nothing
    write(b"no certificate");
    let other = MemoryAuthority::new(common::now()).keys.root.to_pem();
    write(other.as_bytes());
    wait("the other root", || code(&gateway) == "status_stale");
    write(&roots);
    wait("the root again", || code(&gateway) == "allowed");
    assert_eq!(gateway.admin("/readyz").status, 200);
}

#[test]
fn policies_are_swapped_whole_and_a_rejected_set_leaves_the_last_good_one_live() {
    let mut house = House::new();
    house.remember();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    assert_eq!(code(&gateway), "allowed");
    let first = gateway.admin("/status").json()["policies"]["digest"].clone();

    let mut broken = PolicySource::shipped();
    broken.files.push((
        "zz.cedar".to_owned(),
        "permit (principal, action, resource) when { resource.nonsense > 1 };".to_owned(),
    ));
    house.write_policies(&broken);
    wait("rejected", || gateway.admin("/status").json()["policies"]["faults"][0].is_string());
    assert_eq!(code(&gateway), "allowed");
    let status = gateway.admin("/status").json();
    assert_eq!(status["policies"]["digest"], first);
    assert!(status["policies"]["faults"][0].as_str().is_some(), "{status}");
    assert!(gateway.admin("/metrics").body.contains("semgate_policy_set_current 0"));

    let mut stricter = PolicySource::shipped();
    stricter.files.push((
        "zz.cedar".to_owned(),
        "forbid (principal, action, resource is supplyChain::current_decision) when { true };".to_owned(),
    ));
    // and nobody holds any more what the shipped policies ask for, which keeps no set out
    let entities = String::from_utf8(stricter.entities).unwrap();
    stricter.entities = entities.replace("[\"high-value-authorized\"]", "[]").into_bytes();
    house.write_policies(&stricter);
    wait("denied", || code(&gateway) == "policy_denied");
    let status = gateway.admin("/status").json();
    assert_eq!(status["policies"]["current"], true);
    let told = status["policies"]["warnings"].to_string();
    assert!(told.contains("high-value-authorized"), "{told}");
    assert_ne!(status["policies"]["digest"], first);

    std::fs::remove_dir_all(house.path("policies")).unwrap();
    wait("gone", || gateway.admin("/status").json()["policies"]["current"] == false);
    assert_eq!(code(&gateway), "policy_denied");
}

#[test]
fn without_policies_there_is_no_gateway() {
    let mut house = House::new();
    house.remember();
    let route = plain_route(1);
    let start = |house: &House| match Gateway::try_start(house.config(&route, "")) {
        Err(RunFault::Policies { why, .. }) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("started"),
    };
    let mut empty = PolicySource::shipped();
    empty.files.clear();
    house.write_policies(&empty);
    let _ = start(&house);
    let mut wrong = PolicySource::shipped();
    wrong.files[0].1.push_str("permit (");
    house.write_policies(&wrong);
    let _ = start(&house);
    std::fs::remove_file(house.path("policies/entities.json")).unwrap();
    let _ = start(&house);
    std::fs::remove_dir_all(house.path("policies")).unwrap();
    let _ = start(&house);
}

#[test]
fn two_gateways_do_not_share_one_memory() {
    let mut house = House::new();
    house.remember();
    let gateway = Gateway::start(house.config(&plain_route(1), ""));
    let second = Gateway::try_start(house.config(&plain_route(1), "")).map(|_| ()).unwrap_err();
    assert!(matches!(second, RunFault::File { what: "state directory", .. }), "{second}");
    drop(gateway);
    assert!(Gateway::try_start(house.config(&plain_route(1), "")).is_ok());
}

#[test]
fn check_says_what_would_stop_a_start_and_binds_nothing() {
    let mut house = House::new();
    let agent_port = 1;
    let config = house.config(&plain_route(agent_port), "");
    let checked = semgate_gateway::check(&config).unwrap();
    assert_eq!(checked.contexts, 0);
    assert!(!house.path("state").exists(), "check writes nothing");
    assert!(!checked.policies_waiting.is_empty(), "no context is known, so no policy can be typed");
    assert!(checked.policies_wrong.is_empty(), "nor be wrong about one");
    house.remember();
    let checked = semgate_gateway::check(&config).unwrap();
    assert_eq!(
        (checked.contexts, checked.policies_waiting.len()),
        (semgate_contexts::library::all().len(), 0)
    );
    let mut wrong = PolicySource::shipped();
    wrong.files.push((
        "wrong.cedar".to_owned(),
        "permit (principal, action, resource is payment::transfer) when { resource.ammount == 1 };"
            .to_owned(),
    ));
    house.write_policies(&wrong);
    let told = semgate_gateway::check(&config).unwrap().policies_wrong;
    assert!(
        told.len() == 1 && told[0].contains("`ammount`"),
        "the contexts are known, so it waits for none: {told:?}"
    );
    house.write_policies(&PolicySource::shipped());
    std::fs::remove_file(house.path("gateway.key")).unwrap();
    assert!(matches!(semgate_gateway::check(&config), Err(RunFault::File { what: "key", .. })));
    assert!(!house.path("audit.jsonl").exists());
}

#[test]
fn authorities_whose_lines_overlap_are_refused_by_check_as_by_the_start() {
    let house = House::new();
    let mut config = house.config(&plain_route(1), "");
    let mut second = config.authorities[0].clone();
    second.name = "second".to_owned();
    second.lines = vec!["acme.logistics".to_owned()];
    config.authorities[0].lines = vec!["acme.*".to_owned()];
    config.authorities.push(second);
    let check = semgate_gateway::check(&config).unwrap_err();
    assert!(
        matches!(&check, RunFault::System { why } if why.contains("both configured for the same line")),
        "{check}"
    );
    let start = Gateway::try_start(config).map(|_| ()).unwrap_err();
    assert_eq!(start.to_string(), check.to_string());
}

#[test]
fn a_gateway_with_another_prefix_starts_before_it_knows_a_context() {
    let house = House::new();
    let mut config = house.config(&plain_route(1), "");
    config.prefix = semgate_contexts::Prefix::parse("urn:acme").unwrap();
    let checked = semgate_gateway::check(&config).unwrap();
    assert!(!checked.policies_waiting.is_empty());
    let gateway = Gateway::start(config);
    assert_eq!(gateway.admin("/readyz").status, 503);
    assert_ne!(gateway.say(&message()).status, 200, "nothing passes");
}

#[test]
fn a_drain_ends_what_is_in_flight_and_takes_nothing_new() {
    use common::agent::{Act as Do, ok};
    use std::io::{Read, Write};
    let mut house = House::new();
    house.remember();
    let agent = Agent::start(|_| Do::Drip(ok(reply().to_string().as_bytes()), Duration::from_millis(3)));
    let mut gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let port = gateway.port("plain");
    let body = message().to_string();
    let mut busy = gateway.connect("plain");
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    busy.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut idle = gateway.connect("plain");
    wait("in flight", || !agent.seen().is_empty());
    gateway.tell_to_stop();
    let mut text = String::new();
    busy.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(text.to_ascii_lowercase().contains("connection: close"), "{text}");
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "an idle connection is closed");
    assert!(gateway.stop().is_ok());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(house.audit().len(), 2, "the last record is on disk");
}

#[test]
fn metrics_count_by_code_and_name_no_agent_and_no_value() {
    let mut house = House::new();
    house.remember();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    assert_eq!(code(&gateway), "allowed");
    let mut bad = message();
    bad["content"]["quantity"] = (-7).into();
    assert_eq!(gateway.say(&bad).problem().1, "content_invalid");
    let text = gateway.admin("/metrics").body;
    let line = |verdict: &str, direction: &str| {
        text.lines().any(|line| {
            line.starts_with("semgate_protocols_total{")
                && line.contains(&format!("verdict=\"{verdict}\""))
                && line.contains(&format!("direction=\"{direction}\""))
                && line.ends_with(" 1")
        })
    };
    assert!(
        line("allowed", "request") && line("allowed", "reply") && line("content_invalid", "request"),
        "{text}"
    );
    assert!(text.contains("semgate_duration_seconds_bucket"), "{text}");
    assert!(!text.contains("retailer") && !text.contains("sku-1"), "{text}");
}
