/* storage.c - does the storage of the working directory and of the script answer?
 *
 * A file server that is gone holds up all that touch it, in the kernel, where nothing can end
 * them. So a child looks first. There is no child on a node that has only disks of its own.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "gate/gate_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exit_code.h"
#include "frame.h"
#include "gate/gate.h"
#include "xalloc.h"

#define MOUNTS "/proc/self/mountinfo"

static bool  is_word_of(const char *word, size_t size, const char *const *list);
static bool  any_may_hang(void);
static char *folder_of_script(const struct node_plan *plan);
static bool  is_of_storage(int error);

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw: options begin each end with a
 * blank, and "-" ends them. */
bool storage_may_hang(const char *line)
{
    /* Kept by this kernel alone, or on disks of this machine. */
    static const char *const own[] = {
        "bcachefs",   "binfmt_misc", "bpf",      "btrfs",    "cgroup",   "cgroup2",
        "configfs",   "debugfs",     "devpts",   "devtmpfs", "efivarfs", "erofs",
        "exfat",      "ext2",        "ext3",     "ext4",     "f2fs",     "fusectl",
        "hugetlbfs",  "iso9660",     "jfs",      "mqueue",   "nsfs",     "ntfs3",
        "overlay",    "proc",        "pstore",   "ramfs",    "rootfs",   "rpc_pipefs",
        "securityfs", "selinuxfs",   "squashfs", "sysfs",    "tmpfs",    "tracefs",
        "udf",        "vfat",        "xfs",      "zfs",      NULL
    };
    /* No data of users is there. */
    static const char *const system_places[] = { "/proc/", "/sys/",          "/dev/",
                                                 "/run/",  "/var/lib/lxcfs", NULL };
    const char              *place = line, *kind = strstr(line, " - ");
    size_t                   i;

    for (i = 0; i < 4 && place != NULL; i++) {
        place = strchr(place, ' ');
        place = place != NULL ? place + 1 : NULL;
    }
    if (place == NULL || *place != '/' || kind == NULL || kind < place)
        return true;
    for (i = 0; system_places[i] != NULL; i++)
        if (strncmp(place, system_places[i], strlen(system_places[i])) == 0)
            return false;
    kind += strlen(" - ");
    return !is_word_of(kind, strcspn(kind, " \n"), own);
}

static bool is_word_of(const char *word, size_t size, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == size && strncmp(*list, word, size) == 0)
            return true;
    return false;
}

static bool any_may_hang(void)
{
    FILE  *file = fopen(MOUNTS, "re");
    char  *line = NULL;
    size_t room = 0;
    bool   found = file == NULL;

    while (!found && getline(&line, &room, file) > 0)
        found = storage_may_hang(line);
    free(line);
    if (file != NULL)
        fclose(file);
    return found;
}

static json_t *request(const struct node_plan *plan, const struct gate_memory *memory)
{
    char   *script;
    json_t *paths;

    (void)memory;
    if ((plan->cwd == NULL && plan->script == NULL) || !any_may_hang())
        return NULL;
    script = folder_of_script(plan);
    paths = json_array();
    if (plan->cwd != NULL)
        json_array_append_new(paths, json_text(plan->cwd, strlen(plan->cwd)));
    if (script != NULL)
        json_array_append_new(paths, json_text(script, strlen(script)));
    free(script);
    return json_pack("{s:o}", "paths", paths);
}

/* The caller frees it; NULL: there is no script. */
static char *folder_of_script(const struct node_plan *plan)
{
    const char *script = plan->script, *slash;
    int         size;

    if (script == NULL)
        return NULL;
    slash = strrchr(script, '/');
    size = slash == NULL ? 0 : slash == script ? 1 : (int)(slash - script);
    if (script[0] == '/' || plan->cwd == NULL)
        return xasprintf("%.*s", size > 0 ? size : 1, size > 0 ? script : ".");
    return xasprintf("%s/%.*s", plan->cwd, size, script);
}

/* In the child. What is wrong with a path otherwise, prepare.c finds and explains. */
static int run(const json_t *request, struct task_output *out)
{
    const json_t *path;
    struct stat   about;
    size_t        i;

    json_array_foreach(json_object_get(request, "paths"), i, path)
    {
        task_output_line(out, json_pack("{s:s}", "at", json_string_value(path)));
        if (stat(json_string_value(path), &about) < 0 && is_of_storage(errno)) {
            task_output_line(out, json_pack("{s:s}", "error", strerror(errno)));
            return 0;
        }
    }
    return 0;
}

/* Other errors are about the path: it is missing there, or the user may not read it. */
static bool is_of_storage(int error)
{
    return error == EIO || error == ESTALE || error == ENOTCONN || error == ETIMEDOUT ||
           error == ESHUTDOWN || error == EHOSTDOWN || error == EHOSTUNREACH ||
           error == ECONNREFUSED || error == ENXIO || error == ENODEV;
}

static enum gate_verdict judge(const json_t *request, const json_t *found,
                               struct gate_memory *memory, struct failure *failure)
{
    const char *at = json_string_value(json_object_get(found, "at"));
    const char *error = json_string_value(json_object_get(found, "error"));

    (void)request, (void)memory;
    if (error == NULL)
        return GATE_WELL;
    failure_set(failure, EXIT_CREATE, "mount it again there", "the storage of %s fails: %s",
                at != NULL ? at : "?", error);
    return GATE_BAD;
}

static void late(const json_t *found, double seconds, struct failure *failure)
{
    const char *at = json_string_value(json_object_get(found, "at"));

    failure_set(failure, EXIT_CREATE, "is its file server reachable from there?",
                "the storage of %s does not answer within %g s", at != NULL ? at : "?",
                seconds);
}

const struct gate_check storage_check = {
    { "storage", run }, GATE_STORAGE_S, 0, request, judge, late
};
