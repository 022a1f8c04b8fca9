use proptest::prelude::*;

use super::*;
use crate::json::tests::config;

fn number(text: &str) -> Number<'_> {
    Number::parse(text).unwrap_or_else(|what| panic!("{text}: {what}"))
}

#[test]
fn an_integer_is_one_however_it_is_written() {
    for text in ["120", "120.0", "1.2e2", "1.2E+2", "12e1", "1200e-1", "0.12e3", "120.000e0", "120e00"] {
        assert_eq!(number(text).as_i64_exact(), Some(120), "{text}");
        assert_eq!(number(text), number("120"), "{text}");
        assert_eq!(number(text).to_value(), serde_json::json!(120), "{text}");
        assert_eq!(number(text).text(), text);
    }
    for text in ["0", "-0", "0.0", "-0.00", "0e5", "0e-99999999", "-0E+7"] {
        assert_eq!(number(text).as_i64_exact(), Some(0), "{text}");
        assert_eq!(number(text).to_decimal4(), Ok(0), "{text}");
        assert_eq!(number(text), number("0"), "{text}");
    }
    assert_eq!(number("-7").as_i64_exact(), Some(-7));
    assert_ne!(number("-7"), number("7"));
    for text in ["0.5", "120.5", "1e-1", "-0.0001", "1.2e-300"] {
        assert_eq!(number(text).as_i64_exact(), None, "{text}");
    }
}

#[test]
fn two_numbers_are_written_exactly_alike_where_they_are_equal_and_nowhere_else() {
    for (text, exact) in
        [("120", "12e1"), ("1.2e2", "12e1"), ("-0.0", "0e0"), ("-0.5", "-5e-1"), ("7", "7e0")]
    {
        assert_eq!(number(text).exact(), exact, "{text}");
    }
    let (near, far) = (number("0.1"), number("0.10000000000000001"));
    assert_eq!(near.as_f64().to_bits(), far.as_f64().to_bits(), "one double");
    assert!(near != far && near.exact() != far.exact());
}

