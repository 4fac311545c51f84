/* wrap.c - see wrap.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/wrap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize.h"

#define ROOM_LEAST 20 /* with fewer columns nothing is wrapped */

static size_t wrap_at(const char *text, size_t room);

void wrap_print(const char *text, size_t indent, size_t columns, FILE *out)
{
    char  *safe = sanitize_text(text, strlen(text)), *line = safe;
    size_t room = columns >= indent + ROOM_LEAST ? columns - indent : SIZE_MAX, end;

    while ((end = wrap_at(line, room)) > 0) {
        fprintf(out, "%.*s\n%*s", (int)end, line, (int)indent, "");
        line += end + strspn(line + end, " ");
    }
    fprintf(out, "%s\n", line);
    free(safe);
}

/* Returns the blank at which a line of room columns ends, even if its first word is longer. 0:
 * the whole text fits. */
static size_t wrap_at(const char *text, size_t room)
{
    size_t i, columns = 0, blank = 0;

    for (i = 0; text[i] != '\0'; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80)
            continue; /* not the first byte of its character */
        if (text[i] == ' ' && (columns <= room || blank == 0))
            blank = i;
        if (columns >= room && blank > 0)
            return blank;
        columns++;
    }
    return 0;
}
