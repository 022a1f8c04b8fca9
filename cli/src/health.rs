//! `semgate health`: asks a server's probe page, for container runtimes and scripts without an HTTP client.

use std::time::Duration;

use clap::Args;

use crate::client::Client;
use crate::fault::Fault;

/// Bytes of the answer: a line for each obstacle.
const MAX_BYTES: usize = 64 * 1024;
/// Time for the answer; a healthy server needs at most 0.9 s.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ask a server whether it is healthy; status 0 if it is
#[derive(Debug, Args)]
pub struct Health {
    /// `/healthz` or `/readyz` of an admin or probe address
    #[arg(default_value = "http://127.0.0.1:9470/healthz")]
    url: String,
}

impl Health {
    /// Asks.
    ///
    /// # Errors
    /// No answer, or an answer other than 200.
    pub async fn run(self) -> Result<u8, Fault> {
        let reply = Client::plain().bounded(MAX_BYTES, PATIENCE).get(&self.url).await?;
        let text = String::from_utf8_lossy(&reply.body).trim_end().to_owned();
        if reply.status == 200 {
            out!("{text}");
            return Ok(0);
        }
        Err(Fault::new(format_args!("`{}` answers {}: {text}", self.url, reply.status))
            .hint("`/status` of the admin address has the details"))
    }
}
