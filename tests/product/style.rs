//! The rules of style that a tool can check, over the source of every crate.
//!
//! Most are ratchets: a crate may not break a rule more often than the table says, and the number may only fall. The scanner reads lines as
//! `rustfmt` lays them out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The ratcheted rules, in the order of the table.
const RULES: [&str; 8] = [
    "long file",
    "long function",
    "many parameters",
    "tuple parameter",
    "banned name",
    "repeated type",
    "circle",
    "opener",
];

/// Each crate with the lines that it may have, and how often it may still break each rule. `docs/design/house.md` has the budgets to reach.
const ALLOWED: &[(&str, usize, [usize; 8])] = &[
    ("contexts", 16560, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("contexts/import", 4500, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("certs", 5800, [1, 0, 0, 0, 0, 0, 0, 0]),
    ("policies/engine", 11030, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("policies/analysis", 4300, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("firewall/protocol", 14100, [0, 0, 7, 2, 0, 0, 0, 0]),
    ("authority/statement", 14880, [5, 2, 0, 0, 0, 0, 4, 0]),
    ("firewall/negotiation", 4490, [0, 0, 2, 1, 0, 0, 3, 0]),
    ("firewall/approvals", 2964, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("firewall/scan", 1780, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("firewall/inspect", 16340, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("authority/server", 15960, [2, 4, 0, 0, 0, 0, 0, 0]),
    ("firewall/gateway", 36500, [1, 1, 1, 0, 0, 0, 0, 0]),
    ("console", 6275, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("cli", 21700, [0, 0, 0, 0, 0, 0, 0, 0]),
];

const LINES_OF_A_FILE: usize = 400;
const LINES_OF_A_FUNCTION: usize = 60;
const PARAMETERS: usize = 5;

/// Names that say nothing to an engineer who is new here. `docs/glossary.md` has better ones.
const BANNED: [&str; 11] =
    ["told", "said", "anew", "beside", "lived", "whatever", "place", "found", "heard", "way", "behind"];

/// A doc comment starts with a noun phrase or a verb.
const OPENERS: [&str; 7] = ["What", "Whether", "Who", "Whom", "Of", "Which", "Whatever"];

/// One file of a crate, without the module of its unit tests.
struct Source {
    path: PathBuf,
    /// Names of the modules down to this one; empty for the crate's root.
    module: Vec<String>,
    lines: Vec<String>,
}

fn is_test(path: &Path) -> bool {
    path.to_str().unwrap().ends_with("tests.rs") || path.iter().any(|part| part == "tests")
}

fn read(root: &Path, dir: &Path, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test(&path) {
            let text = std::fs::read_to_string(&path).unwrap();
            let inner = path.strip_prefix(root).unwrap().with_extension("");
            let module = inner.iter().map(|part| part.to_str().unwrap().to_owned());
            let module = module.filter(|part| !["lib", "main", "mod"].contains(&part.as_str())).collect();
            sources.push(Source { path, module, lines: text.lines().map(str::to_owned).collect() });
        }
    }
}

fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("src");
    let mut sources = Vec::new();
    read(&root, &root, &mut sources);
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The kind of an item and its name, if the line declares one; without its visibility and qualifiers.
fn declared(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let kinds = ["fn", "struct", "enum", "mod", "trait", "type", "let"];
    let kind = words.find(|word| {
        kinds.contains(word) || !["pub", "crate", "super", "in", "async", "const", "unsafe"].contains(word)
    })?;
    let name = words.find(|word| *word != "mut")?;
    kinds.contains(&kind).then_some((kind, name))
}

/// Code lines with their numbers: no comment, and nothing of a unit test's module at the end of the file.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let end = source.lines.iter().position(|line| line == "#[cfg(test)]").unwrap_or(source.lines.len());
    let lines = source.lines[..end].iter().enumerate();
    lines.map(|(n, line)| (n, line.as_str())).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Parameters of a function: its head from the parenthesis after the name, split at commas of the first level.
fn parameters(head: &str) -> Vec<String> {
    let (mut depth, mut parts, mut part) = (0_i32, Vec::new(), String::new());
    let mut before = ' ';
    for c in head.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 && c == ')' {
            break;
        }
        match c {
            ',' if depth == 1 => parts.push(std::mem::take(&mut part)),
            '(' if depth == 1 => {}
            _ => part.push(c),
        }
        before = c;
    }
    parts.push(part);
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[derive(Default)]
struct Findings(BTreeMap<&'static str, Vec<String>>);

impl Findings {
    fn add(&mut self, rule: &'static str, source: &Source, line: usize, what: &str) {
        self.0.entry(rule).or_default().push(format!("{}:{}: {what}", source.path.display(), line + 1));
    }
}

fn functions(source: &Source, findings: &mut Findings) {
    for (start, line) in code(source) {
        let Some(("fn", name)) = declared(line) else { continue };
        let end = (start..source.lines.len())
            .find(|n| {
                let line = &source.lines[*n];
                indent(line) == indent(&source.lines[start])
                    && (line.trim_end().ends_with('}') || line.trim_end().ends_with(';'))
            })
            .unwrap_or(start);
        if end - start + 1 > LINES_OF_A_FUNCTION {
            findings.add("long function", source, start, name);
        }
        let head = source.lines[start..=end].join(" ");
        let Some(head) = head.split_once(name).map(|(_, rest)| rest) else { continue };
        // generics stand between the name and the parenthesis
        let mut depth = 0;
        let open = head.char_indices().find(|(at, c)| {
            match c {
                '<' => depth += 1,
                '>' if !head[..*at].ends_with('-') => depth -= 1,
                _ => {}
            }
            depth == 0 && *c == '('
        });
        let Some((open, _)) = open else { continue };
        let parameters = parameters(&head[open..]);
        let own = parameters.iter().filter(|one| !one.ends_with("self")).count();
        if own > PARAMETERS {
            findings.add("many parameters", source, start, name);
        }
        let tuple = |one: &String| {
            let Some((_, typed)) = one.split_once(": ") else { return false };
            let typed = typed.trim_start_matches('&').trim_start_matches("mut ").trim_start();
            typed.starts_with('(') && typed.contains(',')
        };
        if parameters.iter().any(tuple) {
            findings.add("tuple parameter", source, start, name);
        }
    }
}

fn names(source: &Source, findings: &mut Findings, public: &mut BTreeMap<String, usize>) {
    for (n, line) in code(source) {
        let Some((kind, name)) = declared(line) else { continue };
        if BANNED.contains(&name.to_ascii_lowercase().as_str()) {
            findings.add("banned name", source, n, name);
        }
        if ["struct", "enum", "trait", "type"].contains(&kind) && line.starts_with("pub ") {
            let count = public.entry(name.to_owned()).or_default();
            *count += 1;
            if *count > 1 {
                findings.add("repeated type", source, n, name);
            }
        }
    }
}

fn openers(source: &Source, findings: &mut Findings) {
    for (n, line) in source.lines.iter().enumerate() {
        let Some(text) = line.trim_start().strip_prefix("///").or(line.trim_start().strip_prefix("//!"))
        else {
            continue;
        };
        let first = text.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if OPENERS.contains(&first) {
            findings.add("opener", source, n, text.trim());
        }
    }
}

/// Modules that import each other around a circle, other than a module and its own children.
fn circles(sources: &[Source]) -> BTreeSet<String> {
    let modules: BTreeSet<Vec<String>> = sources.iter().map(|source| source.module.clone()).collect();
    let mut edges: BTreeMap<&[String], BTreeSet<Vec<String>>> = BTreeMap::new();
    for source in sources {
        for (_, line) in code(source) {
            for path in line.split("crate::").skip(1) {
                let path = path.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next();
                let mut path: Vec<String> = path.unwrap_or_default().split("::").map(str::to_owned).collect();
                while !path.is_empty() && !modules.contains(&path) {
                    path.pop();
                }
                let related = path.starts_with(&source.module) || source.module.starts_with(&path);
                if !path.is_empty() && !related {
                    edges.entry(&source.module).or_default().insert(path);
                }
            }
        }
    }
    let reached = |from: &[String]| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_vec()]);
        while let Some(next) = open.pop() {
            for to in edges.get(next.as_slice()).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        seen
    };
    modules
        .iter()
        .filter(|module| reached(module).contains(*module))
        .map(|module| module.join("::"))
        .collect()
}

fn findings(folder: &str) -> (usize, Findings) {
    let (sources, mut findings, mut public) = (sources(folder), Findings::default(), BTreeMap::new());
    for source in &sources {
        if source.lines.len() > LINES_OF_A_FILE {
            findings.add("long file", source, source.lines.len(), "");
        }
        functions(source, &mut findings);
        names(source, &mut findings, &mut public);
        openers(source, &mut findings);
    }
    findings.0.insert("circle", circles(&sources).into_iter().collect());
    (sources.iter().map(|source| source.lines.len()).sum(), findings)
}

#[test]
fn every_crate_keeps_its_budget_and_breaks_no_rule_more_often_than_before() {
    let mut faults = Vec::new();
    for (folder, most_lines, most) in ALLOWED {
        let (lines, findings) = findings(folder);
        if lines > *most_lines {
            faults.push(format!("{folder}: {lines} lines, more than {most_lines}"));
        }
        for (rule, most) in RULES.iter().zip(most) {
            let all = findings.0.get(rule).map(Vec::as_slice).unwrap_or_default();
            if all.len() > *most {
                faults.push(format!(
                    "{folder}: {rule}: {}, more than {most}:\n  {}",
                    all.len(),
                    all.join("\n  ")
                ));
            }
        }
        let counts = RULES.map(|rule| findings.0.get(rule).map_or(0, Vec::len));
        println!("    (\"{folder}\", {lines}, {counts:?}),");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_scanner_reads_what_it_should() {
    assert_eq!(declared("    pub(crate) async fn told(&self) {"), Some(("fn", "told")));
    assert_eq!(declared("        let mut found = 1;"), Some(("let", "found")));
    assert_eq!(declared("pub struct Place<'a> {"), Some(("struct", "Place")));
    assert_eq!(declared("        found.push(1);"), None);
    assert_eq!(
        parameters("(&self, a: &str, b: impl Fn(u8, u8) -> u8, c: (u8, u8)) -> R {"),
        ["&self", "a: &str", "b: impl Fn(u8, u8) -> u8", "c: (u8, u8)"]
    );
}
