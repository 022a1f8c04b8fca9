//! Every authority and every agent of a configuration, asked once.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::task::LocalSet;

use super::start::Parts;
use crate::config::{Config, RouteConfig};
use crate::control::follow::{Memory, ask};
use crate::fault::RunFault;
use crate::server::executor::OnThisCore;
use crate::upstream::{AgentOpener, Connector, RouteMaterials, Speak};

/// Time for an agent to refuse the gateway's certificate. In TLS 1.3 it does so after the client has finished.
const SETTLE: Duration = Duration::from_millis(500);

/// The answer of one other party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The authority, or the route of an agent.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Its answer, or the stable cause of the fault and its text.
    pub answer: Result<String, (&'static str, String)>,
}

/// Asks every authority for its newest head and verifies it. Connects to every agent, over TLS where the route says so, and
/// sends no message. Keeps nothing.
///
/// # Errors
/// The fault that would stop a start. A party that does not answer is no such fault.
pub fn check_online(config: &Config) -> Result<Vec<Asked>, RunFault> {
    let parts = Parts::load(config, Memory::Look)?;
    let materials = Arc::new(ArcSwap::from_pointee(parts.materials));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| RunFault::system("runtime", why))?;
    LocalSet::new().block_on(&runtime, async {
        let mut all = Vec::new();
        for authority in &config.authorities {
            for address in authority.addresses() {
                let answer = ask(config, authority, address).await?;
                let answer = answer.map(|size| format!("a log of {size} entries, verified"));
                all.push(Asked {
                    name: format!("authority `{}`", authority.name),
                    address: address.to_string(),
                    answer: answer.map_err(|why| (why.cause(), why.to_string())),
                });
            }
        }
        for route in config.routes.iter().filter(|route| leads_to_an_agent(route)) {
            let materials = RouteMaterials { all: Arc::clone(&materials), route: route.into() };
            all.push(agent(config, route, materials).await);
        }
        Ok(all)
    })
}

/// Returns true unless members of a group, or the gateway itself, answer on the route.
fn leads_to_an_agent(route: &RouteConfig) -> bool {
    route.group.is_none() && !route.binding.protocol().traits().answered_here
}

/// Connects to the agent of a route.
async fn agent(config: &Config, route: &RouteConfig, materials: RouteMaterials) -> Asked {
    let asked = |answer| Asked {
        name: format!("agent of route `{}`", route.name),
        address: route.upstream.to_string(),
        answer,
    };
    if route.binding.protocol().traits().signs_messages {
        return asked(signing_agent(config, route).await);
    }
    let speak = if route.agent.upstream_http2 { Speak::Http2 } else { Speak::Http1 };
    let limit = config.limits.connect_timeout;
    let connector = Connector::live(&route.upstream, materials, speak, OnThisCore::Aside, limit);
    let accepts = || "accepts connections".to_owned();
    let answer = match connector.connect().await {
        Err(why) => Err((why.cause(), why.to_string())),
        Ok(_) if !route.upstream.tls => Ok(accepts()),
        Ok(mut connected) => connected.link.settle(SETTLE).await.map(|()| accepts()).map_err(|_| {
            let why = "the agent ended the connection after the handshake; does it accept the certificate of `[tls]`?";
            ("closed", why.to_owned())
        }),
    };
    asked(answer)
}

/// Connects to an agent whose messages are signed, and leaves it again. The handshake is finished: one that fails ends a stock
/// agent.
async fn signing_agent(config: &Config, route: &RouteConfig) -> Result<String, (&'static str, String)> {
    let opener = AgentOpener::new(route, &config.limits).map_err(|why| ("quic", why.to_string()))?;
    let carrier = opener.connect().await.map_err(|why| ("unreachable", why))?;
    carrier.writer.close(0, "", SETTLE).await;
    Ok("accepts connections".to_owned())
}
