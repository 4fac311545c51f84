/* test_pattern.c - Ruby's regular expressions for PCRE2; pieces of text
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "text/added.h"
#include "text/pattern.h"
#include "text/split.h"

static const struct {
    const char *ruby, *pcre;
    bool        looks_back;
} good[] = {
    { "abc|\\p{L}+| ?\\P{Lu}*", "abc|\\p{L}+| ?\\P{Lu}*", false },
    { "(a)(?:b)(?i:c)(?m:.)(?=d)(?!e)(?>f)", "(?:a)(?:b)(?i:c)(?s:.)(?=d)(?!e)(?>f)", false },
    { "(?<=a)b", "(?<=a)b", true },
    { "(?<!a)b", "(?<!a)b", true },
    { "^a", "^a", true },
    { "\\Aa\\z", "\\Aa\\z", true },
    { "[^\\r\\n\\p{L}]", "[^\\r\\n\\p{L}]", false },
    { "\\d\\D[\\d]", "\\p{Nd}\\P{Nd}[\\p{Nd}]", false },
    { "(?i:'s|'t(a))ss(?i:[st])", "(?i:'s|'t(?:a))ss(?i:[st])", false },
    { "\\h\\v[\\h]", "[0-9a-fA-F]\\x0b[0-9a-fA-F]", false },
    { "[\\S]", "[\\S\\x{180e}]", false },
    { "\\u4e00\\x{9fa5}\\x41", "\\x{4e00}\\x{9fa5}\\x{41}", false },
    { "\\.\\[\\ [\\-\\]]", "\\.\\[\\ [\\-\\]]", false },
    { "\\p{N}{1,3}a++\\p{^L}", "\\p{N}{1,3}a++\\p{^L}", false },
};

static void test_translation(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct buffer out = { 0 };
        struct error  err;
        bool          looks_back;

        assert_int_equal(pattern_translate(good[i].ruby, &out, &looks_back, &err), 0);
        assert_string_equal(out.bytes, good[i].pcre);
        assert_int_equal(looks_back, good[i].looks_back);
        buffer_clear(&out);
    }
}

/* What is from the refused place on. */
static const struct {
    const char *ruby, *rest;
} refused[] = {
    { "a\\bc", "\\bc" },         { "\\1", "\\1" },       { "[a[b]]", "[b]]" },
    { "[a&&b]", "&&b]" },        { "[\\W]", "\\W]" },    { "[a", "" },
    { "a]", "]" },               { "[]a]", "]a]" },      { "(?<name>a)", "(?<name>a)" },
    { "(*ACCEPT)", "(*ACCEPT)" }, { "a{,3}", "{,3}" },   { "a{1,3}+", "}+" },
    { "\\p{L", "\\p{L" },        { "\\pL", "\\pL" },     { "\\p{L&}", "\\p{L&}" },
    { "\\xff", "\\xff" },        { "\\x{}", "\\x{}" },   { "\\u12", "\\u12" },
    { "x(?i:a|(b)ss)ss", "ss)ss" }, { "(?i:\xc3\x9f)", "\xc3\x9f)" },
    { "(?i:[\\u00e9])", "\\u00e9])" }, { "(?i:FL)", "FL)" },
    { "\\Z", "\\Z" },            { "a\\", "\\" },        { "\\K", "\\K" },
};

static void test_refused(void **state)
{
    char   want[512];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct buffer out = { 0 };
        struct error  err = { "" };
        bool          looks_back;

        assert_int_equal(pattern_translate(refused[i].ruby, &out, &looks_back, &err), -1);
        snprintf(want, sizeof want, "the pattern '%s' is not supported from '%s' on",
                 refused[i].ruby, refused[i].rest);
        assert_string_equal(err.text, want);
        buffer_clear(&out);
    }
}

