/* environ.h - which variables of this process are passed to the ranks
 *
 * DeepSpeed's rule (names with certain prefixes, .deepspeed_env in ~ and .) plus those of Horovod
 * and Accelerate, PATH, LD_LIBRARY_PATH, OMP_NUM_THREADS, PYTHONPATH with the working directory
 * first, and what a pattern of --env names, but for --env=-NAME; then --env-file and --env; later
 * ones win.
 * `muster exec` sends only the last three, because pdsh sends nothing. Values are bytes and arrive
 * unchanged. See deepspeed runner.py:37-45,597-623 and
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

#define ENVIRON_FILE_MAX (4 << 20) /* bytes in an env file */
#define ENVIRON_NAMES_MAX 8192     /* variables in total */

/* Collects the variables into env. here: the environment of this process (NULL-terminated).
 * local_only: pass on all of here, as DeepSpeed does for a run on only this machine. cwd: the
 * working directory of the run, NULL: unknown. Returns -1 with "file:line: why" or "--env NAME:
 * why" in err and an empty env. */
int environ_collect(const struct options *options, char *const *here, const char *cwd,
                    bool local_only, struct strlist *env, struct error *err);

/* Is text, a value of --env, a pattern such as "HF_*"? It never takes what describes this machine
 * or this session: HOME, PWD, SSH_*, SLURM_* ... */
bool environ_is_pattern(const char *text);
/* Is text a value of --env that leaves variables out: "-NAME" or "-HF_*"? */
bool environ_is_left_out(const char *text);
/* Takes out of this process's own environment what options leave out, since agents on this machine
 * inherit it; but not what describes this machine or finds programs. */
void environ_forget(const struct options *options);
/* Does the pattern take that variable ("NAME=value")? */
bool environ_pattern_takes(const char *pattern, const char *entry);

/* Parses an env file of NAME=value lines. Skips blank lines and # comments, and removes one
 * pair of double quotes around a value. */
int environ_parse_file(const char *name, const char *text, size_t size, struct strlist *env,
                       struct error *err);

/* Returns the value of a variable in an environment (NULL-terminated), borrowed, or NULL. */
const char *environ_value(char *const *here, const char *name);

/* May files, hostfile lines and options set this name: [A-Za-z_][A-Za-z0-9_]*? Variables of
 * this process are copied under any name. */
bool environ_is_name(const char *name);

#endif
