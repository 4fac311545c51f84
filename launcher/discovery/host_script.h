/* host_script.h - asks the program of --host-discovery-script for the hosts
 *
 * The contract is horovodrun's: the script prints one host per line and exits with 0. muster
 * starts it without a shell and without arguments, in its own session. After HOST_SCRIPT_SLOW_S
 * muster warns, once, that it has not answered; after HOST_SCRIPT_S, or when it has printed more
 * than HOST_SCRIPT_BYTES_MAX, muster kills its process group.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_SCRIPT_H
#define MUSTER_HOST_SCRIPT_H

#include <stddef.h>

#include <event2/event.h>

#include "err.h"

#define HOST_SCRIPT_S         30
#define HOST_SCRIPT_SLOW_S    5
#define HOST_SCRIPT_BYTES_MAX (1 << 20)

struct host_script;

/* text: the script's output, borrowed; NULL: it failed, and why says why. */
typedef void host_script_done(const char *text, size_t size, const struct error *why, void *arg);

/* meanwhile: what muster does until the script has answered, as a clause of the warning; kept by
 * the caller. */
struct host_script *host_script_new(struct event_base *base, const char *path,
                                    const char *meanwhile, host_script_done *done, void *arg);
void                host_script_free(struct host_script *script); /* kills it; NULL is fine */

/* Starts the script. done is called once, from the event loop. Does nothing while the script
 * runs. */
void host_script_start(struct host_script *script);

/* Runs the script and waits for it. Returns its output, which the caller frees; NULL with
 * err. */
char *host_script_read(const char *path, size_t *size, struct error *err);

#endif