#[test]
fn numbers_are_ordered_by_their_digits_where_doubles_cannot_tell_them_apart() {
    let ascending = [
        "-9007199254740991",
        "-7.5",
        "-0.10000000000000001",
        "-1e-300",
        "-0",
        "1.2e-300",
        "0.0999",
        "0.1",
        "0.10000000000000001",
        "0.7999999999999999",
        "0.8",
        "0.80000000000000001",
        "1",
        "9.99",
        "10",
        "1.2e2",
        "9007199254740991",
    ];
    for (at, low) in ascending.iter().enumerate() {
        for high in &ascending[at + 1..] {
            assert!(number(low) < number(high) && number(high) > number(low), "{low} < {high}");
        }
    }
    for (one, other) in [("0.8", "8e-1"), ("0", "-0.0"), ("120", "1.2e2"), ("-5", "-5.0")] {
        assert_eq!(number(one).cmp(&number(other)), std::cmp::Ordering::Equal, "{one} {other}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_of_integers_is_theirs(one in -MAX_INTEGER..=MAX_INTEGER, other in -MAX_INTEGER..=MAX_INTEGER) {
        let (left, right) = (one.to_string(), other.to_string());
        prop_assert_eq!(number(&left).cmp(&number(&right)), one.cmp(&other));
    }
}

#[test]
fn the_bounds_of_i_json_are_exact_to_the_last_unit() {
    let max = MAX_INTEGER;
    for text in ["9007199254740991", "9007199254740991.0", "9.007199254740991e15", "90071992547409910e-1"] {
        assert_eq!(number(text).as_i64_exact(), Some(max), "{text}");
        assert_eq!(number(&format!("-{text}")).as_i64_exact(), Some(-max), "{text}");
    }
    assert_eq!(number("9007199254740990.9").as_i64_exact(), None);
    for text in [
        "9007199254740992",
        "9007199254740993",
        "9007199254740991.1",
        "9.007199254740992e15",
        "1e16",
        "1e300",
        "1e99999999",
        "99999999999999999",
        "18446744073709551616",
    ] {
        for text in [text.to_owned(), format!("-{text}")] {
            let what = Number::parse(&text).unwrap_err();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            assert!(what == "number is beyond 2^53 - 1" || digits > 17, "{text}: {what}");
        }
    }
}

#[test]
fn digits_that_a_double_cannot_hold_are_refused() {
    assert!(Number::parse("0.12345678901234567").is_ok());
    assert!(Number::parse("0.00000000000000000000012345678901234567000").is_ok());
    for text in ["0.123456789012345678", "1.00000000000000000001", "3.14159265358979323846"] {
        assert_eq!(Number::parse(text).unwrap_err(), "number has more than 17 significant digits");
    }
    for text in ["1e-400", "-1e-400", "1e-99999999", "2e-324", "0.1e-330"] {
        assert_eq!(
            Number::parse(text).unwrap_err(),
            "number is too small for a double and not zero",
            "{text}"
        );
    }
    assert!(number("5e-324").as_f64() > 0.0);
    assert_eq!(Number::parse("1e000000001").unwrap_err(), "exponent is too long");
    assert_eq!(Number::parse("0e000000000").unwrap_err(), "exponent is too long");
    assert_eq!(
        Number::parse(&format!("1.{}", "0".repeat(MAX_NUMBER_TEXT))).unwrap_err(),
        "number is too long"
    );
    assert_eq!(
        Number::parse(&format!("1.{}", "0".repeat(MAX_NUMBER_TEXT - 2))).map(|n| n.as_i64_exact()),
        Ok(Some(1))
    );
}

#[test]
fn a_number_alone_is_held_to_the_grammar() {
    for text in [
        "", "-", "+1", "01", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity", "1 ", " 1", "1_0", "١",
        "--1", "1.e1",
    ] {
        assert!(Number::parse(text).is_err(), "{text}");
    }
}

#[test]
fn decimals_are_exact_and_bounded_as_cedars_are() {
    for text in ["12000", "12000.0", "1.2e4", "12e3", "120000000e-4", "12000.0000"] {
        assert_eq!(number(text).to_decimal4(), Ok(120_000_000), "{text}");
    }
    assert_eq!(number("0.0001").to_decimal4(), Ok(1));
    assert_eq!(number("-0.0001").to_decimal4(), Ok(-1));
    assert_eq!(number("1e-4").to_decimal4(), Ok(1));
    // Not representable as a double; by way of one it might become 10000.0999….
    assert_eq!(number("10000.1").to_decimal4(), Ok(100_001_000));
    assert_eq!(number("9999.9999").to_decimal4(), Ok(99_999_999));
    assert_eq!(number("922337203685477").to_decimal4(), Ok(9_223_372_036_854_770_000));
    for text in ["0.00001", "1e-5", "10000.00001", "1e-300", "-0.12345", "922337203685.00001"] {
        assert_eq!(number(text).to_decimal4(), Err(DecimalFault::TooPrecise), "{text}");
    }
    for text in ["922337203685478", "-922337203685478", "9007199254740991", "922337203685477.6"] {
        assert_eq!(number(text).to_decimal4(), Err(DecimalFault::OutOfRange), "{text}");
    }
}

#[test]
fn attack_a_threshold_cannot_be_slipped_under_by_spelling() {
    let limit = number("10000").to_decimal4().unwrap();
    for text in ["10000.0001", "1.00000001e4", "100000001e-4", "1000000.01e-2", "0.100000001e5"] {
        assert_eq!(number(text).to_decimal4(), Ok(limit + 1), "{text}");
    }
}

#[test]
fn nothing_of_a_number_is_shown_to_a_log() {
    assert_eq!(format!("{:?}", number("4711")), "number");
}

/// The same questions answered in another way: the number written out in full, as digits before and after the point.
struct WrittenOut {
    negative: bool,
    whole: String,
    fraction: String,
}

fn write_out(text: &str) -> WrittenOut {
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let lower = unsigned.to_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (mut whole, mut fraction) = mantissa
        .split_once('.')
        .map_or((mantissa.to_owned(), String::new()), |(w, f)| (w.to_owned(), f.to_owned()));
    let exponent: i32 = exponent.trim_start_matches('+').parse().unwrap();
    for _ in 0..exponent.max(0) {
        whole.push(if fraction.is_empty() { '0' } else { fraction.remove(0) });
    }
    for _ in 0..(-exponent).max(0) {
        fraction.insert(0, whole.pop().unwrap_or('0'));
    }
    WrittenOut {
        negative,
        whole: whole.trim_start_matches('0').to_owned(),
        fraction: fraction.trim_end_matches('0').to_owned(),
    }
}

impl WrittenOut {
    fn signed(&self, digits: &str) -> i128 {
        let magnitude: i128 = if digits.is_empty() { 0 } else { digits.parse().unwrap() };
        if self.negative { -magnitude } else { magnitude }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    fn accepted(&self) -> bool {
        let digits = format!("{}{}", self.whole, self.fraction);
        let significant = digits.trim_matches('0').len();
        let magnitude = if self.whole.len() > 16 { i128::MAX } else { self.signed(&self.whole).abs() };
        let limit = i128::from(MAX_INTEGER);
        significant <= 17 && (magnitude < limit || magnitude == limit && self.fraction.is_empty())
    }

    fn integer(&self) -> Option<i64> {
        self.fraction.is_empty().then(|| i64::try_from(self.signed(&self.whole)).unwrap())
    }

    fn decimal4(&self) -> Result<i64, DecimalFault> {
        if self.fraction.len() > 4 {
            return Err(DecimalFault::TooPrecise);
        }
        let scaled = self.signed(&format!("{}{:0<4}", self.whole, self.fraction));
        i64::try_from(scaled).map_err(|_| DecimalFault::OutOfRange)
    }
}

fn digits_around_the_bounds() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,18})(\\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?",
        "-?(0|[1-9][0-9]{0,4})(\\.0{0,3}[0-9]{1,6}0{0,3})([eE][+-]?0?[0-9])?",
        "-?(900719925474099[0-9]|92233720368547[67][0-9])(\\.[0-9]{1,2}0{0,3})?(e0|e-1|e1)?",
        "-?0\\.0{0,25}[0-9]{1,17}(e-?[0-9]{1,2})?",
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_answer_equals_that_of_writing_the_number_out(text in digits_around_the_bounds()) {
        let expected = write_out(&text);
        match Number::parse(&text) {
            Ok(number) => {
                prop_assert!(expected.accepted(), "{text} was accepted");
                prop_assert_eq!(number.as_i64_exact(), expected.integer());
                prop_assert_eq!(number.to_decimal4(), expected.decimal4());
                prop_assert_eq!(number.as_f64(), text.parse::<f64>().unwrap());
                prop_assert!(number.as_f64().is_finite());
                prop_assert_eq!(number.as_f64() == 0.0, expected.is_zero());
            }
            Err(what) => prop_assert!(!expected.accepted(), "{text}: {what}"),
        }
    }

    #[test]
    fn equal_values_are_equal_numbers(text in digits_around_the_bounds(), shift in 0_i32..5) {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap();
        let point = if mantissa.contains('.') { "" } else { "." };
        let respelled = format!("{mantissa}{point}{}e{exponent}", "0".repeat(shift as usize + 1));
        if let Ok(number) = Number::parse(&text) {
            prop_assert_eq!(Number::parse(&respelled), Ok(number));
        }
    }

    #[test]
    fn any_text_is_refused_or_read_as_serde_reads_it(text in "[-+.eE0-9]{0,12}") {
        if let Ok(number) = Number::parse(&text) {
            let theirs: f64 = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(number.as_f64(), theirs);
        }
    }
}
