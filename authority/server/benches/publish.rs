//! How many statements a second 64 publishers bring into the log, each acknowledged when it is on disk and its head is public; beside what
//! the disk alone allows for the same groups of files, in one run.
//!
//!     cargo bench -p semgate-authority --bench publish
//!
//! `TMPDIR` chooses the disk. `SEMGATE_BENCH_SECONDS` changes how long it takes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use support::authority::{Client, Line, OPERATOR, Place, document, request, send_on};
use support::{Authority, at, benched, each};

const PUBLISHERS: u64 = 64;
const LINES: u64 = 16;
const ROUNDS: u32 = 5;

fn main() {
    support::serve_if_asked();
    let seconds = std::env::var("SEMGATE_BENCH_SECONDS").ok().map(|text| text.parse().unwrap());
    let took = Duration::from_secs(seconds.unwrap_or(if benched() { 15 } else { 1 }));
    println!("{}", support::load());
    let place = Place::new();
    let authority = Authority::start(place.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (mut connected, document) = runtime.block_on(prepared(&place, &authority));
    let (next, mut rounds) = (Arc::new(AtomicU64::new(1)), Vec::new());
    // a disk of a virtual machine is another one from minute to minute: the two are measured in turns
    for round in 0..ROUNDS {
        let measured = runtime.block_on(publish(&authority, &mut connected, &next, took / ROUNDS));
        let group = measured.group.round().max(1.0) as usize;
        println!("{measured}");
        let alone =
            disk_alone(&place.path().join(format!("alone{round}")), group, document, took / ROUNDS / 3);
        let ratio = measured.rate / alone;
        println!(
            "    the same files in groups of {group}, by the disk alone: {alone:.0} statements/s; {ratio:.2} of it"
        );
        rounds.push((measured.rate, alone, ratio));
    }
    let single = one_by_one(place.path(), took / 5);
    println!("one file after the other, written, fsynced and renamed: {single:.0} files/s");
    let middle = |of: fn(&(f64, f64, f64)) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        (all[0], all[all.len() / 2], all[all.len() - 1])
    };
    for (what, (least, median, most)) in [
        ("statements/s", middle(|one| one.0)),
        ("by the disk alone", middle(|one| one.1)),
        ("ratio", middle(|one| one.2)),
    ] {
        println!("{what}: median {median:.2} ({least:.2} to {most:.2}) of {ROUNDS} rounds");
    }
}

struct Measured {
    rate: f64,
    group: f64,
    text: String,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A connection for each publisher, and how long a document is once it is signed.
async fn prepared(place: &Place, authority: &Authority) -> (Vec<Line>, usize) {
    let client = Client::new(place.path(), authority.listen, Some(OPERATOR));
    // The signer of each line is minted once.
    for line in 0..LINES {
        let got = client.publish(&document(&format!("urn:contexts:bench{line}:v1.0"), "")).await;
        assert_eq!(got.status.as_u16(), 201, "{got:?}");
    }
    let digest = client.ok("/v1/contexts").await.json()["contexts"][0]["digest"].as_str().unwrap().to_owned();
    let document_bytes = client.ok(&format!("/v1/contexts/by-digest/{digest}")).await.body.len();
    let mut connected = Vec::new();
    for _ in 0..PUBLISHERS {
        connected.push(client.connect().await.unwrap());
    }
    (connected, document_bytes)
}

async fn publish(
    authority: &Authority,
    connected: &mut Vec<Line>,
    next: &Arc<AtomicU64>,
    took: Duration,
) -> Measured {
    let stop = Arc::new(AtomicBool::new(false));
    let (entries, batches) = counted(authority);
    let (server, ours) = (authority.process.cpu(), support::cpu(std::process::id()));
    let began = Instant::now();
    let tasks: Vec<_> = std::mem::take(connected)
        .into_iter()
        .map(|mut line| {
            let (stop, next) = (Arc::clone(&stop), Arc::clone(next));
            tokio::spawn(async move {
                let mut waits = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let urn = format!("urn:contexts:bench{}:v{}.0", n % LINES, 2 + n / LINES);
                    let asked =
                        request(Method::POST, "/v1/contexts", Some("application/json"), &document(&urn, ""));
                    let began = Instant::now();
                    let got = send_on(&mut line, asked).await.unwrap();
                    assert_eq!(got.status.as_u16(), 201, "{got:?}");
                    waits.push(began.elapsed());
                }
                (line, waits)
            })
        })
        .collect();
    tokio::time::sleep(took).await;
    stop.store(true, Ordering::Relaxed);
    let mut waits = Vec::new();
    for task in tasks {
        let (line, waited) = task.await.unwrap();
        connected.push(line);
        waits.extend(waited);
    }
    let took = began.elapsed();
    let (server, ours) = (authority.process.cpu() - server, support::cpu(std::process::id()) - ours);
    let (entries_after, batches_after) = counted(authority);
    let done = waits.len() as u64;
    assert!(entries_after - entries >= done as f64, "an acknowledged statement is not in the log");
    let rate = done as f64 / took.as_secs_f64();
    let group = (entries_after - entries) / (batches_after - batches);
    let text = format!(
        "{PUBLISHERS} publishers: {rate:.0} statements/s, {group:.1} in a group commit; answered in median {:.1?}, p99 {:.1?}, worst {:.1?}; \
         CPU for each statement {:.0} µs in the authority and {:.0} µs in the publishers; memory {} MB",
        at(&mut waits, 500),
        at(&mut waits, 990),
        at(&mut waits, 1000),
        each(server, done),
        each(ours, done),
        authority.process.resident() >> 20,
    );
    Measured { rate, group, text }
}

