//! An upstream agent that answers what it is told to, byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What reached the agent.
#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

/// What it does then.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes these bytes and keeps the connection.
    Say(Vec<u8>),
    /// Writes these bytes and closes.
    SayAndClose(Vec<u8>),
    /// Writes these bytes one by one, with this pause.
    Drip(Vec<u8>, Duration),
    /// Waits, then closes.
    Wait(Duration),
}

pub struct Agent {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
}

impl Agent {
    /// Serves for the rest of the process.
    pub fn start(act: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Agent {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let act = Arc::new(act);
        let agent = Agent { port, seen: Arc::clone(&seen), connections: Arc::clone(&connections) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *connections.lock().unwrap() += 1;
                let (seen, act) = (Arc::clone(&seen), Arc::clone(&act));
                std::thread::spawn(move || drop(serve(stream, &seen, &*act)));
            }
        });
        agent
    }

    /// Answers every message with this JSON.
    pub fn saying(body: &serde_json::Value) -> Agent {
        let answer = ok(body.to_string().as_bytes());
        Agent::start(move |_| Act::Say(answer.clone()))
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// A whole 200 answer.
pub fn ok(body: &[u8]) -> Vec<u8> {
    answer("200 OK", "Content-Type: application/json\r\n", body)
}

pub fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Seen>>, act: &dyn Fn(&Seen) -> Act) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let Some(request) = request(&mut stream, &mut buffer)? else { return Ok(()) };
        seen.lock().unwrap().push(request.clone());
        match act(&request) {
            Act::Say(bytes) => stream.write_all(&bytes)?,
            Act::SayAndClose(bytes) => {
                stream.write_all(&bytes)?;
                return stream.shutdown(Shutdown::Both);
            }
            Act::Drip(bytes, pause) => {
                for byte in bytes {
                    stream.write_all(&[byte])?;
                    std::thread::sleep(pause);
                }
            }
            Act::Wait(pause) => {
                std::thread::sleep(pause);
                return Ok(());
            }
        }
    }
}

fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Seen>> {
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let mut seen = Seen { head, body: Vec::new() };
            let length: usize = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
            if buffer.len() >= end + 4 + length {
                seen.body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Ok(Some(seen));
            }
        }
        let size = stream.read(&mut chunk)?;
        if size == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(&chunk[..size]);
    }
}

/// An upstream agent TLS; answers every request with the reply.
pub async fn tls_agent(config: Arc<tokio_rustls::rustls::ServerConfig>) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let acceptor = tokio_rustls::TlsAcceptor::from(config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await.ok()?;
                let mut buffer = vec![0; 8192];
                while stream.read(&mut buffer).await.ok()? > 0 {
                    stream.write_all(&ok(super::reply().to_string().as_bytes())).await.ok()?;
                }
                Some(())
            });
        }
    });
    port
}
