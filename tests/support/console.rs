//! A running `semgate console run` in the directory of a running `up`, with people of every role.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use semgate_certs::{Chain, ChainLimits, KeyPair};

use super::{Answer, SEMGATE, Up, gateway, wait_for};

/// The people, each with the roles. `human://NAME` is their card, `spiffe://semgate.test/human/NAME` their certificate.
pub const PEOPLE: [(&str, &str); 5] = [
    ("bob.sre", r#""viewer", "auditor", "operator", "approver""#),
    ("vi", r#""viewer""#),
    ("au", r#""auditor""#),
    ("op", r#""operator""#),
    ("ap", r#""approver""#),
];

/// Its own audit log; `up` has a console with another one.
pub const AUDIT: &str = "tested-console-audit.jsonl";

/// A console; ended with the value.
pub struct Console<'u> {
    pub up: &'u Up,
    pub url: String,
    pub config: PathBuf,
    printed: Arc<Mutex<String>>,
    child: Child,
}

/// A logged-in person: what the browser keeps.
pub struct Browser<'c> {
    console: &'c Console<'c>,
    name: Option<&'c str>,
    pub cookie: String,
}

impl Drop for Console<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a certificate by the issuer of `up`, once.
pub fn certify(up: &Up, name: &str, usage: &str, id: &str) {
    let out = up.dir.join("agents").join(name);
    if out.with_file_name(format!("{name}.pem")).exists() {
        return;
    }
    let mut command = Command::new(SEMGATE);
    command.args(["cert", "leaf", "--usage", usage, "--spiffe", id, "--by"]);
    let made = command.arg(up.dir.join("offline/tls-issuing")).arg("--out").arg(out).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

impl<'u> Console<'u> {
    /// Starts one beside `up`; `gateway` stands after the table of its gateway, `more` to the settings before all tables.
    pub fn start(up: &'u Up, gateway: &str, more: &str) -> Self {
        certify(up, "console-server", "server", "spiffe://semgate.test/console-server");
        certify(up, "console", "agent", "spiffe://semgate.test/console");
        for (name, _) in PEOPLE {
            certify(up, name, "agent", &format!("spiffe://semgate.test/human/{name}"));
        }
        let listen = gateway::free_address();
        let config = up.dir.join(format!("console-{}.toml", listen.port()));
        std::fs::write(&config, settings(up, &listen.to_string(), gateway, more)).unwrap();
        let mut child = Command::new(SEMGATE)
            .args(["console", "run", "--config"])
            .arg(&config)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let (out, to) = (child.stdout.take().unwrap(), Arc::clone(&printed));
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                to.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let console = Self { up, url: format!("https://{listen}"), config, printed, child };
        wait_for("the console", || std::net::TcpStream::connect(listen).ok());
        console
    }

    /// The link that it prints.
    pub fn link(&self) -> String {
        wait_for("the link of the console", || {
            let printed = self.printed.lock().unwrap();
            printed.split_whitespace().find(|word| word.contains("/login?link=")).map(str::to_owned)
        })
    }

    /// Sends a request with this certificate of the directory.
    pub fn send(&self, name: Option<&str>, request: &str) -> Answer {
        let identity = name.map(|name| {
            let read = |end: &str| {
                std::fs::read_to_string(self.up.dir.join(format!("agents/{name}.{end}"))).unwrap()
            };
            let chain = Chain::from_pem(&read("pem"), &ChainLimits::default()).unwrap();
            (chain, KeyPair::from_pem(&read("key"), &ring::rand::SystemRandom::new()).unwrap())
        });
        let mut stream = self.up.connect_as(identity, &self.url);
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.flush();
        Answer::read(&mut stream)
    }

    /// A form of this origin without a session.
    pub fn form(&self, name: Option<&str>, path: &str, cookie: &str, form: &str) -> Answer {
        let (host, origin) = (super::address(&self.url), &self.url);
        self.send(name, &format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\ncookie: __Host-semgate={cookie}\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            form.len()
        ))
    }

    /// Logs a person in by certificate.
    pub fn log_in<'c>(&'c self, name: &'c str) -> Browser<'c> {
        let cookie = cookie(&self.form(Some(name), "/login", "", ""));
        Browser { console: self, name: Some(name), cookie }
    }

    /// Logs in by a link, without a certificate.
    pub fn follow<'c>(&'c self, link: &str) -> Browser<'c> {
        let secret = link.split_once("link=").unwrap().1;
        let cookie = cookie(&self.form(None, "/login", "", &format!("link={secret}")));
        Browser { console: self, name: None, cookie }
    }

    /// Nobody: no certificate and no session.
    pub fn nobody(&self) -> Browser<'_> {
        Browser { console: self, name: None, cookie: String::new() }
    }
}

fn cookie(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.head);
    let set = answer.header("set-cookie").expect("a cookie");
    set.split(['=', ';']).nth(1).unwrap().to_owned()
}

impl Browser<'_> {
    /// The same session on connections without the certificate, as a thief of the cookie has it.
    pub fn stolen(&self) -> Self {
        Self { console: self.console, name: None, cookie: self.cookie.clone() }
    }

    pub fn get(&self, path: &str) -> Answer {
        let (host, cookie) = (super::address(&self.console.url), &self.cookie);
        self.console.send(
            self.name,
            &format!("GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: __Host-semgate={cookie}\r\nconnection: close\r\n\r\n"),
        )
    }

    /// The text of a page that must be there.
    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 200, "{path}: {text}");
        text
    }

    /// Sends a form with the token of the session, as the page of the form has it.
    pub fn post(&self, page: &str, path: &str, form: &str) -> Answer {
        let shown = self.page(page);
        let csrf =
            shown.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        self.console.form(self.name, path, &self.cookie, &format!("csrf={csrf}&{form}"))
    }

    /// Sends a form as it is.
    pub fn raw_post(&self, path: &str, form: &str) -> Answer {
        self.console.form(self.name, path, &self.cookie, form)
    }
}

fn settings(up: &Up, listen: &str, gateway: &str, more: &str) -> String {
    let roots = up.path("/roots").display().to_string();
    let people: String = PEOPLE
        .iter()
        .map(|(name, roles)| {
            format!("[[person]]\nid = \"spiffe://semgate.test/human/{name}\"\nhuman = \"human://{name}\"\nname = \"{name}\"\nroles = [{roles}]\n")
        })
        .collect();
    format!(
        "listen = \"{listen}\"\npeople_roots = \"{roots}\"\naudit_file = \"{AUDIT}\"\naudit = \"{}\"\npolicies = \"policies\"\n{more}\n\
         [tls]\ncertificate = \"agents/console-server.pem\"\nkey = \"agents/console-server.key\"\n\
         [identity]\ncertificate = \"agents/console.pem\"\nkey = \"agents/console.key\"\n\
         [authority]\nurl = \"{}\"\nroots = \"{roots}\"\n\
         [[gateway]]\nname = \"up\"\nadmin = \"{}\"\napprovals = \"{}\"\nroots = \"{roots}\"\n{gateway}\n{people}",
        up.path("/audit").display(),
        up.text("/authority_url"),
        up.text("/admin_url"),
        up.text("/people_url"),
    )
}
