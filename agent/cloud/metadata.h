/* metadata.h - questions to the metadata service of a cloud (cloud.h)
 *
 * No redirect is followed. Who answers may be anybody: an answer has a bound, and its time.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_METADATA_H
#define MUSTER_AGENT_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "cloud/cloud.h"
#include "err.h"

#define METADATA_HEAD    4096
#define METADATA_BODY    16384

struct metadata_reply {
    int    status; /* 200, 404 ... */
    size_t size;
    char   body[METADATA_BODY + 1]; /* ended by NUL, and may have others */
};

/* The text of a question. headers, more: lines that each end with CR LF, or "". Caller frees. */
char *metadata_request(const struct cloud *cloud, const char *method, const char *path,
                       const char *more);
/* Begin to connect: a socket that does not block; or -1 with err. */
int metadata_connect(const struct cloud *cloud, struct error *err);

/* Ask, until late_ns (clock.h), and wait. -1 with err: it does not answer, or not in HTTP. */
int metadata_ask(const struct cloud *cloud, const char *method, const char *path,
                 const char *more, int64_t late_ns, struct metadata_reply *reply,
                 struct error *err);

/* The parts, for tests. Over a socket that does not block: */
int metadata_exchange(int fd, const char *request, int64_t late_ns, struct metadata_reply *reply,
                      struct error *err);
/* What has come so far; is_end: there is no more. 1: reply is whole; 0: more is to come; -1: this
 * is no answer. */
int metadata_parse(const char *bytes, size_t size, int is_end, struct metadata_reply *reply);

#endif
