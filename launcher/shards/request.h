/* request.h - a rank's request about shards: one line, "cmd=shard_get name=train tag=7"
 *
 * Words are separated by a blank, key and value by the first '='. The first word is the
 * command. Each key may come once. A key that the command does not know is an error, so that
 * none is ignored silently.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REQUEST_H
#define MUSTER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "shards/queue.h"

#define REQUEST_LINE_MAX 4096 /* as for any PMI request */
#define REQUEST_NAME_MAX 64   /* of a dataset: letters, digits, '.', '_', '-' */
#define REQUEST_TAG_MAX  64   /* any printable characters */

enum request_kind {
    REQUEST_OPEN,
    REQUEST_GET,
    REQUEST_DONE,
    REQUEST_RENEW,
    REQUEST_FAIL,
    REQUEST_STATE,
};

struct request {
    enum request_kind  kind;
    char               name[REQUEST_NAME_MAX + 1];
    char               tag[REQUEST_TAG_MAX + 1]; /* repeated in the answer; "": none */
    int64_t            id;                       /* -1: not given */
    struct queue_rules rules;                    /* of REQUEST_OPEN: within bounds */
};

/* Parses a line. -1 with err: what is wrong; then only tag is set, if there was one. */
int request_parse(const char *line, size_t size, struct request *request, struct error *err);

/* Writes " size=9 shard=3 ...", as REQUEST_OPEN takes it. Returns the number of characters. */
int request_put_rules(const struct queue_rules *rules, char *text, size_t size);

#endif
