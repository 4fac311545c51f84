/* template_shape.h - what distinguishes one chat template from another
 *
 * For use only in chat/.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEMPLATE_SHAPE_H
#define MUSTER_TEMPLATE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

enum template_style {
    STYLE_HEADERS, /* each turn: head, role, neck, text, end, tail */
    STYLE_INST,    /* the user's: head, text, neck; the assistant's: lead, text, end, tail */
};

enum system_place {
    SYSTEM_TURN,  /* a turn like others */
    SYSTEM_FIRST, /* before the user's first text, and two newlines between them */
    SYSTEM_LAST,  /* the same before the last */
    SYSTEM_NONE,  /* refused */
};

struct template_shape {
    const char         *name;
    enum template_style style;
    enum system_place   place;
    const char         *bos;     /* "": the template writes none */
    const char         *head, *neck, *lead;
    const char         *end;     /* NULL: the tokenizer's end of text */
    const char         *tail;
    const char         *system;  /* of conversations that have none; NULL: no system turn */
    const char         *preface; /* before the system's text, which is always there; or NULL */
    bool                is_trimmed; /* texts without white space around them */
    bool                has_reasoning; /* Qwen3's <think> */
};

/* NULL: not known. */
const struct template_shape *template_shape_named(const char *name);

/* The shape of a Jinja template by its text; NULL: not known. system: what this one writes in place
 * of the shape's, which the caller frees; or NULL. similar: the name of a shape that has the same
 * tokens, or NULL. */
const struct template_shape *template_shape_of(const char *jinja, size_t size, char **system,
                                               const char **similar);

#endif
