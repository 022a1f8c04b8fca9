//! An authority in a process of its own, as in service, so that what it costs can be told from what its callers cost.
#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../../tests/support/mod.rs"]
pub mod authority;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use semgate_authority::{Bound, Config, run};

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DIR: &str = "SEMGATE_BENCH_AUTHORITY";

/// Whether this is the real thing: `cargo bench` says so; without, everything is small and only shown to work.
pub fn benched() -> bool {
    std::env::args().any(|word| word == "--bench")
}

/// To be called first: in the process that [`Authority::start`] starts, this runs the authority and never returns.
pub fn serve_if_asked() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let config = Config::load(&dir.join("authority.toml")).unwrap();
    let ready = |bound: Bound| {
        std::fs::write(dir.join("bound.new"), format!("{} {}", bound.listen, bound.admin)).unwrap();
        std::fs::rename(dir.join("bound.new"), dir.join("bound")).unwrap();
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(run(config, Vec::new(), ready, std::future::pending())).unwrap();
    std::process::exit(0);
}

/// A process that ends with this value.
pub struct Process(pub Child);

impl Process {
    /// CPU time that it took so far, all threads and, with `children`, the processes below it.
    pub fn cpu(&self) -> Duration {
        cpu(self.0.id())
    }

    /// Bytes that are its own in memory.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// CPU time of a process, in ticks of a hundredth of a second.
pub fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after = stat.rsplit_once(')').unwrap().1;
    let fields: Vec<u64> = after.split_whitespace().skip(11).take(2).map(|f| f.parse().unwrap()).collect();
    Duration::from_millis(fields.iter().sum::<u64>() * 10)
}

/// A running authority.
pub struct Authority {
    pub process: Process,
    pub listen: SocketAddr,
    pub admin: SocketAddr,
}

impl Authority {
    /// Starts one in an initialised directory and waits until it answers.
    pub fn start(dir: &Path) -> Self {
        let _ = std::fs::remove_file(dir.join("bound"));
        let child = Command::new(std::env::current_exe().unwrap())
            .env(DIR, dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let process = Process(child);
        let began = Instant::now();
        loop {
            if let Ok(text) = std::fs::read_to_string(dir.join("bound")) {
                let (listen, admin) = text.split_once(' ').unwrap();
                return Self { process, listen: listen.parse().unwrap(), admin: admin.parse().unwrap() };
            }
            assert!(began.elapsed() < Duration::from_secs(600), "the authority does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A number of its metrics.
    pub fn metric(&self, name: &str) -> f64 {
        use std::io::{Read, Write};
        let mut socket = std::net::TcpStream::connect(self.admin).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |number| number.trim().parse().unwrap())
    }
}

/// What else the machine does, to be read beside every figure.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load: Vec<&str> = load.split(' ').take(3).collect();
    format!("load of the machine before: {} on {cores} cores", load.join(" "))
}

/// Asks the system for so many file descriptors: a thousand followers are two thousand.
pub fn descriptors(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    if now.current.is_some_and(|current| current < wanted) {
        let most = now.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum }).unwrap();
        assert!(most >= wanted, "the system grants {most} open files, and {wanted} are needed");
    }
}

/// The value below which this part of a thousand lies; sorts.
pub fn at(sorted: &mut [Duration], part: usize) -> Duration {
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * part / 1000]
}

/// Microseconds of CPU for each of `count`.
pub fn each(spent: Duration, count: u64) -> f64 {
    spent.as_secs_f64() * 1e6 / count.max(1) as f64
}
