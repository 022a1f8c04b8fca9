//! Output for people: headings, local times and colour on a terminal, and none of it in a pipe.

use super::support::Up;
use super::{shown, typed};

#[test]
fn a_terminal_gets_headings_times_and_colour_and_a_pipe_gets_none() {
    let up = Up::start();
    let listed = typed(&up, "NO_COLOR=1", "context list", "");
    assert!(listed.lines().next().unwrap().contains("status      context and digest"), "{listed}");
    assert!(!listed.contains('\u{1b}'), "{listed:?}");
    let (_, piped, _) = shown(&up.semgate(&["context", "list"]));
    assert!(!piped.contains("context and digest") && !piped.contains('\u{1b}'), "{piped}");
    assert!(listed.replace('\r', "").ends_with(&piped), "the rest is the same:\n{listed}\n{piped}");

    let refused = typed(&up, "NO_COLOR=", "context fetch nothing:v1.0", "");
    assert!(refused.contains("\u{1b}[1;31merror:\u{1b}[0m the authority refused"), "{refused:?}");
    assert!(refused.contains("\u{1b}[36mhint:\u{1b}[0m "), "{refused:?}");
    let refused = typed(&up, "NO_COLOR=1", "context fetch nothing:v1.0", "");
    assert!(refused.starts_with("error: the authority refused"), "{refused:?}");

    // five hours and a half east of Greenwich
    let verified = typed(&up, "NO_COLOR=1 TZ=IST-5:30", "log verify", "");
    let time = verified.lines().find_map(|line| line.strip_prefix("next_update:")).unwrap();
    assert!(time.trim().ends_with(" +05:30") && time.starts_with(' '), "{verified}");
    let (_, piped, _) = shown(&up.semgate(&["log", "verify"]));
    let time = piped.lines().find_map(|line| line.strip_prefix("next_update: ")).unwrap();
    assert!(time.parse::<u64>().is_ok(), "{piped}");
}
