//! Benchmark build: the same sockets, framing, bodies, connections and answers, without inspection, counts or records. It
//! measures the cost of a message in any proxy of this design.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arc_swap::ArcSwap;
use semgate_certs::PeerRoots;
use semgate_contexts::Prefix;
use semgate_inspect::{Generation, InspectLimits, Inspector, Refusal};
use semgate_negotiation::Sessions;
use semgate_protocol::Call;
use tokio::sync::{mpsc, watch};

use super::threads::{Core, Seat, thread};
use crate::account::Accounts;
use crate::answer::Answer;
use crate::config::Config;
use crate::decision::DecisionId;
use crate::fault::RunFault;
use crate::follow;
use crate::forward::{self, Told};
use crate::identify::Identity;
use crate::lane::{Lane, Shared};
use crate::listen;
use crate::materials::Materials;
use crate::measure::Metrics;
use crate::reasons;
use crate::receive::Received;
use crate::record::Audit;
use crate::refuse::answer;
use crate::upstream::Allowed;

/// Forwards everything that arrives at `listen`, for ever, on one core.
///
/// # Errors
/// `upstream` is not a local http address, or the address cannot be bound.
pub async fn run_plain(listen: SocketAddr, upstream: &str) -> Result<(), RunFault> {
    let config = Arc::new(config(listen, upstream)?);
    let (audit, _writer) = Audit::open(PathBuf::from("/dev/null"), false, 1)?;
    let generation =
        Generation::new(Vec::new(), Arc::new(follow::none()?), Default::default(), Prefix::default())
            .map_err(|why| RunFault::system("configuration", why))?;
    let shared = Arc::new(Shared {
        inspector: Inspector::new(InspectLimits::default(), generation),
        limits: config.limits.clone(),
        audit,
        accounts: Accounts::new(&config.limits),
        started: Instant::now(),
        draining: AtomicBool::new(false),
        issuers: ArcSwap::default(),
        sessions: Arc::new(Sessions::none()),
        unchecked: true,
    });
    let metrics = Metrics::new(follow::PolicyStates::default())?;
    let materials = Materials {
        peers: Arc::new(PeerRoots::new()),
        server: None,
        upstreams: vec![None],
        endpoints: vec![None],
        card_keys: vec![None],
        issuers: Arc::default(),
    };
    let materials = Arc::new(ArcSwap::from_pointee(materials));
    let (_stop, stopping) = watch::channel(false);
    let (ended, mut died) = mpsc::channel(1);
    for route in &config.routes {
        let (bound, _) = listen::bind(&route.listen, config.workers)?;
        let seat = Seat::of(0, route, "http://plain/", &shared, &metrics);
        for (number, bound) in bound.into_iter().enumerate() {
            let seats = vec![seat.with(bound)];
            let core = Core {
                config: Arc::clone(&config),
                shared: Arc::clone(&shared),
                materials: Arc::clone(&materials),
            };
            let stop = stopping.clone();
            thread(format!("plain-{number}"), &ended, move |local, runtime| {
                local.block_on(runtime, core.run(seats, stop))
            })?;
        }
    }
    let _ = died.recv().await;
    Err(RunFault::System { why: "a thread ended".to_owned() })
}

fn config(listen: SocketAddr, upstream: &str) -> Result<Config, RunFault> {
    let text = format!(
        r#"
state = ""
policies = ""
audit = ""
workers = 1
[[authority]]
name = "plain"
url = "unix:plain"
roots = ""
origin = "plain"
log_key = "plain+"
lines = ["*"]
[[route]]
name = "plain"
listen = "{listen}"
binding = "l8"
receiver = "spiffe://semgate.test/agent/plain"
plain_sender = "spiffe://semgate.test/agent/plain"
upstream = "{upstream}"
contexts = ["*"]
"#
    );
    Config::parse(&text, Path::new("")).map_err(|why| RunFault::system("the plain proxy", why))
}

/// Replaces everything between `receive` and `forward`, and between `forward` and the answer.
pub(crate) async fn pass(
    lane: &Lane,
    identity: &Identity,
    decision: DecisionId,
    received: Received,
) -> Result<Answer, Refusal> {
    let lease = lane.pool.lease().await.map_err(|fault| reasons::unreachable(&fault))?;
    let mut buffer = [0; 26];
    let call = Call::l8();
    let told = Told {
        identity,
        l9_context: None,
        extension: None,
        call: &call,
        target: None,
        typed: None,
        waits: lane.shared.limits.upstream_timeout,
        events: false,
        credentials: &[],
        decision: decision.text(&mut buffer),
        anew: None,
    };
    let request = forward::request(&lane.address, &told, received.bytes)?;
    let (head, body) =
        forward::exchange(&lane.pool, lease, request, &lane.shared.limits, Allowed::ALWAYS).await?;
    Ok(answer(decision, head.status.as_u16(), "application/json", body))
}
