/* host_name.c - the host name is the one in the hostfile, also after the next boot
 *
 * NCCL and Gloo distinguish machines by their names: four clones that are all called "ubuntu"
 * look like one machine to them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define NAME_FILE "/etc/hostname"
#define NAME_NOW  "/proc/sys/kernel/hostname"
#define NAME_CHARS 63

static bool is_host_name(const char *name);

int step_host_name(struct bootstrap *b, struct finding *finding, struct error *err)
{
    char *line;
    int   rc;

    if (!is_host_name(b->name)) {
        finding->is_unused = true;
        finding_note(finding, "the hostfile has '%s', which is not a host name", b->name);
        return 0;
    }
    /* The file last: after a boot between the two, undo would not know the name that was there. */
    line = xasprintf("%s\n", b->name);
    rc = changes_add_value(&finding->changes, NAME_NOW, b->name,
                           "this is its name in the hostfile", err);
    if (rc == 0)
        rc = changes_add_file(&finding->changes, NAME_FILE, line, 0644,
                              "this is its name in the hostfile", err);
    free(line);
    return rc;
}

/* False for an address: hostfiles may have those, too. */
static bool is_host_name(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return name[0] != '\0' && strlen(name) <= NAME_CHARS && name[0] != '-' && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
               strlen(name) &&
           inet_pton(AF_INET, name, bytes) != 1 && strcmp(name, "localhost") != 0;
}
