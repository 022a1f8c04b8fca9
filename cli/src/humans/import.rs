//! `semgate humans import`: a card that a person's own host publishes.

use std::path::PathBuf;

use clap::Args;
use semgate_approvals::HumanCard;

use super::{Cards, KeyArg, print, seal_card};
use crate::client::Client;
use crate::fault::{Doing, Fault};

/// Path of a published card.
const WELL_KNOWN: &str = "/.well-known/human-card";

/// Fetch a card from `https://HOST/.well-known/human-card`, show it, and write it with `--yes`
#[derive(Debug, Args)]
pub struct ImportCard {
    /// The address of the card
    url: String,
    /// PEM roots of the host's certificate
    #[arg(long, value_name = "FILE")]
    roots: PathBuf,
    /// Write the card; without this it is only shown
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    cards: Cards,
    #[command(flatten)]
    key: KeyArg,
}

impl ImportCard {
    /// Fetches, shows and writes the card.
    ///
    /// Leaves out certificate, groups and agents: these are for the operator to state.
    ///
    /// # Errors
    /// Another address, no answer, no card, or a card of this person already.
    pub(super) async fn run(self, json: bool) -> Result<u8, Fault> {
        if !self.url.starts_with("https://") || !self.url.ends_with(WELL_KNOWN) {
            return Err(Fault::new("this is no address of a published card")
                .hint(format_args!("write `https://HOST{WELL_KNOWN}`"))
                .status(2));
        }
        let reply = Client::new(&self.roots, None)?.get(&self.url).await?;
        if reply.status != 200 {
            return Err(Fault::new(format_args!("the host answers with status {}", reply.status)));
        }
        let card: HumanCard = serde_json::from_slice(&reply.body).doing("the card")?;
        let mut card =
            HumanCard { certificate: None, groups: Default::default(), operates: Default::default(), ..card };
        if !self.yes {
            print(&card, json)?;
            tell!("nothing is written: run it again with `--yes`");
            return Ok(0);
        }
        if !card.endpoints.is_empty() {
            seal_card(&mut card, &self.key.open()?)?;
        }
        self.cards.write_new(&card)?;
        print(&card, json)
    }
}
