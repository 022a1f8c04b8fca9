//! A second gateway of the running `up`, with plain listeners on loopback and an upstream agent that a test makes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{Answer, PATIENCE, SEMGATE, Up, wait_for};

/// A gateway in a process of its own.
pub struct Gateway {
    pub l8: SocketAddr,
    pub a2a: SocketAddr,
    pub admin: SocketAddr,
    /// Its address for people.
    pub people: SocketAddr,
    pub audit: PathBuf,
    pub child: Child,
    pub config: PathBuf,
}

impl Gateway {
    /// Starts one that follows the authority of `up`, hears `retailer-7` on plain listeners and forwards to `behind`; `more` is
    /// added to its configuration.
    pub fn before(up: &Up, behind: SocketAddr, more: &str) -> Self {
        let mut gateway = Self::begun(up, behind, more);
        gateway.wait();
        gateway
    }

    /// Starts one that serves on a single core, as a benchmark beside other proxies of one worker wants it.
    #[allow(dead_code, reason = "only benchmarks compare workers")]
    pub fn on_one_core(up: &Up, behind: SocketAddr, more: &str) -> Self {
        let mut gateway = Self::configured(up, behind, "workers = 1\n", more);
        gateway.wait();
        gateway
    }

    /// The same without waiting for it to be ready: it may never be.
    pub fn begun(up: &Up, behind: SocketAddr, more: &str) -> Self {
        Self::configured(up, behind, "", more)
    }

    /// Starts one with these routes alone, of which `l8` is the address of the first. `more` stands after them.
    #[allow(dead_code, reason = "only some tests bring routes of their own")]
    pub fn serving(up: &Up, l8: SocketAddr, routes: &str, more: &str) -> Self {
        let mut gateway = Self::written(up, [l8, l8, free_address()], "", &(routes.to_owned() + more));
        gateway.wait();
        gateway
    }

    /// `first` stands before all tables of the configuration, `more` after them.
    fn configured(up: &Up, behind: SocketAddr, first: &str, more: &str) -> Self {
        let [l8, a2a, admin] = [free_address(), free_address(), free_address()];
        let route = |binding: &str, listen: SocketAddr| {
            format!(
                "[[route]]\nname = \"{binding}\"\nlisten = \"{listen}\"\nbinding = \"{binding}\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/{binding}\"\ncontexts = [\"*\"]\n\n"
            )
        };
        let rest = route("l8", l8) + &route("a2a", a2a) + more;
        Self::written(up, [l8, a2a, admin], first, &rest)
    }

    fn written(up: &Up, [l8, a2a, admin]: [SocketAddr; 3], first: &str, rest: &str) -> Self {
        let name = format!("gateway-{}", l8.port());
        let config = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
        let people = free_address();
        let mut head = config.split("[[route]]").next().unwrap().to_owned();
        for (was, is) in [
            (up.text("/admin_url").trim_start_matches("http://").to_owned(), admin.to_string()),
            (up.text("/people_url").trim_start_matches("https://").to_owned(), people.to_string()),
            ("state = \"firewall\"".to_owned(), format!("state = \"{name}\"")),
            ("firewall/audit.jsonl".to_owned(), format!("{name}/audit.jsonl")),
        ] {
            assert!(head.contains(&was), "`{was}` in firewall.toml");
            head = head.replace(&was, &is);
        }
        let path = up.dir.join(format!("{name}.toml"));
        std::fs::write(&path, first.to_owned() + &head + rest).unwrap();
        std::fs::create_dir_all(up.dir.join(&name)).unwrap();
        let audit = up.dir.join(name).join("audit.jsonl");
        let mut gateway = Self { l8, a2a, admin, people, audit, child: Self::run(&path), config: path };
        wait_for("the second gateway's listeners", || gateway.reached(l8));
        gateway
    }

    /// A connection, once there is one.
    fn reached(&mut self, address: SocketAddr) -> Option<TcpStream> {
        let ended = self.child.try_wait().unwrap();
        let said = || std::fs::read_to_string(self.config.with_extension("log")).unwrap_or_default();
        assert!(ended.is_none(), "the gateway ended with {ended:?}: {}", said());
        TcpStream::connect(address).ok()
    }

    fn run(config: &std::path::Path) -> Child {
        Self::command(config).spawn().unwrap()
    }

