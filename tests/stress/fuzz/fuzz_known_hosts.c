/* fuzz_known_hosts.c - any bytes as known_hosts
 *
 * What libssh makes of a line is its own affair; what is kept must have a key and a place.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/ssh/known_hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

static int file_of(const uint8_t *data, size_t size, char *path, size_t path_size)
{
    int fd = memfd_create("known_hosts", MFD_CLOEXEC);

    expect(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, path_size, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ssh_config  config = { .hostname = (char *)"te1.example.com", .port = 2222 };
    struct known_hosts known;
    ssh_session        session = ssh_new();
    char               path[64];
    int                fd = file_of(data, size, path, sizeof path), before = 0;
    size_t             i;

    strlist_add(&config.known_hosts, path);
    known_hosts_find(&known, &config);
    for (i = 0; i < known.count; i++) {
        expect(known.entry[i].key != NULL && known.entry[i].file != NULL);
        expect(known.entry[i].line > before); /* one key a line */
        before = known.entry[i].line;
    }
    known_hosts_prefer(&known, session);
    known_hosts_clear(&known);
    strlist_clear(&config.known_hosts);
    ssh_free(session);
    close(fd);
    return 0;
}
