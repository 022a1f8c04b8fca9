//! A live authority over HTTPS, with its event stream, made of the one in memory.

use std::sync::{Arc, Mutex};

use semgate_statement::testing::MemoryAuthority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::House;

pub struct Live {
    pub authority: Arc<Mutex<MemoryAuthority>>,
    pub port: u16,
    changed: watch::Sender<u64>,
    _runtime: tokio::runtime::Runtime,
}

impl Live {
    /// Serves the house's authority until it is dropped.
    pub fn start(house: &House) -> Live {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let authority = Arc::new(Mutex::new(house.authority.clone()));
        let (changed, watching) = watch::channel(0);
        let acceptor = TlsAcceptor::from(house.pki.server_config("spiffe://semgate.test/authority", false));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Arc::clone(&authority);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, served, watching) = (acceptor.clone(), Arc::clone(&served), watching.clone());
                tokio::spawn(async move { drop(serve(acceptor, stream, served, watching).await) });
            }
        });
        Live { authority, port, changed, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Changes something; the new head is out and the stream says so.
    pub fn change(&self, change: impl FnOnce(&mut MemoryAuthority)) {
        let mut authority = self.authority.lock().unwrap();
        authority.now = super::now();
        change(&mut authority);
        authority.renew();
        drop(authority);
        self.changed.send_modify(|count| *count += 1);
    }
}

async fn serve(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    authority: Arc<Mutex<MemoryAuthority>>,
    mut changed: watch::Receiver<u64>,
) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut buffer = Vec::new();
    loop {
        while !buffer.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let head = String::from_utf8(std::mem::take(&mut buffer)).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        if path == "/v1/feed/stream" {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n")
                .await?;
            loop {
                stream.flush().await?;
                changed.changed().await.map_err(std::io::Error::other)?;
                stream.write_all(b"event: head\ndata: {}\n\n").await?;
            }
        }
        let etag = head.lines().find_map(|line| line.strip_prefix("if-none-match: "));
        let answer = authority.lock().unwrap().get(&path, etag);
        let etag = answer.etag.map(|etag| format!("ETag: {etag}\r\n")).unwrap_or_default();
        let length = answer.body.len();
        let text = format!("HTTP/1.1 {} X\r\nContent-Length: {length}\r\n{etag}\r\n", answer.status);
        stream.write_all(&[text.as_bytes(), &answer.body].concat()).await?;
        stream.flush().await?;
    }
}
