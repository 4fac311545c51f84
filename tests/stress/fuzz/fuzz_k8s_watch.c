/* fuzz_k8s_watch.c - any lines in the place of those of a watch
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void begin(void *arg)
{
    (void)arg;
}

/* What is passed on is what a line had. */
static void change(void *arg, json_t *object, bool is_gone)
{
    (void)arg, (void)is_gone;
    if (object == NULL)
        abort();
    free(json_dumps(object, JSON_ENCODE_ANY));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct watch_ops ops = { .begin = begin, .change = change };
    struct watch                 *watch = watch_open(NULL, "/api/v1/pods", "", &ops, NULL);
    const char                   *at = (const char *)data, *end = at + size, *newline;

    for (; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        newline = newline != NULL ? newline : end;
        watch_take_line(watch, at, (size_t)(newline - at));
    }
    watch_close(watch);
    return 0;
}
