/* fuzz_k8s_job.c - any bytes as the document of a job
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "job/job_document.h"
#include "yaml/yaml.h"
#include "objects/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct object_for what = { .space = "default", .uid = "uid", .attempt = 1 };
    struct error err = { "" };
    struct job   job = { 0 }, again = { 0 };
    json_t      *document = yaml_parse("fuzz", (const char *)data, size, &err), *one, *two;
    size_t       i;

    /* A failure always comes with its reason. */
    if (document == NULL || job_from_document(&job, document, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
        json_decref(document);
        return 0;
    }
    json_decref(document);
    if (job_check(&job, &err) == 0) {
        one = job_document(&job);
        if (job_from_document(&again, one, &err) < 0)
            abort();
        two = job_document(&again);
        if (!json_equal(one, two))
            abort();
        json_decref(one);
        json_decref(two);
        for (i = 0; i < objects_count(&job) && i < 12; i++)
            json_decref(object_make(&job, i, &what));
        json_decref(object_make(&job, object_launcher(&job), &what));
        job_clear(&again);
    }
    job_clear(&job);
    return 0;
}
