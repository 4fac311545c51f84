/* environ.h - which variables of this process go to the ranks
 *
 * DeepSpeed's rule (names with certain prefixes, .deepspeed_env in ~ and .)
 * plus PATH, LD_LIBRARY_PATH and PYTHONPATH with the working directory first,
 * then --env-file and --env; later wins. `muster exec` sends the last two only,
 * as pdsh sends nothing. Values are bytes and arrive as they are. See
 * deepspeed runner.py:37-45,597-623 and multinode_runner.py:37-41.
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

/* Collect into env. here: this process's environment (NULL-terminated);
 * local_only: all of it goes (a run on this machine only, as DeepSpeed).
 * cwd: the run's working directory, NULL: unknown. -1 with "file:line: why" or
 * "--env NAME: why" in err and env left empty. */
int environ_collect(const struct options *options, char *const *here, const char *cwd,
                    bool local_only, struct strlist *env, struct error *err);

/* One env file: NAME=value lines, blanks and # comments skipped, one matching
 * pair of double quotes round a value taken off. */
int environ_parse_file(const char *name, const char *text, size_t size, struct strlist *env,
                       struct error *err);

/* The value of a variable of an environment (NULL-terminated), borrowed, or NULL. */
const char *environ_value(char *const *here, const char *name);

/* A name that files, words and options may set: [A-Za-z_][A-Za-z0-9_]*. What
 * this process already has is copied under any name. */
bool environ_is_name(const char *name);

#endif
