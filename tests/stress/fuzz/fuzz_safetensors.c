/* fuzz_safetensors.c - any bytes as a file of weights, and as config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/model_config.h"
#include "model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int          fd = -1;
    static char         path[64];
    struct error        err = { "" };
    struct model_config config;
    struct safetensors *st;
    float               values[64];
    size_t              i;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    st = safetensors_open(path, &err);
    /* A failure always comes with its reason. */
    if (st == NULL && err.text[0] == '\0')
        abort();
    for (i = 0; st != NULL && i < st->tensors; i++)
        safetensors_load(st, &st->tensor[i], 0,
                         st->tensor[i].count < 64 ? st->tensor[i].count : 64, values, &err);
    safetensors_close(st);
    err.text[0] = '\0';
    if (model_config_parse(&config, "fuzz", (const char *)data, size, &err) < 0 &&
        err.text[0] == '\0')
        abort();
    return 0;
}
