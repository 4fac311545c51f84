/* metadata.h - questions to the metadata service of a cloud (cloud.h)
 *
 * HTTP is libevent's evhttp; no redirect is followed, no name looked up, no proxy asked. Who
 * answers may be anybody: an answer has a bound, and its time. evhttp's own limits on time are
 * those of one read, which a service that sends a byte now and then never exceeds: hence late_ns
 * (clock.h), by when the whole answer must be there.
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

/* What first_path, path and class_path of cloud.h are for. */
enum metadata_asked { METADATA_FIRST, METADATA_NOTICE, METADATA_CLASS };

struct metadata_reply {
    int    status; /* 200, 404 ... */
    size_t size;
    char   body[METADATA_BODY + 1]; /* ended by NUL, and may have others */
};

/* A question under way. */
struct metadata;

/* reply: NULL with err: it does not answer, or not in HTTP. Both are borrowed, until
 * metadata_free(), which may be called here. */
typedef void metadata_answer_f(const struct metadata_reply *reply, const struct error *err,
                               void *arg);

/* Ask; answer is called once, later. first: the answer to METADATA_FIRST, or "". */
struct metadata *metadata_begin(struct event_base *base, const struct cloud *cloud,
                                enum metadata_asked asked, const char *first, int64_t late_ns,
                                metadata_answer_f *answer, void *arg);
void metadata_free(struct metadata *metadata); /* NULL is fine; nobody is called any more */

/* Ask, and wait. -1 with err: as above. */
int metadata_ask(const struct cloud *cloud, enum metadata_asked asked, const char *first,
                 int64_t late_ns, struct metadata_reply *reply, struct error *err);

#endif
