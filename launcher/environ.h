/* environ.h - which variables of this process go to the ranks
 *
 * DeepSpeed's rule (names with certain prefixes, .deepspeed_env in ~ and .)
 * plus PATH, LD_LIBRARY_PATH and PYTHONPATH with the working directory first,
 * then --env-file and --env. Values are bytes and arrive as they are. See
 * deepspeed runner.py:37-45,597-623 and multinode_runner.py:37-41.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENVIRON_H
#define MUSTER_ENVIRON_H

#include "err.h"
#include "options.h"
#include "strlist.h"

/* Collect into env. here: this process's environment (NULL-terminated);
 * local_only: all of it goes (a run on this machine only, as DeepSpeed).
 * cwd: the run's working directory. -1 with "file:line: why". */
int environ_collect(const struct options *options, char *const *here, const char *cwd,
                    bool local_only, struct strlist *env, struct error *err);

/* One env file: NAME=value lines, blanks and # comments skipped, one matching
 * pair of double quotes round a value taken off. */
int environ_parse_file(const char *name, const char *text, size_t size, struct strlist *env,
                       struct error *err);

#endif
