/* cloud.h - which clouds take machines away, whom to ask, and what the answer means
 *
 * One table for muster doctor and for the agent of a run. Reading an answer is a pure function: who
 * answers may be anybody, so only a time from now to a day from now is believed, and a machine is
 * taken away only if it says so in the cloud's own form. All else is not known, which is not safe,
 * and not taken away.
 *
 *     cloud     form of the answer
 *     alibaba   2026-11-22T08:22:00Z, in UTC; 404 or nothing: safe
 *     aws       {"action":"terminate", "time":"2026-11-22T08:22:00Z"}; 404: safe
 *     gcp       TRUE, without a time: 30 s from when it was first seen; FALSE: safe
 *     azure     {"Events":[{"EventType":"Preempt", "Resources":["vm1"], "NotBefore":
 *               "Sun, 22 Nov 2026 08:22:00 GMT"}]}; this VM must be among the resources
 *     tencent   2026-11-22 16:22:00, eight hours ahead of UTC; 404: safe
 *     volcengine  as alibaba
 *     a URL     as alibaba, or as aws
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CLOUD_H
#define MUSTER_AGENT_CLOUD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define CLOUD_LATEST_S  86400 /* from now: a notice that is further away is not believed */
#define CLOUD_WORD_MAX  40
#define CLOUD_FIRST_MAX 512   /* of a token, or of a VM's name */

enum cloud_form { CLOUD_TIME, CLOUD_TIME_EAST, CLOUD_JSON, CLOUD_TRUE, CLOUD_EVENTS };

struct cloud_header {
    const char *name, *value; /* NULL: there is none */
};

struct cloud {
    const char *name;      /* --spot=NAME */
    const char *title;     /* for people */
    const char *vendor;    /* /sys/class/dmi/id/sys_vendor */
    const char *asset_tag; /* chassis_asset_tag, too; NULL: any */
    const char *address;   /* IPv4 */
    int         port;
    const char *host;      /* of the Host header */
    const char *path;      /* is it taken away? */
    struct cloud_header header; /* of all questions */
    /* A question before: for a token, which goes into that header, or for this VM's name. */
    const char *first_path;   /* NULL: none */
    bool        first_is_put; /* else GET */
    struct cloud_header first_header;
    const char *token_header; /* NULL: the answer is the name */
    const char *class_path, *class_word; /* that is the answer of a spot machine; NULL: unknown */
    enum cloud_form form;
    size_t          body_max;
    double          lead_s; /* if the answer has no time */
};

struct cloud_notice {
    int64_t at_s; /* Unix time; 0: it has none */
    char    action[CLOUD_WORD_MAX + 1]; /* "terminate"; "": not known */
};

enum cloud_says { CLOUD_UNKNOWN = -1, CLOUD_SAFE, CLOUD_GOES };

/* NULL: there is none of that name; none that the firmware names. Texts may end in a newline. */
const struct cloud *cloud_by_name(const char *name);
const struct cloud *cloud_by_firmware(const char *vendor, const char *asset_tag);

/* "http://127.0.0.1:8080/path", with an address: no name is looked up. -1 with err. The texts of
 * cloud point into room, which holds the URL and is the caller's. */
int cloud_by_url(struct cloud *cloud, const char *url, char *room, size_t size,
                 struct error *err);

/* The answer to first_path: one word, fit for a header. -1: it is not, or longer. */
int cloud_read_first(const char *body, size_t size, char word[CLOUD_FIRST_MAX + 1]);

/* The answer to path. self: this VM's name, or "". now_s: Unix time. UNKNOWN with err: why. */
enum cloud_says cloud_read(const struct cloud *cloud, int status, const char *body, size_t size,
                           const char *self, int64_t now_s, struct cloud_notice *notice,
                           struct error *err);

/* The answer to class_path. */
bool cloud_is_spot(const struct cloud *cloud, const char *body);

/* Two equal answers in a row are needed. Starts as { 0 }. */
struct cloud_watch {
    bool                is_pending; /* the last answer was GOES, with ... */
    struct cloud_notice last;
};

/* True: it is certain. */
bool cloud_watch_take(struct cloud_watch *watch, enum cloud_says says,
                      const struct cloud_notice *notice);

#endif
