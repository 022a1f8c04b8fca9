use super::*;

const WHOLE: &str = r#"
authority = "semgate.test"
listen = "127.0.0.1:0"
admin = "127.0.0.1:0"
state = "authority"
roots = "roots.pem"
status_lifetime = "10m"
[tls]
certificate = "authority/tls.pem"
key = "authority/tls.key"
client_roots = "roots.pem"
[keys]
context_issuing = { certificate = "c.pem", key = "c.key" }
status = { certificate = "s.pem", key = "s.key" }
feed = { certificate = "f.pem", key = "f.key" }
log = { key = "/keys/log.key" }
[[publisher]]
id = "spiffe://semgate.test/operator"
publish = ["*"]
revoke = ["acme.*", "payment"]
[limits]
queue = 12
heartbeat = "250ms"
"#;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("/etc/semgate")).map_err(|fault| fault.to_string())
}

#[test]
fn paths_are_relative_to_the_file_and_defaults_are_filled_in() {
    let config = parse(WHOLE).unwrap();
    assert_eq!(config.state, Path::new("/etc/semgate/authority"));
    assert_eq!(config.keys.log.key, Path::new("/keys/log.key"));
    assert_eq!(config.origin, "semgate.test/log");
    assert_eq!(config.public_url, "https://semgate.test");
    assert_eq!(config.status_lifetime, Duration::from_secs(600));
    assert_eq!((config.limits.queue, config.limits.heartbeat), (12, Duration::from_millis(250)));
    assert_eq!(config.limits.followers, Limits::default().followers);
    assert_eq!(
        config.tls.trust_domains.iter().flatten().map(|d| d.as_str()).collect::<Vec<_>>(),
        ["semgate.test"]
    );
    let [publisher] = &config.publishers[..] else { panic!() };
    assert!(publisher.floor.is_empty());
}

#[test]
fn certificates_of_consoles_connect() {
    let (before, after) = WHOLE.split_at(WHOLE.find("[tls]").unwrap());
    let config = parse(&format!("{before}consoles = [\"spiffe://desk.test/console\"]\n{after}")).unwrap();
    let domains: Vec<&str> =
        config.tls.trust_domains.iter().flatten().map(|domain| domain.as_str()).collect();
    assert_eq!(domains, ["desk.test", "semgate.test"]);
}

#[test]
fn what_is_printed_loads_as_the_same_configuration() {
    let config = parse(WHOLE).unwrap();
    let printed = config.effective();
    let again = Config::parse(&printed, Path::new("")).unwrap();
    assert_eq!(format!("{config:?}"), format!("{again:?}"));
    assert!(printed.contains("queue = 12") && printed.contains("heartbeat = \"250ms\""), "{printed}");
}

#[test]
fn every_wrong_file_says_what_is_wrong() {
    let long = format!("authority = \"{}\"", "a".repeat(201));
    for (from, to, what) in [
        ("[limits]", "[limits]\nbatches = 1", "unknown field `batches`"),
        (
            "authority = \"semgate.test\"",
            "authority = \"semgate.test\"\ncolour = 1",
            "unknown field `colour`",
        ),
        ("key = \"c.key\" }", "key = \"c.key\", pin = 1 }", "unknown field `pin`"),
        ("\"10m\"", "\"1s\"", "`status_lifetime` is 1s"),
        ("\"10m\"", "\"2500ms\"", "whole seconds"),
        ("\"10m\"", "\"2d\"", "`status_lifetime` is 2d"),
        ("\"10m\"", "-5", "not negative"),
        ("\"10m\"", "\"ten minutes\"", "is not a duration"),
        ("\"127.0.0.1:0\"", "\"0.0.0.0:1\"", "`admin.ids` is missing"),
        (
            "admin = \"127.0.0.1:0\"",
            "admin = { listen = \"127.0.0.1:0\", ids = [\"x\"] }",
            "`admin.ids`: `x` is no spiffe id",
        ),
        ("\"127.0.0.1:0\"", "\"localhost\"", "`admin` must be an address, or a table"),
        ("queue = 12", "queue = 0", "`limits.queue` is 0; it must be at least 1 and at most 1048576"),
        ("queue = 12", "batch = 12", "`limits.batch` is fixed now: remove it"),
        ("\"250ms\"", "\"1ms\"", "`limits.heartbeat` is 1ms; it must be at least 100ms and at most 10m"),
        ("\"acme.*\"", "\"acme*\"", "`acme*` is not a line pattern"),
        ("\"acme.*\"", "\".*\"", "`.*` is not a line pattern"),
        ("spiffe://semgate.test/operator", "operator", "publisher `operator`"),
        ("authority = \"semgate.test\"", "authority = \"semgate test\"", "`authority` is empty"),
        ("authority = \"semgate.test\"", long.as_str(), "`authority` is empty"),
        ("state = \"authority\"", "", "missing field `state`"),
        (
            "roots = \"roots.pem\"\nstatus",
            "roots = \"roots.pem\"\npublic_url = \"http://x\"\nstatus",
            "`public_url`",
        ),
        ("roots = \"roots.pem\"\nstatus", "roots = \"roots.pem\"\nprefix = \"contexts\"\nstatus", "`prefix`"),
        (
            "client_roots = \"roots.pem\"",
            "client_roots = \"roots.pem\"\ntrust_domains = [\"A b\"]",
            "`tls.trust_domains`",
        ),
        ("roots = \"roots.pem\"\nstatus", "roots = \"roots.pem\"\norigin = \"\"\nstatus", "an empty text"),
        ("[limits]", "[[publisher]]\nid = \"spiffe://semgate.test/operator\"\n[limits]", "named twice"),
        (
            "roots = \"roots.pem\"\nstatus",
            "roots = \"roots.pem\"\nconsoles = [\"x\"]\nstatus",
            "`consoles`, `x`",
        ),
        (
            "roots = \"roots.pem\"\nstatus",
            "roots = \"roots.pem\"\nconsoles = [\"spiffe://semgate.test/operator\"]\nstatus",
            "is a publisher too",
        ),
        ("[limits]", "[limits", "line "),
        (
            "roots = \"roots.pem\"\nstatus",
            "roots = \"roots.pem\"\nbatch = 1\nstatus",
            "unknown field `batch`",
        ),
    ] {
        assert!(WHOLE.contains(from), "{from}");
        let fault = parse(&WHOLE.replace(from, to)).unwrap_err();
        assert!(fault.contains(what), "{from} -> {to}: {fault}");
        assert!(!fault.contains('\n'), "{fault}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let fault = Config::load(Path::new("/nowhere/authority.toml")).unwrap_err();
    assert!(fault.to_string().starts_with("`/nowhere/authority.toml`: "), "{fault}");
}

#[test]
fn patterns_cover_lines_label_by_label() {
    let covers = |pattern: &str, line: &str| LinePattern::parse(pattern).unwrap().covers(line);
    assert!(covers("*", "payment") && covers("acme.*", "acme.a.b") && covers("payment", "payment"));
    for (pattern, line) in [
        ("acme.*", "acme"),
        ("acme.*", "acmelogistics"),
        ("acme.*", "ACME.logistics"),
        ("payment", "payment.x"),
        ("payment", "Payment"),
    ] {
        assert!(!covers(pattern, line), "{pattern} {line}");
    }
}
