//! The running console.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::app::App;
use crate::clock::now;
use crate::config::Config;
use crate::fault::RunFault;
use crate::feed::follow;
use crate::listen;
use crate::router::router;

/// Interval between looks at the files of certificates.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The bound console.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The actual address.
    pub address: SocketAddr,
    /// The origin of the pages.
    pub url: String,
    /// A link that logs the person of `link` in once, within five minutes.
    pub link: Option<String>,
}

/// Runs until `end` resolves. `ready` is called once the address is bound.
///
/// # Errors
/// A file cannot be used, or the address cannot be bound.
pub async fn run(
    config: Config,
    ready: impl FnOnce(Bound),
    end: impl Future<Output = ()>,
) -> Result<(), RunFault> {
    let bind = |why: std::io::Error| RunFault::Bind { address: config.listen, what: why.to_string() };
    let listener = TcpListener::bind(config.listen).await.map_err(bind)?;
    let address = listener.local_addr().map_err(bind)?;
    let mut config = config.clone();
    // the origin of a port that the system chose
    config.listen = address;
    let app = Arc::new(App::open(config)?);
    let link = app.config.link.as_deref().and_then(|human| app.human(human));
    let link = link.map(|person| app.sessions().link(person, now())).transpose()?;
    let link = link.map(|secret| format!("{}/login?link={secret}", app.origin));
    ready(Bound { address, url: app.origin.clone(), link });
    let looking = tokio::spawn(look(Arc::clone(&app)));
    let following: Vec<_> =
        (0..app.config.gateways.len()).map(|at| tokio::spawn(follow(Arc::clone(&app), at))).collect();
    listen::serve(listener, Arc::clone(&app), router(&app), end).await;
    app.end_acts().await;
    looking.abort();
    following.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

/// Takes up renewed certificates.
async fn look(app: Arc<App>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let looked = Arc::clone(&app);
        // reads files
        let _ = tokio::task::spawn_blocking(move || looked.materials.refresh(&looked.config)).await;
    }
}

/// Reads every file that a start needs, without binding a port.
///
/// # Errors
/// As [`run`], but for the address and the audit file.
pub fn check(config: &Config) -> Result<(), RunFault> {
    crate::materials::Materials::read(config).map(drop)
}
