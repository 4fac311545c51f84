/* reading.h - jobs from documents and options, for tests
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_READING_H
#define MUSTER_TEST_READING_H

#include <string.h>

#include "job/job_argv.h"
#include "job/job_document.h"
#include "yaml/yaml.h"

static inline int read_document(const char *text, struct job *job, struct error *err)
{
    json_t *document = yaml_parse("f", text, strlen(text), err);
    int     rc = document != NULL ? job_from_document(job, document, err) : -1;

    json_decref(document);
    if (rc == 0 && job_check(job, err) < 0) {
        job_clear(job);
        return -1;
    }
    return rc;
}

static inline int read_argv(const char *const *argv, struct job *job, struct error *err)
{
    struct job_argv reader;
    struct strlist  words = { 0 };
    int             rc;

    job_argv_begin(&reader, job);
    rc = args_read(argv, job_argv_rows, true, &reader, &words, err);
    if (rc == 0) {
        job_argv_end(&reader, &words);
        rc = job_check(job, err);
    }
    strlist_clear(&words);
    return rc;
}

#endif
