//! CPU time for each request through the gateway with every check on, beside the same gateway with checks off and nginx as a plain
//! reverse proxy, in one run over plain HTTP/1.1 keep-alive on loopback (README, "Speed").
//!
//!     cargo bench -p semgate --bench gateway
//!
//! Processor time is read from `/proc/<pid>/stat` of the proxy alone; client and agent behind are other processes and threads. The rounds
//! of the three are interleaved, the median of the rounds is printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../support/mod.rs"]
mod support;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::gateway::{Gateway, Scripted, free_address, read_message};
use support::{SEMGATE, Up, wait_for};

/// Connections of the client, each kept alive; two for each core of the machine that the figures are for.
const CONNECTIONS: usize = 4;
/// Requests of each connection in a round: about a second of processor time for each proxy.
const REQUESTS: usize = 8_000;
const ROUNDS: usize = 5;

fn main() {
    let agent = Scripted::saying(body("AGREE", "wholesaler-1", "retailer-7"));
    let behind = agent.address;
    let up = Up::start();
    let here = tempfile::tempdir().unwrap();
    // The limit for one agent is lifted: the bench is one agent.
    let product = Gateway::before(&up, behind, "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n");
    let checked = Proxy::gateway(&product);
    let unchecked = Proxy::plain(behind);
    let nginx = Proxy::nginx(here.path(), behind);
    let request = Arc::new(supply_chain_request());
    println!(
        "{} bytes a request, {CONNECTIONS} connections, {ROUNDS} rounds of {} requests",
        request.len(),
        CONNECTIONS * REQUESTS
    );
    let proxies = [&nginx, &unchecked, &checked];
    let mut figures = vec![Vec::new(); proxies.len()];
    for round in 0..=ROUNDS {
        for (proxy, figures) in proxies.iter().zip(&mut figures) {
            let micros = proxy.round(&request);
            // The first round warms caches and pools.
            if round > 0 {
                figures.push(micros);
            }
        }
    }
    let medians: Vec<f64> = figures.iter_mut().map(|f| median(f)).collect();
    println!(
        "\n| proxy | CPU µs a request (median; min–max) | of nginx | of checks off |\n|---|---|---|---|"
    );
    for ((proxy, figures), median) in proxies.iter().zip(&figures).zip(&medians) {
        let (min, max) = (figures[0], figures[figures.len() - 1]);
        println!(
            "| {} | {median:.1} ({min:.1}–{max:.1}) | {:.2} | {:.2} |",
            proxy.name,
            median / medians[0],
            median / medians[1]
        );
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

struct Proxy {
    name: &'static str,
    address: SocketAddr,
    pid: u32,
    child: Option<Child>,
}

impl Proxy {
    /// The product, with every check on, on a plain listener with one configured sender.
    fn gateway(gateway: &Gateway) -> Self {
        Self { name: "semgate, every check on", address: gateway.l8, pid: gateway.child.id(), child: None }
    }

    /// The same gateway without the inspector: an example of its crate, not a setting of the product.
    fn plain(behind: SocketAddr) -> Self {
        let address = free_address();
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--release",
                "-p",
                "semgate-gateway",
                "--features",
                "plain-proxy",
                "--example",
                "plain_proxy",
            ])
            .status()
            .unwrap();
        assert!(built.success());
        let program = PathBuf::from(SEMGATE).with_file_name("examples").join("plain_proxy");
        let child =
            Command::new(program).args([address.to_string(), format!("http://{behind}/l8")]).spawn().unwrap();
        wait_for("the plain proxy", || TcpStream::connect(address).ok());
        Self::child("semgate, checks off", address, child)
    }

    fn nginx(here: &Path, behind: SocketAddr) -> Self {
        let address = free_address();
        let dir = here.join("nginx");
        std::fs::create_dir_all(dir.join("logs")).unwrap();
        let config = format!(
            "worker_processes 2;\nerror_log stderr error;\npid nginx.pid;\nevents {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  keepalive_requests 100000000;\n  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n  upstream agent {{ server {behind}; keepalive 64; keepalive_requests 100000000; }}\n  server {{ listen {address}; location / {{ proxy_pass http://agent/l8; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }}\n}}\n"
        );
        let path = dir.join("nginx.conf");
        std::fs::write(&path, config).unwrap();
        let child = Command::new("nginx")
            .args(["-g", "daemon off;", "-p"])
            .arg(&dir)
            .arg("-c")
            .arg(&path)
            .spawn()
            .expect("nginx is installed (Debian: nginx-light)");
        wait_for("nginx", || TcpStream::connect(address).ok());
        Self::child("nginx, plain reverse proxy", address, child)
    }

    fn child(name: &'static str, address: SocketAddr, child: Child) -> Self {
        Self { name, address, pid: child.id(), child: Some(child) }
    }

    /// One round; processor time of the proxy for each request, in microseconds.
    fn round(&self, request: &Arc<Vec<u8>>) -> f64 {
        let before = cpu(self.pid);
        let began = Instant::now();
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let (address, request) = (self.address, Arc::clone(request));
                std::thread::spawn(move || one_connection(address, &request))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let spent = cpu(self.pid) - before;
        let requests = CONNECTIONS * REQUESTS;
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

/// The paper's message with its three concepts, about 640 bytes of body.
fn supply_chain_request() -> Vec<u8> {
    let body = body("INFORM", "retailer-7", "wholesaler-1");
    let head = format!(
        "POST / HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

fn body(performative: &str, sender: &str, receiver: &str) -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"0190e7d2-6e0b-7d1c-9b7e-6f1f4a2b3c4d","performative":"{performative}","sender_id":"{sender}","receiver_id":"{receiver}","context":"urn:contexts:supplyChain:v1.0","content":{{"my_decision":{{"concept_type":"current_decision","item_id":"beer","quantity":120}},"my_flexibility":{{"concept_type":"decision_contingency","if_condition_text":"demand increases by 10%","then_change_text":"increase order by 15 units"}},"my_reasoning":{{"concept_type":"local_observation","observed_fact_text":"Current spike seems temporary","confidence_score":0.8}}}}}}"#
    )
}

fn one_connection(address: SocketAddr, request: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 16 * 1024];
    for _ in 0..REQUESTS {
        stream.write_all(request).unwrap();
        let answer = read_message(&mut stream, &mut buffer).expect("an answer");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(answer));
    }
}
