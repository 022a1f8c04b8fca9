//! Every spelling of a URN is found, and no ordinary text is touched.

use proptest::prelude::*;

use super::super::{Extension, KnownLines};
use super::*;

/// What stands where names are taken out of a text, at a gateway that follows the lines `payment` and `acme.tools`.
fn without(text: &str) -> String {
    let extension = Extension::new("urn:contexts:snl:v1.0".to_owned());
    let lines = KnownLines::these(&["payment", "acme.tools"]);
    let mut left = text.to_owned();
    for place in named_in(text, &Known { extension: &extension, lines: &lines }).into_iter().rev() {
        left.replace_range(place, "<>");
    }
    left
}

#[test]
fn a_urn_is_found_however_it_is_written() {
    for urn in [
        "urn:contexts:payment:v1.1",
        "URN:Contexts:Travel:V2.0",
        "urn:contexts:travel",
        "urn:contexts:travel:v2.0#Book",
        "urn:contexts:travel:v2.0/Book",
        "urn%3Acontexts%3Atravel%3Av2.0",
        "urn%253acontexts%253Atravel%25253av2.0",
        "%75rn:con%74exts:t%72avel:%762.0",
        "urn%u003Acontexts:travel:v2.0",
        "%EF%BD%95%EF%BD%92%EF%BD%8E%EF%BC%9Acontexts:travel",
        "urn&#58;contexts&#x3a;travel&colon;v2&period;0",
        "urn&#58contexts&#0058;travel",
        "urn&amp;#58;contexts&amp;amp;#x3A;travel",
        "urn%26%2358%3Bcontexts:travel",
        "&#117;&#x72;&#110;:contexts:travel",
        "&ufr;r&Nopf;:contexts:travel",
        "urn\\u003acontexts\\x3Atravel",
        "ｕｒｎ：ｃｏｎｔｅｘｔｓ：ｔｒａｖｅｌ：ｖ２．０",
        "urn︓contexts﹕travel",
        "𝐮𝐫𝐧:𝒸ontexts:travel",
        "ⓤⓡⓝ:contexts:travel",
        "urn∶contexts։travel",
        "urn:соntехts:travel",
        "u\u{301}rn:conte\u{332}xts:travel",
        "u\u{200b}rn:con\u{ad}texts:\u{2060}tra\u{feff}vel:v\u{34f}2.0",
        "u&shy;rn:con&#8203;texts:tra%E2%80%8Bvel",
        "urn: contexts: travel",
        "urn :\n contexts :\ttravel : v2.0",
        "urn: contexts: travel v2.0",
        "urn\":\"contexts\":\"travel\":\"v2.0",
        "urn“:”contexts«:»travel",
        "urn%20:%0Acontexts&nbsp;:&#160;travel",
        "u r n : c o n t e x t s : travel:v2.0",
        "urn**:**contexts_:_travel",
        "urn::contexts::travel::v2.0",
        "urn:+contexts:+travel",
        "urn:%FFcontexts:travel",
    ] {
        assert_eq!(without(urn), "<>", "{urn}");
        assert_eq!(without(&format!("a — ({urn}), b.")), "a — (<>), b.", "{urn}");
        assert_eq!(without(&format!("见“{urn}”。")), "见“<>”。", "{urn}");
    }
    assert_eq!(without("https://a.test/urn:contexts:travel?x=1"), "https://a.test/<>?x=1");
    assert_eq!(without("xurn:contexts:travel"), "x<>");
    assert_eq!(without("ends with urn:contexts:travel:v2.0."), "ends with <>.");
}

#[test]
fn a_list_that_begins_with_a_urn_is_found_to_its_end() {
    for (list, left) in [
        ("urn:contexts:travel:v2.0,hotel:v1.0;car:v3.1", "<>,<>;<>"),
        ("urn:contexts:travel:v2.0, hotel:v1.0 and more", "<>, <> and more"),
        ("urn:contexts:travel,hotel", "<>,<>"),
        ("urn:contexts:{travel:v2.0, hotel:v1.0}", "<>, <>}"),
        ("urn:contexts:snl:v1.0,hotel:v1.0", "urn:contexts:snl:v1.0,<>"),
        ("urn:contexts:travel, and more", "<>, and more"),
        ("urn:contexts:travel,好", "<>,好"),
        ("urn:contexts:travel%2Chotel%3Av1.0", "<>%2C<>"),
    ] {
        assert_eq!(without(list), left);
    }
}

#[test]
fn the_extension_is_named_and_nothing_beside_it() {
    for text in ["urn:contexts:snl:v1.0", "see urn:contexts:snl:v1.0.", "urn%3Acontexts%3Asnl%3Av1.0"] {
        assert_eq!(without(text), text);
    }
    for text in
        ["urn:contexts:snl:v1.1", "urn:contexts:snl:v1.0#payment", "urn:contexts:snl:v1.0:payment:v1.1"]
    {
        assert_eq!(without(text), "<>", "{text}");
    }
}

