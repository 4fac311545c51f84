/* pattern.c - see pattern.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* White_Space of Unicode, inside of a class. PCRE2's \s has U+180E, too. */
#define SPACES "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
               "\\x{202f}\\x{205f}\\x{3000}"
/* Letters in circles and squares belong to words. Outside of a class Oniguruma has a table for the
 * first 256 characters, where some fractions and powers do, too. */
#define WORDS        "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}" \
                     "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define WORDS_ALONE  WORDS "\\xb2\\xb3\\xb9\\xbc-\\xbe"

struct translation {
    const char    *pattern, *at;
    struct buffer *out;
    bool           in_class;
    bool          *looks_back;
    int            depth, fold_depth; /* of groups; fold_depth: of the (?i: that one is in, or 0 */
};

/* What Oniguruma's escapes are in PCRE2, outside of a class and in one; NULL: refused. */
static const struct {
    char        name;
    const char *outside, *inside;
} escapes[] = {
    { 's', "[" SPACES "]", SPACES },     { 'S', "[^" SPACES "]", "\\S\\x{180e}" },
    { 'd', "\\p{Nd}", "\\p{Nd}" },       { 'D', "\\P{Nd}", "\\P{Nd}" },
    { 'w', "[" WORDS_ALONE "]", WORDS }, { 'W', "[^" WORDS_ALONE "]", NULL },
    { 'h', "[0-9a-fA-F]", "0-9a-fA-F" }, { 'H', "[^0-9a-fA-F]", NULL },
    { 'v', "\\x0b", "\\x0b" },           { 'n', "\\n", "\\n" },
    { 'r', "\\r", "\\r" },               { 't', "\\t", "\\t" },
    { 'f', "\\f", "\\f" },               { 'a', "\\a", "\\a" },
    { 'e', "\\e", "\\e" },               { 'A', "\\A", NULL },
    { 'z', "\\z", NULL },
};

static bool is_other_syntax(const struct translation *translation);
static bool folds_to_others(const struct translation *translation);
static void leave_group(struct translation *translation);
static int take_escape(struct translation *translation, struct error *err);
static int take_property(struct translation *translation, struct error *err);
static bool is_script(const char *name, size_t length);
static int take_code(struct translation *translation, struct error *err);
static int take_group(struct translation *translation, struct error *err);
static int take_class(struct translation *translation, struct error *err);
static int refuse(const struct translation *translation, struct error *err);

int pattern_translate(const char *pattern, struct buffer *out, bool *looks_back,
                      struct error *err)
{
    struct translation translation = { pattern, pattern, out, false, looks_back, 0, 0 };
    int                rc = 0;

    *looks_back = false;
    if (strlen(pattern) > PATTERN_MAX)
        return err_set(err, "a pattern has more than %d bytes", PATTERN_MAX);
    while (*translation.at != '\0' && rc == 0) {
        const char *at = translation.at;

        if (is_other_syntax(&translation))
            rc = refuse(&translation, err);
        else if (*at == '\\')
            rc = take_escape(&translation, err);
        else if (translation.in_class || *at == '[' || *at == ']')
            rc = take_class(&translation, err);
        else if (*at == '(')
            rc = take_group(&translation, err);
        else {
            if (*at == ')')
                leave_group(&translation);
            *looks_back |= *at == '^';
            buffer_add(out, translation.at++, 1);
        }
    }
    if (rc == 0 && translation.in_class)
        rc = refuse(&translation, err);
    buffer_add(out, "", 1);
    return rc;
}

/* Has what is next another meaning in Ruby, so that PCRE2 would match other texts? */
static bool is_other_syntax(const struct translation *translation)
{
    const char *at = translation->at;

    if (translation->fold_depth > 0 && folds_to_others(translation))
        return true;
    if (translation->in_class)
        return false;
    return (at[0] == '{' && at[1] == ',') ||               /* from 0 on */
           (at[0] == '}' && (at[1] == '+' || at[1] == '*')); /* not possessive */
}

/* Is it one of the texts that Oniguruma takes for one character where the case does not matter,
 * or one that may be such a character? As ss, which is the German sharp s. */
static bool folds_to_others(const struct translation *translation)
{
    const char *at = translation->at;
    const int   first = tolower((unsigned char)at[0]), second = tolower((unsigned char)at[1]);

    if ((unsigned char)at[0] >= 0x80 || (at[0] == '\\' && (at[1] == 'u' || at[1] == 'x')))
        return true;
    return !translation->in_class && ((first == 's' && (second == 's' || second == 't')) ||
           (first == 'f' && (second == 'f' || second == 'i' || second == 'l')));
}

static void leave_group(struct translation *translation)
{
    if (translation->depth == translation->fold_depth)
        translation->fold_depth = 0;
    translation->depth--;
}

