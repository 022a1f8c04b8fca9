//! `docs/reference/refusals.md` and the program say the same.

use semgate_inspect::{Code, code::Class};

const PAGE: &str = include_str!("../../../../docs/reference/refusals.md");

struct Row {
    code: String,
    status: u16,
    rpc: i32,
    meaning: String,
    advice: String,
}

fn rows() -> Vec<Row> {
    let table = PAGE.lines().filter(|line| line.starts_with("| `"));
    table
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 5, "{line}");
            Row {
                code: cells[0].trim_matches('`').to_owned(),
                status: cells[1].parse().unwrap(),
                rpc: cells[2].parse().unwrap(),
                meaning: cells[3].to_owned(),
                advice: cells[4].to_owned(),
            }
        })
        .collect()
}

#[test]
fn the_table_has_every_code_with_its_status_and_number_and_no_other() {
    let rows = rows();
    let written: Vec<_> = rows.iter().map(|row| (row.code.as_str(), row.status, row.rpc)).collect();
    let coded: Vec<_> = Code::ALL.iter().map(|code| (code.as_str(), code.status(), code.rpc())).collect();
    assert_eq!(written, coded);
    for row in rows {
        assert!(!row.meaning.is_empty() && !row.advice.is_empty(), "`{}` has no words", row.code);
    }
}

#[test]
fn the_order_names_every_code_that_something_answers() {
    let order = PAGE.split("## The order").nth(1).unwrap().split("## The codes").next().unwrap();
    for code in Code::ALL {
        let reserved = *code == Code::ToolDrift;
        assert_eq!(order.contains(&format!("`{code}`")), !reserved, "`{code}`");
    }
}

#[test]
fn codes_are_words_and_no_two_are_equal() {
    let mut seen = std::collections::BTreeSet::new();
    for code in Code::ALL {
        assert!(seen.insert(code.as_str()));
        assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    }
}

/// `docs/reference/refusals.md`: the numbers of protocols are used only for what they mean there.
#[test]
fn numbers_stay_out_of_the_ranges_of_protocols() {
    for code in Code::ALL {
        match code {
            Code::MethodUnsupported => assert_eq!(code.rpc(), -32601),
            Code::VersionUnsupported => assert_eq!(code.rpc(), -32009),
            Code::NotFound => assert_eq!(code.rpc(), -32001),
            Code::HeaderMismatch => assert_eq!(code.rpc(), -32020),
            other => {
                assert_eq!(other.rpc(), other.class().rpc());
                assert!((-32015..=-32010).contains(&other.rpc()), "`{other}`");
            }
        }
    }
    assert_eq!(Class::Delivery.rpc(), -32015);
}
