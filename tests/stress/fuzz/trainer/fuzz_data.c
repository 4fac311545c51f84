/* fuzz_data.c - any bytes as a token shard
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char  path[64];
    struct error err = { "" };
    struct data *tokens;
    int32_t      sample[5];
    uint64_t     n;
    int          fd;

    /* The name tells what a file is. */
    if (path[0] == '\0')
        snprintf(path, sizeof path, "/dev/shm/muster-fuzz-%ld.bin", (long)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    tokens = data_open(path, 4, true, size, NULL, &err);
    if (tokens == NULL && err.text[0] == '\0')
        abort();
    for (n = 0; tokens != NULL && n < 20; n++)
        if (data_sample(tokens, n * n, 50257, sample, &err) < 0 && err.text[0] == '\0')
            abort();
    data_close(tokens);
    unlink(path);
    return 0;
}
