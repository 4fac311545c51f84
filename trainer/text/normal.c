/* normal.c - see normal.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/normal.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "utf8.h"
#include "xalloc.h"

static int  read_step(struct normal *normal, const json_t *json, const char *type,
                      struct error *err);
static int  read_replace(struct normal_step *step, const json_t *json, struct error *err);
static int  apply(const struct normal_step *step, bool is_first, size_t before,
                  struct buffer *text);
static void apply_form(const struct normal_step *step, struct buffer *text);
static void add_form(const struct normal_step *step, const char *text, size_t size,
                     struct buffer *out);
static bool is_young(uint32_t code);
static int  apply_replace(const struct normal_step *step, size_t before, struct buffer *text);
static bool is_plain(uint32_t code);

int normal_read(struct normal *normal, const json_t *json, struct error *err)
{
    const char   *type = json_string_value(json_object_get(json, "type"));
    const json_t *list = json_object_get(json, "normalizers"), *one;
    size_t        i;

    if (json == NULL || json_is_null(json))
        return 0;
    if (type == NULL)
        return err_set(err, "the normalizer has no type");
    if (strcmp(type, "Sequence") != 0)
        return read_step(normal, json, type, err);
    if (!json_is_array(list))
        return err_set(err, "the normalizer Sequence has no list of normalizers");
    json_array_foreach((json_t *)list, i, one) {
        type = json_string_value(json_object_get(one, "type"));
        if (type == NULL || strcmp(type, "Sequence") == 0)
            return err_set(err, "normalizers[%zu] is not a normalizer", i);
        if (read_step(normal, one, type, err) < 0)
            return -1;
    }
    return 0;
}

static int read_step(struct normal *normal, const json_t *json, const char *type,
                     struct error *err)
{
    static const struct {
        const char *name;
        int         options;
    } forms[] = {
        { "NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE },
        { "NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE },
        { "NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT },
        { "NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT },
    };
    struct normal_step *step = &normal->step[normal->steps];
    size_t              i;

    if (normal->steps == NORMAL_STEPS_MAX)
        return err_set(err, "more than %d normalizers", NORMAL_STEPS_MAX);
    normal->steps++;
    for (i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(type, forms[i].name) == 0) {
            *step = (struct normal_step){ .kind = NORMAL_FORM, .form = forms[i].options };
            return 0;
        }
    if (strcmp(type, "Replace") == 0)
        return read_replace(step, json, err);
    if (strcmp(type, "Prepend") != 0)
        return err_set(err, "the normalizer %.60s is not supported", type);
    *step = (struct normal_step){ .kind = NORMAL_PREPEND };
    step->to = json_string_value(json_object_get(json, "prepend"));
    if (step->to == NULL)
        return err_set(err, "the normalizer Prepend has no text in prepend");
    step->to_size = strlen(step->to);
    return 0;
}

static int read_replace(struct normal_step *step, const json_t *json, struct error *err)
{
    const json_t *pattern = json_object_get(json, "pattern");

    *step = (struct normal_step){ .kind = NORMAL_REPLACE };
    step->from = json_string_value(json_object_get(pattern, "String"));
    step->to = json_string_value(json_object_get(json, "content"));
    if (step->from == NULL || step->from[0] == '\0' || step->to == NULL)
        return err_set(err, "the normalizer Replace is supported for a String and its content");
    step->from_size = strlen(step->from);
    step->to_size = strlen(step->to);
    return 0;
}

int normal_add(const struct normal *normal, const char *text, size_t size, bool is_first,
               struct buffer *out, struct error *err)
{
    struct buffer now = { 0 };
    int           i, rc = 0;

    if (size == 0 || normal_keeps(normal, text, size)) {
        buffer_add(out, text, size);
        return 0;
    }
    buffer_add(&now, text, size);
    for (i = 0; i < normal->steps && rc == 0; i++)
        rc = apply(&normal->step[i], is_first, size, &now);
    if (rc < 0 || now.size > UINT32_MAX - out->size)
        rc = err_set(err, "the normalizer makes a text too long: more than %d times as long, or "
                          "4 GiB", NORMAL_GROWTH);
    else
        buffer_add(out, now.bytes, now.size);
    buffer_clear(&now);
    return rc;
}

bool normal_is_too_long(size_t size, size_t before)
{
    return size > UINT32_MAX || size > NORMAL_GROWTH * before + NORMAL_GROWTH_ADD;
}

/* before: the size of the text before all steps. -1: it is too long now. */
static int apply(const struct normal_step *step, bool is_first, size_t before,
                 struct buffer *text)
{
    switch (step->kind) {
    case NORMAL_FORM:    apply_form(step, text); break;
    case NORMAL_REPLACE: return apply_replace(step, before, text);
    case NORMAL_PREPEND:
        if (!is_first || text->size == 0)
            break;
        if (normal_is_too_long(text->size + step->to_size, before))
            return -1;
        buffer_reserve(text, step->to_size);
        memmove(text->bytes + step->to_size, text->bytes, text->size);
        memcpy(text->bytes, step->to, step->to_size);
        text->size += step->to_size;
        break;
    }
    return normal_is_too_long(text->size, before) ? -1 : 0;
}

