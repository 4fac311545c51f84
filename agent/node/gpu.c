/* gpu.c - see gpu.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/gpu.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "node/test_switch.h"
#include "xalloc.h"

struct pci_address {
    char text[16]; /* "0000:17:00.0": sorts as PCI order */
};

static int  list_driver(struct pci_address *found, int most);
static int  list_bus(struct pci_address *found, int most);
static DIR *open_dir(const char *path);
static bool is_nvidia_gpu(const char *address);
static void read_pci(const char *address, const char *name, char *text, size_t size);
static void read_file(const char *folder, const char *address, const char *name,
                      char *text, size_t size);
static int  compare(const void *a, const void *b);

int gpu_count(void)
{
    DIR           *dev = open_dir("/dev");
    struct dirent *entry;
    int            count = 0;

    while (dev != NULL && (entry = readdir(dev)) != NULL)
        if (strncmp(entry->d_name, "nvidia", 6) == 0 && isdigit((unsigned char)entry->d_name[6]))
            count++;
    if (dev != NULL)
        closedir(dev);
    return count;
}

int gpu_count_on_bus(void)
{
    struct pci_address found[GPU_MAX];

    return list_bus(found, GPU_MAX);
}

int gpu_numa_nodes(int *node, int most)
{
    struct pci_address found[GPU_MAX];
    char               text[16];
    int                count, i;

    if (most > GPU_MAX)
        most = GPU_MAX;
    count = list_driver(found, most);
    if (count == 0)
        count = list_bus(found, most);
    qsort(found, (size_t)count, sizeof *found, compare);
    for (i = 0; i < count; i++) {
        read_pci(found[i].text, "numa_node", text, sizeof text);
        node[i] = text[0] != '\0' ? (int)strtol(text, NULL, 10) : -1;
    }
    return count;
}

int gpu_of_minor(int minor)
{
    struct pci_address found[GPU_MAX];
    char               text[1024], *line;
    int                count = list_driver(found, GPU_MAX), i;

    qsort(found, (size_t)count, sizeof *found, compare);
    for (i = 0; i < count; i++) {
        read_file("/proc/driver/nvidia/gpus", found[i].text, "information", text, sizeof text);
        line = strstr(text, "Device Minor:");
        if (line != NULL && strtol(line + strlen("Device Minor:"), NULL, 10) == minor)
            return i;
    }
    return minor; /* the driver does not report it: on most machines the numbers are equal */
}

/* Reads the driver's own list: in a container it has only the container's GPUs. */
static int list_driver(struct pci_address *found, int most)
{
    DIR           *gpus = open_dir("/proc/driver/nvidia/gpus");
    struct dirent *entry;
    int            count = 0;

    while (gpus != NULL && count < most && (entry = readdir(gpus)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(found[count++].text, sizeof found->text, "%.15s", entry->d_name);
    if (gpus != NULL)
        closedir(gpus);
    return count;
}

static int list_bus(struct pci_address *found, int most)
{
    DIR           *devices = open_dir("/sys/bus/pci/devices");
    struct dirent *entry;
    int            count = 0;

    while (devices != NULL && count < most && (entry = readdir(devices)) != NULL)
        if (entry->d_name[0] != '.' && is_nvidia_gpu(entry->d_name))
            snprintf(found[count++].text, sizeof found->text, "%.15s", entry->d_name);
    if (devices != NULL)
        closedir(devices);
    return count;
}

static DIR *open_dir(const char *path)
{
    const char *root = test_switch(TEST_SWITCH_ROOT);
    char       *full = xasprintf("%s%s", root != NULL ? root : "", path);
    DIR        *dir = opendir(full);

    free(full);
    return dir;
}

/* GPUs are display controllers: 0x0300 VGA, 0x0302 3D (without a connector). */
static bool is_nvidia_gpu(const char *address)
{
    char vendor[16], class[16];

    read_pci(address, "vendor", vendor, sizeof vendor);
    read_pci(address, "class", class, sizeof class);
    return strncmp(vendor, "0x10de", 6) == 0 && strncmp(class, "0x03", 4) == 0;
}

static void read_pci(const char *address, const char *name, char *text, size_t size)
{
    read_file("/sys/bus/pci/devices", address, name, text, size);
}

static void read_file(const char *folder, const char *address, const char *name, char *text,
                      size_t size)
{
    const char *root = test_switch(TEST_SWITCH_ROOT);
    char       *path = xasprintf("%s%s/%s/%s", root != NULL ? root : "", folder, address, name);

    fd_read_file(path, text, size);
    free(path);
}

static int compare(const void *a, const void *b)
{
    const struct pci_address *one = a, *other = b;

    return strcasecmp(one->text, other->text);
}
