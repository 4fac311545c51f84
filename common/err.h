/* err.h - the reason why something failed, as one sentence for the user
 *
 * A function that can fail for a reason takes a `struct error *` as its last parameter and
 * returns -1 through `return err_set(err, "...")`. The text names the thing that is wrong:
 * "hosts:3: port 99999 is not a port".
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ERR_H
#define MUSTER_ERR_H

struct error {
    char text[1024]; /* never empty after a failure; ends in "..." if truncated */
};

/* Writes the text (printf style) and returns -1. err may be NULL. The arguments may point into
 * err->text itself, so a caller can add a prefix. Control characters become '?'. */
int err_set(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replaces control characters (also C1 in UTF-8) by '?': texts quote files, command lines and
 * other machines, and may be printed on a terminal. */
void text_make_harmless(char *text);

#endif