/* What is between young characters is normalized, and they stay as they are. */
static void apply_form(const struct normal_step *step, struct buffer *text)
{
    struct buffer old = *text;
    size_t        at, from = 0, length;
    uint32_t      code;

    *text = (struct buffer){ 0 };
    for (at = 0; at < old.size; at += length) {
        length = utf8_decode(old.bytes + at, old.size - at, &code);
        if (!is_young(code))
            continue;
        add_form(step, old.bytes + from, at - from, text);
        buffer_add(text, old.bytes + at, length);
        from = at + length;
    }
    add_form(step, old.bytes + from, at - from, text);
    buffer_clear(&old);
}

static void add_form(const struct normal_step *step, const char *text, size_t size,
                     struct buffer *out)
{
    utf8proc_uint8_t *result;
    utf8proc_ssize_t  length = utf8proc_map((const utf8proc_uint8_t *)text,
                                            (utf8proc_ssize_t)size, &result,
                                            (utf8proc_option_t)step->form);

    if (length < 0) /* the text is valid: it is out of memory */
        xalloc_die();
    buffer_add(out, result, (size_t)length);
    free(result);
}

/* The tables of Hugging Face's normalizers are those of Unicode 9 (the crate
 * unicode-normalization-alignments): what has been added since, up to Unicode 16, does not combine
 * with anything there. These are such characters. */
