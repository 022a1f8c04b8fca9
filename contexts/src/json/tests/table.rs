//! One line for each way that a text can be right or wrong. Names follow JSONTestSuite (Nicolas Seriot, "Parsing JSON is a
//! Minefield"): `y_` every parser accepts, `n_` every parser refuses, `i_` parsers differ. Where this reader refuses a `y_` case, the
//! reason is I-JSON, and the case stands in `NARROWER` beside it.

use super::*;

type Case = (&'static str, &'static [u8]);

const ACCEPTED: &[Case] = &[
    ("y_array_empty", b"[]"),
    ("y_array_arrays_with_spaces", b"[[]   ]"),
    ("y_array_empty_string", b"[\"\"]"),
    ("y_array_ending_with_newline", b"[\"a\"]\n"),
    ("y_array_false", b"[false]"),
    ("y_array_heterogeneous", b"[null, 1, \"1\", {}]"),
    ("y_array_null", b"[null]"),
    ("y_array_with_1_and_newline", b"[1\n]"),
    ("y_array_with_leading_space", b" [1]"),
    ("y_array_with_several_null", b"[1,null,null,null,2]"),
    ("y_array_with_trailing_space", b"[2] "),
    ("y_number_0e+1", b"[0e+1]"),
    ("y_number_0e1", b"[0e1]"),
    ("y_number_after_space", b"[ 4]"),
    (
        "y_number_close_to_zero",
        b"[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    ),
    ("y_number_int_with_exp", b"[20e1]"),
    ("y_number_minus_zero", b"[-0]"),
    ("y_number_negative_int", b"[-123]"),
    ("y_number_negative_one", b"[-1]"),
    ("y_number_real_capital_e_neg_exp", b"[1E-2]"),
    ("y_number_real_capital_e_pos_exp", b"[1E+2]"),
    ("y_number_fraction_and_exponent", b"[123.456e5]"),
    ("y_number_real_neg_exp", b"[1e-2]"),
    ("y_number_simple_real", b"[123.456789]"),
    ("y_object_basic", b"{\"asd\":\"sdf\"}"),
    ("y_object_empty", b"{}"),
    ("y_object_empty_key", b"{\"\":0}"),
    ("y_object_escaped_null_in_key", b"{\"foo\\u0000bar\": 42}"),
    ("y_object_large_numbers", b"{ \"min\": -1.0e+15, \"max\": 1.0e+15 }"),
    ("y_object_string_unicode", "{\"title\":\"Полтора Землекопа\"}".as_bytes()),
    ("y_object_with_newlines", b"{\n\"a\": \"b\"\n}"),
    ("y_string_1_2_3_bytes_UTF-8_sequences", b"[\"\\u0060\\u012a\\u12AB\"]"),
    ("y_string_accepted_surrogate_pair", b"[\"\\uD801\\udc37\"]"),
    ("y_string_accepted_surrogate_pairs", b"[\"\\ud83d\\ude39\\ud83d\\udc8d\"]"),
    ("y_string_allowed_escapes", b"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"),
    ("y_string_backslash_and_u_escaped_zero", b"[\"\\\\u0000\"]"),
    ("y_string_comments", b"[\"a/*b*/c/*d//e\"]"),
    ("y_string_double_escape_a", b"[\"\\\\a\"]"),
    ("y_string_escaped_noncharacter", b"[\"\\uFFFF\"]"),
    ("y_string_last_surrogates_1_and_2", b"[\"\\uDBFF\\uDFFF\"]"),
    ("y_string_nbsp_uescaped", b"[\"new\\u00A0line\"]"),
    ("y_string_nonCharacterInUTF-8_U+10FFFF", "[\"\u{10ffff}\"]".as_bytes()),
    ("y_string_nonCharacterInUTF-8_U+FFFF", "[\"\u{ffff}\"]".as_bytes()),
    ("y_string_null_escape", b"[\"\\u0000\"]"),
    ("y_string_one-byte-utf-8", b"[\"\\u002c\"]"),
    ("y_string_pi", "[\"π\"]".as_bytes()),
    ("y_string_u+2028_line_sep", "[\"\u{2028}\"]".as_bytes()),
    ("y_string_unescaped_char_delete", b"[\"\x7f\"]"),
    ("y_string_unicodeEscapedBackslash", b"[\"\\u005C\"]"),
    ("y_string_bom_inside", "[\"\u{feff}\"]".as_bytes()),
    ("y_string_utf8", "[\"€𝄞\"]".as_bytes()),
    ("y_structure_lonely_false", b"false"),
    ("y_structure_lonely_int", b"42"),
    ("y_structure_lonely_negative_real", b"-0.1"),
    ("y_structure_lonely_null", b"null"),
    ("y_structure_lonely_string", b"\"asd\""),
    ("y_structure_string_empty", b"\"\""),
    ("y_structure_trailing_newline", b"[\"a\"]\n"),
    ("y_structure_true_in_array", b"[true]"),
    ("y_structure_whitespace_array", b" [] \t\r\n"),
    ("y_number_smallest_double", b"[5e-324]"),
    ("y_structure_depth_at_the_limit", b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
];

/// Well-formed, but not a number of I-JSON, or two readers may disagree about it: `malformed` too.
const NARROWER: &[Case] = &[
    ("y_number", b"[123e65]"),
    ("y_number_real_capital_e", b"[1E22]"),
    ("y_number_real_exponent", b"[123e45]"),
    ("y_number_real_fraction_exponent", b"[123.456e78]"),
    ("y_object_extreme_numbers", b"{ \"min\": -1.0e+28, \"max\": 1.0e+28 }"),
    ("i_number_double_huge_neg_exp", b"[123.456e-789]"),
    (
        "i_number_huge_exp",
        b"[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999]",
    ),
    ("i_number_neg_int_huge_exp", b"[-1e+9999]"),
    ("i_number_pos_double_huge_exp", b"[1.5e+9999]"),
    ("i_number_real_neg_overflow", b"[-123123e100000]"),
    ("i_number_real_pos_overflow", b"[123123e100000]"),
    ("i_number_real_underflow", b"[123e-10000000]"),
    ("i_number_too_big_neg_int", b"[-123123123123123123123123123123]"),
    ("i_number_too_big_pos_int", b"[100000000000000000000]"),
    ("i_number_very_big_negative_int", b"[-237462374673276894279832749832423479823246327846]"),
    ("i_number_2_to_the_53", b"[9007199254740992]"),
    ("i_number_2_to_the_53_as_real", b"[9007199254740992.0]"),
    ("i_number_18_digits", b"[0.123456789012345678]"),
    ("i_string_1st_surrogate_but_2nd_missing", b"[\"\\uDADA\"]"),
    ("i_string_1st_valid_surrogate_2nd_invalid", b"[\"\\uD888\\u1234\"]"),
    ("i_string_incomplete_surrogate_and_escape_valid", b"[\"\\uD800\\n\"]"),
    ("i_string_incomplete_surrogate_pair", b"[\"\\uDd1ea\"]"),
    ("i_string_incomplete_surrogates_escape_valid", b"[\"\\uD800\\uD800\\n\"]"),
    ("i_string_inverted_surrogates_U+1D11E", b"[\"\\uDd1e\\uD834\"]"),
    ("i_string_lone_second_surrogate", b"[\"\\uDFAA\"]"),
    ("i_object_key_lone_2nd_surrogate", b"{\"\\uDFAA\":0}"),
    ("i_string_UTF-16LE_with_BOM", b"\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00"),
    ("i_string_utf16BE_no_BOM", b"\x00[\x00\"\x00\xe9\x00\"\x00]"),
    ("i_string_utf16LE_no_BOM", b"[\x00\"\x00\xe9\x00\"\x00]\x00"),
    ("i_string_invalid_utf-8", b"[\"\xff\"]"),
    ("i_string_iso_latin_1", b"[\"\xe9\"]"),
    ("i_string_UTF-8_invalid_sequence", b"[\"\xe6\x97\xa5\xd1\x88\xfa\"]"),
    ("i_string_lone_utf8_continuation_byte", b"[\"\x81\"]"),
    ("i_string_not_in_unicode_range", b"[\"\xf4\xbf\xbf\xbf\"]"),
    ("i_string_overlong_sequence_2_bytes", b"[\"\xc0\xaf\"]"),
    ("i_string_overlong_sequence_6_bytes", b"[\"\xfc\x83\xbf\xbf\xbf\xbf\"]"),
    ("i_string_truncated-utf-8", b"[\"\xe0\xff\"]"),
    ("i_string_UTF8_surrogate_U+D800", b"[\"\xed\xa0\x80\"]"),
    ("i_structure_UTF-8_BOM_empty_object", b"\xef\xbb\xbf{}"),
];

const DUPLICATES: &[Case] = &[
    ("y_object_duplicated_key", b"{\"a\":\"b\",\"a\":\"c\"}"),
    ("y_object_duplicated_key_and_value", b"{\"a\":\"b\",\"a\":\"b\"}"),
    ("duplicated_key_by_escape", b"{\"a\":1,\"\\u0061\":2}"),
    ("duplicated_key_in_a_nested_object", b"[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]"),
    ("duplicated_key_and_trailing_comma", b"{\"a\":1,\"a\":2,}"),
    ("duplicated_key_behind_a_number_out_of_range", b"{\"n\":1e999,\"a\":1,\"a\":2}"),
];

const LIMITED: &[(&str, &[u8], &str)] = &[
    ("depth_beyond_the_limit", b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "too_deep"),
    ("n_structure_open_array_object", b"[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{", "too_deep"),
    ("n_structure_100000_opening_arrays", &[b'['; 100_000], "too_deep"),
    ("more_than_a_mebibyte", &[b' '; (1 << 20) + 1], "too_large"),
];

const MALFORMED: &[Case] = &[
    ("n_array_1_true_without_comma", b"[1 true]"),
    ("n_array_a_invalid_utf8", b"[a\xe5]"),
    ("n_array_colon_instead_of_comma", b"[\"\": 1]"),
    ("n_array_comma_after_close", b"[\"\"],"),
    ("n_array_comma_and_number", b"[,1]"),
    ("n_array_double_comma", b"[1,,2]"),
    ("n_array_double_extra_comma", b"[\"x\",,]"),
    ("n_array_extra_close", b"[\"x\"]]"),
    ("n_array_extra_comma", b"[\"\",]"),
    ("n_array_incomplete", b"[\"x\""),
    ("n_array_incomplete_invalid_value", b"[x"),
    ("n_array_inner_array_no_comma", b"[3[4]]"),
    ("n_array_invalid_utf8", b"[\xff]"),
    ("n_array_items_separated_by_semicolon", b"[1:2]"),
    ("n_array_just_comma", b"[,]"),
    ("n_array_just_minus", b"[-]"),
    ("n_array_missing_value", b"[   , \"\"]"),
    ("n_array_newlines_unclosed", b"[\"a\",\n4\n,1,"),
    ("n_array_spaces_vertical_tab_formfeed", b"[\"\x0ba\"\\f]"),
    ("n_array_star_inside", b"[*]"),
    ("n_array_unclosed", b"[\"\""),
    ("n_array_unclosed_trailing_comma", b"[1,"),
    ("n_array_unclosed_with_object_inside", b"[{}"),
    ("n_incomplete_false", b"[fals]"),
    ("n_incomplete_null", b"[nul]"),
    ("n_incomplete_true", b"[tru]"),
    ("n_multidigit_number_then_00", b"123\x00"),
    ("n_number_++", b"[++1234]"),
    ("n_number_+1", b"[+1]"),
    ("n_number_+Inf", b"[+Inf]"),
    ("n_number_-01", b"[-01]"),
    ("n_number_-1.0.", b"[-1.0.]"),
    ("n_number_-2.", b"[-2.]"),
    ("n_number_-NaN", b"[-NaN]"),
    ("n_number_.-1", b"[.-1]"),
    ("n_number_.2e-3", b"[.2e-3]"),
    ("n_number_0.1.2", b"[0.1.2]"),
    ("n_number_0.3e", b"[0.3e]"),
    ("n_number_0.3e+", b"[0.3e+]"),
    ("n_number_0.e1", b"[0.e1]"),
    ("n_number_0_capital_E", b"[0E]"),
    ("n_number_0e+", b"[0e+]"),
    ("n_number_1.0e-", b"[1.0e-]"),
    ("n_number_1_000", b"[1 000.0]"),
    ("n_number_1eE2", b"[1eE2]"),
    ("n_number_2.e+3", b"[2.e+3]"),
    ("n_number_9.e+", b"[9.e+]"),
    ("n_number_Inf", b"[Inf]"),
    ("n_number_NaN", b"[NaN]"),
    ("n_number_U+FF11_fullwidth_digit_one", "[１]".as_bytes()),
    ("n_number_expression", b"[1+2]"),
    ("n_number_hex_1_digit", b"[0x1]"),
    ("n_number_infinity", b"[Infinity]"),
    ("n_number_invalid+-", b"[0e+-1]"),
    ("n_number_invalid-negative-real", b"[-123.123foo]"),
    ("n_number_invalid-utf-8-in-bigger-int", b"[123\xe5]"),
    ("n_number_minus_space_1", b"[- 1]"),
    ("n_number_neg_int_starting_with_zero", b"[-012]"),
    ("n_number_neg_real_without_int_part", b"[-.123]"),
    ("n_number_real_garbage_after_e", b"[1ea]"),
    ("n_number_real_without_fractional_part", b"[1.]"),
    ("n_number_starting_with_dot", b"[.123]"),
    ("n_number_with_alpha", b"[1.2a-3]"),
    ("n_number_with_leading_zero", b"[012]"),
    ("n_number_underscore", b"[1_000]"),
    ("n_object_bad_value", b"[\"x\", truth]"),
    ("n_object_bracket_key", b"{[: \"x\"}"),
    ("n_object_comma_instead_of_colon", b"{\"x\", null}"),
    ("n_object_double_colon", b"{\"x\"::\"b\"}"),
    ("n_object_garbage_at_end", b"{\"a\":\"a\" 123}"),
    ("n_object_key_with_single_quotes", b"{key: 'value'}"),
    ("n_object_missing_colon", b"{\"a\" b}"),
    ("n_object_missing_key", b"{:\"b\"}"),
    ("n_object_missing_semicolon", b"{\"a\" \"b\"}"),
    ("n_object_missing_value", b"{\"a\":"),
    ("n_object_no-colon", b"{\"a\""),
    ("n_object_non_string_key", b"{1:1}"),
    ("n_object_null_key", b"{null:null}"),
    ("n_object_several_trailing_commas", b"{\"id\":0,,,,,}"),
    ("n_object_single_quote", b"{'a':0}"),
    ("n_object_trailing_comma", b"{\"id\":0,}"),
    ("n_object_trailing_comment", b"{\"a\":\"b\"}/**/"),
    ("n_object_trailing_comment_slash_open", b"{\"a\":\"b\"}//"),
    ("n_object_two_commas_in_a_row", b"{\"a\":\"b\",,\"c\":\"d\"}"),
    ("n_object_unquoted_key", b"{a: \"b\"}"),
    ("n_object_unterminated-value", b"{\"a\":\"a"),
    ("n_object_with_single_string", b"{ \"foo\" : \"bar\", \"a\" }"),
    ("n_object_with_trailing_garbage", b"{\"a\":\"b\"}#"),
    ("n_single_space", b" "),
    ("n_string_1_surrogate_then_escape", b"[\"\\uD800\\\"]"),
    ("n_string_1_surrogate_then_escape_u1", b"[\"\\uD800\\u1\"]"),
    ("n_string_accentuated_char_no_quotes", "[é]".as_bytes()),
    ("n_string_backslash_00", b"[\"\\\x00\"]"),
    ("n_string_escape_x", b"[\"\\x00\"]"),
    ("n_string_escaped_backslash_bad", b"[\"\\\\\\\"]"),
    ("n_string_escaped_ctrl_char_tab", b"[\"\\\t\"]"),
    ("n_string_escaped_emoji", "[\"\\🌀\"]".as_bytes()),
    ("n_string_incomplete_escape", b"[\"\\\"]"),
    ("n_string_incomplete_escaped_character", b"[\"\\u00A\"]"),
    ("n_string_incomplete_surrogate", b"[\"\\uD834\\uDd\"]"),
    ("n_string_invalid-utf-8-in-escape", b"[\"\\u\xe5\"]"),
    ("n_string_invalid_unicode_escape", b"[\"\\uqqqq\"]"),
    ("n_string_unicode_escape_with_sign", b"[\"\\u+123\"]"),
    ("n_string_unicode_CapitalU", b"\"\\UA66D\""),
    ("n_string_no_quotes_with_bad_escape", b"[\\n]"),
    ("n_string_single_doublequote", b"\""),
    ("n_string_single_quote", b"['single quote']"),
    ("n_string_single_string_no_double_quotes", b"abc"),
    ("n_string_unescaped_ctrl_char", b"[\"a\x00a\"]"),
    ("n_string_unescaped_newline", b"[\"new\nline\"]"),
    ("n_string_unescaped_tab", b"[\"\t\"]"),
    ("n_string_unescaped_control_in_key", b"{\"a\x1fb\":1}"),
    ("n_string_with_trailing_garbage", b"\"\"x"),
    ("n_structure_U+2060_word_joined", "[\u{2060}]".as_bytes()),
    ("n_structure_UTF8_BOM_no_data", b"\xef\xbb\xbf"),
    ("n_structure_angle_bracket_.", b"<.>"),
    ("n_structure_array_trailing_garbage", b"[1]x"),
    ("n_structure_array_with_unclosed_string", b"[\"asd]"),
    ("n_structure_ascii-unicode-identifier", "aå".as_bytes()),
    ("n_structure_capitalized_True", b"[True]"),
    ("n_structure_close_unopened_array", b"1]"),
    ("n_structure_comma_instead_of_closing_brace", b"{\"x\": true,"),
    ("n_structure_double_array", b"[][]"),
    ("n_structure_end_array", b"]"),
    ("n_structure_incomplete_UTF8_BOM", b"\xef\xbb{}"),
    ("n_structure_lone-invalid-utf-8", b"\xe5"),
    ("n_structure_no_data", b""),
    ("n_structure_null-byte-outside-string", b"[\x00]"),
    ("n_structure_number_with_trailing_garbage", b"2@"),
    ("n_structure_object_followed_by_closing_object", b"{}}"),
    ("n_structure_object_with_comment", b"{\"a\":/*comment*/\"b\"}"),
    ("n_structure_open_object_comma", b"{,"),
    ("n_structure_single_eacute", b"\xe9"),
    ("n_structure_two_values", b"{} {}"),
    ("n_structure_uescaped_LF_before_string", b"[\\u000A\"\"]"),
    ("n_structure_unclosed_object", b"{\"asd\":\"asd\""),
    ("n_structure_whitespace_U+00A0", "[\u{a0}]".as_bytes()),
    ("n_structure_whitespace_formfeed", b"[\x0c]"),
    ("n_structure_json_sequence", b"\x1e{}\n"),
    ("n_structure_two_lines", b"{}\n{}\n"),
    ("n_structure_trailing_null_byte", b"[1]\x00"),
];

fn all(cases: &[Case], expected: &str) {
    let wrong: Vec<_> =
        cases.iter().map(|(name, text)| (*name, code(text))).filter(|(_, code)| *code != expected).collect();
    assert!(wrong.is_empty(), "not {expected}: {wrong:?}");
}

#[test]
fn what_every_parser_accepts_is_accepted() {
    all(ACCEPTED, "ok");
    for (name, text) in ACCEPTED {
        assert!(serde_json::from_slice::<Value>(text).is_ok(), "{name}");
    }
}

#[test]
fn what_parsers_differ_about_is_refused() {
    all(NARROWER, "malformed");
}

#[test]
fn what_every_parser_refuses_is_refused() {
    all(MALFORMED, "malformed");
    for (name, text) in MALFORMED {
        assert!(serde_json::from_slice::<Value>(text).is_err(), "{name}");
    }
}

#[test]
fn duplicate_names_have_their_own_code() {
    all(DUPLICATES, "duplicate_key");
}

#[test]
fn limits_have_their_own_codes() {
    for (name, text, expected) in LIMITED {
        assert_eq!(code(text), *expected, "{name}");
    }
    let many = format!("[{}0]", "0,".repeat(19_999));
    assert_eq!(code(many.as_bytes()), "too_complex");
}

#[test]
fn every_case_has_a_name_of_its_own() {
    let tables = [ACCEPTED, NARROWER, DUPLICATES, MALFORMED];
    let names: std::collections::HashSet<_> =
        tables.iter().flat_map(|cases| cases.iter().map(|case| case.0)).collect();
    assert_eq!(names.len(), tables.iter().map(|cases| cases.len()).sum::<usize>());
    assert!(names.len() >= 200, "{}", names.len());
}
