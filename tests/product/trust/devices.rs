//! An authority whose keys lie in a token: SoftHSM (Debian package `softhsm2`), by the running binary.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::authorities::Other;
use crate::support::gateway::free_address;
use crate::support::{Ended, SEMGATE, wait_for};
use crate::trust::{good, set_line, text};

const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
const PIN: &str = "271828";

/// A token with files of its own, and an authority that signs with keys in it.
struct Stage {
    dir: PathBuf,
    url: String,
    log_key: String,
}

impl Stage {
    fn token_tool(&self, words: &[&str]) {
        let output =
            Command::new("softhsm2-util").args(words).env("SOFTHSM2_CONF", self.at("hsm.conf")).output();
        good(&output.expect("softhsm2-util of the Debian package softhsm2"));
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn uri(&self, key: &str) -> String {
        let pin = self.at("pin");
        format!("pkcs11:token=semgate;object={key}?module-path={MODULE}&pin-source=file:{}", text(&pin))
    }

    fn semgate(&self, words: &[&str]) -> Output {
        Command::new(SEMGATE).args(words).env("SOFTHSM2_CONF", self.at("hsm.conf")).output().unwrap()
    }

    /// Makes an authority, takes its keys into a token, and leaves none of them in a file.
    fn new(dir: &Path) -> Stage {
        let listen = free_address().to_string();
        let mut stage =
            Stage { dir: dir.to_owned(), url: format!("https://{listen}"), log_key: String::new() };
        let admin = free_address().to_string();
        let who = "spiffe://semgate.test/operator";
        let words = [
            "authority",
            "init",
            "--dir",
            text(dir),
            "--listen",
            &listen,
            "--admin",
            &admin,
            "--publisher",
            who,
        ];
        good(&stage.semgate(&words));
        fs::create_dir(stage.at("tokens")).unwrap();
        let conf = format!("directories.tokendir = {}\nlog.level = ERROR\n", text(&stage.at("tokens")));
        fs::write(stage.at("hsm.conf"), conf).unwrap();
        fs::write(stage.at("pin"), format!("{PIN}\n")).unwrap();
        stage.token_tool(&[
            "--init-token",
            "--free",
            "--label",
            "semgate",
            "--pin",
            PIN,
            "--so-pin",
            "314159",
        ]);
        let config = stage.at("authority.toml");
        for (n, name) in ["context-issuing", "status", "feed"].into_iter().enumerate() {
            let key = stage.at("authority/keys").join(format!("{name}.key"));
            stage.import(&key, name, n + 1);
            fs::remove_file(&key).unwrap();
            let line = format!("{} =", name.replace('-', "_"));
            let certificate = format!("authority/keys/{name}.pem");
            let value = format!("{{ certificate = \"{certificate}\", key = \"{}\" }}", stage.uri(name));
            set_line(&config, &line, &format!("{line} {value}"));
        }
        let log = stage.at("log.pem");
        good(
            &Command::new("openssl")
                .args(["genpkey", "-algorithm", "ED25519", "-out", text(&log)])
                .output()
                .unwrap(),
        );
        stage.import(&log, "log", 9);
        fs::remove_file(&log).unwrap();
        fs::remove_file(stage.at("authority/keys/log.key")).unwrap();
        set_line(&config, "log =", &format!("log = {{ key = \"{}\" }}", stage.uri("log")));
        let text_of = fs::read_to_string(&config).unwrap();
        let limits = "[limits]\nsigner_timeout = \"1s\"\n";
        fs::write(&config, format!("four_eyes = [\"retire\"]\n{text_of}\n{limits}")).unwrap();
        let shown = good(&stage.semgate(&[
            "--json",
            "log",
            "key",
            &stage.uri("log"),
            "--origin",
            "semgate.test/log",
        ]));
        stage.log_key =
            serde_json::from_str::<Value>(&shown).unwrap()["log_key"].as_str().unwrap().to_owned();
        let (issuer, operator) = (stage.at("offline/tls-issuing"), stage.at("operator"));
        let words = [
            "cert",
            "leaf",
            "--usage",
            "agent",
            "--spiffe",
            who,
            "--by",
            text(&issuer),
            "--out",
            text(&operator),
        ];
        good(&stage.semgate(&words));
        stage
    }

    fn import(&self, key: &Path, label: &str, id: usize) {
        let id = format!("{id:02}");
        self.token_tool(&[
            "--import",
            text(key),
            "--token",
            "semgate",
            "--label",
            label,
            "--id",
            &id,
            "--pin",
            PIN,
        ]);
    }

    /// Runs the authority until it ends by itself; what it said.
    fn refused(&self) -> String {
        let config = self.at("authority.toml");
        let ended = self.semgate(&["authority", "run", "--config", text(&config)]);
        assert!(!ended.status.success());
        String::from_utf8_lossy(&ended.stderr).into_owned()
    }

    fn run(&self) -> Ended {
        let log = fs::File::options().create(true).append(true).open(self.at("authority.log")).unwrap();
        let mut command = Command::new(SEMGATE);
        command.args(["authority", "run", "--config"]).arg(self.at("authority.toml"));
        command.env("SOFTHSM2_CONF", self.at("hsm.conf"));
        let running = Ended(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        wait_for("the authority to answer", || self.ask(&["context", "list"]).status.success().then_some(()));
        running
    }

    fn ask(&self, words: &[&str]) -> Output {
        let (roots, cert, key) = (self.at("roots.pem"), self.at("operator.pem"), self.at("operator.key"));
        let reach =
            ["--authority", &self.url, "--roots", text(&roots), "--cert", text(&cert), "--key", text(&key)];
        self.semgate(&[words, &reach].concat())
    }

    fn publish(&self, version: &str) -> Output {
        self.publish_as("shop", version)
    }

    fn publish_as(&self, line: &str, version: &str) -> Output {
        let file = self.at(&format!("{line}-{version}.json"));
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}});
        let document =
            json!({"context": format!("urn:contexts:{line}:{version}"), "concepts": {"thing": schema}});
        fs::write(&file, document.to_string()).unwrap();
        self.ask(&["--json", "context", "publish", text(&file)])
    }

    /// Everything that is served, replayed from outside by roots and log key alone; answers how many contexts of the line `shop` are listed.
    fn verified(&self) -> usize {
        let roots = self.at("roots.pem");
        good(&self.semgate(&[
            "log",
            "verify",
            &self.url,
            "--roots",
            text(&roots),
            "--log-key",
            &self.log_key,
        ]));
        let listed: Value = serde_json::from_str(&good(&self.ask(&["--json", "context", "list"]))).unwrap();
        let urns = listed["contexts"].as_array().unwrap().iter().map(|one| one["urn"].as_str().unwrap());
        urns.filter(|urn| urn.starts_with("urn:contexts:shop:")).count()
    }
}

