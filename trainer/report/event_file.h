/* event_file.h - writes scalars to a file that TensorBoard reads
 *
 * The file has records with a length and checksums (TFRecord); a record is an Event of
 * event.proto. Each run writes its own file: TensorBoard reads all files in a directory.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENT_FILE_H
#define MUSTER_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct scalar {
    const char *tag; /* "Train/Samples/lr" */
    double      value;
};

/* Was the program built with protobuf-c? If not, event_file_open() fails. */
bool event_file_is_built(void);

/* Creates a file in dir, which must exist. NULL with err. */
struct event_file *event_file_open(const char *dir, struct error *err);
void               event_file_close(struct event_file *file); /* NULL is fine */

/* Writes the scalars of one step, and flushes them. -1 with err. */
int event_file_write(struct event_file *file, int64_t step, const struct scalar *scalars,
                     size_t count, struct error *err);

#endif
