/* file_list.h - the files that the data of a training consists of
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FILE_LIST_H
#define MUSTER_FILE_LIST_H

#include <stdbool.h>

#include "err.h"
#include "strlist.h"

#define FILE_LIST_MAX 65536

/* path: a file, or a directory whose files are taken in the order of their names, the same in every
 * locale; hidden ones are not. -1 with "PATH: reason" in err, also for files that must be unpacked
 * first (.gz, .parquet and the like). Clear the list, also after a failure. */
int file_list_read(struct strlist *files, const char *path, struct error *err);

/* Does the name say that the file has records in JSON: .json, .jsonl or .ndjson? */
bool file_is_json(const char *path);
/* Does it end so, in capitals or not? */
bool file_ends_in(const char *path, const char *suffix);

#endif
