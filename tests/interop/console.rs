//! The console in a real browser: Debian's Chromium, driven by `playwright-core`, judged by `axe-core`.

use crate::support;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::gateway::free_address;
use support::{SEMGATE, Up, node, wait_for};

/// People by name: their id below `human/`, and their roles.
const PEOPLE: [(&str, &str, &[&str]); 5] = [
    ("bob", "bob.sre", &["viewer", "auditor", "operator", "approver"]),
    ("alice", "alice.eng", &["approver"]),
    ("vera", "vera", &["viewer"]),
    ("ada", "ada", &["auditor"]),
    ("olaf", "olaf", &["operator"]),
];
const CONSOLE: &str = "spiffe://semgate.test/console";
/// Permits of the shipped policies stand; large orders need a person beside them.
const ASK: &str = "@id(\"large-orders\")\n@approve(\"Is an order of this size wanted?\")\npermit (principal in Group::\"partners\", action, resource is supplyChain::current_decision)\nwhen { resource.quantity > 1000 };\n";

/// A running `up` whose gateway asks people, and a console before it.
struct Stage {
    console: Child,
    file: PathBuf,
    _up: Up,
    _temporary: tempfile::TempDir,
}

impl Stage {
    /// Starts everything. With `evil`, the console has a second gateway, which the script plays.
    fn start(evil: bool) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("semgate");
        Up::start_in(&dir).stop();
        let people: Vec<(&str, String)> =
            PEOPLE.iter().map(|(name, id, _)| (*name, format!("spiffe://semgate.test/human/{id}"))).collect();
        let eve = ("eve", "spiffe://semgate.test/human/eve".to_owned());
        for (name, id) in people.iter().chain([&eve, &("console", CONSOLE.to_owned())]) {
            certificate(&dir, "agent", name, &["--spiffe", id]);
        }
        certificate(&dir, "server", "pages", &["--ip", "127.0.0.1", "--dns", "localhost"]);
        let [listen, approvals] = [free_address(), free_address()].map(|address| address.to_string());
        ask_people(&dir, &approvals, &format!("https://{listen}"));
        act_for_people(&dir, &people);
        let up = Up::start_in(&dir);
        let mut gateways = vec![("up", up.text("/admin_url").to_owned(), format!("https://{approvals}"))];
        let others = [free_address(), free_address()];
        if evil {
            gateways.push(("evil", format!("http://{}", others[0]), format!("https://{}", others[1])));
        }
        write_console(&dir, &listen, &gateways, up.text("/authority_url"));
        let (console, link) = run_console(&dir, &listen);
        let files = |name: &str| json!({"cert": dir.join(format!("people/{name}.pem")), "key": dir.join(format!("people/{name}.key"))});
        let known: serde_json::Map<String, Value> =
            people.iter().chain([&eve]).map(|(name, _)| ((*name).to_owned(), files(name))).collect();
        let pages = files("pages");
        let stage = json!({
            "url": format!("https://{listen}"), "dir": dir, "semgate": SEMGATE, "chromium": chromium(), "link": link, "people": known,
            "evil": {"admin": format!("http://{}", others[0]), "approvals": format!("https://{}", others[1]), "cert": pages["cert"], "key": pages["key"]},
        });
        let file = temporary.path().join("stage.json");
        std::fs::write(&file, stage.to_string()).unwrap();
        Self { console, file, _up: up, _temporary: temporary }
    }

    /// Runs a script to its end; answers its lines.
    fn run(&self, script: &str, words: &[&str]) -> Vec<Value> {
        let mut command = Command::new("node");
        command.arg(script).arg(&self.file).args(words).current_dir(node::installed("console"));
        let output = command.output().expect("node");
        let (told, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}: {error}\n{told}");
        let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let watched = lines.last().and_then(|last| last["requests"].as_u64()).unwrap_or_default();
        assert!(watched > 0, "{script} watched no request: {told}");
        lines
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.console.kill();
        let _ = self.console.wait();
    }
}

