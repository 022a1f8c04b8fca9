//! A reader of prompts, for tests: it takes the form of `docs/spec/prompt.md` and nothing else.

use std::collections::BTreeSet;

/// The names, codes and texts of a prompt.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub urn: String,
    pub digest: String,
    pub terms: BTreeSet<String>,
    /// Term and path of a member: `address/city`, `items[]/sku`.
    pub members: Vec<(String, Vec<String>)>,
    /// Code list and code.
    pub codes: Vec<(String, String)>,
    /// Code list, label and codes.
    pub labels: Vec<(String, String, Vec<String>)>,
    /// Subject, word, object.
    pub relations: Vec<(String, String, String)>,
    /// Code lists that members name.
    pub lists: BTreeSet<String>,
    /// Values of lists of values.
    pub values: BTreeSet<String>,
    /// Texts in quotes, as far as they are shown.
    pub texts: Vec<String>,
    /// Counts of what is left out.
    pub more: Vec<(usize, String)>,
}

/// One word of a line.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    Bare(String),
    Quoted(String),
}

impl Word {
    fn text(&self) -> &str {
        match self {
            Self::Bare(text) | Self::Quoted(text) => text,
        }
    }
}

/// Reads a quotation from its opening mark; returns the text and the rest of the line.
fn quotation(line: &str) -> (String, &str) {
    let rest = line.strip_prefix('"').expect("a quotation");
    let (inside, rest) = rest.split_once('"').expect("a quotation ends on its line");
    let mut text = String::new();
    let mut open = inside;
    while let Some((before, after)) = open.split_once('\\') {
        text.push_str(before);
        let (number, after) =
            after.strip_prefix("u{").and_then(|rest| rest.split_once('}')).expect("a number");
        text.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
        open = after;
    }
    text.push_str(open);
    (text, rest)
}

