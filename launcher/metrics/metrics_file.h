/* metrics_file.h - a file that always has a whole text: --metrics
 *
 * Each text gets the place of the last one by rename(2), and may be read by all (0644). A thread
 * writes it, so that a file system that hangs holds up nothing; while it writes, no other text is
 * taken. The first failure is a warning; the next text is tried even so.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_METRICS_FILE_H
#define MUSTER_METRICS_FILE_H

#include <stdbool.h>

#include "err.h"

#define METRICS_FILE_END_S 5.0 /* how long metrics_file_close() waits for the file system */

struct metrics_file;

/* Checks that a file can get that name, and writes nothing yet. path is borrowed. NULL with err. */
struct metrics_file *metrics_file_open(const char *path, struct error *err);

/* Does a thread still write? Then metrics_file_put() must not be called. Warns if the last text
 * could not be written. */
bool metrics_file_is_busy(struct metrics_file *file);
/* Takes a text, which it frees, and writes it soon. */
void metrics_file_put(struct metrics_file *file, char *text);
/* The same for the last one, and waits until it is written. The file stays. text NULL: there is
 * none. */
void metrics_file_close(struct metrics_file *file, char *text);

#endif