static bool is_young(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        /* clang-format off */
        { 0x7fd, 0x7fd }, { 0x897, 0x89f }, { 0x8ca, 0x8d3 }, { 0x9fe, 0x9fe }, { 0xc3c, 0xc3c },
        { 0xd3b, 0xd3c }, { 0xeba, 0xeba }, { 0x1715, 0x1715 }, { 0x1abf, 0x1ace },
        { 0x1df6, 0x1dfa }, { 0x32ff, 0x32ff }, { 0xa7f2, 0xa7f4 }, { 0xa82c, 0xa82c },
        { 0xab69, 0xab69 }, { 0x105c9, 0x105c9 }, { 0x105d2, 0x105d2 }, { 0x105da, 0x105da },
        { 0x105e4, 0x105e4 }, { 0x10781, 0x10785 }, { 0x10787, 0x107b0 }, { 0x107b2, 0x107ba },
        { 0x10d24, 0x10d27 }, { 0x10d69, 0x10d6d }, { 0x10eab, 0x10eac }, { 0x10efd, 0x10eff },
        { 0x10f46, 0x10f50 }, { 0x10f82, 0x10f85 }, { 0x11070, 0x11070 }, { 0x1133b, 0x1133b },
        { 0x11382, 0x11385 }, { 0x1138b, 0x1138b }, { 0x1138e, 0x1138e }, { 0x11390, 0x11391 },
        { 0x113b8, 0x113b8 }, { 0x113bb, 0x113bb }, { 0x113c2, 0x113c2 }, { 0x113c5, 0x113c5 },
        { 0x113c7, 0x113c9 }, { 0x113ce, 0x113d0 }, { 0x1145e, 0x1145e }, { 0x11839, 0x1183a },
        { 0x11930, 0x11930 }, { 0x11935, 0x11935 }, { 0x11938, 0x11938 }, { 0x1193d, 0x1193e },
        { 0x11943, 0x11943 }, { 0x119e0, 0x119e0 }, { 0x11a34, 0x11a34 }, { 0x11a47, 0x11a47 },
        { 0x11a99, 0x11a99 }, { 0x11d42, 0x11d42 }, { 0x11d44, 0x11d45 }, { 0x11d97, 0x11d97 },
        { 0x11f41, 0x11f42 }, { 0x1611e, 0x16129 }, { 0x1612f, 0x1612f }, { 0x16d63, 0x16d63 },
        { 0x16d67, 0x16d6a }, { 0x16ff0, 0x16ff1 }, { 0x1ccd6, 0x1ccf9 }, { 0x1e030, 0x1e06d },
        { 0x1e08f, 0x1e08f }, { 0x1e130, 0x1e136 }, { 0x1e2ae, 0x1e2ae }, { 0x1e2ec, 0x1e2ef },
        { 0x1e4ec, 0x1e4ef }, { 0x1e5ee, 0x1e5ef }, { 0x1f16c, 0x1f16c }, { 0x1fbf0, 0x1fbf9 }
        /* clang-format on */
    };
    size_t low = 0, high = sizeof ranges / sizeof ranges[0], middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof ranges / sizeof ranges[0] && code >= ranges[low].first;
}

static int apply_replace(const struct normal_step *step, size_t before, struct buffer *text)
{
    struct buffer old = *text;
    const char   *at = old.bytes, *end = old.bytes + old.size, *found;
    int           rc = 0;

    *text = (struct buffer){ 0 };
    while (rc == 0 &&
           (found = memmem(at, (size_t)(end - at), step->from, step->from_size)) != NULL) {
        buffer_add(text, at, (size_t)(found - at));
        if (normal_is_too_long(text->size + step->to_size, before))
            rc = -1;
        else
            buffer_add(text, step->to, step->to_size);
        at = found + step->from_size;
    }
    buffer_add(text, at, (size_t)(end - at));
    buffer_clear(&old);
    return rc < 0 || normal_is_too_long(text->size, before) ? -1 : 0;
}

bool normal_keeps(const struct normal *normal, const char *text, size_t size)
{
    uint32_t code;
    size_t   length;
    int      i;

    for (i = 0; i < normal->steps; i++)
        if (normal->step[i].kind != NORMAL_FORM || !(normal->step[i].form & UTF8PROC_COMPOSE) ||
            normal->step[i].form & UTF8PROC_COMPAT)
            return false;
    if (normal->steps == 0)
        return true;
    for (; size > 0; size -= length, text += length) {
        length = 1;
        if ((unsigned char)text[0] < 0x80)
            continue;
        length = utf8_decode(text, size, &code);
        if (length == 0 || !is_plain(code))
            return false;
    }
    return true;
}

/* Does a text that has only such characters stay as it is in NFC? No combining character is among
 * them, and none that stands for others. */
static bool is_plain(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 0x0, 0x2ff }, { 0x400, 0x482 }, { 0x48a, 0x52f },      /* Latin, Cyrillic */
        { 0x2010, 0x2029 }, { 0x2030, 0x205e },                  /* punctuation */
        { 0x3001, 0x3029 }, { 0x3041, 0x3096 }, { 0x30a0, 0x30ff },
        { 0x4e00, 0x9fff }, { 0xac00, 0xd7a3 }, { 0xfe0f, 0xfe0f },
        { 0xff00, 0xffef }, { 0x1f300, 0x1faff },
    };
    size_t i;

    for (i = 0; i < sizeof ranges / sizeof ranges[0] && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return true;
    return false;
}
