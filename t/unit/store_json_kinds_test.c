/*
 * Kinds of JSON texts that parsers are known to disagree on, named as the
 * public JSONTestSuite names its own: y_ is JSON, n_ is not, and i_ is left
 * to whoever reads it.  The inputs are ours.  A line of a dump is a flat object
 * of strings, whole numbers and booleans, so many that are JSON are refused.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "jsonline.h"


#define REFUSED  0
#define TAKEN    1

#define kind(name, text, verdict)  { name, text, sizeof(text) - 1, verdict }


typedef struct {
    const char  *name;
    const char  *text;
    size_t       n;
    int          taken;
} kind_t;


static store_json_t  json;


/* In a block of its own size, so that ASan sees a read behind it. */
static int
taken(const char *text, size_t n)
{
    int    rc;
    char  *copy;

    copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    rc = store_json_parse(&json, copy, n);
    free(copy);

    return rc == STORE_OK;
}


static void
check(const kind_t *kinds, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (taken(kinds[i].text, kinds[i].n) != kinds[i].taken) {
            fail_msg("%s: %s", kinds[i].name,
                     kinds[i].taken ? "refused" : "taken");
        }
    }
}


#define check_kinds(kinds)  check(kinds, sizeof(kinds) / sizeof(kinds[0]))


static void
test_structure(void **state)
{
    static const kind_t  kinds[] = {
        kind("y_structure_empty_object", "{}", TAKEN),
        kind("y_structure_blanks_around", " \t{ \t} \t", TAKEN),
        kind("y_structure_carriage_return", "{}\r", TAKEN),
        kind("y_structure_line_feed_behind", "{}\n", REFUSED),
        kind("y_structure_line_feed_inside", "{\"k\":\n1}", REFUSED),
        kind("y_structure_alone_false", "false", REFUSED),
        kind("y_structure_alone_true", "true", REFUSED),
        kind("y_structure_alone_null", "null", REFUSED),
        kind("y_structure_alone_number", "12", REFUSED),
        kind("y_structure_alone_string", "\"k\"", REFUSED),
        kind("y_structure_alone_array", "[]", REFUSED),
        kind("n_structure_nothing", "", REFUSED),
        kind("n_structure_blank_only", " ", REFUSED),
        kind("n_structure_bracket_only", "{", REFUSED),
        kind("n_structure_bracket_close_only", "}", REFUSED),
        kind("n_structure_mixed_brackets", "{]", REFUSED),
        kind("n_structure_two_objects", "{}{}", REFUSED),
        kind("n_structure_garbage_behind", "{}k", REFUSED),
        kind("n_structure_comma_behind", "{},", REFUSED),
        kind("n_structure_closed_twice", "{}}", REFUSED),
        kind("n_structure_hash_behind", "{}#", REFUSED),
        kind("n_structure_comment", "{/* k */}", REFUSED),
        kind("n_structure_comment_behind", "{}//", REFUSED),
        kind("n_structure_star", "*", REFUSED),
        kind("n_structure_angles", "<{}>", REFUSED),
        kind("n_structure_capital_true", "{\"k\":TRUE}", REFUSED),
        kind("n_structure_word_cut", "{\"k\":fals", REFUSED),
        kind("n_structure_word_longer", "{\"k\":truee}", REFUSED),
        kind("n_structure_formfeed", "{\f}", REFUSED),
        kind("n_structure_vertical_tab", "{\v}", REFUSED),
        kind("n_structure_nbsp", "{\xc2\xa0}", REFUSED),
        kind("n_structure_word_joiner", "{\xe2\x81\xa0}", REFUSED),
        kind("n_structure_line_separator", "{\xe2\x80\xa8}", REFUSED),
        kind("n_structure_nul_before", "\0{}", REFUSED),
        kind("n_structure_nul_inside", "{\0}", REFUSED),
        kind("n_structure_nul_behind", "{}\0", REFUSED),
        kind("n_structure_escape_outside", "{\\u0020}", REFUSED),
        kind("n_structure_bom_alone", "\xef\xbb\xbf", REFUSED),
        kind("n_structure_bom_cut", "\xef\xbb{}", REFUSED),
        kind("n_structure_byte_alone", "\xe9", REFUSED),
        kind("i_structure_bom_before", "\xef\xbb\xbf{}", REFUSED),
    };

    (void) state;

    check_kinds(kinds);
}


