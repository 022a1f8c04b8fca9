//! A configuration that starts is the one its owner meant.

use super::*;
use semgate_inspect::NullArguments;
use std::time::Duration;

pub(super) const GOOD: &str = r#"
state = "firewall"
policies = "policies"
audit = "firewall/audit.jsonl"
[tls]
certificate = "gw.pem"
key = "gw.key"
[floors]
payment = "v1.1"
[limits]
body_timeout = "2500ms"
nodes = 40
[[trust_domain]]
name = "semgate.test"
roots = "roots.pem"
[[authority]]
name = "semgate.test"
url = "https://127.0.0.1:9001"
roots = "roots.pem"
origin = "semgate.test/log"
log_key = "semgate.test/log+00000000+AAAA"
lines = ["*"]
max_status_age = "15m"
[[route]]
name = "l8"
listen = "127.0.0.1:0"
binding = "l8"
receiver = "spiffe://semgate.test/agent/wholesaler-1"
upstream = "http://127.0.0.1:9100/l8"
contexts = ["travel", "payment:v1", "supplyChain:v1.0"]
[[route]]
name = "a2a"
listen = "127.0.0.1:0"
binding = "a2a"
receiver = "spiffe://semgate.test/agent/wholesaler-1"
upstream = "http://127.0.0.1:9100/a2a"
contexts = ["*"]
"#;

fn parse(text: &str) -> Result<Config, ConfigFault> {
    Config::parse(text, Path::new("/etc/semgate"))
}

#[test]
fn a_full_file_reads_and_its_effective_form_reads_back_alike() {
    let config = parse(GOOD).unwrap();
    assert_eq!(config.state, Path::new("/etc/semgate/firewall"));
    assert_eq!(config.limits.body_timeout, Duration::from_millis(2500));
    assert_eq!(config.limits.nodes, 40);
    assert_eq!(config.routes[0].contexts.len(), 3);
    let printed = config.effective();
    assert_eq!(Config::parse(&printed, Path::new("/elsewhere")), Ok(config), "{printed}");
}

#[test]
fn a_bundle_that_is_demanded_stands_in_place_of_a_directory_and_names_its_signers() {
    let with = |signers: &str| {
        let bundle = format!(
            "[policy_bundle]\nfile = \"p.bundle\"\nroots = \"r.pem\"\nsigners = [{signers}]\n[floors]"
        );
        parse(&GOOD.replacen("policies = \"policies\"\n", "", 1).replacen("[floors]", &bundle, 1))
    };
    let config = with("\"spiffe://semgate.test/policy-signer\"").unwrap();
    assert!(
        matches!(&config.policy_bundle, Some(bundle) if bundle.file == Path::new("/etc/semgate/p.bundle"))
    );
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
    for none in ["", "\"policy-signer\"", "\"spiffe://a/b\", \"spiffe://a/b\""] {
        assert!(with(none).unwrap_err().to_string().contains("policy_bundle.signers"), "{none}");
    }
}