fn chromium() -> PathBuf {
    let path = PathBuf::from("/usr/bin/chromium");
    assert!(path.exists(), "`./check tools` installs the Debian package `chromium`");
    path
}

/// Issues `people/NAME.pem` and its key.
fn certificate(dir: &Path, usage: &str, name: &str, more: &[&str]) {
    std::fs::create_dir_all(dir.join("people")).unwrap();
    let (by, out) = (dir.join("offline/tls-issuing"), dir.join("people").join(name));
    let words =
        ["cert", "leaf", "--usage", usage, "--by", by.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let output = Command::new(SEMGATE).args(words).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Configures approvals at the gateway, with a card for each approver and a policy that asks.
fn ask_people(dir: &Path, listen: &str, page: &str) {
    let humans = dir.join("people/humans");
    std::fs::create_dir_all(&humans).unwrap();
    for (name, id, roles) in PEOPLE {
        if !roles.contains(&"approver") {
            continue;
        }
        let card = json!({
            "id": format!("human://{id}"), "profile": {"name": name, "role": "on call", "timezone": "UTC"},
            "capabilities": ["approver"], "status": "AVAILABLE", "certificate": format!("spiffe://semgate.test/human/{id}"),
        });
        std::fs::write(humans.join(format!("{name}.json")), card.to_string()).unwrap();
    }
    let config = dir.join("firewall.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    // an `up` that asks people by itself is told to ask these
    let own = text.split("\n[approvals]").next().unwrap().to_owned();
    let rest = text
        .split_once("\n[approvals]")
        .and_then(|(_, rest)| rest.find("\n[[").map(|at| rest[at..].to_owned()));
    let settings = format!(
        "\n[approvals]\nlisten = \"{listen}\"\nhumans = \"people/humans\"\nconsole = [\"{CONSOLE}\"]\npage = \"{page}\"\nhold_seconds = 0\n\n[audit_values]\n"
    );
    std::fs::write(&config, own + &rest.unwrap_or_default() + &settings).unwrap();
    std::fs::write(dir.join("policies/large-orders.cedar"), ASK).unwrap();
}

/// Lets the console act at the authority, for operators with rights of their own.
fn act_for_people(dir: &Path, people: &[(&str, String)]) {
    let config = dir.join("authority.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let (head, tables) = text.split_at(text.find("\n[").unwrap());
    // an `up` that has a console lets it act by itself
    let known = head.lines().any(|line| line.starts_with("consoles = "));
    let own = if known { String::new() } else { format!("\nconsoles = [\"{CONSOLE}\"]\n") };
    let mut publishers = String::new();
    for (_, id) in people.iter().filter(|(name, _)| ["bob", "olaf"].contains(name)) {
        if !text.contains(&format!("\"{id}\"")) {
            publishers += &format!("\n[[publisher]]\nid = \"{id}\"\nrevoke = [\"*\"]\nfloor = [\"*\"]\n");
        }
    }
    std::fs::write(&config, format!("{head}{own}{tables}{publishers}")).unwrap();
}

fn write_console(dir: &Path, listen: &str, gateways: &[(&str, String, String)], authority: &str) {
    let mut text = format!(
        "listen = \"{listen}\"\npeople_roots = \"roots.pem\"\naudit_file = \"people/console.jsonl\"\naudit = \"firewall/audit.jsonl\"\npolicies = \"policies\"\nlink = \"human://bob.sre\"\n\
        [tls]\ncertificate = \"people/pages.pem\"\nkey = \"people/pages.key\"\n\
        [identity]\ncertificate = \"people/console.pem\"\nkey = \"people/console.key\"\n\
        [authority]\nurl = \"{authority}\"\nroots = \"roots.pem\"\n"
    );
    for (name, admin, approvals) in gateways {
        text += &format!(
            "[[gateway]]\nname = \"{name}\"\nadmin = \"{admin}\"\napprovals = \"{approvals}\"\nroots = \"roots.pem\"\n"
        );
    }
    for (name, id, roles) in PEOPLE {
        let human =
            if roles.contains(&"approver") { format!("human = \"human://{id}\"\n") } else { String::new() };
        text += &format!(
            "[[person]]\nid = \"spiffe://semgate.test/human/{id}\"\n{human}name = \"{name}\"\nroles = {roles:?}\n"
        );
    }
    std::fs::write(dir.join("browser.toml"), text).unwrap();
}

/// Runs the console; answers the link that it prints.
fn run_console(dir: &Path, listen: &str) -> (Child, String) {
    let log = std::fs::File::create(dir.join("browser.log")).unwrap();
    let mut command = Command::new(SEMGATE);
    command
        .args(["console", "run", "--config"])
        .arg(dir.join("browser.toml"))
        .stdout(Stdio::piped())
        .stderr(log);
    let mut console = command.spawn().unwrap();
    let mut lines = BufReader::new(console.stdout.take().unwrap()).lines();
    let told = || std::fs::read_to_string(dir.join("browser.log")).unwrap();
    let first = lines.next().unwrap_or_else(|| panic!("the console printed no link: {}", told())).unwrap();
    // read on, so that it never waits for a full pipe
    std::thread::spawn(move || lines.for_each(drop));
    wait_for("the console", || TcpStream::connect(listen).ok());
    let link = first.find("https://").map(|at| first[at..].trim().to_owned());
    (console, link.unwrap_or_else(|| panic!("no link in `{first}`")))
}

#[test]
fn every_page_satisfies_axe_fits_400_pixels_and_stays_at_its_origin() {
    let lines = Stage::start(false).run("walk.mjs", &[]);
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    for kind in [
        "/",
        "/verdicts",
        "/decisions/*",
        "/approvals",
        "/approvals/*",
        "/contexts",
        "/contexts/*",
        "/policies",
        "/standing",
        "/agents",
        "/limits",
        "/log",
    ] {
        assert!(kinds.contains(&kind), "no `{kind}` in {kinds:?}");
    }
}

#[test]
fn people_log_in_by_link_or_certificate_and_use_the_pages_of_their_roles() {
    let lines = Stage::start(false).run("login.mjs", &[]);
    assert_eq!(lines.iter().filter(|line| line["role"].is_string()).count(), 4, "{lines:?}");
}

#[test]
fn a_revocation_by_an_operator_is_seen_live_as_a_refusal() {
    let lines = Stage::start(false).run("live.mjs", &[]);
    assert!(lines.iter().any(|line| line["revoked"].is_number()), "{lines:?}");
}

#[test]
fn a_person_approves_by_keyboard_alone_and_denies() {
    let lines = Stage::start(false).run("approve.mjs", &[]);
    assert!(lines.iter().any(|line| line["denied"] == true), "{lines:?}");
}

#[test]
fn attack_hostile_text_of_a_gateway_stays_text() {
    let lines = Stage::start(true).run("hostile.mjs", &[]);
    assert!(lines.iter().filter(|line| line["page"].is_string()).count() >= 6, "{lines:?}");
}

/// Writes the pictures of the documentation into `SEMGATE_PICTURES`, which is `docs/images` when they change; else they are only taken.
#[test]
fn pictures_of_the_documentation_can_be_taken() {
    let temporary = tempfile::tempdir().unwrap();
    let folder =
        std::env::var_os("SEMGATE_PICTURES").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    Stage::start(false).run("pictures.mjs", &[folder.to_str().unwrap()]);
    for name in ["overview", "verdicts", "approval"] {
        let size = std::fs::metadata(folder.join(format!("console-{name}.png"))).unwrap().len();
        assert!((1_000..400_000).contains(&size), "{name} has {size} bytes");
    }
}
