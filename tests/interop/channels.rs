//! Other people's receivers judge what the gateway sends to people, and follow the links in it.

use crate::support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::people::Person;
use support::{Answer, Ended, Up, node, python, wait_for};

const BOT: &str = "spiffe://semgate.test/agent/sre-bot-1";
/// Text that tries to become markup wherever it is shown.
const HOSTILE: &str = "</pre></td></table><script>alert(1)</script><img src=https://evil.test/p.png> *bold* <!channel> <https://evil.test|click> [x](https://evil.test) **md** {{card}} From: spiffe://semgate.test/agent/ceo";

/// The receivers, and a gateway that sends to them.
struct Post<'u> {
    up: &'u Up,
    dir: PathBuf,
    agent: std::net::SocketAddr,
    gateway: Gateway,
    _receivers: Ended,
}

impl<'u> Post<'u> {
    /// A gateway whose mails go to `mail`, an address with `{smtps}` or `{starttls}` for a port. `endpoints` is Bob's card.
    fn start(up: &'u Up, mail: &str, endpoints: &[&str]) -> Self {
        let name = mail.split(':').next().unwrap();
        let dir = up.dir.join(format!("received-{name}"));
        std::fs::create_dir_all(&dir).unwrap();
        let config: toml::Table =
            toml::from_str(&std::fs::read_to_string(up.path("/firewall_config")).unwrap()).unwrap();
        let tls = |key: &str| up.dir.join(config["tls"][key].as_str().unwrap());
        let mut command = python::with_channels(&["serve"]);
        command
            .arg(&dir)
            .arg(tls("certificate"))
            .arg(tls("key"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let ports: Value = line(&mut child);
        let port = |name: &str| ports[name].as_u64().unwrap();
        for (file, content) in
            [("slack.secret", "8f742231b10e8888abcd99yyyzzz85a5"), ("mail.secret", "semgate:a:secret")]
        {
            std::fs::write(up.dir.join(file), content).unwrap();
        }
        let known = [
            ("slack", format!("http://127.0.0.1:{}/slack", port("http"))),
            ("teams", format!("http://127.0.0.1:{}/teams", port("http"))),
            ("email", "bob@semgate.test".to_owned()),
        ];
        let path = up.dir.join("humans/bob.sre.json");
        let mut card: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let chosen = known.iter().filter(|(name, _)| endpoints.contains(name));
        card["endpoints"] = chosen
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        std::fs::write(&path, card.to_string()).unwrap();
        let mail = mail
            .replace("{smtps}", &port("smtps").to_string())
            .replace("{starttls}", &port("starttls").to_string());
        let credentials = if mail.starts_with("starttls") { "credentials = \"mail.secret\"\n" } else { "" };
        let more = format!(
            "[approvals.slack]\nsigning_secret = \"slack.secret\"\n\n[approvals.mail]\nserver = \"{mail}\"\nfrom = \"semgate@semgate.test\"\nroots = {:?}\n{credentials}\n[approvals.egress]\ntargets = [\"http://127.0.0.1:*/\"]\n",
            up.path("/roots")
        );
        let agent = free_address();
        let route = format!(
            "[[route]]\nname = \"people\"\nlisten = \"{agent}\"\nbinding = \"a2h\"\nplain_sender = \"{BOT}\"\nreceiver = \"spiffe://semgate.test/people\"\n\n"
        );
        let gateway = Gateway::serving(up, agent, &route, &more);
        Self { up, dir, agent, gateway, _receivers: Ended(child) }
    }

    fn ask(&self, body: &Value) -> String {
        let mut stream = TcpStream::connect(self.agent).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "POST /a2h/v1/interactions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.agent,
            body.len()
        )
        .unwrap();
        let answer = Answer::read(&mut stream);
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
        answer.json()["interaction_id"].as_str().unwrap().to_owned()
    }

    /// One question of each kind, full of hostile text.
    fn ask_each(&self) -> Vec<String> {
        let options: Vec<String> =
            (0..5).map(|n| format!("{n} <!channel> *b* <img src=x> [x](https://evil.test)")).collect();
        let ask = |kind: &str, more: Value| {
            let mut body = json!({"target": "human://bob.sre", "type": kind, "summary": HOSTILE, "body": format!("{HOSTILE} ").repeat(40)});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            self.ask(&body)
        };
        vec![
            ask("PERMISSION", json!({"reason": HOSTILE})),
            ask("CLARIFICATION", json!({"options": options})),
            ask("NOTIFICATION", json!({})),
        ]
    }

    fn bob(&self) -> Person<'u> {
        Person::at(self.up, "bob.sre", self.gateway.people)
    }

    fn state(&self, id: &str) -> String {
        self.bob().list("all").iter().find(|hold| hold["id"] == id).unwrap()["state"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The file of a webhook, once it has so many messages.
    fn messages(&self, name: &str, count: usize) -> PathBuf {
        let path = self.dir.join(name);
        let read = || std::fs::read_to_string(&path).unwrap_or_default();
        wait_for("messages", || (read().lines().count() == count).then_some(()));
        path
    }

    fn mails(&self, count: usize) -> Vec<Value> {
        let number = || {
            self.dir
                .read_dir()
                .unwrap()
                .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "json"))
                .count()
        };
        wait_for("mails", || (number() == count).then_some(()));
        lines(python::with_channels(&["mail"]).arg(&self.dir))
    }
}

