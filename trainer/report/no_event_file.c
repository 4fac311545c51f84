/* no_event_file.c - replaces event_file.c in a build without protobuf-c
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/event_file.h"

bool event_file_is_built(void)
{
    return false;
}

struct event_file *event_file_open(const char *dir, struct error *err)
{
    err_set(err, "%s: muster-train was built without protobuf-c", dir);
    return NULL;
}

void event_file_close(struct event_file *file)
{
    (void)file;
}

int event_file_write(struct event_file *file, int64_t step, const struct scalar *scalars,
                     size_t count, struct error *err)
{
    (void)file;
    (void)step;
    (void)scalars;
    (void)count;
    return err_set(err, "muster-train was built without protobuf-c");
}
