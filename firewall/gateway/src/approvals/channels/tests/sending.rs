//! Messages to people.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::*;

/// A web server on this machine that answers every request with this status and keeps the bodies.
async fn web(status: u16) -> (String, Rc<RefCell<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&bodies);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).await.unwrap() > 2 {
                let lower = line.to_ascii_lowercase();
                if let Some(number) = lower.strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            kept.borrow_mut().push(serde_json::from_slice(&body).unwrap());
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, bodies)
}

/// A mail server on this machine that keeps every mail.
async fn mail_server() -> (String, Rc<RefCell<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let mails = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&mails);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 here\r\n").await.unwrap();
            let (mut line, mut mail, mut in_data) = (String::new(), String::new(), false);
            while stream.read_line(&mut line).await.unwrap() > 0 {
                let answer: &[u8] = match (in_data, line.trim_end()) {
                    (true, ".") => {
                        in_data = false;
                        kept.borrow_mut().push(std::mem::take(&mut mail));
                        b"250 taken\r\n"
                    }
                    (true, _) => {
                        mail.push_str(&line);
                        b""
                    }
                    (false, "DATA") => {
                        in_data = true;
                        b"354 go on\r\n"
                    }
                    (false, _) => b"250 fine\r\n",
                };
                stream.write_all(answer).await.unwrap();
                line.clear();
            }
        }
    });
    (url, mails)
}

fn start(world: &World) {
    let channels = Channels::open(&world.config).unwrap();
    let work = world.work.take().unwrap();
    let courier = Courier::new(
        world.desk.clone(),
        channels,
        Arc::clone(&world.config),
        "https://gate.test:9473/",
        work,
    );
    tokio::task::spawn_local(courier.run());
}

async fn until(what: impl Fn() -> bool) {
    for _ in 0..1_200 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen within 12 s");
}

fn reached(endpoints: &[(&str, &str)]) -> Vec<HumanCard> {
    let mut people = people();
    people.truncate(1);
    people[0].endpoints =
        endpoints.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    people
}

/// Texts of a mail, without the line ends of quoted-printable.
fn plain(mail: &str) -> String {
    mail.replace("=\r\n", "").replace("=3D", "=")
}

#[test]
fn a_request_reaches_slack_once_and_counts_as_sent() {
    with_world(
        "page = \"https://console.test\"\n[egress]\ntargets = [\"http://127.0.0.1:*/\"]",
        Vec::new(),
        |world| async move {
            let (url, bodies) = web(200).await;
            world.desk.set_registry(HumanRegistry::new(reached(&[("slack", &url)])).unwrap());
            let early = world.payment(1).await;
            start(&world);
            until(|| world.state(&early.id) == "SENT").await;
            let late = world.payment(2).await;
            until(|| world.state(&late.id) == "SENT").await;
            let bodies = bodies.borrow();
            assert_eq!(bodies.len(), 2, "each request is sent once: {bodies:?}");
            let text = bodies[1].to_string();
            assert!(
                text.contains(late.id.as_str())
                    && text.contains(&format!("https://console.test/approvals/{}", late.id))
            );
            assert!(
                !text.contains("/decide/"),
                "a link in a shared channel would decide for whoever reads it"
            );
        },
    );
}

#[test]
fn a_failing_channel_hands_over_to_the_next() {
    with_world("", Vec::new(), |_| async move {
        let ((broken, tries), (server, mails)) = (web(500).await, mail_server().await);
        let endpoints = [
            ("slack", broken.as_str()),
            ("teams", "http://127.0.0.2/off/the/list"),
            ("email", "bob@example.com"),
        ];
        let settings = format!(
            "[egress]\ntargets = [\"http://127.0.0.1:*/\"]\n[mail]\nserver = \"{server}\"\nfrom = \"semgate@example.com\""
        );
        let world = Rc::new(World::open(tempfile_with_secret(), &settings, reached(&endpoints)));
        start(&world);
        let hold = world.payment(12_000).await;
        until(|| world.state(&hold.id) == "SENT").await;
        assert_eq!(tries.borrow().len(), 3);
        let mail = plain(&mails.borrow()[0]);
        for part in [
            "From: semgate@example.com",
            "To: bob@example.com",
            "Auto-Submitted: auto-generated",
            "text/plain",
            "text/html",
            "Approve: https://gate.test:9473/decide/",
            "Deny: https://gate.test:9473/decide/",
        ] {
            assert!(mail.contains(part), "{part} in {mail}");
        }
        let token: String =
            mail.split_once("Approve: https://gate.test:9473").unwrap().1.lines().next().unwrap().to_owned();
        let page = call(world.router(), request(Method::GET, token.trim(), &[])).await;
        assert_eq!((page.status.as_u16(), world.state(&hold.id).as_str()), (200, "SENT"));
        assert!(page.body.contains("You answer as human://bob.sre."));
    });
}