#[test]
fn every_limit_is_printed() {
    let printed = parse(GOOD).unwrap().effective();
    let debug = format!("{:?}", Limits::default());
    let names = debug.split(['{', ',']).filter_map(|part| part.split_once(':'));
    let mut count = 0;
    for (name, _) in names {
        assert!(printed.contains(&format!("\n{} = ", name.trim())), "{name} is not in\n{printed}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn each_broken_rule_names_its_key() {
    let table: &[(&str, &str, &str)] = &[
        ("state = \"firewall\"", "state = \"firewall\"\nstat = 1", "line 3: unknown field `stat`"),
        ("nodes = 40", "node = 40", "line 12: `limits`: unknown field `node`; did you mean `nodes`?"),
        ("nodes = 40", "nodes = 3", "line 12: `limits.nodes` must be between 16 and 10000000"),
        ("nodes = 40", "idle_timeout = 0", "line 12: `limits.idle_timeout` must be between 10ms and 1h"),
        ("\"2500ms\"", "\"2500 ms\"", "invalid value"),
        ("\"2500ms\"", "-1", "invalid value"),
        ("policies = \"policies\"\n", "", "`policies` is missing"),
        (
            "[floors]",
            "[policy_bundle]\nfile = \"p\"\nroots = \"r\"\nsigners = [\"spiffe://a/b\"]\n[floors]",
            "`policy_bundle` must be in place of `policies`",
        ),
        ("[floors]", "[shadow]\npolicies = \"p\"\none_in = 0\n[floors]", "`shadow.one_in` must be"),
        ("payment = \"v1.1\"", "payment = \"1.1\"", "`floors` must be"),
        ("\"15m\"", "\"25h\"", "`authority.max_status_age` must be between 1s and 24h"),
        ("https://127.0.0.1:9001", "http://10.0.0.1:9001", "`authority.url` must be"),
        ("https://127.0.0.1:9001", "https://127.0.0.1:9001/x", "`authority.url` must be"),
        ("url = \"https://127.0.0.1:9001\"", "urls = []", "`authority.urls` must be addresses"),
        ("url = \"https://127.0.0.1:9001\"", "", "`authority.url` is missing"),
        (
            "url = \"https://127.0.0.1:9001\"",
            "url = \"https://a.test\"\nurls = [\"https://b.test\"]",
            "`authority.urls` must be in place of `url`",
        ),
        ("semgate.test/log+0", "other/log+0", "`authority.log_key` must be the verifier key"),
        ("lines = [\"*\"]", "lines = []", "`authority.lines` must be at least one"),
        ("lines = [\"*\"]", "lines = [\"payment\", \"payment\"]", "`authority.lines` names `payment` twice"),
        ("contexts = [\"*\"]", "contexts = [\"payment:1\"]", "route `a2a`: contexts"),
        ("contexts = [\"*\"]", "contexts = []", "route `a2a`: contexts"),
        (
            "binding = \"a2a\"",
            "binding = \"soap\"",
            "`route `a2a`: binding` must be `l8`, `a2a`, `mcp`, `a2h`, `ldp` or `iac`",
        ),
        ("name = \"a2a\"", "name = \"l8\"", "`route.name` names `l8` twice"),
        ("upstream = \"http://127.0.0.1:9100/a2a\"", "upstream = \"http://10.0.0.1:9100/a2a\"", "has no tls"),
        (
            "upstream = \"http://127.0.0.1:9100/a2a\"",
            "upstream = \"http://127.0.0.1:9100/a?b\"",
            "route `a2a`: upstream",
        ),
        (
            "upstream = \"http://127.0.0.1:9100/a2a\"",
            "upstream = \"http://127.0.0.1:9100/../a\"",
            "route `a2a`: upstream",
        ),
        ("state = \"firewall\"", "state = \"firewall\"\nadmin = \"0.0.0.0:1\"", "`admin.ids` is missing"),
        ("[tls]\ncertificate = \"gw.pem\"\nkey = \"gw.key\"\n", "", "`tls` is missing"),
        (
            "[[trust_domain]]\nname = \"semgate.test\"\nroots = \"roots.pem\"\n",
            "",
            "`trust_domain` is missing",
        ),
        ("state = \"firewall\"", "state = \"firewall\"\nworkers = 1000", "`workers` must be at most 256"),
        ("state = \"firewall\"", "state = \"firewall\"\nprefix = \"contexts\"", "`prefix` must be"),
        // by position, a list would fill the table
        ("state = \"firewall\"", "state = \"firewall\"\nshadow = [\"x\"]", "`shadow` must be a table"),
    ];
    for (from, to, said) in table {
        assert!(GOOD.contains(from), "{from}");
        let fault = parse(&GOOD.replacen(from, to, 1)).map(|_| ()).unwrap_err().to_string();
        assert!(fault.contains(said), "{to:?} said {fault:?}, not {said:?}");
    }
}

#[test]
fn f0_60_a_plain_listener_is_local_and_has_one_sender() {
    let plain = GOOD.replacen(
        "binding = \"l8\"",
        "binding = \"l8\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"",
        1,
    );
    assert!(parse(&plain).is_ok());
    let socket = plain.replacen("listen = \"127.0.0.1:0\"", "listen = \"unix:l8.sock\"", 1);
    let config = parse(&socket).unwrap();
    assert_eq!(config.routes[0].listen, Listen::Unix("/etc/semgate/l8.sock".into()));
    let open = plain.replacen("listen = \"127.0.0.1:0\"", "listen = \"0.0.0.0:80\"", 1);
    assert_eq!(parse(&open), Err(ConfigFault::plain_text("route `l8`: listen")));
}

#[test]
fn an_open_a2a_listener_must_say_its_public_url() {
    let open = GOOD.replace(
        "listen = \"127.0.0.1:0\"\nbinding = \"a2a\"",
        "listen = \"0.0.0.0:443\"\nbinding = \"a2a\"",
    );
    assert!(parse(&open).unwrap_err().to_string().contains("public_url"));
    let said = open.replace("binding = \"a2a\"", "binding = \"a2a\"\npublic_url = \"https://gw.example/\"");
    assert!(parse(&said).is_ok());
    let plain = open.replace("binding = \"a2a\"", "binding = \"a2a\"\npublic_url = \"http://gw.example/\"");
    assert!(parse(&plain).unwrap_err().to_string().contains("public_url"));
}

#[test]
fn durations_print_as_they_read() {
    for text in ["0ms", "250ms", "1s", "90s", "10m", "2h"] {
        assert_eq!(super::read::Span::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "s", "1", "1d", "1 s", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615h"] {
        assert_eq!(super::read::Span::parse(text), None, "{text}");
    }
}

#[test]
fn nothing_printed_names_a_secret() {
    let fault = parse(&GOOD.replacen("key = \"gw.key\"", "key = 7", 1)).unwrap_err();
    assert_eq!(fault.to_string(), "line 7: `tls.key`: invalid type: integer `7`, expected path string");
}

#[test]
fn the_operators_page_has_every_limit_with_its_default() {
    let page = include_str!("../../../../docs/reference/config.md");
    let effective = parse(&GOOD.replace("body_timeout = \"2500ms\"\nnodes = 40\n", "")).unwrap().effective();
    let limits = effective.split("[limits]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
    let mut count = 0;
    for line in limits.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(" = ").unwrap();
        let value = value.trim_matches('"');
        assert!(page.contains(&format!("| `{name}` | {value} |")), "`{name}` with {value}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_number_of_policies_is_configured_and_the_other_bounds_of_a_set_are_constants() {
    let with = |limits: &str| parse(&GOOD.replace("nodes = 40\n", limits));
    let policies = with("policies = 60\n").unwrap().limits.policies();
    assert_eq!(policies.max_policies, 60);
    let usual = with("").unwrap().limits.policies();
    assert_eq!(usual, semgate_policies::PolicyLimits::default());
}

#[test]
fn the_header_of_a_key_is_nobody_elses() {
    let with =
        |name: &str| parse(&format!("{GOOD}forward_authorization = true\napi_key_header = \"{name}\"\n"));
    let config = with("X-Api-Key").unwrap();
    assert_eq!(config.routes[1].api_key_header.as_deref(), Some("x-api-key"));
    assert!(!config.routes[0].forward_authorization, "off unless said");
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
    for taken in [
        "Authorization",
        "host",
        "Client-Cert",
        "semgate-sender",
        "A2A-Version",
        "Content-Length",
        "cookie",
        "a b",
        "",
    ] {
        assert!(with(taken).unwrap_err().to_string().contains("api_key_header"), "{taken}");
    }
}

#[test]
fn authorization_servers_are_listed_where_tokens_are_passed_on_and_are_no_plain_hosts() {
    let mcp = GOOD.replacen("binding = \"a2a\"", "binding = \"mcp\"", 1);
    let with = |more: &str| parse(&format!("{mcp}{more}"));
    let on = "forward_authorization = true\nauthorization_servers = ";
    let config = with(&format!("{on}[\"https://as.test/t1\", \"http://localhost:7\"]\n")).unwrap();
    assert_eq!(config.routes[1].mcp.authorization_servers.as_ref().map(Vec::len), Some(2));
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
    let off = "authorization_servers = [\"https://as.test\"]\n".to_owned();
    for more in
        [off, format!("{on}[]"), format!("{on}[\"http://as.test\"]"), format!("{on}[\"javascript:x\"]")]
    {
        assert!(with(&more).unwrap_err().to_string().contains("authorization_servers"), "{more}");
    }
    let a2a = parse(&format!("{GOOD}{on}[\"https://as.test\"]"));
    assert!(a2a.unwrap_err().to_string().contains("authorization_servers"));
}

#[test]
fn what_becomes_of_null_arguments_is_said_by_routes_of_mcp_alone() {
    let mcp = GOOD.replacen("binding = \"a2a\"", "binding = \"mcp\"", 1);
    let with = |word: &str| parse(&format!("{mcp}null_arguments = \"{word}\"\n"));
    assert_eq!(parse(&mcp).unwrap().routes[1].mcp.null_arguments, NullArguments::Refuse, "off unless said");
    let config = with("absent").unwrap();
    assert_eq!(config.routes[1].mcp.null_arguments, NullArguments::Absent);
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
    let fault = with("drop").unwrap_err().to_string();
    assert!(fault.contains("null_arguments") && fault.contains("`refuse` or `absent`"), "{fault}");
    let a2a = parse(&format!("{GOOD}null_arguments = \"absent\"\n")).unwrap_err().to_string();
    assert!(a2a.contains("left out unless the binding is `mcp`"), "{a2a}");
}

#[test]
fn what_is_taken_of_streams_is_said_by_routes_of_mcp_alone() {
    let mcp = GOOD.replacen("binding = \"a2a\"", "binding = \"mcp\"", 1);
    assert_eq!(parse(&mcp).unwrap().routes[1].mcp, McpOptions::default(), "off unless said");
    for (name, streams) in [
        ("json_lines", McpOptions { json_lines: true, ..McpOptions::default() }),
        ("withhold_stray_progress", McpOptions { withhold_stray_progress: true, ..McpOptions::default() }),
    ] {
        let config = parse(&format!("{mcp}{name} = true\n")).unwrap();
        assert_eq!(config.routes[1].mcp, streams);
        assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
        let a2a = parse(&format!("{GOOD}{name} = true\n")).unwrap_err().to_string();
        assert!(a2a.contains(name) && a2a.contains("left out unless the binding is `mcp`"), "{a2a}");
    }
}

#[test]
fn an_egress_lane_is_local_where_it_is_plain_and_says_where_it_leads() {
    const LANE: &str = "[route.push]\nlisten = \"127.0.0.1:9801\"\nplain = true\ntargets = [\"https://hooks.test/a2a/\", \"http://localhost:*/\"]\nroots = \"ca.pem\"\nnetworks = [\"10.1.0.0/16\"]\n";
    let with = |from: &str, to: &str| parse(&format!("{GOOD}{}", LANE.replacen(from, to, 1)));
    let config = with("", "").unwrap();
    let push = config.routes[1].a2a.push.clone().unwrap();
    assert_eq!(push.roots.as_deref(), Some(Path::new("/etc/semgate/ca.pem")));
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
    for (from, to, said) in [
        ("127.0.0.1:9801", "10.0.0.1:9801", "push.listen"),
        ("127.0.0.1:9801", "nowhere", "push.listen"),
        ("plain = true\n", "", ""),
        ("\"127.0.0.1:9801\"\nplain = true", "\"0.0.0.0:9801\"", "push.url"),
        ("targets = [\"https://hooks.test/a2a/\", \"http://localhost:*/\"]", "targets = []", "push.targets"),
        ("http://localhost:*/", "http://hooks.test/", "push.targets"),
        ("http://localhost:*/", "https://hooks.test:*/", "push.targets"),
        ("https://hooks.test/a2a/", "https://HOOKS.test/", "push.targets"),
        ("roots = \"ca.pem\"\n", "", "push.roots"),
        ("10.1.0.0/16", "10.1.2.3/16", "push.networks"),
        ("10.1.0.0/16", "10.0.0.0/33", "push.networks"),
        ("10.1.0.0/16", "10.0.0.0", "push.networks"),
        ("10.1.0.0/16", "x/8", "push.networks"),
        ("10.1.0.0/16", "::1/64", "push.networks"),
        ("10.1.0.0/16", "010.1.0.0/16", "push.networks"),
        ("plain = true", "plain = true\nother = 1", "other"),
    ] {
        match with(from, to) {
            Ok(_) => assert_eq!(said, "", "{to}"),
            Err(fault) => assert!(!said.is_empty() && fault.to_string().contains(said), "{to}: {fault}"),
        }
    }
    let l8 = GOOD.replacen("\n[[route]]\nname = \"a2a\"", &format!("\n{LANE}[[route]]\nname = \"a2a\""), 1);
    assert!(parse(&l8).unwrap_err().to_string().contains("push"));
    let taken = format!("{GOOD}{}", LANE.replace("127.0.0.1:9801", "127.0.0.1:9470")).replacen(
        "listen = \"127.0.0.1:0\"",
        "listen = \"127.0.0.1:9470\"",
        1,
    );
    assert_eq!(
        parse(&taken),
        Err(ConfigFault::twice("route.listen", "127.0.0.1:9470")),
        "one address for two"
    );
}

#[test]
fn what_records_keep_is_named_by_member_and_nothing_unless_it_is_asked_for() {
    assert_eq!(parse(GOOD).unwrap().audit_values, None);
    let with =
        |member: &str, keep: &str| parse(&format!("{GOOD}[audit_values]\n\"{member}\" = \"{keep}\"\n"));
    let config = with("payment::transfer.amount", "digests").unwrap();
    let values = config.audit_values.clone().unwrap();
    assert_eq!(values.get("payment::transfer.amount"), Some(&KeepAs::Digests));
    assert_eq!(Config::parse(&config.effective(), Path::new("/elsewhere")), Ok(config));
    for (member, keep, key) in [
        ("payment::transfer.amount", "value", "audit_values.payment::transfer.amount"),
        ("transfer.amount", "values", "audit_values.transfer.amount"),
        ("payment::transfer", "values", "audit_values.payment::transfer"),
    ] {
        let fault = with(member, keep).unwrap_err().to_string();
        assert!(fault.contains(key), "{fault}");
    }
}

#[test]
fn whom_the_file_distrusts_now_is_read_again_and_settings_that_need_a_restart_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("firewall.toml");
    let second = "[[authority]]\nname = \"other.test\"\nurl = \"https://127.0.0.1:9002\"\nroots = \"other.pem\"\norigin = \"other.test/log\"\nlog_key = \"other.test/log+00000000+AAAA\"\nlines = [\"goods\"]\n";
    let text = GOOD.replacen("lines = [\"*\"]", "lines = [\"payment\"]", 1) + second;
    std::fs::write(&path, &text).unwrap();
    let config = Config::load(&path).unwrap();
    let now = || {
        let fresh = config.reread().unwrap();
        (config.distrusted_by(&fresh), config.needs_restart(&fresh))
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(now(), (names(&[]), names(&[])));

    std::fs::write(&path, format!("{text}distrusted = true\n")).unwrap();
    assert_eq!(now(), (names(&["other.test"]), names(&[])));
    assert_eq!(Config::load(&path).unwrap().distrusted(), ["other.test"], "and after a restart");
    // who is not named any more is trusted no more
    std::fs::write(&path, GOOD.replacen("lines = [\"*\"]", "lines = [\"payment\"]", 1)).unwrap();
    assert_eq!(now(), (names(&["other.test"]), names(&["authority"])));
    std::fs::write(&path, text.replacen("nodes = 40", "nodes = 41", 1)).unwrap();
    assert_eq!(now(), (names(&[]), names(&["limits.nodes"])));
    std::fs::write(&path, text.replacen("name = \"l8\"", "name = \"other\"", 1)).unwrap();
    assert_eq!(now(), (names(&[]), names(&[])), "routes need none");
    std::fs::write(&path, "state = ").unwrap();
    assert!(config.reread().is_err());
}

#[test]
fn a_retired_setting_is_refused_with_advice() {
    let fault =
        parse(&GOOD.replacen("[limits]\n", "[limits]\ntold_text = 1024\n", 1)).unwrap_err().to_string();
    assert!(fault.starts_with("line 11: `limits.told_text` must be left out: "), "{fault}");
    let fault =
        parse(&format!("{GOOD}\n[[peer]]\nname = \"b\"\nurl = \"unix:b.sock\"\n")).unwrap_err().to_string();
    assert!(fault.contains("`peer` must be left out: ") && fault.contains("`witnesses`"), "{fault}");
}

#[test]
fn a_limit_that_became_a_constant_is_refused_with_its_bound() {
    let fault = parse(&GOOD.replacen("nodes = 40", "stream_window = 65536", 1)).unwrap_err().to_string();
    assert_eq!(fault, "line 12: `limits.stream_window` is no longer configurable: the bound is 256 KiB");
}

#[test]
fn an_unknown_key_of_a_route_is_refused_with_its_line_and_the_closest_key() {
    for (key, hint) in [
        ("version", "; did you mean `versions`?"),
        ("upstrem_http2", "; did you mean `upstream_http2`?"),
        ("zzz", ""),
    ] {
        let fault = parse(&format!("{GOOD}{key} = true\n")).unwrap_err().to_string();
        assert_eq!(fault, format!("line 38: unknown field `{key}`{hint}"));
    }
}
