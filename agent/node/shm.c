/* shm.c - see shm.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/shm.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "frame.h"
#include "node/open_files.h"
#include "node/process.h"
#include "xalloc.h"

#define SHM_FOLDER "/dev/shm"

struct file {
    char        name[NAME_MAX + 1];
    struct stat about;
    bool        held;
};

struct files {
    struct file item[SHM_FILES_MAX];
    size_t      count;
};

static void files_list(struct files *files, bool only_ours);
static bool is_known(const char *name);
static void mark_open(struct files *files, pid_t pid);
static void mark_mapped(struct files *files, pid_t pid);
static void mark_name(struct files *files, const char *path);

int64_t shm_free(void)
{
    struct statvfs about;

    return statvfs(SHM_FOLDER, &about) == 0 ? (int64_t)(about.f_bavail * about.f_frsize) : 0;
}

json_t *shm_stale(bool only_ours)
{
    struct files    *files = xcalloc(1, sizeof *files);
    json_t          *list = json_array();
    struct processes all = { 0 };
    char             user[64];
    size_t           i;

    files_list(files, only_ours);
    if (files->count > 0)
        processes_all(&all);
    for (i = 0; i < all.count; i++) {
        mark_open(files, all.item[i].pid);
        mark_mapped(files, all.item[i].pid);
    }
    processes_clear(&all);
    for (i = 0; i < files->count; i++) {
        const struct file *file = &files->item[i];

        if (file->held)
            continue;
        user_name(file->about.st_uid, user, sizeof user);
        json_array_append_new(list, json_pack("{s:o, s:I, s:o, s:I, s:I}",
                                              "name", json_text(file->name, strlen(file->name)),
                                              "uid", (json_int_t)file->about.st_uid,
                                              "user", json_text(user, strlen(user)),
                                              "size", (json_int_t)file->about.st_size,
                                              "inode", (json_int_t)file->about.st_ino));
    }
    free(files);
    return list;
}

bool shm_remove(const json_t *file)
{
    const char *name = json_string_value(json_object_get(file, "name"));
    int         folder = open(SHM_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    bool        removed;

    removed = folder >= 0 && name != NULL && strchr(name, '/') == NULL &&
              fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
              S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
              (json_int_t)about.st_ino == json_integer_value(json_object_get(file, "inode")) &&
              unlinkat(folder, name, 0) == 0;
    if (folder >= 0)
        close(folder);
    return removed;
}

static void files_list(struct files *files, bool only_ours)
{
    DIR           *dir = opendir(SHM_FOLDER);
    struct dirent *entry;

    files->count = 0;
    while (dir != NULL && files->count < SHM_FILES_MAX && (entry = readdir(dir)) != NULL) {
        struct file *file = &files->item[files->count];

        if (!is_known(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &file->about, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(file->about.st_mode) || (only_ours && file->about.st_uid != geteuid()))
            continue;
        snprintf(file->name, sizeof file->name, "%s", entry->d_name);
        file->held = false;
        files->count++;
    }
    if (dir != NULL)
        closedir(dir);
}

static bool is_known(const char *name)
{
    return strncmp(name, "nccl-", 5) == 0 || strncmp(name, "torch_", 6) == 0;
}

static void mark_open(struct files *files, pid_t pid)
{
    struct open_files open;

    for (open_files_begin(&open, pid); open_files_next(&open);)
        mark_name(files, open.name);
    open_files_end(&open);
}

/* Parses "7f..-7f.. rw-s 00000000 00:17 42          /dev/shm/nccl-x". */
static void mark_mapped(struct files *files, pid_t pid)
{
    char  path[64], line[PATH_MAX + 200], *at;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        at = strchr(line, '/');
        if (at != NULL)
            mark_name(files, at);
    }
    if (maps != NULL)
        fclose(maps);
}

/* Compares only the last part, since a container may have the folder under another name: it is
 * better to keep a file than to remove one that is used. */
static void mark_name(struct files *files, const char *path)
{
    const char *name = strrchr(path, '/');
    size_t      i;

    for (i = 0; i < files->count && name != NULL; i++)
        files->item[i].held = files->item[i].held || strcmp(files->item[i].name, name + 1) == 0;
}
