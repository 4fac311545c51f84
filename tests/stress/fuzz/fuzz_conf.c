/* fuzz_conf.c - any bytes as muster.conf
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

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
    free(text);
    return 0;
}
