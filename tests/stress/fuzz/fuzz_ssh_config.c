/* fuzz_ssh_config.c - any bytes as ssh config
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "transport/ssh/ssh_config.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct conn_target target = { .host = "te1" };
    struct ssh_config  config;
    struct error       err = { "" };
    char              *text = xstrndup((const char *)data, size);

    /* A failure always comes with its reason. */
    if (ssh_config_parse(&config, "fuzz", text, &target, &err) < 0 && err.text[0] == '\0')
        abort();
    ssh_config_clear(&config);
    free(text);
    return 0;
}
