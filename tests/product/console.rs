//! `semgate console run` beside a running `up`: who may open what, what the pages show, and what never leaves or enters them.

use std::process::Command;

use crate::support;
use support::console::{AUDIT, Console, PEOPLE};
use support::{SEMGATE, Up, wait_for};

/// The pages, and the people who may open each: `v`iewer, a`u`ditor, `o`perator, `a`pprover. `bob.sre` has all roles.
const PAGES: [(&str, &str, &[&str]); 28] = [
    ("GET", "/", &["vi", "au", "op"]),
    ("GET", "/verdicts", &["vi", "au", "op"]),
    ("GET", "/decisions/none", &["au"]),
    ("GET", "/decisions/none/text", &["au"]),
    ("GET", "/contexts", &["vi", "au", "op"]),
    ("GET", "/contexts/urn%3Acontexts%3Apayment%3Av1.1", &["vi", "au", "op"]),
    ("GET", "/contexts/urn%3Acontexts%3Apayment%3Av1.1/document.txt", &["vi", "au", "op"]),
    ("GET", "/contexts/urn%3Acontexts%3Atravel%3Av2.2/prompt.txt", &["vi", "au", "op"]),
    ("GET", "/compare", &["vi", "au", "op"]),
    ("GET", "/policies", &["vi", "au", "op"]),
    ("GET", "/policies/matrix.txt", &["vi", "au", "op"]),
    ("GET", "/policies/explain", &["vi", "au", "op"]),
    ("GET", "/standing", &["vi", "au", "op"]),
    ("GET", "/agents", &["vi", "au", "op"]),
    ("GET", "/limits", &["vi", "au", "op"]),
    ("GET", "/log", &["au"]),
    ("GET", "/approvals", &["ap"]),
    ("GET", "/approvals/none", &["ap"]),
    ("GET", "/approvals/none/action.txt", &["ap"]),
    ("POST", "/approvals/none/approve", &["ap"]),
    ("POST", "/approvals/none/deny", &["ap"]),
    ("POST", "/approvals/none/delegate", &["ap"]),
    ("POST", "/standing/revoke", &["op"]),
    ("POST", "/standing/suspend", &["op"]),
    ("POST", "/standing/floor", &["op"]),
    ("POST", "/standing/approve", &["op"]),
    ("POST", "/standing/trust", &["op"]),
    ("POST", "/policies/explain", &["vi", "au", "op"]),
];

#[test]
fn the_login_matrix_of_role_page_and_method_holds() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    for (name, _) in PEOPLE {
        let browser = console.log_in(name);
        let home = if name == "ap" { "/approvals" } else { "/" };
        for (method, path, may) in PAGES {
            let answer = if method == "GET" { browser.get(path) } else { browser.post(home, path, "") };
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            let turned = answer.status == 403 && text.contains("None of your roles");
            assert_eq!(!turned, name == "bob.sre" || may.contains(&name), "{name}: {method} {path}: {text}");
            let exists = !path.contains("none");
            if !turned && method == "GET" && exists {
                assert_eq!(answer.status, 200, "{name}: {path}: {text}");
            }
        }
    }
    for (method, path, _) in PAGES {
        let nobody = console.nobody();
        match method {
            "GET" => {
                let to = nobody.get(path).header("location").unwrap_or_default();
                assert!(to.starts_with("/login"), "{path}: {to}");
            }
            _ => assert_eq!(nobody.raw_post(path, "").status, 401, "{path}"),
        }
    }
}

#[test]
fn attack_a_certificate_that_names_no_person_logs_nobody_in() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    // a good certificate of an agent
    let agent = console.form(Some("retailer-7"), "/login", "", "");
    assert_eq!((agent.status, agent.header("set-cookie")), (403, None));
    assert_eq!(console.form(None, "/login", "", "").status, 403);
    // the session of a certificate is worth nothing on another connection
    let bob = console.log_in("bob.sre");
    assert_eq!(bob.stolen().get("/").header("location").as_deref(), Some("/login"));
    assert_eq!(bob.get("/").status, 200);
    let plain = support::plain_get(&console.url.replace("https", "http"));
    assert_eq!(plain.status, 400, "plain HTTP gets no page");
}

#[test]
fn a_printed_link_logs_in_once_and_its_factor_is_recorded() {
    let up = Up::start();
    let console = Console::start(&up, "", "link = \"human://bob.sre\"");
    let link = console.link();
    let path = support::path(&link);
    assert_eq!(console.nobody().get(&path).header("set-cookie"), None, "a GET logs nobody in");
    let bob = console.follow(&link);
    assert!(bob.page("/approvals").contains("bob.sre"));
    let secret = link.split_once("link=").unwrap().1;
    assert_eq!(console.form(None, "/login", "", &format!("link={secret}")).status, 403);
    let audit = std::fs::read_to_string(up.dir.join(AUDIT)).unwrap();
    let first: serde_json::Value = serde_json::from_str(audit.lines().next().unwrap()).unwrap();
    assert_eq!((first["act"].as_str(), first["factor"].as_str()), (Some("login"), Some("link")), "{first}");
    assert!(!audit.contains(secret), "the secret of the link is in no record");
}