/// Reads names with slashes: `bookFlight/"odd name"/x`, up to a blank, a comma or a colon.
fn name(line: &str) -> (Vec<Word>, &str) {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        if rest.starts_with('"') {
            let (text, after) = quotation(rest);
            words.push(Word::Quoted(text));
            rest = after;
        } else {
            let end = rest.find(['/', ' ', ',', ':', '[']).unwrap_or(rest.len());
            assert!(end > 0, "a name in `{line}`");
            words.push(Word::Bare(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches("[]");
        match rest.strip_prefix('/') {
            Some(after) => rest = after,
            None => return (words, rest),
        }
    }
}

fn names(line: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (words, after) = name(rest);
        all.push(words.iter().map(|word| word.text().to_owned()).collect());
        rest = after.trim_start_matches(' ');
    }
    all
}

impl Read {
    pub(super) fn of(prompt: &str) -> Self {
        let mut read = Self::default();
        let lines: Vec<&str> = prompt.lines().collect();
        read.urn = lines[0].strip_prefix("# Context ").unwrap().to_owned();
        read.digest = lines[1].strip_prefix("digest: ").unwrap().to_owned();
        assert!(lines[2].starts_with("status: ") && lines[3].starts_with("note: "), "{prompt}");
        let mut heading = (String::new(), String::new());
        for line in &lines[4..] {
            if let Some(rest) = line.strip_prefix("## ") {
                heading = read.heading(rest);
            } else if !line.is_empty() {
                read.line(&heading.0, &heading.1, line);
            }
        }
        read
    }

    fn heading(&mut self, rest: &str) -> (String, String) {
        let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if kind == "Relations" {
            return (kind.to_owned(), String::new());
        }
        let (own, rest) = if rest.starts_with('"') {
            quotation(rest)
        } else {
            let (own, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            (own.to_owned(), rest)
        };
        match kind {
            "Task" | "Concept" => {
                assert_eq!(rest, "");
                self.terms.insert(own.clone());
            }
            "Codes" => assert!(rest.starts_with(" (") && rest.ends_with(')'), "{rest}"),
            other => panic!("heading {other}"),
        }
        (kind.to_owned(), own)
    }

    fn line(&mut self, kind: &str, own: &str, line: &str) {
        if let Some(rest) = line.strip_prefix("(left out: ") {
            let (counts, _) = rest.split_once("; ask `").unwrap();
            counts.split(", ").for_each(|count| self.count(count));
        } else if let Some(rest) = line.strip_prefix("not shown: ") {
            names(rest);
        } else if let Some(count) =
            line.strip_prefix('(').and_then(|line| line.strip_suffix(" never shown: name too long)"))
        {
            self.count(count);
        } else if let Some(rest) = line.strip_prefix('(') {
            let (count, rest) = rest.split_once(": ask `").unwrap();
            assert!(["lookup_concept`)", "list_codes`)", "check_message`)"].contains(&rest), "{line}");
            self.count(&count.replacen(" more", "", 1));
        } else {
            match kind {
                "" => self.text(line.split_once(": ").unwrap().1),
                "Task" | "Concept" => self.term(own, line),
                "Codes" => self.codes(own, line),
                _ => self.relation(line),
            }
        }
    }

    fn count(&mut self, count: &str) {
        let (number, noun) = count.split_once(' ').unwrap();
        self.more.push((number.parse().unwrap(), noun.to_owned()));
    }

    fn text(&mut self, quoted: &str) {
        let (text, rest) = quotation(quoted);
        let cut = rest.strip_prefix(" (and ").and_then(|rest| rest.strip_suffix(" more characters)"));
        assert!(rest.is_empty() || cut.is_some_and(|number| number.parse::<usize>().is_ok()), "{rest}");
        self.texts.push(text);
    }

    fn term(&mut self, own: &str, line: &str) {
        if let Some(rest) = line.strip_prefix("- ") {
            let (path, rest) = name(rest);
            self.members.push((own.to_owned(), path.iter().map(|word| word.text().to_owned()).collect()));
            self.kind(rest.strip_prefix(": ").expect("a type"));
        } else if let Some((_, text)) = ["members: ", "parameters: ", "results: "]
            .iter()
            .find_map(|word| Some((word, line.strip_prefix(word)?)))
            .filter(|(_, text)| text.starts_with('"'))
        {
            self.text(text);
        } else {
            let known = [
                "members:",
                "parameters:",
                "results:",
                "performatives: ",
                "a person must approve each request",
            ];
            assert!(known.iter().any(|known| line.starts_with(known)), "{line}");
        }
    }

    /// The rest of a member's line: its type, bounds, and perhaps its text at the end.
    fn kind(&mut self, rest: &str) {
        if let Some((_, rest)) = rest.split_once("code of ") {
            self.lists.insert(name_of_list(rest));
        }
        if let Some((_, rest)) = rest.split_once("one of ") {
            let (values, _) = rest.split_once(", ").unwrap();
            let values = values.split(" (and ").next().unwrap();
            if !values.contains('"') {
                self.values.extend(values.split(' ').map(str::to_owned));
            }
        }
        if let Some(at) = rest.rfind(", \"") {
            self.text(&rest[at + 2..]);
        }
    }

    fn codes(&mut self, own: &str, line: &str) {
        if let Some((label, rest)) = Some(line).filter(|line| line.starts_with('"')).map(quotation)
            && let Some(codes) = rest.strip_prefix(" may mean ")
        {
            let codes = names(codes).into_iter().map(|mut code| code.remove(0)).collect();
            self.labels.push((own.to_owned(), label, codes));
            return;
        }
        self.codes.extend(names(line).into_iter().map(|mut code| (own.to_owned(), code.remove(0))));
    }

    fn relation(&mut self, line: &str) {
        let mut all = names(line).into_iter().map(|words| words.join("/"));
        let (subject, word) = (all.next().unwrap(), all.next().unwrap());
        self.relations.extend(all.map(|object| (subject.clone(), word.clone(), object)));
    }
}

fn name_of_list(rest: &str) -> String {
    if rest.starts_with('"') { quotation(rest).0 } else { rest.split([',', ' ']).next().unwrap().to_owned() }
}
