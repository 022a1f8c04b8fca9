//! Every fault of a configuration file in one run, each with line, column and the name that was probably meant.
//!
//! A reader stops at its first fault. So the entry at fault is blanked, and the rest is read again.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use semgate_policies::closest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::Fault;

/// The most faults of one file.
const MAX_FAULTS: usize = 64;

/// One fault.
#[derive(Clone)]
pub struct FileFault {
    /// Line and column, from 1; none if it is about several settings.
    pub position: Option<(usize, usize)>,
    /// The fault, in one line.
    pub what: String,
}

/// Reads text with the directory of its relative paths; returns the first fault.
type Parse<'p> = &'p dyn Fn(&str, &Path) -> Option<FileFault>;

/// The faults of a file; none if it cannot be read, or is good.
pub fn faults(file: &Path, parse: Parse<'_>) -> Option<Fault> {
    let text = std::fs::read_to_string(file).ok()?;
    let base = file.parent().unwrap_or_else(|| Path::new(""));
    let all = all(&text, &|text| parse(text, base));
    let mut shown = all.iter().map(|fault| match fault.position {
        Some((line, column)) => format!("line {line}, column {column}: {}", hinted(&fault.what)),
        None => hinted(&fault.what),
    });
    let first = shown.next()?;
    Some(Fault::new(format_args!("`{}`: {first}", file.display())).also(shown))
}

fn all(text: &str, parse: &dyn Fn(&str) -> Option<FileFault>) -> Vec<FileFault> {
    let mut all = syntax(text);
    let (mut rest, mut blanked) = (text.to_owned(), BTreeSet::new());
    // true once an entry could not be read by itself
    let mut unread = !all.is_empty();
    while all.len() < MAX_FAULTS {
        let (Some(mut fault), Ok(table)) = (parse(&rest), DeTable::parse(&rest)) else { break };
        // the file as a whole has the position of its beginning
        let missing = quoted(&fault.what, "missing field `").map(str::to_owned);
        fault.position = fault.position.filter(|at| missing.is_none() || *at != (1, 1));
        let across = fault.position.is_none();
        if across {
            fault.position = named(table.get_ref(), &fault.what).map(|start| position(text, start));
            // rules across settings see only what is left: without a blanked entry they could mislead
            if unread || (fault.position.is_none() && !blanked.is_empty()) {
                break;
            }
        }
        let start = fault.position.map(|(line, column)| offset(text, line, column));
        let Some(cut) = start.and_then(|start| entry(table.get_ref(), &rest, start)) else {
            all.push(fault);
            break;
        };
        // a required key that was blanked is missing for that reason alone
        if !missing.is_some_and(|key| blanked.contains(&(cut.start, key))) {
            unread |= !across;
            all.push(fault);
        }
        let key = rest.get(cut.clone()).unwrap_or_default().split('=').next().unwrap_or_default();
        blanked.insert((header(&rest, cut.start), key.trim().to_owned()));
        let blank = rest.get(cut.clone()).unwrap_or_default().chars().map(blank).collect::<String>();
        rest.replace_range(cut, &blank);
    }
    all.sort_by_key(|fault| fault.position);
    all
}

/// The faults of text that is no TOML.
fn syntax(text: &str) -> Vec<FileFault> {
    let (_, faults) = DeTable::parse_recoverable(text);
    let fault = |fault: &toml::de::Error| FileFault {
        position: fault.span().map(|span| position(text, span.start)),
        what: fault.message().lines().collect::<Vec<_>>().join("; "),
    };
    faults.iter().take(MAX_FAULTS).map(fault).collect()
}

/// A space; lines stay lines.
fn blank(c: char) -> char {
    if c == '\n' { c } else { ' ' }
}

/// The start of the header of the table that holds an offset; 0 before all headers.
fn header(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    let starts = before.match_indices("\n[").map(|(at, _)| at.saturating_add(1));
    starts.last().unwrap_or_default()
}

/// The part to blank for a fault at an offset: the innermost entry around it, or a whole table if the offset is its header.
fn entry(table: &DeTable<'_>, text: &str, offset: usize) -> Option<Range<usize>> {
    let line = text.get(..offset)?.rfind('\n').map_or(0, |end| end.saturating_add(1));
    if !text.get(line..)?.trim_start().starts_with('[') {
        return innermost(table, offset);
    }
    let name = text.get(line..)?.trim_start().trim_start_matches('[').split(']').next()?;
    let below = |header: &str| {
        let other = header.trim_start_matches('[');
        other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
    };
    let mut end = line;
    for (number, one) in text.get(line..)?.split_inclusive('\n').enumerate() {
        if number > 0 && one.starts_with('[') && !below(one) {
            break;
        }
        end = end.saturating_add(one.len());
    }
    Some(line..end)
}

/// The innermost entry, name and value, that holds an offset.
fn innermost(table: &DeTable<'_>, offset: usize) -> Option<Range<usize>> {
    table.iter().find_map(|(key, value)| {
        let whole = key.span().start..value.span().end;
        within(value, offset)
            .or_else(|| (whole.start <= whole.end && whole.contains(&offset)).then_some(whole))
    })
}

fn within(value: &Spanned<DeValue<'_>>, offset: usize) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Table(inner) => innermost(inner, offset),
        DeValue::Array(items) => items.iter().find_map(|item| within(item, offset)),
        _ => None,
    }
}

/// The start of the entry that a rule across settings names first: `limits.queue`, or a key of `route` by the route's name.
fn named(table: &DeTable<'_>, what: &str) -> Option<usize> {
    let (table, path) = match what.strip_prefix("`route `").and_then(|rest| rest.split_once("`: ")) {
        Some((name, rest)) => {
            let DeValue::Array(routes) = table.get("route")?.get_ref() else { return None };
            let is =
                |route: &&DeTable<'_>| route.get("name").and_then(|of| of.get_ref().as_str()) == Some(name);
            let mut tables = routes.iter().filter_map(|route| route.get_ref().as_table());
            (tables.find(is)?, rest.split('`').next()?)
        }
        None => (table, quoted(what, "`")?),
    };
    let (mut table, mut start) = (table, None);
    for segment in path.split('.') {
        let Some((key, value)) = table.get_key_value(segment) else { break };
        start = Some(key.span().start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    start
}

/// The text between this beginning and the next backtick.
fn quoted<'w>(what: &'w str, beginning: &str) -> Option<&'w str> {
    what.split_once(beginning)?.1.split('`').next()
}

/// Adds the nearest of the names that were expected.
fn hinted(what: &str) -> String {
    let near = what.split_once(", expected ").filter(|_| what.starts_with("unknown ")).and_then(
        |(unknown, known)| {
            let known = known.split('`').skip(1).step_by(2);
            Some((unknown, closest(quoted(unknown, "`")?, known)?))
        },
    );
    match near {
        Some((unknown, near)) => {
            let rest = what.strip_prefix(unknown).unwrap_or_default();
            format!("{unknown}; did you mean `{near}`?{}", rest.replacen(", expected", "", 1))
        }
        None => what.to_owned(),
    }
}

/// Line and column of an offset, from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    crate::context::position(text.as_bytes(), offset)
}

/// The offset of a line and a column.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(line.saturating_sub(1)).map(str::len).sum();
    let line = lines.next().unwrap_or_default();
    let within: usize = line.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    before.saturating_add(within)
}
