/* job_argv.h - a job from the options of `muster k8s submit`, which are named as in Arena
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_ARGV_H
#define MUSTER_JOB_ARGV_H

#include "job/args.h"
#include "job/job.h"

/* State of the parser; begin with job_argv_begin(). */
struct job_argv {
    struct job *job;       /* borrowed; { 0 } */
    bool        has_board;  /* --tensorboard */
    bool        has_gang;   /* --gang */
    bool        has_rdma;   /* --rdma */
    bool        has_fields; /* an option has set a field that documents also have */
    json_t     *container, *spec; /* of the job's template, borrowed */
};

void job_argv_begin(struct job_argv *argv, struct job *job);

/* Rows for args_read(), whose `to` is a struct job_argv *. The last row has no name. Options
 * for lists, such as --env and --data, may be repeated. */
extern const struct arg_row job_argv_rows[];
extern const size_t         job_argv_row_count; /* without the last */

/* Adds the defaults and the command; call it after the last option. */
void job_argv_end(struct job_argv *argv, const struct strlist *words);

#endif
