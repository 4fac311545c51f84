/* interfaces.c - the interfaces that the user has named; finds a free
 * port for the round of peers
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "node/port.h"

static bool names_one(const char *value);

void interfaces_check(const struct checkup *checkup)
{
    const json_t *wanted = json_object_get(checkup->request, "interfaces"), *value;
    const char   *name;
    struct error  err;
    int           port, fd = port_listen(&port, &err);

    if (fd >= 0) {
        checkup_fact(checkup, "free port", json_integer(port));
        close(fd);
    }
    json_object_foreach((json_t *)wanted, name, value)
        if (json_is_string(value) && !names_one(json_string_value(value)))
            checkup_find(checkup, CHECKUP_FAIL,
                         "NCCL or Gloo fails, or hangs at init_process_group",
                         "unset it (muster sets the right one), or name one that ip link shows on "
                         "every node",
                         "%s=%s: there is no such interface", name, json_string_value(value));
}

/* Parses "eth,ib0", "=eth0", "^docker": prefixes of names or, with =, complete names. */
static bool names_one(const char *value)
{
    struct if_nameindex *all, *one;
    bool                 is_whole = *value == '=', is_there = false;
    const char          *name;
    size_t               size;

    if (*value == '^')
        return true;
    value += is_whole;
    all = if_nameindex();
    for (name = value; !is_there && *name != '\0'; name += size + (name[size] != '\0')) {
        size = strcspn(name, ",");
        for (one = all; one != NULL && one->if_index != 0; one++)
            is_there |= strncmp(one->if_name, name, size) == 0 &&
                        (!is_whole || one->if_name[size] == '\0');
    }
    if (all != NULL)
        if_freenameindex(all);
    return is_there;
}