static void
test_array(void **state)
{
    static const kind_t  kinds[] = {
        kind("y_array_empty", "{\"k\":[]}", REFUSED),
        kind("y_array_numbers", "{\"k\":[1,2]}", REFUSED),
        kind("y_array_mixed", "{\"k\":[null,1,\"1\",{}]}", REFUSED),
        kind("n_array_open", "{\"k\":[}", REFUSED),
        kind("n_array_comma", "{\"k\":[,]}", REFUSED),
        kind("n_array_no_comma", "{\"k\":[1 2]}", REFUSED),
        kind("n_array_closed_twice", "{\"k\":[]]}", REFUSED),
        kind("n_array_star", "{\"k\":[*]}", REFUSED),
    };

    (void) state;

    check_kinds(kinds);
}


static void
test_object(void **state)
{
    static const kind_t  kinds[] = {
        kind("y_object_member", "{\"k\":\"v\"}", TAKEN),
        kind("y_object_members", "{\"k\":\"v\",\"l\":1}", TAKEN),
        kind("y_object_empty_key", "{\"\":0}", TAKEN),
        kind("y_object_escaped_key", "{\"\\u006b\\n\":0}", TAKEN),
        kind("y_object_false", "{\"k\":false}", TAKEN),
        kind("y_object_null", "{\"k\":null}", REFUSED),
        kind("y_object_in_object", "{\"k\":{}}", REFUSED),
        kind("y_object_zero_in_key", "{\"k\\u0000\":1}", REFUSED),
        kind("y_object_key_twice", "{\"k\":1,\"k\":2}", REFUSED),
        kind("y_object_key_twice_escaped", "{\"k\":1,\"\\u006B\":2}", REFUSED),
        kind("y_object_member_twice", "{\"k\":1,\"k\":1}", REFUSED),
        kind("n_object_bare_key", "{k:1}", REFUSED),
        kind("n_object_single_quotes", "{'k':1}", REFUSED),
        kind("n_object_number_key", "{1:1}", REFUSED),
        kind("n_object_array_key", "{[\"k\"]:1}", REFUSED),
        kind("n_object_no_key", "{:1}", REFUSED),
        kind("n_object_no_value", "{\"k\":}", REFUSED),
        kind("n_object_no_colon", "{\"k\" 1}", REFUSED),
        kind("n_object_colon_twice", "{\"k\"::1}", REFUSED),
        kind("n_object_comma_for_colon", "{\"k\",1}", REFUSED),
        kind("n_object_key_alone", "{\"k\"}", REFUSED),
        kind("n_object_last_comma", "{\"k\":1,}", REFUSED),
        kind("n_object_first_comma", "{,\"k\":1}", REFUSED),
        kind("n_object_commas", "{\"k\":1,,\"l\":1}", REFUSED),
        kind("n_object_semicolon", "{\"k\":1;\"l\":1}", REFUSED),
        kind("n_object_value_cut", "{\"k\":\"v", REFUSED),
        kind("n_object_not_closed", "{\"k\":1", REFUSED),
        kind("n_object_comment", "{\"k\":1/**/}", REFUSED),
        kind("n_object_emoji", "{\xf0\x9f\x98\x80}", REFUSED),
        kind("n_object_bad_byte_in_key", "{\"k\xb9\":1}", REFUSED),
        kind("i_object_half_pair_in_key", "{\"\\uDC00\":1}", REFUSED),
    };

    (void) state;

    check_kinds(kinds);
}