static void test_too_long(void **state)
{
    char         *pattern = malloc(PATTERN_MAX + 2);
    struct buffer out = { 0 };
    struct error  err;
    bool          looks_back;

    (void)state;
    memset(pattern, 'a', PATTERN_MAX + 1);
    pattern[PATTERN_MAX + 1] = '\0';
    assert_int_equal(pattern_translate(pattern, &out, &looks_back, &err), -1);
    assert_string_equal(err.text, "a pattern has more than 65536 bytes");
    buffer_clear(&out);
    free(pattern);
}

/* The examples of the documentation of Hugging Face's tokenizers, and their inversions. */
static const struct {
    const char *split, *text, *want; /* want: pieces, with a bar between them */
} splits[] = {
    { "\"behavior\":\"Removed\"", "the-final--countdown", "the|final|countdown" },
    { "\"behavior\":\"Isolated\"", "the-final--countdown", "the|-|final|-|-|countdown" },
    { "\"behavior\":\"MergedWithPrevious\"", "the-final--countdown", "the-|final-|-|countdown" },
    { "\"behavior\":\"MergedWithNext\"", "the-final--countdown", "the|-final|-|-countdown" },
    { "\"behavior\":\"Contiguous\"", "the-final--countdown", "the|-|final|--|countdown" },
    { "\"behavior\":\"Removed\",\"invert\":true", "the-final--countdown", "-|-|-" },
    { "\"behavior\":\"MergedWithPrevious\"", "-a-", "-|a-" },
    { "\"behavior\":\"MergedWithNext\"", "-a-", "-a|-" },
    { "\"behavior\":\"Contiguous\"", "--a", "--|a" },
};

/* What Oniguruma's classes have, and what they have not, which stays; by tokenizers 0.23. */
static const struct {
    const char *pattern, *text, *want;
} classes[] = {
    /* a letter, a Roman numeral, a letter in a circle, the power of 2, which a class has not */
    { "\\\\w", "-a\xe2\x85\xa7\xe2\x93\x89\xc2\xb2-", "-|-" },
    { "[\\\\w]", "-a\xe2\x85\xa7\xe2\x93\x89\xc2\xb2-", "-|\xc2\xb2-" },
    { "\\\\W", "-a\xe2\x85\xa7\xe2\x93\x89\xc2\xb2-", "a\xe2\x85\xa7\xe2\x93\x89\xc2\xb2" },
    /* a Chinese character and the full stop that is used with it */
    { "\\\\p{Han}", "\xe4\xb8\x96\xe3\x80\x82", "\xe3\x80\x82" },
    { "\\\\p{^Han}", "\xe4\xb8\x96\xe3\x80\x82", "\xe4\xb8\x96" },
    { "\\\\P{Han}", "\xe4\xb8\x96\xe3\x80\x82", "\xe4\xb8\x96" },
};

/* Pre-tokenizers that make a text longer and longer. */
static void test_growth(void **state)
{
    const char       *step = "{\"type\":\"Metaspace\",\"replacement\":\"%c%c%c%c%c%c%c\"},"
                             "{\"type\":\"Split\",\"pattern\":{\"Regex\":\".\"},"
                             "\"behavior\":\"Isolated\"}%s";
    struct split      split;
    struct split_room room = { 0 };
    struct pieces     pieces = { 0 };
    struct buffer     json_text = { 0 }, text = { 0 };
    struct error      err = { "" };
    char              one[256];
    json_t           *json;
    int               c;

    (void)state;
    buffer_add_text(&json_text, "{\"type\":\"Sequence\",\"pretokenizers\":[");
    for (c = 'a'; c < 'e'; c++) {
        snprintf(one, sizeof one, step, c, c, c, c, c, c, c, c < 'd' ? "," : "]}");
        buffer_add_text(&json_text, one);
    }
    json = json_loadb(json_text.bytes, json_text.size, 0, NULL);
    assert_non_null(json);
    assert_int_equal(split_read(&split, json, &err), 0);
    buffer_add_text(&text, "some text of so many characters that it would be some million: "
                           "01234567890123456789012345678901234567890123456789"
                           "01234567890123456789");
    assert_int_equal(split_apply(&split, &room, &text, true, NULL, 0, &pieces, &err), -1);
    assert_string_equal(err.text, "the pre-tokenizers make a text too long: more than 64 times as "
                                  "long, or 4 GiB");
    buffer_clear(&json_text);
    buffer_clear(&text);
    pieces_clear(&pieces);
    split_room_clear(&room);
    split_clear(&split);
    json_decref(json);
}

