/* fuzz_bootstrap_conf.c - any bytes as bootstrap.conf
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bootstrap/bootstrap_conf.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { "" };
    char        *text = xstrndup((const char *)data, size);
    json_t      *conf = bootstrap_conf_parse("fuzz", text, &err);

    /* A failure always comes with its reason. */
    if (conf == NULL && err.text[0] == '\0')
        abort();
    json_decref(conf);
    free(text);
    return 0;
}
