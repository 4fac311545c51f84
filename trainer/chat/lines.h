/* lines.h - the records of a JSON file, one after another
 *
 * A file has one JSON value on each line (JSON lines), or is one JSON array, of which each element
 * is a record. It is read in pieces: of a file of any size, one record is in memory. A byte order
 * mark, CR before a newline and empty lines are ignored; the last line may lack its newline.
 *
 * What a record says is not looked at here (record.h), so that other threads can do that.
 *
 *     lines_open -> lines_next ... -> lines_close
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LINES_H
#define MUSTER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define LINES_RECORD_MAX ((size_t)32 << 20) /* bytes of a record */

struct lines;

struct line {
    const char *text;   /* until the next call */
    size_t      size;
    uint64_t    number; /* of the line on which it begins, from 1 */
};

enum lines_result {
    LINES_FAILED = -1, /* the file cannot be read further */
    LINES_END,
    LINES_RECORD,
    LINES_BROKEN,      /* a record that was skipped; others may follow */
};

struct lines *lines_open(const char *path, struct error *err);
void          lines_close(struct lines *lines); /* NULL is fine */

/* Finds the next record. BROKEN and FAILED come with "PATH:LINE: why" in err. */
enum lines_result lines_next(struct lines *lines, struct line *line, struct error *err);

#endif
