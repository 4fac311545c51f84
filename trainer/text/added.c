/* added.c - see added.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/added.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "utf8.h"
#include "xalloc.h"

static int32_t child_of(const struct added *added, int32_t node, uint8_t byte);
static int32_t add_child(struct added *added, int32_t node, uint8_t byte);
static const struct added_token *longest_at(const struct added *added, const char *text,
                                            size_t size, size_t *length);
static bool   stands_alone(const char *text, size_t size, size_t from, size_t to);
static bool   is_word(uint32_t code);
static bool   is_space(uint32_t code);
static size_t before(const char *text, size_t at, uint32_t *code);

void added_add(struct added *added, const char *text, size_t size, const struct added_token *token)
{
    int32_t node = 0, child;
    size_t  i;

    if (added->nodes == 0) {
        added->node_room = 64;
        added->node = xcalloc(added->node_room, sizeof *added->node);
        added->nodes = 1;
        added->node[0].token = -1;
    }
    added->begins[(uint8_t)text[0]] = true;
    for (i = 0; i < size; i++, node = child) {
        child = child_of(added, node, (uint8_t)text[i]);
        if (child == 0)
            child = add_child(added, node, (uint8_t)text[i]);
    }
    if (added->tokens == added->token_room) {
        added->token_room = 2 * added->token_room + 32;
        added->token = xreallocarray(added->token, added->token_room, sizeof *added->token);
    }
    added->node[node].token = (int32_t)added->tokens;
    added->token[added->tokens++] = *token;
}

static int32_t child_of(const struct added *added, int32_t node, uint8_t byte)
{
    int32_t child = added->node[node].child;

    while (child != 0 && added->node[child].byte != byte)
        child = added->node[child].next;
    return child;
}

static int32_t add_child(struct added *added, int32_t node, uint8_t byte)
{
    const int32_t child = (int32_t)added->nodes;

    if (added->nodes == added->node_room) {
        added->node_room *= 2;
        added->node = xreallocarray(added->node, added->node_room, sizeof *added->node);
    }
    added->node[child] =
        (struct added_node){ .next = added->node[node].child, .token = -1, .byte = byte };
    added->node[node].child = child;
    added->nodes++;
    return child;
}

void added_clear(struct added *added)
{
    free(added->node);
    free(added->token);
    *added = (struct added){ .nodes = 0 };
}

const struct added_token *added_find(const struct added *added, const char *text, size_t size,
                                     size_t from, size_t next, bool specials,
                                     struct added_found *found)
{
    const struct added_token *token;
    size_t                    at, length, start;
    uint32_t                  code;

    for (at = next; added->nodes > 0 && at < size; at++) {
        if (!added->begins[(uint8_t)text[at]])
            continue;
        token = longest_at(added, text + at, size - at, &length);
        if (token == NULL)
            continue;
        *found = (struct added_found){ at, at, at + length, at + length };
        if ((token->is_special && !specials) ||
            (token->single_word && !stands_alone(text, size, at, at + length))) {
            at += length - 1;
            continue;
        }
        while (token->lstrip && found->from > from &&
               (start = before(text, found->from, &code)) >= from && is_space(code))
            found->from = start;
        while (token->rstrip && found->to < size &&
               (length = utf8_decode(text + found->to, size - found->to, &code)) > 0 &&
               is_space(code))
            found->to += length;
        return token;
    }
    return NULL;
}

static const struct added_token *longest_at(const struct added *added, const char *text,
                                            size_t size, size_t *length)
{
    const struct added_token *best = NULL;
    int32_t                   node = 0;
    size_t                    i;

    for (i = 0; i < size; i++) {
        node = child_of(added, node, (uint8_t)text[i]);
        if (node == 0)
            break;
        if (added->node[node].token >= 0) {
            best = &added->token[added->node[node].token];
            *length = i + 1;
        }
    }
    return best;
}

/* Is there no letter, digit or the like on either side? */
static bool stands_alone(const char *text, size_t size, size_t from, size_t to)
{
    uint32_t code;

    if (from > 0) {
        before(text, from, &code);
        if (is_word(code))
            return false;
    }
    return to >= size || utf8_decode(text + to, size - to, &code) == 0 || !is_word(code);
}

/* \w of Rust's regular expressions. */
static bool is_word(uint32_t code)
{
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default:
        return code == 0x200c || code == 0x200d || /* letters in circles and squares: */
               (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
               (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
    }
}

/* White_Space of Unicode. */
static bool is_space(uint32_t code)
{
    return (code >= 0x9 && code <= 0xd) || code == 0x20 || code == 0x85 || code == 0xa0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
           code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

/* Decodes the character that ends at text[at], at > 0, and returns where it begins. */
static size_t before(const char *text, size_t at, uint32_t *code)
{
    size_t start = at - 1;

    while (start > 0 && ((uint8_t)text[start] & 0xc0) == 0x80)
        start--;
    *code = 0;
    utf8_decode(text + start, at - start, code);
    return start;
}
