/* environ.h - which variables of this process are passed to the ranks
 *
 * DeepSpeed's rule (names with certain prefixes, .deepspeed_env in ~ and .) plus PATH,
 * LD_LIBRARY_PATH and PYTHONPATH with the working directory first, then --env-file and --env;
 * later ones win. `muster exec` sends only the last two, as pdsh sends nothing. Values are
 * bytes and arrive unchanged. See deepspeed runner.py:37-45,597-623 and
 * multinode_runner.py:37-41.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENVIRON_H
#define MUSTER_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "options/options.h"
#include "strlist.h"

#define ENVIRON_FILE_MAX (4 << 20) /* bytes of an env file */
#define ENVIRON_NAMES_MAX 8192     /* variables in all */

/* Collect into env. here: the environment of this process (NULL-terminated); local_only: pass
 * on all of it, as DeepSpeed does for a run on this machine alone. cwd: the working directory
 * of the run, NULL: unknown. -1 with "file:line: why" or "--env NAME: why" in err and env left
 * empty. */
int environ_collect(const struct options *options, char *const *here, const char *cwd,
                    bool local_only, struct strlist *env, struct error *err);

/* One env file: NAME=value lines. Blank lines and # comments are skipped, and one pair of
 * double quotes around a value is removed. */
int environ_parse_file(const char *name, const char *text, size_t size, struct strlist *env,
                       struct error *err);

/* The value of a variable of an environment (NULL-terminated), borrowed, or NULL. */
const char *environ_value(char *const *here, const char *name);

/* A name that files, lines of the hostfile and options may set: [A-Za-z_][A-Za-z0-9_]*.
 * Variables of this process are copied whatever their name. */
bool environ_is_name(const char *name);

#endif
