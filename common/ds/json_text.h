/* json_text.h - JSON as people write it, with the line of each key
 *
 * Beyond JSON it accepts comments (slash-slash and # up to the end of the line, and C's
 * comments) and a comma after the last member. A duplicate key is an error.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JSON_TEXT_H
#define MUSTER_JSON_TEXT_H

#include <stddef.h>

#include <jansson.h>

#include "err.h"

struct json_text {
    json_t          *root;
    char            *text; /* without comments; keys point into it */
    struct json_key *key;  /* in the order of the text */
    size_t           keys, room;
};

/* Parses text of size bytes; name is the file's, for "name:line: what is wrong" in err. Clear
 * json also after a failure. */
int  json_text_parse(struct json_text *json, const char *name, const char *text, size_t size,
                     struct error *err);
void json_text_clear(struct json_text *json);

/* Returns the line of a key, given as "section.key"; 0: no such key. */
int json_text_line(const struct json_text *json, const char *path);

#endif
