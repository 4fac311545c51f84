/* fuzz_conf.c - any bytes as muster.conf, and as the configuration file of accelerate
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "options/accelerate.h"
#include "options/conf.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options options = { 0 };
    struct error   err = { "" };
    char          *text = xstrndup((const char *)data, size);

    /* A failure always comes with its reason. */
    if (conf_parse("fuzz", text, &options, &err) < 0 && err.text[0] == '\0')
        abort();
    options_clear(&options);
    err.text[0] = '\0';
    if (accelerate_parse(&options, "fuzz", text, strlen(text), &err) < 0 && err.text[0] == '\0')
        abort();
    options_clear(&options);
    free(text);
    return 0;
}