#[test]
fn a_line_that_is_known_is_found_with_its_version_alone() {
    for (text, left) in [
        ("payment:v1.1", "<>"),
        ("Payment:V9.0", "<>"),
        ("speaks payment:v1.1, and payment : v2", "speaks <>, and <>"),
        ("pay\u{ad}ment%3Av1.1", "<>"),
        ("“acme.tools:v1.0”", "“<>”"),
        ("...payment:v1.1...", "...<>..."),
        ("contexts/payment:v1.1/Transfer", "contexts/<>/Transfer"),
        ("urn:other:payment:v1.1", "urn:other:<>"),
        ("payments:v1.1 my-payment:v1.1 payment.eu:v1.1 tools:v1.0", ""),
        ("payment: very good", ""),
        ("payment:v1beta payment:version1 payment:1.1", ""),
        ("payment", ""),
    ] {
        assert_eq!(without(text), if left.is_empty() { text } else { left }, "{text}");
    }
}

#[test]
fn ordinary_texts_are_left() {
    for text in [
        "Takes payments, plans travel: in two contexts. Return: contexts: none.",
        "Run ghcr.io/acme/agent:v1.2 or model:v3, see https://a.test/a%20b?c=%3A&d=1#e",
        "urn:ietf:params:oauth:grant-type:jwt-bearer urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "An urn, in the contexts of burial; urn:contextual:x, `urn:contexts:`.",
        "AT&T; 100% &amp; more \\ %zz &#; &#x; &; &#99999999999; %u12 \\u12",
        "Контексты: оплата, 支払い：はい、旅行。 نسخة:١",
    ] {
        assert_eq!(without(text), text);
    }
}

#[test]
fn a_long_text_is_read_in_its_own_time() {
    // a slower reading would take minutes for any of these
    for piece in [
        "%25",
        "%2%3%3",
        "&#5",
        "&amp;",
        "urn:",
        "urn:contexts:",
        "u r ",
        "payment:v1",
        "payment:",
        ":v1",
        "&a",
        "a.",
        "\u{ad}",
        "%F0%9F",
        "urn:contexts:a,",
        "，",
        "urn:contexts:a:v1 ",
        ".",
        "&#58",
    ] {
        let began = std::time::Instant::now();
        let _ = without(&piece.repeat(200_000 / piece.len()));
        assert!(began.elapsed().as_secs() < 10, "{piece}");
    }
}

/// One of many spellings of a character, by a number.
fn spelt(c: char, way: u8) -> String {
    let code = u32::from(c);
    match way % 12 {
        0 => c.to_string(),
        1 => c.to_ascii_uppercase().to_string(),
        2 => format!("%{code:02X}"),
        3 => format!("%25{code:02x}"),
        4 => format!("&#{code};"),
        5 => format!("&#x{code:x};"),
        6 => format!("&amp;#{code};"),
        7 => char::from_u32(code + 0xfee0).unwrap_or(c).to_string(),
        8 => format!("{c}\u{200b}"),
        9 => format!("\u{ad}{c}"),
        10 => format!("\\u{code:04x}"),
        _ => format!("{c}\u{301}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn fuzz_every_spelling_of_a_urn_is_found(
        ways in prop::collection::vec(any::<u8>(), 26),
        between in prop::collection::vec("[ \n\"'“”]{0,2}", 3),
        before in "([a-z]{1,4} ){0,2}",
    ) {
        let mut ways = ways.into_iter();
        let mut all = |part: &str| part.chars().map(|c| spelt(c, ways.next().unwrap_or(0))).collect::<String>();
        let parts = [all("urn:"), all("contexts:"), all("travel:"), all("v2.0")];
        let urn = format!("{}{}{}{}{}{}{}", parts[0], between[0], parts[1], between[1], parts[2], between[2], parts[3]);
        let left = without(&format!("{before}{urn}, and"));
        prop_assert_eq!(left.replace(['\u{ad}', '\u{200b}', '\u{301}'], ""), format!("{before}<>, and"));
    }

    #[test]
    fn fuzz_no_text_stops_it_and_what_is_left_names_nothing(text in "([\\PC\\n]|urn:contexts:|payment:v1|%3A|&#58;|:|[ ,;]){0,24}") {
        let left = without(&text);
        prop_assert_eq!(without(&left.replace("<>", "a shared context")), left.replace("<>", "a shared context"));
    }

    #[test]
    fn fuzz_words_and_addresses_are_left(text in "([A-Za-zäé好]{1,9}[ .,:;/?&=%#-]{1,2}){0,12}") {
        prop_assert_eq!(without(&text), text);
    }
}
