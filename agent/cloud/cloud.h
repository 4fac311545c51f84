/* cloud.h - clouds that take machines away: how to ask, and what the answer means
 *
 * One table serves muster doctor and the agent of a run. Reading an answer is a pure function.
 * Any program may have answered, so only a time from now to a day from now is believed, and a
 * machine will leave only if the answer says so in the cloud's own form. Any other answer
 * means unknown: neither safe nor taken away.
 *
 *     cloud     form of the answer
 *     alibaba   2026-11-22T08:22:00Z, in UTC; 404 or nothing: safe
 *     aws       {"action":"terminate", "time":"2026-11-22T08:22:00Z"}; 404: safe
 *     gcp       TRUE, without a time: 30 s from when it was first seen; FALSE: safe
 *     azure     {"Events":[{"EventType":"Preempt", "Resources":["vm1"], "NotBefore":
 *               "Sun, 22 Nov 2026 08:22:00 GMT"}]}; this VM must be among the resources
 *     tencent   2026-11-22 16:22:00, eight hours ahead of UTC; 404: safe
 *     volcengine  like alibaba
 *     a URL     like alibaba, or like aws
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CLOUD_H
#define MUSTER_AGENT_CLOUD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define CLOUD_LATEST_S  86400 /* from now: a later notice is not believed */
#define CLOUD_WORD_MAX  40
#define CLOUD_FIRST_MAX 512   /* of a token, or of a VM's name */

enum cloud_form { CLOUD_TIME, CLOUD_TIME_EAST, CLOUD_JSON, CLOUD_TRUE, CLOUD_EVENTS };

struct cloud_header {
    const char *name, *value; /* NULL: no header */
};

struct cloud {
    const char *name;      /* --spot=NAME */
    const char *title;     /* for people */
    const char *vendor;    /* /sys/class/dmi/id/sys_vendor */
    const char *asset_tag; /* chassis_asset_tag, too; NULL: any */
    const char *address;   /* IPv4 */
    int         port;
    const char *host;      /* for the Host header */
    const char *path;      /* asks: will it be taken away? */
    struct cloud_header header; /* of all requests */
    /* The first request: for a token, which later goes into that
     * header, or for this VM's name. */
    const char *first_path;   /* NULL: none */
    bool        first_is_put; /* else GET */
    struct cloud_header first_header;
    const char *token_header; /* NULL: the answer is the name */
    const char *class_path, *class_word; /* class_word: the answer of a spot machine; NULL:
                                            unknown */
    enum cloud_form form;
    size_t          body_max;
    double          lead_s; /* if the answer has no time */
};

struct cloud_notice {
    int64_t at_s; /* Unix time; 0: the notice has none */
    char    action[CLOUD_WORD_MAX + 1]; /* "terminate"; "": unknown */
};

enum cloud_says { CLOUD_UNKNOWN = -1, CLOUD_SAFE, CLOUD_GOES };

/* NULL: there is none of that name; none that the firmware identifies.
 * Texts may end in a newline. */
const struct cloud *cloud_by_name(const char *name);
const struct cloud *cloud_by_firmware(const char *vendor, const char *asset_tag);

/* url: "http://127.0.0.1:8080/path", with an address: names are not looked up. -1 with err. The
 * texts of cloud point into room, which holds the URL and belongs to the caller. */
int cloud_by_url(struct cloud *cloud, const char *url, char *room, size_t size,
                 struct error *err);

/* Reads the answer to first_path: one word that is valid in a header. -1: it
 * is malformed, or longer. */
int cloud_read_first(const char *body, size_t size, char word[CLOUD_FIRST_MAX + 1]);

/* Reads the answer to path. self: this VM's name, or "". now_s: Unix time.
 * UNKNOWN with err: why. */
enum cloud_says cloud_read(const struct cloud *cloud, int status, const char *body, size_t size,
                           const char *self, int64_t now_s, struct cloud_notice *notice,
                           struct error *err);

/* Reads the answer to class_path. */
bool cloud_is_spot(const struct cloud *cloud, const char *body);

/* Waits for two equal answers in a row. Starts as { 0 }. */
struct cloud_watch {
    bool                is_pending; /* the last answer was GOES, with last */
    struct cloud_notice last;
};

/* True: a second equal answer has confirmed it. */
bool cloud_watch_take(struct cloud_watch *watch, enum cloud_says says,
                      const struct cloud_notice *notice);

#endif
