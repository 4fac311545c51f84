/* event.h - one thing that has happened to a run, as JSON for the program of --on-event
 *
 *     {"event": "failed", "run_id": "20261130-103000-c3d4", "time": "2026-11-30T10:31:07Z",
 *      "host": "login1", "script": "train.py", "generation": 0, "nodes": 2, "world_size": 16,
 *      "text": "...", ...}
 *
 * The words are those of muster status --json. No value of a variable and no argument of the
 * script is in it: the program may send it anywhere.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENT_H
#define MUSTER_EVENT_H

#include <time.h>

#include <jansson.h>

#define EVENT_TEXT_MAX   2000  /* bytes of a text; longer ones are cut */
#define EVENT_REPORT_MAX 16384 /* bytes of a report */

struct options;

/* What every event says of its run. */
struct event_about {
    const char *run_id;
    const char *name;   /* NULL: the run has none */
    const char *host;   /* the launcher's */
    const char *script; /* event_script() */
    int         generation;
    int         nodes, world_size;
    time_t      at;
};

/* Returns the event, which the caller releases. own: what only this event says; taken over; NULL:
 * nothing. A key of its own may replace a common one. text: a sentence without the name of the run,
 * which precedes it. */
json_t *event_make(const struct event_about *about, const char *event, json_t *own,
                   const char *text);

/* Returns text as a JSON string that is safe to print, of at most max bytes of the text, with "..."
 * where the rest was cut off; lines stay lines. */
json_t *event_string(const char *text, size_t max);

/* Returns the names of the scripts that the user has given, without arguments: "train.py", or with
 * roles "train.py, server.py". Caller frees. */
char *event_script(const struct options *options);

#endif
