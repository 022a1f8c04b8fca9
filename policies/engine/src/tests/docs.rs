//! Examples and tables of `docs/reference/policy.md`, `docs/how-to/write-policies.md` and `docs/spec/policy-types.md`, held against the program.

use super::{House, one_file, shipped_contexts};
use crate::agents::Agents;
use crate::catalogue::{CONTEXT_MEMBERS, SCORES};
use crate::{PolicyLimits, PolicySource, schema_text};

const TYPES: &str = include_str!("../../../../docs/spec/policy-types.md");
const PAGE: &str = include_str!("../../../../docs/reference/policy.md");

/// Schema of a member and what the page says that policies see of it.
fn rows() -> Vec<(&'static str, &'static str)> {
    let of = |line: &'static str| {
        let (schema, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((schema, rest.split(['|', ':']).next()?))
    };
    let records = |line: &'static str| {
        let (schema, rest) = line.strip_prefix("| `")?.split_once("` | `{")?;
        Some((schema, rest.split_once("}`")?.0))
    };
    TYPES.lines().filter_map(|line| records(line).or_else(|| of(line))).collect()
}

#[test]
fn the_types_of_the_page_are_the_types_that_policies_see() {
    let rows = rows();
    assert!(rows.len() > 30, "{}", rows.len());
    for (schema, stated) in rows {
        let document = format!(
            r#"{{"context":"urn:contexts:t:v1.0","concepts":{{"c":{{"type":"object","properties":{{"x":{schema},"y":{{"type":"boolean"}}}},"required":["x"]}}}}}}"#
        );
        let text = schema_text(&[super::context(&document)]).unwrap().replace("__cedar::", "");
        let text: String = text.replace('"', "").split_whitespace().collect();
        let entity = text.split("entityc=").nth(1).unwrap().split(';').next().unwrap();
        let plain = |text: &str| text.replace([' ', '`', ','], "");
        let expected = match stated {
            stated if stated.starts_with("not visible") => "{y?Bool}".to_owned(),
            stated if stated.contains(", optional") => {
                format!("{{x?{}y?Bool}}", plain(stated.split(", optional").next().unwrap()))
            }
            stated if schema.contains("\"object\"") || schema.contains("x-embedding") => {
                format!("{{x{{{}}}y?Bool}}", plain(stated).replace(':', ""))
            }
            stated => format!("{{x{}y?Bool}}", plain(stated)),
        };
        assert_eq!(plain(entity).replace(':', ""), expected, "{schema}");
    }
}

#[test]
fn the_policies_of_the_page_of_types_load() {
    let shown: Vec<_> =
        TYPES.split("```cedar\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(shown.len(), 1);
    House::with(shown[0]).unwrap_or_else(|faults| panic!("{faults:?}"));
}

/// The page advised what strict validation refuses.
#[test]
fn what_the_page_of_types_says_of_defaults_loads_and_what_it_warns_of_does_not() {
    let bullet = TYPES.lines().skip_while(|line| !line.starts_with("- **`default`**")).take(2);
    let text: Vec<&str> = bullet.collect();
    let coded: Vec<&str> = text[1].split('`').skip(1).step_by(2).filter(|code| code.contains("==")).collect();
    let contexts = || {
        vec![super::context(
            r#"{"context":"urn:contexts:t:v1.0","concepts":{"c":{"type":"object","properties":{"n":{"type":"integer","default":5}}}}}"#,
        )]
    };
    let loads = |condition: &str| {
        let policy = format!("permit (principal, action, resource is t::c) when {{ {condition} }};");
        House::load(&one_file(&policy), contexts()).is_ok()
    };
    assert_eq!(coded.len(), 2, "{text:?}");
    assert!(loads(coded[0]) && !loads(coded[1]), "{coded:?}");
}

/// An example for everything that may be asked.
const GUIDE: &str = include_str!("../../../../docs/how-to/write-policies.md");

fn blocks(language: &str) -> Vec<&'static str> {
    blocks_of(PAGE, language)
}

fn blocks_of(page: &'static str, language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_agents_of_the_page_are_read() {
    let shown = blocks("json");
    assert_eq!(shown.len(), 1);
    let agents = Agents::read(shown[0].as_bytes(), &PolicyLimits::default()).unwrap();
    assert_eq!(agents.entries().len(), 1);
}

#[test]
fn the_policies_of_the_page_load() {
    let shown = blocks_of(GUIDE, "cedar");
    assert!(shown.len() >= 12);
    let entities = String::from_utf8(PolicySource::shipped().entities).unwrap();
    let entities = entities.replacen("\"groups\": [", "\"groups\": [\"banks\", ", 1);
    for text in shown {
        let source = PolicySource { entities: entities.clone().into(), ..one_file(text) };
        assert!(House::load(&source, shipped_contexts()).is_ok(), "{text}");
    }
}

#[test]
fn everything_that_may_be_asked_has_an_example_and_a_row() {
    let examples = blocks_of(GUIDE, "cedar").concat();
    let mut names: Vec<String> = CONTEXT_MEMBERS.iter().map(|name| format!("context.{name}")).collect();
    names.extend(SCORES.iter().map(|name| format!("context.scores.{name}")));
    names.extend(
        ["principal.credentials", "principal.trust_domain", "context.session.expires"].map(str::to_owned),
    );
    for name in names {
        assert!(examples.contains(&name), "no example reads `{name}`");
        assert!(PAGE.contains(&name), "`docs/reference/policy.md` has no `{name}`");
    }
}