static void
test_number(void **state)
{
    static const kind_t  kinds[] = {
        kind("y_number_zero", "{\"k\":0}", TAKEN),
        kind("y_number_one", "{\"k\":1}", TAKEN),
        kind("y_number_negative", "{\"k\":-123}", TAKEN),
        kind("y_number_after_blank", "{\"k\": 4}", TAKEN),
        kind("y_number_2_63", "{\"k\":9223372036854775808}", TAKEN),
        kind("y_number_2_64_less_1", "{\"k\":18446744073709551615}", TAKEN),
        kind("y_number_2_64", "{\"k\":18446744073709551616}", REFUSED),
        kind("y_number_minus_zero", "{\"k\":-0}", REFUSED),
        kind("y_number_fraction", "{\"k\":1.5}", REFUSED),
        kind("y_number_whole_fraction", "{\"k\":1.0}", REFUSED),
        kind("y_number_exponent", "{\"k\":1e2}", REFUSED),
        kind("y_number_exponent_capital", "{\"k\":1E2}", REFUSED),
        kind("y_number_exponent_plus", "{\"k\":1e+2}", REFUSED),
        kind("y_number_exponent_minus", "{\"k\":1e-2}", REFUSED),
        kind("y_number_all_of_it", "{\"k\":-1.5e-2}", REFUSED),
        kind("n_number_plus", "{\"k\":+1}", REFUSED),
        kind("n_number_plus_plus", "{\"k\":++1}", REFUSED),
        kind("n_number_minus", "{\"k\":-}", REFUSED),
        kind("n_number_minus_minus", "{\"k\":--1}", REFUSED),
        kind("n_number_minus_blank", "{\"k\":- 1}", REFUSED),
        kind("n_number_leading_zero", "{\"k\":01}", REFUSED),
        kind("n_number_minus_leading_zero", "{\"k\":-01}", REFUSED),
        kind("n_number_zeros", "{\"k\":00}", REFUSED),
        kind("n_number_point_first", "{\"k\":.5}", REFUSED),
        kind("n_number_point_last", "{\"k\":5.}", REFUSED),
        kind("n_number_points", "{\"k\":1.2.3}", REFUSED),
        kind("n_number_exponent_empty", "{\"k\":1e}", REFUSED),
        kind("n_number_exponent_sign_only", "{\"k\":1e-}", REFUSED),
        kind("n_number_hex", "{\"k\":0x1}", REFUSED),
        kind("n_number_underscore", "{\"k\":1_000}", REFUSED),
        kind("n_number_blank_inside", "{\"k\":1 000}", REFUSED),
        kind("n_number_letters", "{\"k\":1a}", REFUSED),
        kind("n_number_nan", "{\"k\":NaN}", REFUSED),
        kind("n_number_minus_nan", "{\"k\":-NaN}", REFUSED),
        kind("n_number_infinity", "{\"k\":Infinity}", REFUSED),
        kind("n_number_minus_infinity", "{\"k\":-Infinity}", REFUSED),
        kind("n_number_sum", "{\"k\":1+1}", REFUSED),
        kind("n_number_fullwidth", "{\"k\":\xef\xbc\x91}", REFUSED),
        kind("n_number_bad_byte", "{\"k\":1\xe5}", REFUSED),
        kind("n_number_zero_byte", "{\"k\":1\0}", REFUSED),
        kind("i_number_huge", "{\"k\":1000000000000000000000000}", REFUSED),
        kind("i_number_huge_negative", "{\"k\":-99999999999999999999}",
             REFUSED),
        kind("i_number_negative_2_64_less_1", "{\"k\":-18446744073709551615}",
             TAKEN),
        kind("i_number_huge_exponent", "{\"k\":1e9999}", REFUSED),
        kind("i_number_tiny", "{\"k\":1e-9999}", REFUSED),
    };

    (void) state;

    check_kinds(kinds);
}


