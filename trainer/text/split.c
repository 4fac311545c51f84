/* split.c - see split.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/normal.h"
#include "text/pattern.h"
#include "xalloc.h"

/* In the order of the words in read_behavior(). */
enum behavior { ISOLATED, REMOVED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };

struct split_step {
    enum { STEP_PATTERN, STEP_PREFIX } kind;
    pcre2_code   *code;
    enum behavior behavior;
    bool          invert;
    /* STEP_PREFIX: each piece that does not begin with it gets it, or only the first piece; spaces
     * become it before. */
    char          prefix[8];
    bool          only_first;
};

/* That of ByteLevel. */
#define GPT2_PATTERN \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static int  read_step(struct split *split, const json_t *json, struct error *err);
static int  read_split(struct split *split, const json_t *json, struct error *err);
static int  read_behavior(const json_t *json, enum behavior *behavior, struct error *err);
static int  read_byte_level(struct split *split, const json_t *json, struct error *err);
static int  read_metaspace(struct split *split, const json_t *json, struct error *err);
static int  add_pattern(struct split *split, const char *pattern, enum behavior behavior,
                        bool invert, struct error *err);
static char *escaped(const char *text);
static struct split_step *add_step(struct split *split, struct error *err);

int split_read(struct split *split, const json_t *json, struct error *err)
{
    const char   *type = json_string_value(json_object_get(json, "type"));
    const json_t *list = json_object_get(json, "pretokenizers"), *one;
    size_t        i;

    *split = (struct split){ .is_local = true };
    if (json == NULL || json_is_null(json))
        return 0;
    if (type == NULL || strcmp(type, "Sequence") != 0)
        return read_step(split, json, err);
    if (!json_is_array(list))
        return err_set(err, "the pre-tokenizer Sequence has no list of pretokenizers");
    json_array_foreach((json_t *)list, i, one)
        if (read_step(split, one, err) < 0)
            return -1;
    return 0;
}

static int read_step(struct split *split, const json_t *json, struct error *err)
{
    const char *type = json_string_value(json_object_get(json, "type"));

    if (type == NULL)
        return err_set(err, "a pre-tokenizer has no type");
    if (split->is_bytes)
        return err_set(err, "the pre-tokenizer %.60s comes after ByteLevel", type);
    if (strcmp(type, "Split") == 0)
        return read_split(split, json, err);
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(split, json, err);
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(split, json, err);
    if (strcmp(type, "Digits") == 0)
        return add_pattern(split, "\\p{N}",
                           json_is_true(json_object_get(json, "individual_digits")) ? ISOLATED
                                                                                    : CONTIGUOUS,
                           false, err);
    return err_set(err, "the pre-tokenizer %.60s is not supported", type);
}

static int read_split(struct split *split, const json_t *json, struct error *err)
{
    const json_t *pattern = json_object_get(json, "pattern");
    const char   *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char   *text = json_string_value(json_object_get(pattern, "String"));
    const bool    invert = json_is_true(json_object_get(json, "invert"));
    enum behavior behavior = ISOLATED;
    char         *made;
    int           rc;

    if (read_behavior(json_object_get(json, "behavior"), &behavior, err) < 0)
        return -1;
    if (regex != NULL)
        return add_pattern(split, regex, behavior, invert, err);
    if (text == NULL || *text == '\0')
        return err_set(err, "the pre-tokenizer Split has no pattern");
    made = escaped(text);
    rc = add_pattern(split, made, behavior, invert, err);
    free(made);
    return rc;
}

static int read_behavior(const json_t *json, enum behavior *behavior, struct error *err)
{
    static const char *const words[] = { "Isolated", "Removed", "MergedWithPrevious",
                                         "MergedWithNext", "Contiguous" };
    const char *word = json_string_value(json);
    size_t      i;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (word != NULL && strcmp(word, words[i]) == 0) {
            *behavior = (enum behavior)i;
            return 0;
        }
    return err_set(err, "the pre-tokenizer Split has no known behavior: %.60s",
                   word != NULL ? word : "none");
}

static int read_byte_level(struct split *split, const json_t *json, struct error *err)
{
    struct split_step *step;

    split->is_bytes = true;
    if (!json_is_false(json_object_get(json, "add_prefix_space"))) {
        if ((step = add_step(split, err)) == NULL)
            return -1;
        *step = (struct split_step){ .kind = STEP_PREFIX, .prefix = " " };
        split->is_local = false;
    }
    if (json_is_false(json_object_get(json, "use_regex")))
        return 0;
    return add_pattern(split, GPT2_PATTERN, ISOLATED, false, err);
}

