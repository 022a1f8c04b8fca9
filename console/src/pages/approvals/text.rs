//! Canonical JSON for people: laid out without a change of any token, and compared line by line.

/// Lines of a comparison. Longer texts are shown as wholly replaced.
const MAX_LINES: usize = 2_000;

/// Lays canonical JSON out, one member a line. Only spaces and line ends between tokens are added, so numbers and strings
/// stay as they are signed.
pub(super) fn laid_out(canonical: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0_usize, false, false);
    let mut chars = canonical.chars().peekable();
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => {
                out.push(c);
                in_string = true;
            }
            '{' | '[' => {
                out.push(c);
                if chars.peek().is_some_and(|next| matches!(next, '}' | ']')) {
                    out.extend(chars.next());
                } else {
                    depth = depth.saturating_add(1);
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c => out.push(c),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Same(String),
    Removed(String),
    Added(String),
}

/// The lines of both texts, in order: the longest common ones, and what differs between them.
pub(super) fn compared(before: &str, after: &str) -> Vec<Line> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let common = match before.len() <= MAX_LINES && after.len() <= MAX_LINES {
        true => lengths(&before, &after),
        false => Vec::new(),
    };
    let width = after.len().saturating_add(1);
    let at = |i: usize, j: usize| common.get(i.saturating_mul(width).saturating_add(j)).copied().unwrap_or(0);
    let (mut i, mut j, mut all) = (0_usize, 0_usize, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                all.push(Line::Same((*old).to_owned()));
                (i, j) = (i.saturating_add(1), j.saturating_add(1));
            }
            (Some(old), new) if new.is_none() || at(i.saturating_add(1), j) >= at(i, j.saturating_add(1)) => {
                all.push(Line::Removed((*old).to_owned()));
                i = i.saturating_add(1);
            }
            (_, Some(new)) => {
                all.push(Line::Added((*new).to_owned()));
                j = j.saturating_add(1);
            }
            _ => return all,
        }
    }
}

/// Lengths of the longest common subsequences of all pairs of ends, row by row.
fn lengths(before: &[&str], after: &[&str]) -> Vec<u16> {
    let width = after.len().saturating_add(1);
    let mut table = vec![0_u16; width.saturating_mul(before.len().saturating_add(1))];
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let here = i.saturating_mul(width).saturating_add(j);
            let below = here.saturating_add(width);
            let of = |at: usize| table.get(at).copied().unwrap_or_default();
            let longest = match old == new {
                true => of(below.saturating_add(1)).saturating_add(1),
                false => of(below).max(of(here.saturating_add(1))),
            };
            if let Some(slot) = table.get_mut(here) {
                *slot = longest;
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_adds_only_space_between_tokens() {
        let canonical = r#"{"a":[],"b":[1.5e+300,{"c":"x:{\"y\\"}],"d":{}}"#;
        let laid = laid_out(canonical);
        assert_eq!(
            laid,
            "{\n  \"a\": [],\n  \"b\": [\n    1.5e+300,\n    {\n      \"c\": \"x:{\\\"y\\\\\"\n    }\n  ],\n  \"d\": {}\n}"
        );
    }

    #[test]
    fn attack_a_changed_amount_is_one_removed_and_one_added_line() {
        let (old, new) =
            (laid_out(r#"{"amount":82000,"to":"x"}"#), laid_out(r#"{"amount":820000,"to":"x"}"#));
        let lines = compared(&old, &new);
        assert!(lines.contains(&Line::Removed("  \"amount\": 82000,".to_owned())), "{lines:?}");
        assert!(lines.contains(&Line::Added("  \"amount\": 820000,".to_owned())), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| matches!(line, Line::Same(_))).count(), 3);
    }

    #[test]
    fn texts_beyond_the_bound_are_replaced_as_a_whole() {
        let (old, new) = ("a\n".repeat(MAX_LINES + 1), "b\n".repeat(3));
        let lines = compared(&old, &new);
        assert_eq!(lines.len(), MAX_LINES + 4);
    }
}
