/* fuzz_ssh_config.c - any bytes as ssh config, and as what ssh -G answers
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
    char              *text = xstrndup((const char *)data, size), *doubt;

    /* A failure always comes with its reason, and a doubt leaves nothing behind. */
    if (ssh_config_parse(&config, "fuzz", text, &target, &doubt, &err) < 0 && err.text[0] == '\0')
        abort();
    if (doubt != NULL && config.hostname != NULL)
        abort();
    ssh_config_clear(&config);
    free(doubt);
    err.text[0] = '\0';
    if (ssh_config_answer(&config, text, &target, &err) < 0 && err.text[0] == '\0')
        abort();
    ssh_config_clear(&config);
    free(text);
    return 0;
}
