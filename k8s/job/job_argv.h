/* job_argv.h - a job from the options of `muster k8s submit`, which are Arena's words
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_ARGV_H
#define MUSTER_JOB_ARGV_H

#include "job/args.h"
#include "job/job.h"

/* What is being read; begin with job_argv_begin(). */
struct job_argv {
    struct job *job;       /* borrowed; { 0 } */
    bool        has_board;  /* --tensorboard */
    bool        has_gang;   /* --gang */
    bool        has_rdma;   /* --rdma */
    bool        has_fields; /* an option has set something that a document has, too */
    json_t     *container, *spec; /* of the job's template, borrowed */
};

void job_argv_begin(struct job_argv *argv, struct job *job);

/* Rows for args_read(), each with a struct job_argv * as `to`; ended by a row without a name. A
 * value may be repeated where a list is meant: --env, --data ... */
extern const struct arg_row job_argv_rows[];
extern const size_t         job_argv_row_count; /* without the last */

/* After the last option: what is left unsaid, and the command. */
void job_argv_end(struct job_argv *argv, const struct strlist *words);

#endif
