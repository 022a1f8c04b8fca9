//! Protocol contexts that routes need and no authority serves. Without them the gateway refuses operations and cards, and policies about
//! them do not fit.

use std::collections::BTreeSet;

use semgate_inspect::Generation;
use semgate_protocol::ContentFormat;
use semgate_statement::Follower;

use crate::config::Config;

/// The URNs of the missing contexts. Empty while no authority has answered, since nothing is known then.
pub(super) fn protocols(config: &Config, followers: &[Follower], generation: &Generation) -> Vec<String> {
    let views = || followers.iter().map(Follower::view);
    if views().all(|view| view.size() == 0) {
        return Vec::new();
    }
    let protocols = config.routes.iter().filter_map(|route| generation.protocol_urn(route.binding));
    let sstp = config.routes.iter().filter(|route| route.a2a.sstp);
    let formats = sstp.filter_map(|_| generation.format_urn(ContentFormat::Sstp));
    let needed: BTreeSet<_> = protocols.chain(formats).collect();
    let missing = needed.into_iter().filter(|urn| views().all(|view| view.loaded(urn).is_none()));
    missing.map(|urn| urn.as_str().to_owned()).collect()
}
