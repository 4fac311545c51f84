/* event_file.h - scalars in a file that TensorBoard reads
 *
 * A file of records, each with its length and checksums (TFRecord); a record is an Event of
 * event.proto. Each run has a file of its own: TensorBoard reads all that are in a directory.
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

/* Was this built with protobuf-c? Otherwise open fails. */
bool event_file_is_built(void);

/* A new file in dir, which exists. NULL with err. */
struct event_file *event_file_open(const char *dir, struct error *err);
void               event_file_close(struct event_file *file); /* NULL is fine */

/* The scalars of one step, in the file on return. -1 with err. */
int event_file_write(struct event_file *file, int64_t step, const struct scalar *scalars,
                     size_t count, struct error *err);

#endif
