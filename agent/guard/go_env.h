/* go_env.h - variables that come with GO, for ranks that have been forked already
 *
 * MASTER_ADDR and similar variables are known once every node has answered. By then the
 * ranks wait before execve(), and share only one piece of memory with the agent, which
 * the guard and they inherit. The agent writes the variables into it before the guard
 * lets the ranks continue.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GO_ENV_H
#define MUSTER_AGENT_GO_ENV_H

#include <stddef.h>

#include "err.h"

#define GO_ENV_BYTES     16384
#define GO_ENV_VARIABLES 80 /* two for each role */

struct go_env;

/* Call it before the guard is forked. The variables are empty. They are never freed.
 * NULL with err and errno. */
struct go_env *go_env_new(struct error *err);

/* Reads the body of GO: NAME=value NUL ..., then, after an empty string, those that only apply
 * if the rank has no variable of that name. -1 with err if the body is malformed. */
int go_env_set(struct go_env *env, const void *body, size_t size, struct error *err);

/* Called in the rank. Adds pointers into env to variables, which ends with NULL and has room
 * for GO_ENV_VARIABLES more. */
void go_env_lay(struct go_env *env, char **variables);

#endif