fn counted(authority: &Authority) -> (f64, f64) {
    (authority.metric("semgate_authority_entries_total"), authority.metric("semgate_authority_batches_total"))
}

/// What the disk takes if nobody checks, signs or sends anything: for each group the documents, an entry bundle, two tiles, a checkpoint
/// and a head, fsynced side by side, renamed, and their directories fsynced in the order of a commit.
fn disk_alone(dir: &Path, group: usize, document: usize, took: Duration) -> f64 {
    let dirs: Vec<_> = ["documents", "tile", "log", "state"].iter().map(|name| dir.join(name)).collect();
    dirs.iter().for_each(|dir| std::fs::create_dir_all(dir).unwrap());
    let (began, mut done) = (Instant::now(), 0);
    while began.elapsed() < took {
        let mut files = Vec::new();
        for n in 0..group {
            files.push((dirs[0].join(format!("{}", done + n)), document));
        }
        let entries = (done % 256 + group).min(256) * 700;
        for (name, size) in [("entries", entries), ("0", 32 * 256), ("1", 32 * 256)] {
            files.push((dirs[1].join(format!("{name}-{done}")), size));
        }
        files.push((dirs[2].join("checkpoint"), 200));
        files.push((dirs[3].join("head"), 4096));
        let open: Vec<File> = files
            .iter()
            .map(|(path, size)| {
                let mut file = File::create(path.with_extension("new")).unwrap();
                file.write_all(&vec![b'x'; *size]).unwrap();
                file
            })
            .collect();
        side_by_side(&open);
        files[..group + 3]
            .iter()
            .for_each(|(path, _)| std::fs::rename(path.with_extension("new"), path).unwrap());
        side_by_side(&[File::open(&dirs[0]).unwrap(), File::open(&dirs[1]).unwrap()]);
        for (path, dir) in [(&files[group + 3].0, &dirs[2]), (&files[group + 4].0, &dirs[3])] {
            std::fs::rename(path.with_extension("new"), path).unwrap();
            File::open(dir).unwrap().sync_all().unwrap();
        }
        done += group;
    }
    done as f64 / began.elapsed().as_secs_f64()
}

fn side_by_side(open: &[File]) {
    std::thread::scope(|scope| {
        for part in open.chunks(open.len().div_ceil(8)) {
            scope.spawn(move || part.iter().for_each(|file| file.sync_all().unwrap()));
        }
    });
}

fn one_by_one(dir: &Path, took: Duration) -> f64 {
    let home = dir.join("single");
    std::fs::create_dir_all(&home).unwrap();
    let (began, mut done) = (Instant::now(), 0u64);
    while began.elapsed() < took {
        let path = home.join(format!("{done}"));
        let mut file = File::create(path.with_extension("new")).unwrap();
        file.write_all(&[b'x'; 1024]).unwrap();
        file.sync_all().unwrap();
        std::fs::rename(path.with_extension("new"), &path).unwrap();
        File::open(&home).unwrap().sync_all().unwrap();
        done += 1;
    }
    done as f64 / began.elapsed().as_secs_f64()
}
