//! One look at an authority, for `check --online`.

use semgate_statement::{Progress, Step};

use super::addresses::Addresses;
use super::authority::{Memory, open};
use super::fetch::Fetcher;
use super::obstacle::Obstacle;
use crate::clock::unix_now;
use crate::config::{AuthorityConfig, Config, Upstream};
use crate::fault::RunFault;
use crate::server::materials;

/// Follows an authority at one address from nothing until its first view is verified; keeps nothing. Returns the size of its log.
///
/// # Errors
/// Unusable files of the configuration; then the obstacle of the request that failed.
pub(crate) async fn ask(
    config: &Config,
    authority: &AuthorityConfig,
    address: &Upstream,
) -> Result<Result<u64, Obstacle>, RunFault> {
    let mut follower = open(config, authority, Memory::None)?;
    let tls = materials::authority(config, authority)?;
    let mut fetcher = Fetcher::new(Addresses::one(address), Some(&tls), config.limits.fetch_timeout);
    while let Step::Get(request) = follower.next(unix_now()) {
        let answer = match fetcher.get(&request).await {
            Ok(answer) => answer,
            Err(why) => return Ok(Err((&why).into())),
        };
        match follower.answer(&request.path, answer, unix_now()) {
            Ok(Progress::ViewChanged) => break,
            Ok(Progress::Same) => {}
            Err(why) => return Ok(Err((&why).into())),
        }
    }
    Ok(Ok(follower.view().size()))
}
