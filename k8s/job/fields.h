/* fields.h - reading a JSON document strictly: each error names the path of the field
 *
 * A reader belongs to one object of the document. Its functions look a field up by name and
 * check its type. The reader keeps the first error and drops later ones, so a caller reads all
 * fields and checks for an error once, at the end. fields_end() reports fields that no function
 * has looked up.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FIELDS_H
#define MUSTER_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"

#define FIELDS_MAX 24 /* fields of one object that this program knows */

struct fields {
    const json_t  *object; /* NULL: the object is missing */
    char           path[160];
    const char    *known[FIELDS_MAX];
    size_t         known_count;
    struct error  *err; /* empty text: no error yet */
};

/* Begins at the document's root. *err must have an empty text. */
void fields_begin(struct fields *fields, const json_t *object, struct error *err);

/* Makes *inner a reader of the object in that field. If it is missing, so are its fields. */
void fields_object(struct fields *fields, const char *name, struct fields *inner);

/* Each returns a field's value, borrowed; NULL or fallback if the field is missing or wrong. */
const json_t *fields_any(struct fields *fields, const char *name);
const char   *fields_text(struct fields *fields, const char *name);
const json_t *fields_list(struct fields *fields, const char *name); /* of strings */
int64_t       fields_number(struct fields *fields, const char *name, int64_t min, int64_t max,
                            int64_t fallback);
bool          fields_bool(struct fields *fields, const char *name, bool fallback);
/* Returns the index of the text in choices, which end with NULL; 0 if the field is missing. */
int           fields_choice(struct fields *fields, const char *name, const char *const *choices);

bool fields_has(const struct fields *fields, const char *name);

/* Sets an error about a field, "spec.worker.replicas: ...". */
void fields_wrong(struct fields *fields, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets an error, with the nearest name, if the object has a field that was never looked up. */
void fields_end(struct fields *fields);

#endif
