//! The listing of a log that outgrew it, from its pages and status lists. Unverified, as every listing.

use semgate_contexts::Prefix;
use semgate_statement::listing::{Page, Span};
use semgate_statement::status::{SHARD_ENTRIES, Status};
use semgate_statement::token::Token;
use semgate_statement::{ListedContext, Listing};

use crate::authority_client::{AuthorityClient, refused};
use crate::fault::{Doing, Fault};

/// Status of the authority's answer for a listing that is too long for readers.
pub const GONE: u16 = 410;

/// The current publications of the authority.
///
/// # Errors
/// The authority is unreachable, or an answer is malformed.
pub async fn listing(reach: &AuthorityClient) -> Result<Listing, Fault> {
    let what = "the authority's answer";
    let checkpoint = text(reach, "/checkpoint").await?;
    let size = checkpoint.lines().nth(1).and_then(|size| size.parse::<u64>().ok());
    let size =
        size.ok_or_else(|| Fault::new("the authority's checkpoint does not state the size of its log"))?;
    let mut contexts = Vec::new();
    for span in Span::pages(size) {
        let page = text(reach, &span.path()).await?;
        contexts.extend(Page::read(page.as_bytes(), span, &Prefix::default()).doing(what)?.contexts);
    }
    for n in 0..size.div_ceil(SHARD_ENTRIES) {
        let token = Token::read(&text(reach, &format!("/v1/feed/shards/{n}")).await?).doing(what)?;
        let of_shard = |one: &&mut ListedContext| one.index / SHARD_ENTRIES == n;
        for one in contexts.iter_mut().filter(of_shard) {
            let short = || Fault::new("a status list of the authority is shorter than its log");
            one.status = status(token.list(), one.index).ok_or_else(short)?;
        }
    }
    Ok(Listing { contexts })
}

/// The status of an entry in the list of its shard; `None` past the end of the list, which does not mean valid.
fn status(list: &[u8], index: u64) -> Option<Status> {
    let at = index % SHARD_ENTRIES;
    let byte = usize::try_from(at / 4).ok().and_then(|at| list.get(at))?;
    Some(Status::from_bits(byte >> (2 * (at % 4))))
}

async fn text(reach: &AuthorityClient, path: &str) -> Result<String, Fault> {
    let reply = reach.get(path).await?;
    if reply.status != 200 {
        return Err(refused(&reply));
    }
    String::from_utf8(reply.body.to_vec()).doing("the authority's answer")
}

#[cfg(test)]
mod tests;
