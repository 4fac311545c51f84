/* gpu_holders.c - see gpu_holders.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/gpu_holders.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/open_files.h"
#include "node/test_switch.h"
#include "xalloc.h"

#define DEVICE_PATTERN "/dev/nvidia[0-9]*"
#define UVM_DEVICE     "/dev/nvidia-uvm"

struct device {
    char *path;
    int   number;
};

struct devices {
    struct device item[GPU_MAX];
    size_t        count;
    bool          need_uvm;
};

static void    devices_clear(struct devices *devices);
static void    devices_list(struct devices *devices, const bool *wanted);
static int     number_of(const char *name, bool is_test);
static json_t *held_by(const struct devices *devices, pid_t pid);

json_t *gpu_holders(const bool *wanted)
{
    json_t            *list = json_array(), *about;
    struct gpu_holders found;
    size_t             i;

    gpu_holders_find(&found, wanted);
    for (i = 0; i < found.count && json_array_size(list) < GPU_HOLDERS_MAX; i++) {
        about = gpu_holder_about(&found.item[i]);
        if (about != NULL)
            json_array_append_new(list, about);
    }
    gpu_holders_clear(&found);
    return list;
}

json_t *gpu_holder_about(const struct gpu_holder *holder)
{
    json_t *about = process_about(&holder->process);

    if (about != NULL)
        json_object_set(about, "gpus", holder->gpus);
    return about;
}

void gpu_holders_find(struct gpu_holders *found, const bool *wanted)
{
    struct devices   devices = { 0 };
    struct processes all = { 0 };
    json_t          *gpus;
    size_t           i;

    *found = (struct gpu_holders){ 0 };
    devices_list(&devices, wanted);
    if (devices.count > 0)
        processes_all(&all);
    for (i = 0; i < all.count; i++) {
        gpus = all.item[i].pid != getpid() ? held_by(&devices, all.item[i].pid) : NULL;
        if (gpus == NULL)
            continue;
        found->item = xreallocarray(found->item, found->count + 1, sizeof *found->item);
        found->item[found->count++] = (struct gpu_holder){ all.item[i], gpus };
    }
    processes_clear(&all);
    devices_clear(&devices);
}

void gpu_holders_clear(struct gpu_holders *found)
{
    size_t i;

    for (i = 0; i < found->count; i++)
        json_decref(found->item[i].gpus);
    free(found->item);
    *found = (struct gpu_holders){ 0 };
}

bool gpu_is_held_by(pid_t pid)
{
    struct devices devices = { 0 };
    json_t        *gpus;

    devices_list(&devices, NULL);
    gpus = held_by(&devices, pid);
    devices_clear(&devices);
    json_decref(gpus);
    return gpus != NULL;
}

static void devices_clear(struct devices *devices)
{
    size_t i;

    for (i = 0; i < devices->count; i++)
        free(devices->item[i].path);
}

static void devices_list(struct devices *devices, const bool *wanted)
{
    const char    *test = test_switch(TEST_SWITCH_GPU_GLOB);
    char          *folder = xstrdup(test != NULL ? test : DEVICE_PATTERN);
    char          *pattern = strrchr(folder, '/');
    struct dirent *entry;
    DIR           *dir = NULL;
    int            number;

    devices->need_uvm = test == NULL;
    if (pattern != NULL) {
        *pattern++ = '\0';
        dir = opendir(folder);
    }
    while (dir != NULL && devices->count < GPU_MAX && (entry = readdir(dir)) != NULL) {
        if (fnmatch(pattern, entry->d_name, 0) != 0)
            continue;
        number = number_of(entry->d_name, test != NULL);
        if (number >= 0 && number < GPU_MAX && (wanted == NULL || wanted[number]))
            devices->item[devices->count++] =
                (struct device){ xasprintf("%s/%s", folder, entry->d_name), number };
    }
    if (dir != NULL)
        closedir(dir);
    free(folder);
}

/* The file's name has the driver's number, but nvidia-smi counts in PCI order. */
static int number_of(const char *name, bool is_test)
{
    const char *digits = name + strcspn(name, "0123456789");
    char       *end;
    long        minor = strtol(digits, &end, 10);

    if (end == digits || *end != '\0' || minor < 0 || minor >= GPU_MAX)
        return -1;
    return is_test ? (int)minor : gpu_of_minor((int)minor);
}

/* Returns the numbers of the GPUs that the process has open; NULL: none. A monitor
 * (nvidia-persistenced, DCGM) has the device open too, but not the unified memory device that
 * every CUDA program also opens. */
static json_t *held_by(const struct devices *devices, pid_t pid)
{
    json_t           *gpus = NULL;
    bool              held[GPU_MAX] = { false }, has_uvm = !devices->need_uvm;
    struct open_files files;
    size_t            i;

    for (open_files_begin(&files, pid); open_files_next(&files);) {
        has_uvm = has_uvm || strcmp(files.name, UVM_DEVICE) == 0;
        for (i = 0; i < devices->count; i++)
            held[i] = held[i] || strcmp(files.name, devices->item[i].path) == 0;
    }
    open_files_end(&files);
    for (i = 0; i < devices->count && has_uvm; i++) {
        if (held[i] && gpus == NULL)
            gpus = json_array();
        if (held[i])
            json_array_append_new(gpus, json_integer(devices->item[i].number));
    }
    return gpus;
}