    fn command(config: &std::path::Path) -> Command {
        let log = std::fs::File::create(config.with_extension("log")).unwrap();
        let mut command = Command::new(SEMGATE);
        command.args(["firewall", "run", "--config"]).arg(config).stdout(Stdio::null()).stderr(log);
        command
    }

    fn wait(&mut self) {
        let admin = self.admin;
        wait_for("the second gateway", || self.reached(admin));
        let ready = || (super::plain_get(&format!("http://{admin}/readyz")).status == 200).then_some(());
        wait_for("the second gateway's readiness", ready);
    }

    /// Ends it as an operator would (`TERM`) or as a crash does (`KILL`), and starts it again.
    pub fn restart(&mut self, signal: &str) {
        Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status().unwrap();
        self.child.wait().unwrap();
        self.child = Self::run(&self.config);
        self.wait();
    }

    /// Starts it again after its end, without waiting for it to be ready: it may never be.
    pub fn start_again(&mut self) {
        self.child = Self::run(&self.config);
        wait_for("the gateway again", || TcpStream::connect(self.l8).ok());
    }

    /// Kills it and starts it as `with` says, and waits until it is ready.
    pub fn restart_with(&mut self, with: impl FnOnce(&mut Command)) {
        self.kill();
        let mut command = Self::command(&self.config);
        with(&mut command);
        self.child = command.spawn().unwrap();
        self.wait();
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it wrote to its log since its last start.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.config.with_extension("log")).unwrap_or_default()
    }

    /// Posts a body to the native listener.
    pub fn post(&self, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.l8).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", self.l8);
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        Answer::read(&mut stream)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An upstream agent that answers every request with these bytes, and counts.
pub struct Scripted {
    pub address: SocketAddr,
    received: Arc<AtomicU64>,
    messages: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Answers with a status of 200 and this JSON body.
    pub fn saying(body: String) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        Self::answering((head + &body).into_bytes())
    }

    /// Answers with these bytes.
    pub fn answering(bytes: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&received);
        let messages = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&messages);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (bytes, counter, kept) = (bytes.clone(), Arc::clone(&counter), Arc::clone(&kept));
                std::thread::spawn(move || {
                    let mut stream = stream;
                    let _ = stream.set_nodelay(true);
                    let mut buffer = vec![0; 64 * 1024];
                    while let Some(message) = read_message(&mut stream, &mut buffer) {
                        kept.lock().unwrap().push(String::from_utf8_lossy(message).into_owned());
                        counter.fetch_add(1, Ordering::SeqCst);
                        if stream.write_all(&bytes).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, received, messages }
    }

    /// The heads of the requests that it got, in lower case.
    pub fn heads(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages.iter().map(|one| one.split("\r\n\r\n").next().unwrap().to_ascii_lowercase()).collect()
    }

    /// Their bodies.
    pub fn bodies(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages.iter().filter_map(|one| Some(one.split_once("\r\n\r\n")?.1.to_owned())).collect()
    }

    /// How many requests it got.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }
}

/// Reads one message with a content-length; `None` at the end of the connection.
pub fn read_message<'a>(stream: &mut impl Read, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut filled = 0;
    loop {
        let n = stream.read(&mut buffer[filled..]).ok()?;
        if n == 0 {
            return None;
        }
        filled += n;
        let Some(end) = buffer[..filled].windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&buffer[..end]).ok()?.to_ascii_lowercase();
        let length = head.lines().find_map(|l| l.strip_prefix("content-length:"));
        let length = length.map_or(Some(0), |l| l.trim().parse::<usize>().ok())?;
        if filled >= end + 4 + length {
            return Some(&buffer[..filled]);
        }
    }
}

/// An address that nobody listens on just now, below the ports that Linux gives to outgoing connections. Until this process ends neither
/// another caller nor an `up` finds it: they hold the UDP port of the same number, as `up` does.
pub fn free_address() -> SocketAddr {
    use std::hash::{BuildHasher, RandomState};
    static MARKS: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let seed = RandomState::new().hash_one(std::process::id());
    let candidates = (0..200).map(|n| 20_000 + u16::try_from((seed.wrapping_add(n)) % 12_000).unwrap());
    let mut addresses = candidates.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let free = |address: &SocketAddr| {
        let Ok(mark) = UdpSocket::bind(address) else { return false };
        let free = TcpListener::bind(address).is_ok();
        MARKS.lock().unwrap().push(mark);
        free
    };
    addresses.find(free).expect("a free port")
}
