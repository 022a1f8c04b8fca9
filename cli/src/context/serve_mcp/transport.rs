//! Lines of JSON-RPC over a pair of streams: each request is answered, also one that no reader of MCP would take.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use super::line::{MOST_BYTES, RequestLine};

/// The streams of one client. A task reads; it holds one message at most, and one line of bounded length.
pub struct StrictTransport<W> {
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    output: Arc<Mutex<W>>,
    reading: JoinHandle<()>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> StrictTransport<W> {
    /// Reads from one stream and answers on the other.
    pub fn new(input: impl AsyncRead + Send + Unpin + 'static, output: W) -> Self {
        let output = Arc::new(Mutex::new(output));
        let (sender, messages) = mpsc::channel(1);
        let answers = Arc::clone(&output);
        let reading = tokio::spawn(async move {
            // a stream that cannot be read or written any more has ended
            let _ = read_lines(BufReader::new(input), &answers, &sender).await;
        });
        Self { messages, output, reading }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for StrictTransport<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write_line(&output, serde_json::to_vec(&item)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.reading.abort();
        self.output.lock().await.flush().await
    }
}

impl<W> Drop for StrictTransport<W> {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// Reads until the stream or the receiver ends.
async fn read_lines<W: AsyncWrite + Unpin>(
    mut input: impl AsyncBufRead + Unpin,
    output: &Mutex<W>,
    messages: &mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
) -> io::Result<()> {
    while let Some(line) = next_line(&mut input).await? {
        match line {
            RequestLine::Message(message) => {
                if messages.send(*message).await.is_err() {
                    break;
                }
            }
            RequestLine::Refused(answer) => write_line(output, answer).await?,
            RequestLine::Nothing => {}
        }
    }
    Ok(())
}

/// The next line; of one that is too long, the beginning is kept and the rest dropped.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<RequestLine>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let available = input.fill_buf().await?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        let is_last = end.is_some() || available.is_empty();
        if available.is_empty() && line.is_empty() {
            return Ok(None);
        }
        let room = MOST_BYTES - line.len();
        is_too_long |= part.len() > room;
        line.extend_from_slice(part.get(..room).unwrap_or(part));
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if is_last {
            return Ok(Some(if is_too_long {
                RequestLine::too_long(&line)
            } else {
                RequestLine::read(&line)
            }));
        }
    }
}

#[cfg(test)]
mod tests;