fn tempfile_with_secret() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("slack.secret"), SECRET).unwrap();
    dir
}

#[test]
fn a_request_that_nobody_can_get_or_see_has_failed() {
    let mut unseen = reached(&[("teams", "http://10.0.0.1/off/the/list"), ("pager", "1")]);
    unseen[0].certificate = None;
    with_world("[egress]\ntargets = [\"http://127.0.0.1:*/\"]", unseen, |world| async move {
        start(&world);
        let hold = world.payment(1).await;
        until(|| world.state(&hold.id) == "FAILED").await;
        // with a certificate, the same person sees it on the command line
        world.desk.set_registry(HumanRegistry::new(reached(&[("pager", "1")])).unwrap());
        let hold = world.payment(2).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(world.state(&hold.id), "PENDING");
    });
}

#[test]
fn a2h_attack_flood_of_requests_becomes_one_message() {
    with_world("[egress]\ntargets = [\"http://127.0.0.1:*/\"]", Vec::new(), |world| async move {
        let (url, bodies) = web(200).await;
        world.desk.set_registry(HumanRegistry::new(reached(&[("slack", &url)])).unwrap());
        start(&world);
        for amount in 0..40 {
            world.payment(amount).await;
        }
        until(|| bodies.borrow().len() == 12).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(bodies.borrow().len(), 12, "further requests wait for one common message");
    });
}

#[test]
fn an_agent_is_woken_once_at_the_end_with_a_signature_and_only_at_a_listed_address() {
    with_world("[egress]\ntargets = [\"http://127.0.0.1:*/\"]", people(), |world| async move {
        let (url, bodies) = web(200).await;
        start(&world);
        let asking = |callback: &str| {
            let Subject::Interaction(mut asked) = clarification(&["a", "b"]) else { unreachable!() };
            asked.callback = Some(callback.to_owned());
            Subject::Interaction(asked)
        };
        let hold = world.hold(asking(&url), |_| {}).await;
        let unlisted = world.hold(asking("http://127.0.0.2:1/hook"), |_| {}).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(bodies.borrow().is_empty(), "nothing is told before the end");
        for hold in [&hold, &unlisted] {
            world.desk.cancel(hold.id.clone(), Arc::clone(hold.sender())).await.unwrap();
        }
        until(|| !bodies.borrow().is_empty()).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let bodies = bodies.borrow();
        assert_eq!(bodies.len(), 1);
        let statement = bodies[0]["statement"].as_str().unwrap();
        let (input, signature) = statement.rsplit_once('.').unwrap();
        let decode = |text: &str| {
            use base64::Engine;
            base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
        };
        let claims: Value = serde_json::from_slice(&decode(input.split_once('.').unwrap().1)).unwrap();
        assert_eq!((&claims["jti"], &claims["state"]), (&json!(hold.id), &json!("CANCELLED")));
        let key = world.desk.jwks()["keys"][0].clone();
        let part = |name: &str| decode(key[name].as_str().unwrap());
        let point = [vec![4], part("x"), part("y")].concat();
        let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, point);
        assert!(key.verify(input.as_bytes(), &decode(signature)).is_ok());
        let text = bodies[0].to_string();
        assert!(
            !text.contains("selected_option") && !text.contains("feedback"),
            "the answer is read at the gateway"
        );
    });
}
