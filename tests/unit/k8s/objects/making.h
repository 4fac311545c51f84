/* making.h - jobs and their objects, for tests
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_MAKING_H
#define MUSTER_TEST_MAKING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/job_argv.h"
#include "job/job_document.h"
#include "job/template.h"
#include "yaml/yaml.h"
#include "objects/objects.h"

static inline void making_argv(struct job *job, const char *const *argv)
{
    struct job_argv reader;
    struct strlist  words = { 0 };
    struct error    err;

    job_argv_begin(&reader, job);
    if (args_read(argv, job_argv_rows, true, &reader, &words, &err) < 0)
        fail_msg("%s", err.text);
    job_argv_end(&reader, &words);
    if (job_check(job, &err) < 0)
        fail_msg("%s", err.text);
    strlist_clear(&words);
}

/* The spec of a DeepSpeedJob in YAML; and the same after it was kept in an anchor. */
static inline void making_spec(struct job *job, const char *spec)
{
    char         text[2048];
    struct error err;
    json_t      *document, *kept;

    snprintf(text, sizeof text,
             "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: j}\nspec:\n%s",
             spec);
    document = yaml_parse("f", text, strlen(text), &err);
    if (document == NULL || job_from_document(job, document, &err) < 0 || job_check(job, &err) < 0)
        fail_msg("%s", err.text);
    kept = job_document(job);
    job_clear(job);
    if (job_from_document(job, kept, &err) < 0 || job_check(job, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(kept);
    json_decref(document);
}

static inline json_t *making_object(const struct job *job, size_t number, bool is_resumed)
{
    struct object_for what = {
        .space = "space", .uid = "uid", .attempt = 1, .is_resumed = is_resumed
    };

    return object_make(job, number, &what);
}

/* The words of the training container's command, with a blank between; caller frees. */
static inline char *making_command(const struct job *job, size_t number, bool is_resumed)
{
    json_t *pod = making_object(job, number, is_resumed);
    json_t *command = json_object_get(template_container(pod), "command");
    char   *text = calloc(1, 4096);
    size_t  i;

    for (i = 0; i < json_array_size(command); i++) {
        if (i > 0)
            strcat(text, " ");
        strcat(text, json_string_value(json_array_get(command, i)));
    }
    json_decref(pod);
    return text;
}

#endif