static int take_escape(struct translation *translation, struct error *err)
{
    const char  name = translation->at[1];
    const char *text;
    size_t      i;

    if (name == 'p' || name == 'P')
        return take_property(translation, err);
    if (name == 'u' || name == 'x')
        return take_code(translation, err);
    for (i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (escapes[i].name != name)
            continue;
        text = translation->in_class ? escapes[i].inside : escapes[i].outside;
        if (text == NULL)
            return refuse(translation, err);
        *translation->looks_back |= name == 'A';
        buffer_add_text(translation->out, text);
        translation->at += 2;
        return 0;
    }
    if (!ispunct((unsigned char)name) && name != ' ')
        return refuse(translation, err);
    buffer_add(translation->out, translation->at, 2);
    translation->at += 2;
    return 0;
}

/* \p{L}, \P{L}, \p{^L} */
static int take_property(struct translation *translation, struct error *err)
{
    const char *at = translation->at, *name;
    size_t      length = at[2] == '{' ? 3 : 2;

    while (isalnum((unsigned char)at[length]) || at[length] == '^' || at[length] == '_')
        length++;
    if (at[2] != '{' || at[length] != '}')
        return refuse(translation, err);
    name = at + 3 + (at[3] == '^');
    buffer_add(translation->out, at, (size_t)(name - at));
    if (is_script(name, (size_t)(at + length - name)))
        buffer_add_text(translation->out, "sc:");
    buffer_add(translation->out, name, (size_t)(at + length + 1 - name));
    translation->at += length + 1;
    return 0;
}

/* From 10.40 on PCRE2 takes \p{Han} for the characters that are used with that script, too. */
static bool is_script(const char *name, size_t length)
{
    char        pattern[64];
    pcre2_code *code;
    PCRE2_SIZE  at;
    int         why;

    if (length > 32)
        return false;
    snprintf(pattern, sizeof pattern, "\\p{sc:%.*s}", (int)length, name);
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &why, &at, NULL);
    pcre2_code_free(code);
    return code != NULL;
}

/* \u4e00, \x{4e00}, \x4e */
static int take_code(struct translation *translation, struct error *err)
{
    const char *at = translation->at;
    const bool  is_braced = at[1] == 'x' && at[2] == '{';
    const int   wanted = at[1] == 'u' ? 4 : 2;
    char        text[16];
    int         digits = 0;

    at += is_braced ? 3 : 2;
    while (isxdigit((unsigned char)at[digits]) && digits < (is_braced ? 6 : wanted))
        digits++;
    if (digits == 0 || (is_braced ? at[digits] != '}' : digits < wanted) ||
        (translation->at[1] == 'x' && !is_braced && at[0] >= '8')) /* a byte, not a character */
        return refuse(translation, err);
    snprintf(text, sizeof text, "\\x{%.*s}", digits, at);
    buffer_add_text(translation->out, text);
    translation->at = at + digits + is_braced;
    return 0;
}

static int take_group(struct translation *translation, struct error *err)
{
    static const struct {
        const char *ruby, *pcre;
        bool        looks_back;
    } groups[] = {
        { "(?:", "(?:", false },   { "(?i:", "(?i:", false }, { "(?m:", "(?s:", false },
        { "(?=", "(?=", false },   { "(?!", "(?!", false },   { "(?>", "(?>", false },
        { "(?<=", "(?<=", true },  { "(?<!", "(?<!", true },
    };
    size_t i;

    if (translation->at[1] == '*')
        return refuse(translation, err);
    translation->depth++;
    if (strncmp(translation->at, "(?i:", 4) == 0 && translation->fold_depth == 0)
        translation->fold_depth = translation->depth;
    for (i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const size_t length = strlen(groups[i].ruby);

        if (strncmp(translation->at, groups[i].ruby, length) != 0)
            continue;
        buffer_add_text(translation->out, groups[i].pcre);
        *translation->looks_back |= groups[i].looks_back;
        translation->at += length;
        return 0;
    }
    if (translation->at[1] == '?')
        return refuse(translation, err);
    buffer_add_text(translation->out, "(?:"); /* nothing refers to it */
    translation->at++;
    return 0;
}

/* A character of a class, or its brackets. Ruby's classes may hold classes, and intersect. */
static int take_class(struct translation *translation, struct error *err)
{
    const char *at = translation->at;

    if (!translation->in_class && *at == ']')
        return refuse(translation, err);
    if (!translation->in_class) {
        translation->in_class = true;
        buffer_add(translation->out, at++, 1);
        if (*at == '^')
            buffer_add(translation->out, at++, 1);
        translation->at = at;
        return *at != ']' ? 0 : refuse(translation, err);
    }
    if (*at == '[' || (at[0] == '&' && at[1] == '&'))
        return refuse(translation, err);
    translation->in_class = *at != ']';
    buffer_add(translation->out, translation->at++, 1);
    return 0;
}

static int refuse(const struct translation *translation, struct error *err)
{
    return err_set(err, "the pattern '%.200s' is not supported from '%.20s' on",
                   translation->pattern, translation->at);
}
