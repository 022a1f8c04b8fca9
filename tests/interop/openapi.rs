//! schemathesis, a stranger that goes by `/openapi.json` alone, finds no fault of the server and no answer that is not described.

use crate::support;

use std::process::Command;

use support::{Up, python};

/// What every answer is held against. `SEMGATE_SCHEMATHESIS_CASES` sets how many are generated for each operation.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance";

fn run(up: &Up, certificate: bool) {
    let cases = std::env::var("SEMGATE_SCHEMATHESIS_CASES").unwrap_or_else(|_| "25".to_owned());
    let url = up.text("/authority_url");
    let mut command = Command::new(python::with_schemathesis().with_file_name("schemathesis"));
    command
        .args(["run", &format!("{url}/openapi.json"), "--checks", CHECKS, "--max-examples", &cases])
        // It never ends, which no generator of requests expects; tests/feed.rs listens to it.
        .args(["--exclude-path", "/v1/feed/stream", "--seed", "1", "--no-color", "--warnings", "off"])
        .args(["--phases", "examples,coverage,fuzzing", "--request-timeout", "20"])
        // a kept connection may be closed while the next request is on its way, and a client sends it again (RFC 9112, 9.3.1)
        .args(["--request-retries", "3", "--tls-verify"])
        .arg(up.path("/roots"))
        .current_dir(&up.dir);
    // Where comparison is not built in, the authority says so: a described answer, and a server error by its number.
    let described = up.authority("/openapi.json").json();
    if !described["paths"]["/v1/compare"]["post"]["responses"]["501"].is_null() {
        command.args(["--exclude-path", "/v1/compare"]);
    }
    if certificate {
        command.arg("--request-cert").arg(up.path("/agents/operator/cert"));
        command.arg("--request-cert-key").arg(up.path("/agents/operator/key"));
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn schemathesis_finds_no_5xx_and_nothing_undocumented_as_anybody_and_as_a_publisher() {
    let up = Up::start();
    run(&up, false);
    run(&up, true);
    assert_eq!(up.authority("/v1/feed/head").status, 200);
}