#[test]
fn the_pages_show_the_running_system() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    let bob = console.log_in("bob.sre");
    let overview = bob.page("/");
    let status = support::plain_get(&format!("{}/status", up.text("/admin_url"))).json();
    let digest = status["policies"]["digest"].as_str().unwrap().to_owned();
    assert!(overview.contains("Ready.") && overview.contains(&digest), "{overview}");
    let contexts = bob.page("/contexts");
    assert!(
        contexts.contains("urn:contexts:payment:v1.1") && contexts.contains("below the floor"),
        "{contexts}"
    );
    assert!(contexts.contains("<span class=\"good\">VALID</span>"), "{contexts}");
    let travel = bob.page("/contexts/urn%3Acontexts%3Atravel%3Av2.2");
    for relation in [
        "<code>bookFlight/dest_code</code> same_as <code>https://schema.org/arrivalAirport</code>",
        "<code>bookFlight</code> requires <code>bookFlight/date</code>",
        "<a href=\"/contexts/urn%3Acontexts%3Atravel%3Av2.2/prompt.txt\">",
    ] {
        assert!(travel.contains(relation), "{relation}: {travel}");
    }
    let prompt = bob.page("/contexts/urn%3Acontexts%3Atravel%3Av2.2/prompt.txt");
    assert!(prompt.starts_with("# Context urn:contexts:travel:v2.2\n"), "{prompt}");
    let compared = bob.page("/compare?old=urn:contexts:payment:v1.1&new=urn:contexts:payment:v2.0");
    assert!(compared.contains("breaking") && compared.contains("Counterexample"), "{compared}");
    let policies = bob.page("/policies");
    assert!(policies.contains(&digest) && policies.contains("this set"), "{policies}");
    assert!(bob.page("/policies/matrix.txt").contains("payment"), "the matrix names concepts");
    let agents = bob.page("/agents");
    assert!(agents.contains("treasurer-1") && agents.contains("high-value-authorized"), "{agents}");
    assert!(bob.page("/log").contains("publish"), "the log has publications");
    assert!(bob.page("/limits").contains("semgate_connections"), "meters of the gateway");
}

#[test]
fn a_form_explains_a_verdict_and_its_content_stays_text() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    let vi = console.log_in("vi");
    let ask = |sender: &str, item: &str| {
        let form = format!(
            "sender={sender}&receiver=wholesaler-1&context=urn%3Acontexts%3AsupplyChain%3Av1.0&concept=current_decision&performative=INFORM&content=%7B%22item_id%22%3A%22{item}%22%2C%22quantity%22%3A120%7D"
        );
        let answer = vi.post("/policies/explain", "/policies/explain", &form);
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body).unwrap()
    };
    let known = ask("retailer-7", "beer");
    assert!(known.contains("Verdict:") && known.contains("permitted"), "{known}");
    let stranger = ask("spiffe%3A%2F%2Fsemgate.test%2Fagent%2Fnobody", "beer");
    assert!(stranger.contains("denied"), "{stranger}");
    let hostile = ask("retailer-7", "%3Cscript%3E%E2%80%AE");
    assert!(!hostile.contains("<script>") && hostile.contains("&lt;script&gt;"), "{hostile}");
    assert!(!hostile.contains('\u{202E}') && hostile.contains("\\u{202E}"), "{hostile}");
}

#[test]
fn attack_an_operator_of_the_console_without_a_right_at_the_authority_revokes_nothing() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    let op = console.log_in("op");
    let form = "urn=urn%3Acontexts%3Apayment%3Av1.1&reason=because&sure=yes";
    let answer = op.post("/standing", "/standing/revoke", form);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 403, "{text}");
    assert!(text.contains("not_permitted"), "{text}");
    let audit = std::fs::read_to_string(up.dir.join(AUDIT)).unwrap();
    let outcomes: Vec<String> = audit
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["act"] == "revoke")
        .map(|line| line["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes, ["intended", "not_permitted"], "{audit}");
    let listed = op.page("/contexts/urn%3Acontexts%3Apayment%3Av1.1");
    assert!(listed.contains("VALID"), "nothing was revoked");
}

#[test]
fn no_page_names_another_origin() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    let bob = console.log_in("bob.sre");
    for (method, path, _) in PAGES {
        if method != "GET" || path.contains("none") || path.ends_with(".txt") {
            continue;
        }
        let page = bob.page(path);
        for attribute in ["src=\"", "href=\"", "action=\"", "hx-get=\""] {
            for target in page.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                let own = target.starts_with('#') || (target.starts_with('/') && !target.starts_with("//"));
                assert!(own, "{path}: {attribute}{target}");
            }
        }
    }
}

