//! A mirror in this process that shows the running authority to whoever asks, and lies where it is told to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::support::{Answer, Up};

/// What is answered in place of the truth.
#[derive(Clone)]
pub enum Lie {
    /// Other bytes.
    Bytes(Vec<u8>),
    /// A body that never ends.
    Endless,
    /// One byte each 100 ms.
    Slow,
}

pub struct Mirror {
    pub url: String,
    lies: Arc<Mutex<BTreeMap<String, Lie>>>,
    sent: Arc<AtomicU64>,
    /// Milliseconds that each answer is on its way.
    far: Arc<AtomicU64>,
    /// Answers under way that hold the authority.
    asking: Arc<AtomicU64>,
    /// Paths that somebody asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Drop for Mirror {
    /// Whoever lets go of the authority last ends it, and that must be the test.
    fn drop(&mut self) {
        let began = Instant::now();
        while self.asking.load(Ordering::SeqCst) > 0 && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Mirror {
    pub fn of(up: &Arc<Up>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mirror = Self {
            url,
            lies: Arc::default(),
            sent: Arc::default(),
            far: Arc::default(),
            asking: Arc::default(),
            asked: Arc::default(),
        };
        let (up, asking) = (Arc::downgrade(up), Arc::clone(&mirror.asking));
        let (lies, sent) = (Arc::clone(&mirror.lies), Arc::clone(&mirror.sent));
        let (far, heard) = (Arc::clone(&mirror.far), Arc::clone(&mirror.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (up, asking) = (Weak::clone(&up), Arc::clone(&asking));
                let (lies, sent) = (Arc::clone(&lies), Arc::clone(&sent));
                let (far, heard) = (Arc::clone(&far), Arc::clone(&heard));
                let truth = move |path: &str| {
                    heard.lock().unwrap().push(path.to_owned());
                    std::thread::sleep(Duration::from_millis(far.load(Ordering::SeqCst)));
                    asking.fetch_add(1, Ordering::SeqCst);
                    let answer = up.upgrade().map(|up| up.authority(path));
                    asking.fetch_sub(1, Ordering::SeqCst);
                    answer
                };
                std::thread::spawn(move || serve(truth, stream, &lies, &sent));
            }
        });
        mirror
    }

    /// From now on each answer is so long on its way.
    pub fn is_far(&self, way: Duration) {
        self.far.store(way.as_millis().try_into().unwrap(), Ordering::SeqCst);
    }

    /// From now on, below this path.
    pub fn lie(&self, path: &str, lie: Lie) {
        self.lies.lock().unwrap().insert(path.to_owned(), lie);
    }

    pub fn says(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.lie(path, Lie::Bytes(bytes.into()));
    }

    pub fn is_honest_again(&self) {
        self.lies.lock().unwrap().clear();
    }

    /// What was asked for and answered by the truth since the last call.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// Bytes of endless bodies that somebody took since the last call.
    pub fn sent(&self) -> u64 {
        self.sent.swap(0, Ordering::SeqCst)
    }
}

fn serve(
    truth: impl Fn(&str) -> Option<Answer>,
    stream: TcpStream,
    lies: &Mutex<BTreeMap<String, Lie>>,
    sent: &AtomicU64,
) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    while !lines.next()?.ok()?.is_empty() {}
    let lie =
        lies.lock().unwrap().iter().find(|(at, _)| path.starts_with(at.as_str())).map(|(_, lie)| lie.clone());
    let mut stream = stream;
    let endless = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n";
    let (status, body) = match lie {
        // mirrors of plain files have neither
        _ if path == "/v1/feed/stream" || path.starts_with("/v1/feed/deltas/") => (404, Vec::new()),
        Some(Lie::Bytes(bytes)) => (200, bytes),
        Some(Lie::Endless) => {
            stream.write_all(endless.as_bytes()).ok()?;
            loop {
                stream.write_all(&[b' '; 16 * 1024]).ok()?;
                sent.fetch_add(16 * 1024, Ordering::SeqCst);
            }
        }
        Some(Lie::Slow) => {
            stream.write_all(endless.as_bytes()).ok()?;
            loop {
                stream.write_all(b" ").ok()?;
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        None => {
            let answer = truth(&path)?;
            (answer.status, answer.body)
        }
    };
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}