fn says(output: &Output, what: &str) {
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(what), "`{what}` is not in: {said}");
}

/// Holds the locks of every file of the tokens, so that whatever the module does next waits.
fn blocked(tokens: &Path) -> Child {
    let script = "import fcntl, glob, sys\n\
        held = [open(f, 'r+b') for f in glob.glob(sys.argv[1] + '/*/*')]\n\
        [fcntl.lockf(f, fcntl.LOCK_EX) for f in held]\n\
        print('held', flush=True)\n\
        sys.stdin.read()\n";
    let mut holder = Command::new("python3")
        .args(["-c", script, text(tokens)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "held");
    holder
}

#[test]
fn an_authority_signs_with_keys_in_a_token_and_says_so_when_the_token_is_lost_or_hangs() {
    let temporary = tempfile::tempdir().unwrap();
    let stage = Stage::new(&temporary.path().join("hsm"));
    let config = stage.at("authority.toml");
    // what is wrong with a token shows before a port is bound
    fs::write(stage.at("pin"), "999999").unwrap();
    let why = stage.refused();
    assert!(why.contains("the token refused the pin"), "{why}");
    // who starts it again and again does not lock the token: nothing is tried, also not the right one, before a person did
    for pin in ["999999", PIN] {
        fs::write(stage.at("pin"), pin).unwrap();
        let why = stage.refused();
        assert!(why.contains("a wrong pin was tried at the token"), "{why}");
    }
    good(&stage.semgate(&["log", "key", &stage.uri("log"), "--origin", "semgate.test/log"]));
    fs::rename(stage.at("pin"), stage.at("pin.away")).unwrap();
    let why = stage.refused();
    assert!(why.contains("the pin cannot be read from its source"), "{why}");
    fs::write(stage.at("pin"), PIN).unwrap();
    let good_config = fs::read_to_string(&config).unwrap();
    fs::write(&config, good_config.replace("token=semgate", "token=other")).unwrap();
    let why = stage.refused();
    assert!(why.contains("there is no such token"), "{why}");
    fs::write(&config, good_config.replace("object=feed", "object=other")).unwrap();
    let why = stage.refused();
    assert!(why.contains("the token holds no such private key"), "{why}");
    fs::write(&config, good_config.replace("object=feed", "object=status")).unwrap();
    let why = stage.refused();
    assert!(why.contains("not the key of the configured certificate"), "{why}");
    fs::write(&config, good_config).unwrap();

    let _running = stage.run();
    good(&stage.publish("v1.0"));
    good(&stage.ask(&["context", "suspend", "urn:contexts:shop:v1.0", "--reason", "a test"]));
    good(&stage.ask(&["context", "resume", "urn:contexts:shop:v1.0", "--reason", "a test"]));
    assert_eq!(stage.verified(), 1);

    // the token is gone: nothing is acknowledged, reads go on, and nobody has to do anything when it is back
    fs::rename(stage.at("tokens"), stage.at("away")).unwrap();
    // what waits for a second person is not signed, so it is proposed all the same
    let proposed = stage.ask(&["context", "retire", "urn:contexts:shop:v1.0", "--reason", "a test"]);
    assert_eq!(proposed.status.code(), Some(5), "{proposed:?}");
    says(&stage.publish("v1.1"), "signer_unavailable");
    good(&stage.ask(&["context", "list"]));
    assert_the_log_is_not_read_again(&stage);
    fs::rename(stage.at("away"), stage.at("tokens")).unwrap();
    assert_eq!(stage.verified(), 1, "what was refused was not published");
    wait_for("the token to be found again", || stage.publish("v1.1").status.success().then_some(()));
    assert_eq!(stage.verified(), 2);

    // the module hangs: callers are told within the limit, and nothing else waits
    let mut holder = blocked(&stage.at("tokens"));
    let began = Instant::now();
    says(&stage.publish("v1.2"), "signer_unavailable");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let began = Instant::now();
    good(&stage.ask(&["context", "list"]));
    assert!(began.elapsed() < Duration::from_secs(5), "a read waited for the token: {:?}", began.elapsed());
    drop(holder.stdin.take().map(|mut stdin| stdin.flush()));
    holder.wait().unwrap();
    assert_eq!(stage.verified(), 2);
    wait_for("the token to move again", || stage.publish("v1.2").status.success().then_some(()));
    assert_eq!(stage.verified(), 3);

    // the root's key lies in a token too
    let (key, certificate) = (stage.at("offline/root.key"), stage.at("offline/root.pem"));
    stage.import(&key, "root", 10);
    fs::remove_file(&key).unwrap();
    let draft = stage.at("list.json");
    good(&stage.ask(&["trust", "draft", "--add-log", &stage.log_key, "--out", text(&draft)]));
    let sign = |key: &str, more: &[&str]| {
        stage.semgate(&[&["trust", "sign", text(&draft), "--key", &stage.uri(key)], more].concat())
    };
    says(&sign("root", &[]), "name the certificate of this key with `--cert`");
    says(&sign("status", &["--cert", text(&certificate)]), "is not the key of");
    good(&sign("root", &["--cert", text(&certificate)]));
    good(&stage.ask(&["trust", "submit", text(&draft)]));
    assert_eq!(stage.verified(), 3);

    // and certifies another authority's key there, for the lines that it is recognised for
    let other = Other::start(temporary.path(), "other.test");
    let words = other.introduced();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = stage.uri("root");
    let recognise = |more: &[&str]| {
        stage.ask(&[&words[..], &["--line", "goods", "--days", "30", "--root-key", &root], more].concat())
    };
    says(&recognise(&[]), "name the certificate of this key with `--root-cert`");
    good(&recognise(&["--root-cert", text(&certificate)]));
    assert_eq!(stage.verified(), 3);
    let shown: Value = serde_json::from_str(&good(&stage.ask(&["--json", "trust", "show"]))).unwrap();
    assert!(shown.to_string().contains("other.test"), "{shown}");
    says(&stage.publish_as("goods", "v1.0"), "line_recognised");
}

/// While the device is away a batch is refused for the keys alone: the log is read again after the first that failed, and not for each.
fn assert_the_log_is_not_read_again(stage: &Stage) {
    let told = |what: &str| {
        let log = fs::read_to_string(stage.at("authority.log")).unwrap();
        log.matches(what).count()
    };
    let before = told("nothing of a batch was committed");
    assert_eq!(before, 1);
    wait_for("keys to be asked several times", || {
        says(&stage.publish("v1.1"), "signer_unavailable");
        (told("the keys do not sign yet") >= 3).then_some(())
    });
    assert_eq!(told("nothing of a batch was committed"), before);
}
