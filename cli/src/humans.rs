//! `semgate humans …`: the cards of the people whom agents can ask.

mod enrol;
mod import;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use semgate_approvals::{HumanCard, HumanId, HumanStatus, Profile};
use semgate_gateway::{CardKey, is_sealed};
use semgate_statement::durable::replace;
use serde_json::{Value, json};
use std::io::Write;

use crate::fault::{Doing, Fault};

/// Human Cards: add, list, show, seal, import, enrol, remove
#[derive(Debug, Subcommand)]
pub enum HumansJob {
    /// Write a card with sealed endpoints
    Add(Add),
    /// List the cards of a directory
    List(Cards),
    /// Show one card, without endpoints
    Show {
        /// The person, such as `bob.sre`
        name: String,
        #[command(flatten)]
        cards: Cards,
    },
    /// Seal every plain endpoint of a directory's cards
    Seal {
        #[command(flatten)]
        cards: Cards,
        #[command(flatten)]
        key: KeyArg,
    },
    Import(import::ImportCard),
    Enrol(enrol::Enrol),
    /// Remove a card: nobody is asked there any more
    Remove {
        /// The person, such as `bob.sre`
        name: String,
        #[command(flatten)]
        cards: Cards,
    },
}

/// The directory of the cards.
#[derive(Debug, Args)]
pub struct Cards {
    /// The directory of the cards, `approvals.humans` of firewall.toml
    #[arg(long, value_name = "DIR", default_value = "humans")]
    humans: PathBuf,
}

/// The key of sealed endpoints.
#[derive(Debug, Args)]
pub struct KeyArg {
    /// Key of sealed endpoints, `approvals.card_key` of firewall.toml; made (0600) if there is none
    #[arg(long = "card-key", value_name = "FILE", default_value = "cards.key")]
    card_key: PathBuf,
}

impl KeyArg {
    fn open(&self) -> Result<CardKey, Fault> {
        if self.card_key.exists() {
            return CardKey::open(&self.card_key).doing("card key");
        }
        let key = CardKey::create(&self.card_key).doing("card key")?;
        tell!("made the key `{}`: name it in firewall.toml as `approvals.card_key`", self.card_key.display());
        Ok(key)
    }
}

/// A new card.
#[derive(Debug, Args)]
pub struct Add {
    /// The person, such as `bob.sre`
    name: String,
    /// The name for people
    #[arg(long = "full-name", value_name = "NAME")]
    full_name: String,
    /// The role
    #[arg(long, default_value = "")]
    role: String,
    /// Time zone, such as `UTC-5` or `Europe/Berlin`
    #[arg(long, default_value = "")]
    timezone: String,
    /// A capability; may be repeated
    #[arg(long = "capability", value_name = "NAME")]
    capabilities: Vec<String>,
    /// A group of people; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// An address at a channel, such as `slack=https://hooks.slack.com/…` or `email=bob@example.com`; may be repeated
    #[arg(long = "endpoint", value_name = "CHANNEL=ADDRESS")]
    endpoints: Vec<String>,
    /// SPIFFE id of the person's client certificate
    #[arg(long, value_name = "SPIFFE-ID")]
    certificate: Option<String>,
    /// SPIFFE id of an agent that the person operates, and whose actions the person may not approve; may be repeated
    #[arg(long = "operates", value_name = "SPIFFE-ID")]
    operates: Vec<String>,
    #[command(flatten)]
    cards: Cards,
    #[command(flatten)]
    key: KeyArg,
}

/// Runs one job.
///
/// # Errors
/// A file that cannot be read or written, no card of this person, or the gateway's refusal.
pub async fn run(job: HumansJob, json: bool) -> Result<u8, Fault> {
    match job {
        HumansJob::Add(add) => add.run(json),
        HumansJob::List(cards) => {
            let all = cards.read()?;
            if json {
                out!("{}", json!({"humans": all.iter().map(|(_, card)| shown(card)).collect::<Vec<_>>()}));
                return Ok(0);
            }
            for (_, card) in &all {
                out!("{}  {}  {}", card.id, card.profile.name, names(&card.capabilities));
            }
            Ok(0)
        }
        HumansJob::Show { name, cards } => {
            let (_, card) = cards.one(&name)?;
            print(&card, json)
        }
        HumansJob::Seal { cards, key } => seal(&cards, &key, json),
        HumansJob::Import(import) => import.run(json).await,
        HumansJob::Enrol(enrol) => enrol.run(json).await,
        HumansJob::Remove { name, cards } => {
            let (path, card) = cards.one(&name)?;
            std::fs::remove_file(&path).doing(path.display())?;
            if json {
                out!("{}", json!({"removed": card.id}));
            } else {
                out!("removed {}", card.id);
            }
            Ok(0)
        }
    }
}

