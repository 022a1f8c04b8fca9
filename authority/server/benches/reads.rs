//! Contexts, tiles, heads and checkpoints over TLS 1.3 keep-alive: from the authority, and from nginx that serves the same bytes as files
//! under the same certificate, in one run.
//!
//!     cargo bench -p semgate-authority --bench reads
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use support::authority::{Client, OPERATOR, Place, document, request, send_on};
use support::{Authority, Process, benched, each};

const CONNECTIONS: usize = 16;
const LINES: usize = 4;

fn main() {
    support::serve_if_asked();
    let (contexts, took) =
        if benched() { (600, Duration::from_secs(4)) } else { (8, Duration::from_millis(200)) };
    println!("{}", support::load());
    let place = Place::new();
    let authority = Authority::start(place.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::new(place.path(), authority.listen, Some(OPERATOR));
        fill(&client, contexts).await;
        let kinds = kinds(&client, contexts).await;
        let files = place.path().join("files");
        for path in kinds.iter().flat_map(|(_, paths)| paths) {
            let at = files.join(path.trim_start_matches('/'));
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, client.ok(path).await.body).unwrap();
        }
        let nginx = Nginx::start(&place, &files);
        println!("{CONNECTIONS} connections, TLS 1.3, for {took:?} each; requests/s, µs of CPU of the server for each");
        let mut worst: Option<(f64, &str)> = None;
        for (kind, paths) in &kinds {
            // A first round warms both.
            load(&client, paths, took / 4).await;
            load(&client.at(nginx.listen), paths, took / 4).await;
            let ours = measured(&client, paths, took, || authority.process.cpu()).await;
            let theirs = measured(&client.at(nginx.listen), paths, took, || nginx.cpu()).await;
            println!(
                "{kind:<28} authority {:>7.0}/s {:>6.1} µs   nginx {:>7.0}/s {:>6.1} µs   rate {:.2}, cpu {:.2}",
                ours.0, ours.1, theirs.0, theirs.1, ours.0 / theirs.0, ours.1 / theirs.1
            );
            let ratio = theirs.0 / ours.0;
            if worst.is_none_or(|(known, _)| ratio > known) {
                worst = Some((ratio, kind));
            }
        }
        if let Some((ratio, kind)) = worst {
            println!("at worst nginx is {ratio:.2} times as fast ({kind}); asked for is within 2");
        }
    });
}

async fn fill(client: &Client, contexts: usize) {
    let next = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (client, next) = (client.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut line = client.connect().await.unwrap();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed) as usize;
                    if n >= contexts {
                        return;
                    }
                    let urn = format!("urn:contexts:bench{}:v{}.0", n % LINES, 1 + n / LINES);
                    let asked =
                        request(Method::POST, "/v1/contexts", Some("application/json"), &document(&urn, ""));
                    assert_eq!(send_on(&mut line, asked).await.unwrap().status.as_u16(), 201);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn kinds(client: &Client, contexts: usize) -> Vec<(&'static str, Vec<String>)> {
    let listed = client.ok("/v1/contexts").await.json();
    let all = listed["contexts"].as_array().unwrap();
    let member = |name: &str| all.iter().map(|c| c[name].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let over = contexts % 256;
    let whole = |kind: &str| (0..contexts / 256).map(|n| format!("/tile/{kind}/{n:03}")).collect::<Vec<_>>();
    let partial = |kind: &str| vec![format!("/tile/{kind}/{:03}.p/{over}", contexts / 256)];
    let mut kinds = vec![
        ("head", vec!["/v1/feed/head".to_owned()]),
        ("checkpoint", vec!["/checkpoint".to_owned()]),
        ("contexts by name", member("urn").iter().map(|urn| format!("/v1/contexts/{urn}")).collect()),
        (
            "contexts by digest",
            member("digest").iter().map(|d| format!("/v1/contexts/by-digest/{d}")).collect(),
        ),
        ("partial hash tile", partial("0")),
    ];
    if contexts >= 256 {
        kinds.push(("full hash tiles", whole("0")));
        kinds.push(("full entry bundles", whole("entries")));
    }
    kinds
}

async fn measured(
    client: &Client,
    paths: &[String],
    took: Duration,
    cpu: impl Fn() -> Duration,
) -> (f64, f64) {
    let (spent, began) = (cpu(), Instant::now());
    let done = load(client, paths, took).await;
    (done as f64 / began.elapsed().as_secs_f64(), each(cpu() - spent, done))
}

/// Asks for the paths in turn on every connection, and answers how many answers there were.
async fn load(client: &Client, paths: &[String], took: Duration) -> u64 {
    let stop = Arc::new(AtomicBool::new(false));
    let paths: Arc<Vec<String>> = Arc::new(paths.to_vec());
    let mut tasks = Vec::new();
    for n in 0..CONNECTIONS {
        let mut line = client.connect().await.unwrap();
        let (stop, paths) = (Arc::clone(&stop), Arc::clone(&paths));
        tasks.push(tokio::spawn(async move {
            let mut done = 0;
            for path in paths.iter().cycle().skip(n) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let got = send_on(&mut line, request(Method::GET, path, None, "")).await.unwrap();
                assert_eq!(got.status.as_u16(), 200, "{path}");
                done += 1;
            }
            done
        }));
    }
    tokio::time::sleep(took).await;
    stop.store(true, Ordering::Relaxed);
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    done
}

/// nginx over the same files, with the authority's own certificate, one worker for each core.
struct Nginx {
    process: Process,
    listen: SocketAddr,
}

impl Nginx {
    fn start(place: &Place, files: &Path) -> Self {
        let listen = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = place.config();
        let (certificate, key) = (&config.tls.certificate, &config.tls.key);
        let home = place.path().join("nginx");
        std::fs::create_dir_all(&home).unwrap();
        let home = home.display();
        let text = format!(
            "daemon off; worker_processes auto; pid {home}/pid; error_log {home}/error.log; user root;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; etag on;\n\
             client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c; uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;\n\
             server {{ listen {listen} ssl; ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.3; root {}; }} }}\n",
            certificate.display(),
            key.display(),
            files.display(),
        );
        let file = place.path().join("nginx.conf");
        std::fs::write(&file, text).unwrap();
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .args(["-e", &format!("{home}/error.log")])
            .stderr(Stdio::inherit())
            .spawn()
            .expect("nginx is installed (Debian: nginx-light)");
        let process = Process(child);
        let began = Instant::now();
        while std::net::TcpStream::connect(listen).is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "nginx does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { process, listen }
    }

    /// Of its workers.
    fn cpu(&self) -> Duration {
        let pid = self.process.0.id();
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        text.split_whitespace().map(|child| support::cpu(child.parse().unwrap())).sum()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it only if it is asked.
        let _ = Command::new("kill").args(["-TERM", &self.process.0.id().to_string()]).status();
        let _ = self.process.0.wait();
    }
}
