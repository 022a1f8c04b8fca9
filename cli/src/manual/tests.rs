//! Tests of `manual`.

use super::*;

/// The commands without commands of their own.
fn leaves(command: &Command, path: &str, all: &mut Vec<String>) {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name()).trim().to_owned();
        if below.has_subcommands() { leaves(below, &path, all) } else { all.push(path) }
    }
}

/// The words of an example, as a shell passes them, up to a redirection.
fn words(example: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in example.chars().chain([' ']) {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => all.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    let end = all.iter().position(|word| [">", "<", "|"].contains(&word.as_str())).unwrap_or(all.len());
    all.truncate(end);
    all.retain(|word| !word.starts_with("SEMGATE_"));
    all
}

#[test]
fn every_command_has_three_examples_that_parse() {
    let mut all = Vec::new();
    leaves(&Cli::command(), "", &mut all);
    for path in &all {
        let block = block(path).unwrap_or_else(|| panic!("`{path}` has no block in manual.txt"));
        assert_eq!(block.examples.len(), 3, "{path}");
        for example in block.examples {
            let words = words(example);
            let found = words.join(" ");
            assert!(found.replace("--json ", "").starts_with(&format!("semgate {path}")), "{example}");
            if let Err(fault) = command().try_get_matches_from(&words) {
                panic!("{example}: {fault}");
            }
        }
    }
    let names = TABLE.split("\n\n").filter_map(|block| block.lines().next()?.split(':').next());
    for name in names {
        assert!(all.iter().any(|path| path == name), "`{name}` in manual.txt is no command");
    }
}

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}