impl Add {
    fn run(self, json: bool) -> Result<u8, Fault> {
        let id = person(&self.name)?;
        let mut card = HumanCard {
            id,
            profile: Profile { name: self.full_name, role: self.role, timezone: self.timezone },
            capabilities: self.capabilities.into_iter().collect(),
            endpoints: Default::default(),
            status: HumanStatus::Available,
            certificate: self.certificate,
            groups: self.groups.into_iter().collect(),
            operates: self.operates.into_iter().collect(),
        };
        for endpoint in &self.endpoints {
            let (channel, address) = endpoint.split_once('=').ok_or_else(|| {
                Fault::new("an endpoint has no `=`")
                    .hint("write `--endpoint email=bob@example.com`")
                    .status(2)
            })?;
            card.endpoints.insert(channel.to_owned(), address.to_owned());
        }
        if !card.endpoints.is_empty() {
            seal_card(&mut card, &self.key.open()?)?;
        }
        self.cards.write_new(&card)?;
        print(&card, json)
    }
}

impl Cards {
    /// Every card with its file, by id.
    fn read(&self) -> Result<Vec<(PathBuf, HumanCard)>, Fault> {
        let dir = &self.humans;
        let hinted = || "name the directory of the cards with `--humans`";
        let entries = std::fs::read_dir(dir).hinted(dir.display(), hinted())?;
        let mut all = Vec::new();
        for entry in entries {
            let path = entry.doing(dir.display())?.path();
            if path.extension().is_some_and(|end| end == "json") {
                let text = std::fs::read(&path).doing(path.display())?;
                let card = serde_json::from_slice(&text).doing(path.display())?;
                all.push((path, card));
            }
        }
        all.sort_by(|one: &(PathBuf, HumanCard), other| one.1.id.cmp(&other.1.id));
        Ok(all)
    }

    fn one(&self, name: &str) -> Result<(PathBuf, HumanCard), Fault> {
        let id = person(name)?;
        let missing = || {
            Fault::new(format_args!("there is no card of `{id}`"))
                .hint("`semgate humans list` shows the cards")
        };
        self.read()?.into_iter().find(|(_, card)| card.id == id).ok_or_else(missing)
    }

    /// Writes the card of a new person.
    fn write_new(&self, card: &HumanCard) -> Result<(), Fault> {
        std::fs::create_dir_all(&self.humans).doing(self.humans.display())?;
        if self.read()?.iter().any(|(_, other)| other.id == card.id) {
            return Err(Fault::new(format_args!("there is a card of `{}` already", card.id))
                .hint("remove it first, or change its file"));
        }
        write(&self.humans.join(format!("{}.json", card.id.name())), card)
    }
}

fn write(path: &Path, card: &HumanCard) -> Result<(), Fault> {
    let text = serde_json::to_vec_pretty(card).doing("card")?;
    replace(path, 0o600, |file| file.write_all(&text)).doing(path.display()).map(drop)
}

fn seal(cards: &Cards, key: &KeyArg, json: bool) -> Result<u8, Fault> {
    let (all, key) = (cards.read()?, key.open()?);
    let mut sealed = Vec::new();
    for (path, mut card) in all {
        if seal_card(&mut card, &key)? {
            write(&path, &card)?;
            sealed.push(card.id);
        }
    }
    if json {
        out!("{}", json!({"sealed": sealed}));
    } else if sealed.is_empty() {
        out!("every endpoint was sealed already");
    } else {
        sealed.iter().for_each(|id| out!("sealed {id}"));
    }
    Ok(0)
}

/// Seals the plain endpoints of a card. Returns true if there were any.
fn seal_card(card: &mut HumanCard, key: &CardKey) -> Result<bool, Fault> {
    let mut changed = false;
    for (channel, value) in &mut card.endpoints {
        if !is_sealed(value) {
            *value = key.seal(&card.id, channel, value).doing("sealing")?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Reads a person's name, with or without its scheme.
fn person(name: &str) -> Result<HumanId, Fault> {
    let whole = if name.starts_with("human://") { name.to_owned() } else { format!("human://{name}") };
    HumanId::parse(&whole).ok_or_else(|| {
        Fault::new(format_args!("`{name}` is no name of a person")).hint("write it as `bob.sre`").status(2)
    })
}

/// A card without endpoints.
fn shown(card: &HumanCard) -> Value {
    let each = |(channel, value): (&String, &String)| json!({"channel": channel, "sealed": is_sealed(value)});
    let channels: Vec<Value> = card.endpoints.iter().map(each).collect();
    json!({
        "id": card.id, "profile": card.profile, "capabilities": card.capabilities, "groups": card.groups,
        "status": card.status, "certificate": card.certificate, "operates": card.operates, "channels": channels,
    })
}

fn print(card: &HumanCard, json: bool) -> Result<u8, Fault> {
    if json {
        out!("{}", shown(card));
        return Ok(0);
    }
    out!("{}  {}  {}", card.id, card.profile.name, card.profile.role);
    out!("capabilities  {}", names(&card.capabilities));
    out!("groups        {}", names(&card.groups));
    out!("certificate   {}", card.certificate.as_deref().unwrap_or("none"));
    out!("operates      {}", names(&card.operates));
    for (channel, value) in &card.endpoints {
        out!(
            "{channel:<13} {}",
            if is_sealed(value) { "sealed" } else { "plain: run `semgate humans seal`" }
        );
    }
    Ok(0)
}

fn names(all: &std::collections::BTreeSet<String>) -> String {
    all.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
