//! Tests of `source`.

use super::{Digest, PolicySource, read_at_most};

#[test]
fn the_digest_is_over_name_length_and_bytes_of_each_file_however_large() {
    let long = "x".repeat(131_073);
    let source = PolicySource {
        files: vec![("a.cedar".to_owned(), long.clone()), ("b.cedar".to_owned(), String::new())],
        entities: b"{}".to_vec(),
        limits: Some(b"[]".to_vec()),
    };
    let all = format!("a.cedar\n131073\n{long}b.cedar\n0\nentities.json\n2\n{{}}limits.json\n2\n[]");
    assert_eq!(source.digest(), Digest::of(all.as_bytes()));
}

#[test]
fn attack_a_file_that_is_swapped_for_a_pipe_once_it_was_looked_at_holds_nobody_up() {
    let pipe = std::env::temp_dir().join(format!("semgate-swapped-{}", std::process::id()));
    let _ = std::fs::remove_file(&pipe);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let fault = read_at_most(&pipe, 10, "p.cedar").unwrap_err().to_string();
    assert!(fault.ends_with("cannot be read: not a regular file"), "{fault}");
    std::fs::remove_file(&pipe).unwrap();
    std::fs::write(&pipe, "// one\n").unwrap();
    assert_eq!(read_at_most(&pipe, 10, "p.cedar"), Ok(b"// one\n".to_vec()));
    std::fs::remove_file(&pipe).unwrap();
}
