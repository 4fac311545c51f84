/* resume_line.h - the command line that starts a run again, as a user may paste it
 *
 *     TOKEN=VALUE muster resume 20261120-103000-c3d4
 *
 * The values of --env are not recorded, since they may be secrets; muster resume takes them from
 * its environment. The line has the variables that this environment lacks, whose values the user
 * puts in the place of VALUE.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RESUME_LINE_H
#define MUSTER_RESUME_LINE_H

#include <stdbool.h>

#include "options/options.h"
#include "strlist.h"

/* Appends the names of the variables that --env gives to the ranks of the run, each once; not its
 * patterns and what it leaves out, nor those of muster.conf and --env-file, which muster resume
 * reads again. */
void resume_line_variables(const struct options *options, struct strlist *names);

/* Returns the line for the run id; names: as above. The caller frees it. */
char *resume_line(const char *id, const struct strlist *names);

/* Returns what follows for the user once the run has ended: the line, or why there is none.
 * has_dir: muster keeps the run. The caller frees it. */
char *resume_line_advice(const struct options *options, const char *id, bool has_dir);

/* Returns the names that are not set here, with blanks; NULL: all are set. The caller frees it. */
char *resume_line_lacks(const struct strlist *names);

#endif
