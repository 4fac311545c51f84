/* interfaces.c - the network devices that the user has named; finds a free
 * port for the round of peers
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <unistd.h>

#include "err.h"
#include "node/named_devices.h"
#include "node/port.h"
#include "strlist.h"

static void check_variable(const struct checkup *checkup, const char *name, const char *value);

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
        if (json_is_string(value))
            check_variable(checkup, name, json_string_value(value));
}

static void check_variable(const struct checkup *checkup, const char *name, const char *value)
{
    struct strlist there = { 0 };

    named_devices_there(name, &there);
    if (named_devices_lack(name, value, &there))
        checkup_find(checkup, CHECKUP_FAIL,
                     "NCCL or Gloo fails, or hangs at init_process_group, or leaves InfiniBand "
                     "aside",
                     "unset it (muster sets the right interface), or name a device that ip link "
                     "or ibv_devices shows on every node",
                     "%s=%s: there is no such %s", name, value, named_devices_kind(name));
    strlist_clear(&there);
}
