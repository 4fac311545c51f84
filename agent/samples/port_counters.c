/* port_counters.c - see port_counters.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "samples/port_counters.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "xalloc.h"

#define ADAPTERS   "/sys/class/infiniband"
#define PROCESSORS "/sys/devices/system/cpu"
#define PROCESSORS_MAX 4096
#define ENTRIES_MAX    256 /* of a folder */

static void    add_ports(struct sample *sample, const char *folder, const char *adapter);
static int     compare(const void *one, const void *other);
static int64_t read_number(const char *folder, const char *name);
static int64_t read_throttles(const char *root);

bool port_counters_exist(const char *root)
{
    char          *folder = xasprintf("%s" ADAPTERS, root);
    DIR           *adapters = opendir(folder);
    struct dirent *entry;
    bool           is_any = false;

    while (adapters != NULL && !is_any && (entry = readdir(adapters)) != NULL)
        is_any = entry->d_name[0] != '.';
    if (adapters != NULL)
        closedir(adapters);
    free(folder);
    return is_any;
}

void port_counters_read(const char *root, struct sample *sample)
{
    char          *folder = xasprintf("%s" ADAPTERS, root);
    DIR           *adapters = opendir(folder);
    struct dirent *entry;
    int            i;

    sample->ports = 0;
    for (i = 0; adapters != NULL && i < ENTRIES_MAX && (entry = readdir(adapters)) != NULL; i++)
        if (entry->d_name[0] != '.')
            add_ports(sample, folder, entry->d_name);
    if (adapters != NULL)
        closedir(adapters);
    qsort(sample->port, sample->ports, sizeof *sample->port, compare);
    free(folder);
    sample->throttles = read_throttles(root);
}

static void add_ports(struct sample *sample, const char *folder, const char *adapter)
{
    static const char *const files[PORT_VALUES] = {
        [PORT_STATE] = "state",
        [PORT_GBITS] = "rate",
        [PORT_DOWNS] = "counters/link_downed",
        [PORT_SYMBOL_ERRORS] = "counters/symbol_error",
        [PORT_RECEIVE_ERRORS] = "counters/port_rcv_errors",
    };
    char          *list = xasprintf("%s/%s/ports", folder, adapter);
    DIR           *numbers = opendir(list);
    struct dirent *entry;
    int            i, value;

    for (i = 0; numbers != NULL && i < ENTRIES_MAX && sample->ports < SAMPLE_PORTS_MAX &&
                (entry = readdir(numbers)) != NULL;
         i++) {
        struct sample_port *port = &sample->port[sample->ports];
        char               *path;

        if (entry->d_name[0] == '.' ||
            snprintf(port->name, sizeof port->name, "%s/%s", adapter, entry->d_name) >=
                (int)sizeof port->name)
            continue;
        path = xasprintf("%s/%s", list, entry->d_name);
        for (value = 0; value < PORT_VALUES; value++)
            port->value[value] = read_number(path, files[value]);
        sample->ports++;
        free(path);
    }
    if (numbers != NULL)
        closedir(numbers);
    free(list);
}

static int compare(const void *one, const void *other)
{
    return strcmp(((const struct sample_port *)one)->name,
                  ((const struct sample_port *)other)->name);
}

static int64_t read_number(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s", folder, name), text[64];
    bool  is_there = fd_read_file(path, text, sizeof text) >= 0;

    free(path);
    return is_there ? port_counters_number(text) : SAMPLE_UNKNOWN;
}

int64_t port_counters_number(const char *text)
{
    long long number;
    char     *end;

    if (text[0] < '0' || text[0] > '9')
        return SAMPLE_UNKNOWN;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || (*end != '\0' && strchr(" \n:.", *end) == NULL))
        return SAMPLE_UNKNOWN;
    return (int64_t)number;
}

/* The kernel has this folder where a processor reports that it is too hot: not in most virtual
 * machines. */
static int64_t read_throttles(const char *root)
{
    int64_t sum = SAMPLE_UNKNOWN, count;
    char   *folder;
    int     i;

    for (i = 0; i < PROCESSORS_MAX; i++) {
        folder = xasprintf("%s" PROCESSORS "/cpu%d/thermal_throttle", root, i);
        count = read_number(folder, "core_throttle_count");
        free(folder);
        if (count < 0)
            break;
        sum = (sum < 0 ? 0 : sum) + count;
    }
    return sum;
}