static int read_metaspace(struct split *split, const json_t *json, struct error *err)
{
    const char   *mark = json_string_value(json_object_get(json, "replacement"));
    const json_t *scheme = json_object_get(json, "prepend_scheme");
    const char   *word = scheme == NULL ? "always" : json_string_value(scheme);
    struct split_step *step;
    char              *made;
    int                rc;

    if (json_is_false(json_object_get(json, "add_prefix_space")))
        word = "never";
    if (mark == NULL || *mark == '\0' || strlen(mark) >= sizeof step->prefix)
        return err_set(err, "the pre-tokenizer Metaspace has no character as replacement");
    if (word == NULL || (strcmp(word, "always") != 0 && strcmp(word, "first") != 0))
        return err_set(err, "the pre-tokenizer Metaspace is supported with prepend_scheme "
                            "always or first");
    if ((step = add_step(split, err)) == NULL)
        return -1;
    *step = (struct split_step){ .kind = STEP_PREFIX, .only_first = word[0] == 'f' };
    memcpy(step->prefix, mark, strlen(mark));
    split->is_local = false;
    if (json_is_false(json_object_get(json, "split")))
        return 0;
    made = escaped(mark);
    rc = add_pattern(split, made, MERGED_WITH_NEXT, false, err);
    free(made);
    return rc;
}

static int add_pattern(struct split *split, const char *pattern, enum behavior behavior,
                       bool invert, struct error *err)
{
    struct split_step *step = add_step(split, err);
    struct buffer      text = { 0 };
    PCRE2_UCHAR        why[256];
    PCRE2_SIZE         at;
    bool               looks_back;
    int                code;

    if (step == NULL)
        return -1;
    *step = (struct split_step){ .kind = STEP_PATTERN, .behavior = behavior, .invert = invert };
    if (pattern_translate(pattern, &text, &looks_back, err) < 0) {
        buffer_clear(&text);
        return -1;
    }
    /* A piece of a second pattern depends on where the first one's piece began. */
    split->is_local &= !looks_back && behavior == ISOLATED && split->steps == 1;
    step->code = pcre2_compile((PCRE2_SPTR)text.bytes, PCRE2_ZERO_TERMINATED,
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                               &code, &at, NULL);
    buffer_clear(&text);
    if (step->code == NULL) {
        pcre2_get_error_message(code, why, sizeof why);
        return err_set(err, "the pattern '%.200s': %s", pattern, (const char *)why);
    }
    pcre2_jit_compile(step->code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
    return 0;
}

/* Returns a pattern that matches only this text; the caller frees it. */
static char *escaped(const char *text)
{
    char *made = xcalloc(2 * strlen(text) + 1, 1), *out = made;

    for (; *text != '\0'; text++) {
        if (strchr("\\^$.|?*+()[]{}", *text) != NULL)
            *out++ = '\\';
        *out++ = *text;
    }
    return made;
}

static struct split_step *add_step(struct split *split, struct error *err)
{
    if (split->steps == SPLIT_STEPS_MAX) {
        err_set(err, "more than %d pre-tokenizers", SPLIT_STEPS_MAX);
        return NULL;
    }
    return split->step[split->steps++] = xcalloc(1, sizeof **split->step);
}

void split_clear(struct split *split)
{
    int i;

    for (i = 0; i < split->steps; i++) {
        pcre2_code_free(split->step[i]->code);
        free(split->step[i]);
    }
    *split = (struct split){ .steps = 0 };
}

/* ---- pieces ---- */

static int  match_all(const struct split_step *step, struct split_room *room, const char *text,
                      struct piece piece, struct pieces *out, struct error *err);
static void take_isolated(const struct pieces *found, struct piece piece, struct pieces *out);
static void take(const struct split_step *step, const struct pieces *found,
                 const struct pieces *parts, struct pieces *out);
static int  add_prefix(const struct split_step *step, struct split_room *room, size_t before,
                       struct buffer *text, bool is_start, uint32_t *offsets, size_t count,
                       struct pieces *pieces);
static bool begins_with(const struct split_step *step, const struct buffer *text,
                        const struct piece *piece);
static void add(struct pieces *pieces, uint32_t from, uint32_t to);

int split_apply(const struct split *split, struct split_room *room, struct buffer *text,
                bool is_start, uint32_t *offsets, size_t count, struct pieces *pieces,
                struct error *err)
{
    const size_t  before = text->size;
    struct pieces old;
    size_t        j;
    int           i;

    pieces->count = 0;
    add(pieces, 0, (uint32_t)text->size);
    for (i = 0; i < split->steps; i++) {
        const struct split_step *step = split->step[i];

        if (step->kind == STEP_PREFIX) {
            if (add_prefix(step, room, before, text, is_start, offsets, count, pieces) < 0)
                return err_set(err, "the pre-tokenizers make a text too long: more than %d times "
                                    "as long, or 4 GiB", NORMAL_GROWTH);
            continue;
        }
        room->next.count = 0;
        for (j = 0; j < pieces->count; j++)
            if (match_all(step, room, text->bytes, pieces->piece[j], &room->next, err) < 0)
                return -1;
        old = *pieces;
        *pieces = room->next;
        room->next = old;
    }
    return 0;
}

/* Splits one piece, which is a text of its own for the pattern. */
static int match_all(const struct split_step *step, struct split_room *room, const char *text,
                     struct piece piece, struct pieces *out, struct error *err)
{
    const PCRE2_SPTR  subject = (PCRE2_SPTR)(text + piece.from);
    const PCRE2_SIZE  size = piece.to - piece.from;
    const PCRE2_SIZE *span;
    PCRE2_SIZE        at = 0;
    int               rc;

    if (room->match == NULL)
        room->match = pcre2_match_data_create(1, NULL);
    if (room->match == NULL)
        xalloc_die();
    span = pcre2_get_ovector_pointer(room->match);
    room->found.count = 0;
    while (at < size) {
        rc = pcre2_match(step->code, subject, size, at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY,
                         room->match, NULL);
        if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
            rc = pcre2_match(step->code, subject, size, at,
                             PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | PCRE2_NO_JIT, room->match,
                             NULL);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc < 0)
            return err_set(err, "the pattern of the tokenizer takes too long (PCRE2 error %d)", rc);
        add(&room->found, piece.from + (uint32_t)span[0], piece.from + (uint32_t)span[1]);
        at = span[1];
    }
    if (step->behavior == ISOLATED) {
        take_isolated(&room->found, piece, out);
        return 0;
    }
    room->parts.count = 0;
    take_isolated(&room->found, piece, &room->parts);
    take(step, &room->found, &room->parts, out);
    return 0;
}