static void check_split(const char *json_text, const char *text, const char *want)
{
    json_t           *json = json_loads(json_text, 0, NULL);
    struct split      split;
    struct split_room room = { 0 };
    struct pieces     pieces = { 0 };
    struct buffer     buffer = { 0 }, got = { 0 };
    struct error      err = { "" };
    size_t            i;

    assert_non_null(json);
    if (split_read(&split, json, &err) < 0)
        fail_msg("%s", err.text);
    buffer_add_text(&buffer, text);
    assert_int_equal(split_apply(&split, &room, &buffer, true, NULL, 0, &pieces, &err), 0);
    for (i = 0; i < pieces.count; i++) {
        if (i > 0)
            buffer_add(&got, "|", 1);
        buffer_add(&got, buffer.bytes + pieces.piece[i].from,
                   pieces.piece[i].to - pieces.piece[i].from);
    }
    buffer_add(&got, "", 1);
    assert_string_equal(got.bytes, want);
    buffer_clear(&got);
    buffer_clear(&buffer);
    pieces_clear(&pieces);
    split_room_clear(&room);
    split_clear(&split);
    json_decref(json);
}

static void test_splits(void **state)
{
    char   json[256];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        snprintf(json, sizeof json, "{\"type\":\"Split\",\"pattern\":{\"String\":\"-\"},%s}",
                 splits[i].split);
        check_split(json, splits[i].text, splits[i].want);
    }
    for (i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        snprintf(json, sizeof json,
                 "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"},\"behavior\":\"Removed\"}",
                 classes[i].pattern);
        check_split(json, classes[i].text, classes[i].want);
    }
    check_split("{\"type\":\"Digits\",\"individual_digits\":true}", "a12 b", "a|1|2| b");
    check_split("{\"type\":\"Digits\"}", "a12 b", "a|12| b");
    check_split("{\"type\":\"ByteLevel\"}", "it's  fine", " it|'s| | fine");
    check_split("{\"type\":\"ByteLevel\",\"use_regex\":false}", "a b", " a b");
    check_split("{\"type\":\"Metaspace\",\"replacement\":\"_\"}", "a  b", "_a|_|_b");
    check_split("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\","
                "\"split\":false}", " a b", "_a_b");
    check_split("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"},{\"type\":"
                "\"ByteLevel\",\"add_prefix_space\":false}]}", "x1 y", "x|1| y");
}

/* Of two tokens that begin alike the longer one counts; text that begins like one is none. */
static void test_added(void **state)
{
    const char               text[] = "a <ab><abc> <ab";
    struct added             added = { 0 };
    struct added_found       found;
    const struct added_token *token;

    (void)state;
    added_add(&added, "<ab>", 4, &(struct added_token){ .id = 1 });
    added_add(&added, "<abc>", 5, &(struct added_token){ .id = 2, .is_special = true });
    token = added_find(&added, text, strlen(text), 0, 0, true, &found);
    assert_int_equal(token->id, 1);
    assert_int_equal(found.from, 2);
    token = added_find(&added, text, strlen(text), found.to, found.next, true, &found);
    assert_int_equal(token->id, 2);
    assert_null(added_find(&added, text, strlen(text), found.to, found.next, true, &found));
    assert_null(added_find(&added, text, strlen(text), 6, 6, false, &found));
    added_clear(&added);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translation), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_too_long),    cmocka_unit_test(test_splits),
        cmocka_unit_test(test_growth),      cmocka_unit_test(test_added),
    };

    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
