/* fields.h - reading a JSON document strictly: each error names the path of the field
 *
 * A reader is for one object of the document. Its functions look a field up by name and check its
 * type. The first error is kept and later ones are dropped, so a caller reads all fields and asks
 * once, at the end. What no function has asked for is an unknown field: fields_end() says so.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FIELDS_H
#define MUSTER_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"

#define FIELDS_MAX 24 /* of one object, that this program knows */

struct fields {
    const json_t  *object; /* NULL: the field is not there */
    char           path[160];
    const char    *known[FIELDS_MAX];
    size_t         known_count;
    struct error  *err; /* empty text: no error yet */
};

/* The root; document: its name for messages. *err must have an empty text. */
void fields_begin(struct fields *fields, const json_t *object, struct error *err);

/* The object in field name; if it is not there, all of its fields are not there either. */
void fields_object(struct fields *fields, const char *name, struct fields *inner);

/* NULL, fallback or false if it is not there or wrong. Borrowed. */
const json_t *fields_any(struct fields *fields, const char *name);
const char   *fields_text(struct fields *fields, const char *name);
const json_t *fields_list(struct fields *fields, const char *name); /* of strings */
int64_t       fields_number(struct fields *fields, const char *name, int64_t min, int64_t max,
                            int64_t fallback);
bool          fields_bool(struct fields *fields, const char *name, bool fallback);
/* The index of the text among choices, which end with NULL; 0 if it is not there. */
int           fields_choice(struct fields *fields, const char *name, const char *const *choices);

bool fields_has(const struct fields *fields, const char *name);

/* Error about a field, "spec.worker.replicas: ...". */
void fields_wrong(struct fields *fields, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* All fields that the object has were asked for; else an error with the nearest name. */
void fields_end(struct fields *fields);

#endif
