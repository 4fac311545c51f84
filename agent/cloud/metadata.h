/* metadata.h - requests to the metadata service of a cloud (cloud.h)
 *
 * HTTP is libevent's evhttp. It follows no redirect, looks up no name and uses no proxy. Any
 * program may answer: an answer is limited in size and in time. evhttp's own time limits are
 * for one read, and a service that sends a byte now and then never exceeds them. So the whole
 * answer must have arrived by late_ns (clock.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_METADATA_H
#define MUSTER_AGENT_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>

#include "cloud/cloud.h"
#include "err.h"

#define METADATA_HEAD 4096
#define METADATA_BODY 16384

/* For first_path, path and class_path of cloud.h. */
enum metadata_asked { METADATA_FIRST, METADATA_NOTICE, METADATA_CLASS };

struct metadata_reply {
    int    status; /* 200, 404 ... */
    size_t size;
    char   body[METADATA_BODY + 1]; /* ended by NUL, and may contain others */
};

/* A pending request. */
struct metadata;

/* reply: NULL with err: no answer, or not HTTP. Both are borrowed, until metadata_free(),
 * which may be called here. */
typedef void metadata_answer_f(const struct metadata_reply *reply, const struct error *err,
                               void *arg);

/* Sends a request; calls answer once, later. first: the answer to METADATA_FIRST, or "". */
struct metadata *metadata_begin(struct event_base *base, const struct cloud *cloud,
                                enum metadata_asked asked, const char *first, int64_t late_ns,
                                metadata_answer_f *answer, void *arg);
void metadata_free(struct metadata *metadata); /* NULL is fine; no callback follows */

/* Sends a request and waits for the answer. -1 with err: as above. */
int metadata_ask(const struct cloud *cloud, enum metadata_asked asked, const char *first,
                 int64_t late_ns, struct metadata_reply *reply, struct error *err);

#endif
