/* host_script.h - ask the program of --host-discovery-script which hosts there are
 *
 * horovodrun's contract: it prints one host a line and exits with 0. It is started without a
 * shell and without arguments, in a session of its own. After HOST_SCRIPT_S, or when it has
 * printed more than HOST_SCRIPT_BYTES_MAX, it is killed with all that it has started there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_SCRIPT_H
#define MUSTER_HOST_SCRIPT_H

#include <stddef.h>

#include <event2/event.h>

#include "err.h"

#define HOST_SCRIPT_S         30
#define HOST_SCRIPT_BYTES_MAX (1 << 20)

struct host_script;

/* text: what it has printed, borrowed; NULL: it failed, as why says. */
typedef void host_script_done(const char *text, size_t size, const struct error *why, void *arg);

struct host_script *host_script_new(struct event_base *base, const char *path,
                                    host_script_done *done, void *arg);
void                host_script_free(struct host_script *script); /* kills it; NULL is fine */

/* Start it. done is called once, from the event loop. Does nothing while it runs. */
void host_script_start(struct host_script *script);

/* Run it and wait. The caller frees the text; NULL with err. */
char *host_script_read(const char *path, size_t *size, struct error *err);

#endif