/* Adds the parts that match, and those between them. */
static void take_isolated(const struct pieces *found, struct piece piece, struct pieces *out)
{
    uint32_t at = piece.from;
    size_t   i;

    for (i = 0; i < found->count; i++) {
        if (at < found->piece[i].from)
            add(out, at, found->piece[i].from);
        add(out, found->piece[i].from, found->piece[i].to);
        at = found->piece[i].to;
    }
    if (at < piece.to)
        add(out, at, piece.to);
}

/* Also the other behaviors: of the parts that match and those between them, some are removed, and
 * some are joined with the part before them. */
static void take(const struct split_step *step, const struct pieces *found,
                 const struct pieces *parts, struct pieces *out)
{
    bool   is_match, was_match = false, joins;
    size_t i, match = 0;

    for (i = 0; i < parts->count; i++, was_match = is_match) {
        const struct piece *part = &parts->piece[i];

        is_match = match < found->count && part->from == found->piece[match].from;
        match += is_match;
        is_match ^= step->invert;
        if (step->behavior == REMOVED && is_match)
            continue;
        joins = (step->behavior == CONTIGUOUS && is_match == was_match) ||
                (step->behavior == MERGED_WITH_PREVIOUS && is_match && !was_match) ||
                (step->behavior == MERGED_WITH_NEXT && !is_match && was_match);
        if (joins && i > 0)
            out->piece[out->count - 1].to = part->to;
        else
            add(out, part->from, part->to);
    }
}

/* Replaces spaces (if the prefix is another character) and adds the prefix where it is missing.
 * before: the size of the text before all steps. -1: it is too long now. */
static int add_prefix(const struct split_step *step, struct split_room *room, size_t before,
                      struct buffer *text, bool is_start, uint32_t *offsets, size_t count,
                      struct pieces *pieces)
{
    const size_t  size = strlen(step->prefix);
    struct buffer old = *text;
    size_t        i, next = 0;
    uint32_t      at, from;

    *text = room->text;
    text->size = 0;
    for (i = 0; i < pieces->count && !normal_is_too_long(text->size, before); i++) {
        struct piece *piece = &pieces->piece[i];

        from = (uint32_t)text->size;
        if ((!step->only_first || (is_start && i == 0)) && !begins_with(step, &old, piece))
            buffer_add(text, step->prefix, size);
        for (at = piece->from; at < piece->to; at++) {
            for (; next < count && offsets[next] <= at; next++)
                offsets[next] = (uint32_t)text->size;
            if (old.bytes[at] == ' ')
                buffer_add(text, step->prefix, size);
            else
                buffer_add(text, old.bytes + at, 1);
        }
        *piece = (struct piece){ from, (uint32_t)text->size };
    }
    for (; next < count; next++)
        offsets[next] = (uint32_t)text->size;
    room->text = old;
    return normal_is_too_long(text->size, before) ? -1 : 0;
}

/* Does the piece begin with the prefix, or with a space that becomes it? */
static bool begins_with(const struct split_step *step, const struct buffer *text,
                        const struct piece *piece)
{
    const size_t size = strlen(step->prefix);

    return text->bytes[piece->from] == ' ' ||
           (piece->to - piece->from >= size &&
            memcmp(text->bytes + piece->from, step->prefix, size) == 0);
}

static void add(struct pieces *pieces, uint32_t from, uint32_t to)
{
    if (pieces->count == pieces->room) {
        pieces->room = 2 * pieces->room + 64;
        pieces->piece = xreallocarray(pieces->piece, pieces->room, sizeof *pieces->piece);
    }
    pieces->piece[pieces->count++] = (struct piece){ from, to };
}

void pieces_clear(struct pieces *pieces)
{
    free(pieces->piece);
    *pieces = (struct pieces){ .count = 0 };
}

void split_room_clear(struct split_room *room)
{
    pcre2_match_data_free(room->match);
    pieces_clear(&room->found);
    pieces_clear(&room->next);
    pieces_clear(&room->parts);
    buffer_clear(&room->text);
    *room = (struct split_room){ .match = NULL };
}
