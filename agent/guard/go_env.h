/* go_env.h - variables that come with GO, for ranks that have been forked already
 *
 * MASTER_ADDR and the like are known once every node has answered. By then the ranks wait before
 * execve(), and all that they still share with the agent is a piece of memory that the guard and
 * they inherit: the agent writes the variables into it before the guard lets the ranks through.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GO_ENV_H
#define MUSTER_AGENT_GO_ENV_H

#include <stddef.h>

#include "err.h"

#define GO_ENV_BYTES     4096
#define GO_ENV_VARIABLES 16

struct go_env;

/* Before the guard is forked; empty. It stays for good. NULL with err and errno. */
struct go_env *go_env_new(struct error *err);

/* The body of GO: NAME=value NUL ..., then, behind an empty string, those that only count if the
 * rank has no variable of that name. -1 with err if it is malformed. */
int go_env_set(struct go_env *env, const void *body, size_t size, struct error *err);

/* In the rank. variables, ended by NULL, has room for GO_ENV_VARIABLES more; it gets pointers into
 * env. */
void go_env_lay(struct go_env *env, char **variables);

#endif
