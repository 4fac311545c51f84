/* fuzz_ds_config.c - any bytes as ds_config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/ds_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ds_given some = { 1e-4, 2, 3, 5 };

    static FILE      *null;
    struct strlist    problems = { 0 };
    struct error      err = { "" };
    struct ds_config *config = ds_config_parse("fuzz", (const char *)data, size,
                                               size % 2 == 0 ? &some : NULL,
                                               size % 3 == 0 ? &problems : NULL, &err);
    double            betas[2] = { 0.9, 0.999 };
    int64_t           step;

    if (null == NULL)
        null = fopen("/dev/null", "we");
    if (problems.count > 0 && (config != NULL || problems.count > DS_PROBLEMS_MAX))
        abort();
    strlist_clear(&problems);
    /* A failure always comes with its reason. */
    if (config == NULL) {
        if (err.text[0] == '\0')
            abort();
        return 0;
    }
    if (ds_config_resolve(config, 1 + (int64_t)size % 9, &err) < 0 && err.text[0] == '\0')
        abort();
    for (step = 0; step < 30; step += 7) {
        schedule_lr(&config->schedule, config->optimizer.lr, step);
        schedule_betas(&config->schedule, step, betas);
    }
    ds_config_print(config, null);
    ds_config_free(config);
    return 0;
}
