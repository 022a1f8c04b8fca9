//! `semgate demo`: the paper's scenarios on the real system, each verdict shown and checked.

mod attacks;
mod delegates;
mod people;
mod scenes;
mod signed;
mod sstp;
mod stage;
mod texts;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::fault::{Doing, Fault};
use crate::say::SendOutcome;
use crate::terminal::{Progress, heading};
use crate::up::{self, UpArgs};
use stage::DemoStage;

/// The directory of a demo.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Play in this directory and keep it; default: a temporary one
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// The expected result of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The message reaches the agent, and its answer comes back.
    Allowed,
    /// Refused with this code, and nothing reaches the agent.
    Refused(&'static str),
}

/// A scene after play.
#[derive(Debug, Serialize)]
pub struct SceneResult {
    /// Its name in the paper, with the mechanism's id.
    pub scene: &'static str,
    /// The result.
    pub outcome: SendOutcome,
    /// The measurement, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The check of verdict, code and delivery.
    pub right: SceneVerdict,
}

/// The result of the check.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SceneVerdict {
    /// As expected.
    Yes,
    /// Not as expected; the text tells the difference.
    No(String),
}

/// Plays all scenes.
///
/// # Errors
/// The fault that kept it from playing; a wrong verdict is status 1, with every line shown.
pub async fn run(args: DemoArgs, json: bool) -> Result<u8, Fault> {
    let (dir, throw_away) = match args.dir {
        // its revoked contexts stay revoked, and its raised floors stay up
        Some(dir) if std::fs::read_dir(&dir).is_ok_and(|mut files| files.next().is_some()) => {
            return Err(Fault::new(format_args!("`{}` is not empty", dir.display()))
                .hint("the demo revokes the contexts that it publishes: give it its own directory"));
        }
        Some(dir) => (dir, false),
        None => (std::env::temp_dir().join(format!("semgate-demo-{}", std::process::id())), true),
    };
    texts::add_policy(&dir)?;
    let running = up::start(&UpArgs::in_dir(&dir), &|what| tell!("{what}")).await?;
    let played = play(&running.up_dir, json).await;
    let stopped = running.stop().await;
    if throw_away {
        std::fs::remove_dir_all(&dir).doing(format_args!("removing `{}`", dir.display()))?;
    }
    let (wrong, count) = played?;
    stopped?;
    if !json {
        out!("{} of {count} scenes passed as expected", count - wrong);
    }
    Ok(u8::from(wrong > 0))
}

async fn play(up_dir: &crate::up_directory::UpDirectory, json: bool) -> Result<(usize, usize), Fault> {
    let stage = DemoStage::open(up_dir.clone())?;
    let mut count = 0;
    let mut wrong = 0;
    if !json {
        heading(" # check scene: verdict");
    }
    for act in [
        scenes::words,
        texts::scores,
        scenes::money,
        attacks::poison,
        attacks::forms,
        scenes::questions,
        people::case,
        delegates::tasks,
        signed::messages,
        sstp::exchange,
        scenes::revocation,
    ] {
        let progress = (!json).then(|| Progress::of("playing"));
        let scenes = act(&stage).await?;
        drop(progress);
        for played in scenes {
            count += 1;
            wrong += usize::from(played.right != SceneVerdict::Yes);
            show(count, &played, json)?;
        }
    }
    Ok((wrong, count))
}

fn show(number: usize, played: &SceneResult, json: bool) -> Result<(), Fault> {
    if json {
        out!("{}", serde_json::to_string(played).doing("scene")?);
        return Ok(());
    }
    let mark = match &played.right {
        SceneVerdict::Yes => "ok",
        SceneVerdict::No(_) => "WRONG",
    };
    let measured = played.measured.as_ref().map(|m| format!(" [{m}]")).unwrap_or_default();
    out!("{number:>2} {mark:<5} {}: {}{measured}", played.scene, played.outcome.line());
    if let SceneVerdict::No(why) = &played.right {
        out!("         {why}");
    }
    Ok(())
}
