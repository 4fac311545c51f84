/* added.h - tokens that are found in the text before it is split, such as <|im_start|>
 *
 * As in Hugging Face's tokenizers: at each place the longest one counts, from left to right.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ADDED_H
#define MUSTER_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDED_MAX       65536
#define ADDED_TOKEN_MAX 1024 /* bytes of one */
#define ADDED_BYTES_MAX (1 << 22)

struct added_token {
    int32_t id;
    bool    is_special;  /* tokenizer_config.json calls it so; text in it can be left as text */
    bool    single_word; /* only where no letter or digit is beside it */
    bool    lstrip, rstrip; /* takes the white space on this side, too */
};

struct added {
    struct added_node {
        int32_t child, next; /* numbers of nodes; 0: none */
        int32_t token;       /* number of the token that ends here; -1: none */
        uint8_t byte;
    } *node; /* node[0] is the root */
    size_t nodes, node_room;
    struct added_token *token;
    size_t tokens, token_room;
    bool   begins[256]; /* the bytes that tokens begin with */
};

/* Begin from { 0 }. text has at least one byte. A text that is there already gets the new token. */
void added_add(struct added *added, const char *text, size_t size, const struct added_token *token);
void added_clear(struct added *added);

/* Finds the first token in text[next .. size). NULL: there is none. It may take white space from
 * after the previous one on, which ended at from. specials: also tokens that are special. */
struct added_found {
    size_t at;       /* where the token is */
    size_t from, to; /* with the white space that it takes */
    size_t next;     /* where to look for the next one */
};
const struct added_token *added_find(const struct added *added, const char *text, size_t size,
                                     size_t from, size_t next, bool specials,
                                     struct added_found *found);

#endif
