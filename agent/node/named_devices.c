/* named_devices.c - see named_devices.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/named_devices.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "xalloc.h"

#define HCA      "NCCL_IB_HCA"
#define HCA_PATH "/sys/class/infiniband"

const char *const named_devices_variables[] = { "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
                                                "TP_SOCKET_IFNAME", HCA, NULL };

static bool is_there(const char *name, size_t size, bool is_whole, const struct strlist *there);
static void add_interfaces(struct strlist *there);
static void add_hcas(struct strlist *there);
static void add_ports(const char *hca, struct strlist *there);

const char *named_devices_kind(const char *variable)
{
    return strcmp(variable, HCA) == 0 ? "InfiniBand device" : "interface";
}

bool named_devices_lack(const char *variable, const char *value, const struct strlist *there)
{
    bool        is_nccl = strncmp(variable, "NCCL_", 5) == 0, is_whole = !is_nccl, found;
    size_t      size, names = 0, missing = 0;
    const char *name;

    if (is_nccl && *value == '^')
        return false;
    if (is_nccl && *value == '=') {
        is_whole = true;
        value++;
    }
    for (name = value; *name != '\0'; name += size + (name[size] != '\0')) {
        size = strcspn(name, ",");
        if (size == 0)
            continue;
        found = is_there(name, size, is_whole, there);
        names++;
        missing += !found;
    }
    return is_nccl ? names > 0 && missing == names : missing > 0;
}

/* A name without a port means every port of that device. */
static bool is_there(const char *name, size_t size, bool is_whole, const struct strlist *there)
{
    bool   has_port = memchr(name, ':', size) != NULL;
    size_t i, length, device;

    for (i = 0; i < there->count; i++) {
        length = strlen(there->item[i]);
        device = strcspn(there->item[i], ":");
        if (strncmp(there->item[i], name, size) == 0 &&
            (has_port ? length == size : device == size || (!is_whole && device > size)))
            return true;
    }
    return false;
}

void named_devices_there(const char *variable, struct strlist *there)
{
    if (strcmp(variable, HCA) == 0)
        add_hcas(there);
    else
        add_interfaces(there);
}

static void add_interfaces(struct strlist *there)
{
    struct ifaddrs *all, *one;

    if (getifaddrs(&all) < 0)
        return;
    for (one = all; one != NULL; one = one->ifa_next)
        if (one->ifa_addr != NULL &&
            (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6) &&
            !strlist_has(there, one->ifa_name))
            strlist_add(there, one->ifa_name);
    freeifaddrs(all);
}

static void add_hcas(struct strlist *there)
{
    DIR           *dir = opendir(HCA_PATH);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            add_ports(entry->d_name, there);
    if (dir != NULL)
        closedir(dir);
}

static void add_ports(const char *hca, struct strlist *there)
{
    char          *path = xasprintf(HCA_PATH "/%s/ports", hca);
    DIR           *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            strlist_addf(there, "%s:%s", hca, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    free(path);
}
