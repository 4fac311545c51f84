/* fuzz_host_group.c - any text as what nodeset prints, and as a file of dsh
 *
 * The first byte chooses: 'd' is dsh. The hosts of a group are there once each, without slots.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "groups/host_group.h"
#include "nodeset_place.h"
#include "plan/hostfile.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hostlist hosts;
    struct error    err = { "" };
    char            name[32] = "nodeset:x", *text;
    size_t          i;
    int             fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (size == 0) {
        close(fd);
        return 0;
    }
    nodeset_prints = text = xstrndup((const char *)data + 1, size - 1);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    setenv("DSHGROUP_PATH", "/proc/self/fd", 1);
    if (data[0] == 'd')
        snprintf(name, sizeof name, "dsh:%d", fd);
    if (hostlist_from_groups(name, &hosts, &err) < 0) {
        if (err.text[0] == '\0' || hosts.count > 0)
            abort();
    } else if (hosts.count == 0) {
        abort();
    }
    for (i = 0; i < hosts.count; i++)
        if (hosts.host[i].slots != 1 || hosts.host[i].is_counted || hosts.host[i].name[0] == '-')
            abort();
    hostlist_clear(&hosts);
    host_group_clear();
    close(fd);
    free(text);
    return 0;
}