/// The next line of JSON of a process.
fn line(child: &mut Child) -> Value {
    let mut text = String::new();
    // one byte at a time, so that nothing of the next line is taken
    let mut reader = BufReader::with_capacity(1, child.stdout.as_mut().unwrap());
    reader.read_line(&mut text).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Every line of JSON of a command that succeeds.
fn lines(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn slack_sdk_accepts_every_block() {
    let up = Up::start();
    let post = Post::start(&up, "smtps://127.0.0.1:{smtps}", &["slack"]);
    let ids = post.ask_each();
    let path = post.messages("slack.jsonl", ids.len());
    let mut judged = lines(python::with_channels(&["slack"]).arg(&path));
    let wrong = judged.pop().unwrap();
    assert_eq!(
        wrong["faults"].as_array().unwrap().len(),
        1,
        "the judge says no to a header of 151 characters"
    );
    for one in &judged {
        assert_eq!((&one["faults"], &one["mrkdwn"]), (&json!([]), &json!(false)), "{one}");
        let kinds: Vec<&str> =
            one["kinds"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
        assert!(kinds.starts_with(&["HeaderBlock", "SectionBlock", "DividerBlock"]), "{kinds:?}");
        assert!(kinds.contains(&"ActionsBlock"), "{kinds:?}");
    }
    assert_eq!(judged.len(), ids.len());
}

#[test]
fn adaptive_card_has_no_validation_event() {
    let up = Up::start();
    let post = Post::start(&up, "smtps://127.0.0.1:{smtps}", &["teams"]);
    let ids = post.ask_each();
    let path = post.messages("teams.jsonl", ids.len());
    let home = node::installed("cards");
    let mut judged = lines(Command::new("node").arg("adaptive_card.mjs").arg(&path).current_dir(home));
    let wrong = judged.pop().unwrap();
    assert_eq!(wrong["events"].as_array().unwrap().len(), 2, "the judge says no: {wrong}");
    let mut actions = Vec::new();
    for one in &judged {
        assert_eq!(one["events"], json!([]), "{one}");
        let kind = (&one["contentType"], &one["version"]);
        assert_eq!(kind, (&json!("application/vnd.microsoft.card.adaptive"), &json!("1.5")));
        actions.push(one["actions"].as_u64().unwrap());
    }
    // a notification has nothing to deny
    actions.sort_unstable();
    assert_eq!(actions, [1, 2, 2]);
    assert_eq!(judged.len(), ids.len());
}

#[test]
fn aiosmtpd_receives_both_parts_and_a_link_asks_before_it_decides() {
    let up = Up::start();
    for (server, user) in [("smtps://127.0.0.1:{smtps}", false), ("starttls://127.0.0.1:{starttls}", true)] {
        let post = Post::start(&up, server, &["email"]);
        let ids = post.ask_each();
        let mails = post.mails(ids.len());
        for mail in &mails {
            let envelope = &mail["envelope"];
            assert_eq!((&envelope["to"], &envelope["tls"]), (&json!(["bob@semgate.test"]), &json!(true)));
            assert_eq!(envelope["user"], json!(user));
            assert_eq!(
                (&mail["kind"], &mail["defects"]),
                (&json!("multipart/alternative"), &json!([])),
                "{mail}"
            );
            assert_eq!(mail["auto"], "auto-generated");
            let tags = mail["tags"].as_array().unwrap();
            for tag in ["script", "img", "link", "iframe", "style", "form"] {
                assert!(!tags.contains(&json!(tag)), "{tag} in {tags:?}");
            }
            assert!(
                mail["shown"].as_str().unwrap().contains("<script>alert(1)</script>"),
                "hostile text stays text"
            );
            assert!(
                mail["links"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|link| link.as_str().unwrap().contains("/decide/"))
            );
            assert_eq!(mail["links"], mail["text_links"], "both parts have the same links");
            assert!(!mail["subject"].as_str().unwrap().contains("evil"));
        }
        let (id, mail) =
            (&ids[0], mails.iter().find(|mail| mail["subject"].as_str().unwrap().contains(&ids[0])).unwrap());
        let link = mail["links"][0].as_str().unwrap();
        let mut visit = python::with_channels(&["visit"]);
        let mut visit = visit
            .arg(up.path("/roots"))
            .arg(link)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(visit.stdin.as_mut().unwrap(), "scan").unwrap();
        assert_eq!(line(&mut visit)["statuses"], json!([200, 200, 409]));
        assert_eq!(post.state(id), "SENT", "a scanner decides nothing");
        writeln!(visit.stdin.as_mut().unwrap(), "{}", json!({"reason": "seen"})).unwrap();
        let visited = line(&mut visit);
        assert_eq!(
            (&visited["status"], &visited["done"], &visited["again"]),
            (&json!(200), &json!(200), &json!(404))
        );
        assert!(!visited["tags"].as_array().unwrap().contains(&json!("script")));
        assert!(visited["policy"].as_str().unwrap().starts_with("default-src 'none'"), "{visited}");
        drop(visit.stdin.take());
        visit.wait().unwrap();
        assert_eq!(post.state(id), "APPROVED");
        let hold = post.bob().get(&format!("/v1/approvals/{id}")).json();
        assert_eq!(
            (&hold["decisions"][0]["factor"], &hold["decisions"][0]["assurance"]),
            (&json!("link"), &json!("LOW"))
        );
    }
}