static void
test_string(void **state)
{
    static const kind_t  kinds[] = {
        kind("y_string_empty", "{\"k\":\"\"}", TAKEN),
        kind("y_string_escapes", "{\"k\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
             TAKEN),
        kind("y_string_escape_hex_cases", "{\"k\":\"\\u00eF\"}", TAKEN),
        kind("y_string_escaped_backslash_u", "{\"k\":\"\\\\u0000\"}", TAKEN),
        kind("y_string_pair", "{\"k\":\"\\ud834\\uDD1e\"}", TAKEN),
        kind("y_string_last_pair", "{\"k\":\"\\udbff\\udfff\"}", TAKEN),
        kind("y_string_pairs", "{\"k\":\"\\ud83d\\ude39\\ud83d\\udc8d\"}",
             TAKEN),
        kind("y_string_noncharacter", "{\"k\":\"\\uffff\\ufdd0\"}", TAKEN),
        kind("y_string_comment", "{\"k\":\"a/*b*/c//d\"}", TAKEN),
        kind("y_string_del", "{\"k\":\"\x7f\"}", TAKEN),
        kind("y_string_utf8_2", "{\"k\":\"\xc2\x80\xdf\xbf\"}", TAKEN),
        kind("y_string_utf8_3", "{\"k\":\"\xe0\xa0\x80\xef\xbf\xbf\"}", TAKEN),
        kind("y_string_utf8_4", "{\"k\":\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"}",
             TAKEN),
        kind("y_string_utf8_around_surrogates",
             "{\"k\":\"\xed\x9f\xbf\xee\x80\x80\"}", TAKEN),
        kind("y_string_separators", "{\"k\":\"\xe2\x80\xa8\xe2\x80\xa9\"}",
             TAKEN),
        kind("y_string_bom_inside", "{\"k\":\"\xef\xbb\xbf\"}", TAKEN),
        kind("y_string_escaped_zero", "{\"k\":\"\\u0000\"}", REFUSED),
        kind("n_string_not_closed", "{\"k\":\"v}", REFUSED),
        kind("n_string_no_quotes", "{\"k\":v}", REFUSED),
        kind("n_string_single_quotes", "{\"k\":'v'}", REFUSED),
        kind("n_string_garbage_behind", "{\"k\":\"v\"v}", REFUSED),
        kind("n_string_tab", "{\"k\":\"\t\"}", REFUSED),
        kind("n_string_line_feed", "{\"k\":\"\n\"}", REFUSED),
        kind("n_string_zero_byte", "{\"k\":\"\0\"}", REFUSED),
        kind("n_string_control", "{\"k\":\"\x1f\"}", REFUSED),
        kind("n_string_escape_x", "{\"k\":\"\\x41\"}", REFUSED),
        kind("n_string_escape_a", "{\"k\":\"\\a\"}", REFUSED),
        kind("n_string_escape_capital_u", "{\"k\":\"\\U0041\"}", REFUSED),
        kind("n_string_escape_quote", "{\"k\":\"\\'\"}", REFUSED),
        kind("n_string_escape_zero_byte", "{\"k\":\"\\\0\"}", REFUSED),
        kind("n_string_escape_line_feed", "{\"k\":\"\\\n\"}", REFUSED),
        kind("n_string_escape_utf8", "{\"k\":\"\\\xc3\xa5\"}", REFUSED),
        kind("n_string_escape_short", "{\"k\":\"\\u00A\"}", REFUSED),
        kind("n_string_escape_not_hex", "{\"k\":\"\\u00gA\"}", REFUSED),
        kind("n_string_escape_signed", "{\"k\":\"\\u+041\"}", REFUSED),
        kind("n_string_escape_cut", "{\"k\":\"\\", REFUSED),
        kind("n_string_escape_u_cut", "{\"k\":\"\\u", REFUSED),
        kind("n_string_pair_cut", "{\"k\":\"\\ud83d\\u", REFUSED),
        kind("n_string_pair_short", "{\"k\":\"\\ud83d\\ude0\"}", REFUSED),
        kind("n_string_pair_escape", "{\"k\":\"\\ud83d\\\"}", REFUSED),
        kind("i_string_half_pair_first", "{\"k\":\"\\ud83d\"}", REFUSED),
        kind("i_string_half_pair_second", "{\"k\":\"\\ude00\"}", REFUSED),
        kind("i_string_pair_of_firsts", "{\"k\":\"\\ud83d\\ud83d\"}", REFUSED),
        kind("i_string_pair_inverted", "{\"k\":\"\\ude00\\ud83d\"}", REFUSED),
        kind("i_string_half_pair_and_escape", "{\"k\":\"\\ud83d\\n\"}",
             REFUSED),
        kind("i_string_half_pair_and_text", "{\"k\":\"\\ud83dabcdef\"}",
             REFUSED),
        kind("i_string_utf8_first_surrogate", "{\"k\":\"\xed\xa0\x80\"}",
             REFUSED),
        kind("i_string_utf8_last_surrogate", "{\"k\":\"\xed\xbf\xbf\"}",
             REFUSED),
        kind("i_string_utf8_pair", "{\"k\":\"\xed\xa0\xbd\xed\xb8\x80\"}",
             REFUSED),
        kind("i_string_utf8_overlong_2", "{\"k\":\"\xc0\xaf\"}", REFUSED),
        kind("i_string_utf8_overlong_2_last", "{\"k\":\"\xc1\xbf\"}", REFUSED),
        kind("i_string_utf8_overlong_3", "{\"k\":\"\xe0\x9f\xbf\"}", REFUSED),
        kind("i_string_utf8_overlong_4", "{\"k\":\"\xf0\x8f\xbf\xbf\"}",
             REFUSED),
        kind("i_string_utf8_overlong_6",
             "{\"k\":\"\xfc\x80\x80\x80\x80\x80\"}", REFUSED),
        kind("i_string_utf8_beyond", "{\"k\":\"\xf4\x90\x80\x80\"}", REFUSED),
        kind("i_string_utf8_5", "{\"k\":\"\xf8\x88\x80\x80\x80\"}", REFUSED),
        kind("i_string_utf8_cut_2", "{\"k\":\"\xc3\"}", REFUSED),
        kind("i_string_utf8_cut_3", "{\"k\":\"\xe2\x82\"}", REFUSED),
        kind("i_string_utf8_cut_4", "{\"k\":\"\xf0\x9f\x98\"}", REFUSED),
        kind("i_string_utf8_cut_at_the_end", "{\"k\":\"\xf0\x9f\x98", REFUSED),
        kind("i_string_continuation", "{\"k\":\"\x81\"}", REFUSED),
        kind("i_string_latin_1", "{\"k\":\"\xe9\"}", REFUSED),
        kind("i_string_ff", "{\"k\":\"\xff\"}", REFUSED),
        kind("i_string_utf16le", "{\0\"\0k\0\"\0:\0001\0}\0", REFUSED),
        kind("i_string_utf16be", "\0{\0\"\0k\0\"\0:\0001\0}", REFUSED),
        kind("i_string_utf16le_bom", "\xff\xfe{\0}\0", REFUSED),
        kind("i_string_utf16be_bom", "\xfe\xff\0{\0}", REFUSED),
        kind("i_string_utf32le_bom", "\xff\xfe\0\0{\0\0\0}\0\0\0", REFUSED),
    };

    (void) state;

    check_kinds(kinds);
}


/* No nesting at all, so none is too deep for the stack. */
static void
test_depth(void **state)
{
    char    line[STORE_JSON_LINE_MAX], *large;
    size_t  n;

    (void) state;

    memset(line, '[', sizeof(line));
    assert_false(taken(line, sizeof(line)));
    memcpy(line, "{\"k\":", 5);
    assert_false(taken(line, sizeof(line)));

    /* i_structure, 500 arrays that are closed */

    memset(line + 5, '[', 500);
    memset(line + 505, ']', 500);
    line[1005] = '}';
    assert_false(taken(line, 1006));

    /* n_structure, 100000 objects that are not */

    large = malloc(100000 * 5);
    assert_non_null(large);

    for (n = 0; n < 100000; n++) {
        memcpy(large + n * 5, "{\"\":{", 5);
    }

    assert_false(taken(large, 100000 * 5));
    assert_false(taken(large, STORE_JSON_LINE_MAX));
    free(large);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_object),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_string),
        cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