#[test]
fn the_configuration_is_checked_without_binding_a_port() {
    let up = Up::start();
    let console = Console::start(&up, "", "");
    // while the first one runs at its address
    let checked =
        Command::new(SEMGATE).args(["console", "check", "--config"]).arg(&console.config).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("people_roots"));
    let wrong = up.dir.join("wrong.toml");
    let text = std::fs::read_to_string(&console.config).unwrap();
    std::fs::write(&wrong, text.replace("people_roots", "peeple_roots")).unwrap();
    let refused = Command::new(SEMGATE).args(["console", "check", "--config"]).arg(&wrong).output().unwrap();
    let shown = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && shown.contains("line 2") && shown.contains("did you mean"),
        "{shown}"
    );
}

/// Payments over 500 need a person; waits until the gateway knows it.
fn ask_about_payments(up: &Up) {
    let text = "@id(\"large\") @approve(\"the treasurer signs these\") permit (principal in Group::\"partners\", \
                action == Action::\"REQUEST\", resource is payment::transfer) \
                when { resource.amount.greaterThan(decimal(\"500.0\")) };\n";
    std::fs::write(up.path("/policies").join("large.cedar"), text).unwrap();
    let digest = support::policies::digest_of(&up.path("/policies"));
    wait_for("the new policies", || {
        let status = support::plain_get(&format!("{}/status", up.text("/admin_url"))).json();
        status["policies"]["digest"].as_str().is_some_and(|live| digest.contains(live)).then_some(())
    });
}

fn pay(up: &Up, amount: u32) -> serde_json::Value {
    let transfer = format!(r#"{{"sender_id":"a","receiver_id":"b","amount":{amount},"currency":"USD"}}"#);
    up.say(&["payment:v1.1", "transfer", &transfer, "--performative", "REQUEST"]).1
}

/// The path of the one open request on the page of the inbox.
fn asked(bob: &support::console::Browser<'_>) -> String {
    wait_for("a request in the inbox", || {
        let inbox = bob.page("/approvals");
        let link = inbox.split("href=\"/approvals/").nth(1)?;
        Some(format!("/approvals/{}", link.split('"').next()?))
    })
}

fn digest_on(page: &str) -> String {
    page.split("name=\"digest\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn a_person_approves_exactly_the_action_on_the_page_and_denies_another() {
    let up = Up::start();
    ask_about_payments(&up);
    let console = Console::start(&up, "", "");
    let bob = console.log_in("bob.sre");
    let before = up.received();
    std::thread::scope(|scope| {
        let paid = scope.spawn(|| pay(&up, 900));
        let path = asked(&bob);
        let (target, query) = path.split_once('?').unwrap();
        let page = bob.page(&path);
        assert!(page.contains("&quot;amount&quot;: 900"), "{page}");
        assert!(page.contains("the treasurer signs these"), "{page}");
        let digest = digest_on(&page);
        let other = format!("sha-256:{}", "0".repeat(64));
        let wrong = bob.post(&path, &format!("{target}/approve"), &format!("{query}&digest={other}"));
        assert_eq!(wrong.status, 409, "another digest decides nothing");
        assert_eq!(up.received(), before);
        let form = format!("gateway=up&digest={digest}");
        let vi = console.log_in("vi");
        let turned = vi.post("/", &format!("{target}/approve"), &form);
        assert_eq!(turned.status, 403, "a viewer approves nothing");
        let approved = bob.post(&path, &format!("{target}/approve"), &form);
        assert_eq!(approved.status, 303, "{}", String::from_utf8_lossy(&approved.body));
        let said = paid.join().unwrap();
        assert_eq!(said["verdict"], "ALLOWED", "{said}");
    });
    assert_eq!(up.received(), before + 1);
    std::thread::scope(|scope| {
        let paid = scope.spawn(|| pay(&up, 9000));
        let path = asked(&bob);
        let page = bob.page(&path);
        assert!(page.contains("Difference to the last approved one"), "{page}");
        assert!(page.contains("<ins>+") && page.contains("<del>"), "{page}");
        let form = format!("gateway=up&digest={}&reason=no", digest_on(&page));
        let denied = bob.post(&path, &format!("{}/deny", path.split('?').next().unwrap()), &form);
        assert_eq!(denied.status, 303, "{}", String::from_utf8_lossy(&denied.body));
        let said = paid.join().unwrap();
        assert_eq!(said["code"], "approval_denied", "{said}");
    });
    assert_eq!(up.received(), before + 1);
    let audit = std::fs::read_to_string(up.dir.join(AUDIT)).unwrap();
    for (act, outcome) in
        [("approve", "intended"), ("approve", "done"), ("deny", "intended"), ("deny", "done")]
    {
        let is = |line: &str| {
            line.contains(&format!("\"act\":\"{act}\""))
                && line.contains(&format!("\"outcome\":\"{outcome}\""))
        };
        assert!(audit.lines().any(is), "{act} {outcome}: {audit}");
    }
}
