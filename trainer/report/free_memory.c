/* free_memory.c - see free_memory.h
 *
 * /proc/meminfo has MemAvailable and SwapFree. The limits of cgroups are in files of each
 * directory on the way to the process's own; the names are those of version 2, or of version 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/free_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "xalloc.h"

#define TEXT_MAX 65536 /* bytes of such a file */

/* The files of a cgroup, and lines of the last one. */
static const struct group_files {
    const char *start, *mount; /* of the line in /proc/self/cgroup; where the directories are */
    const char *limit, *used, *swap_limit, *swap_used, *stat, *file[2];
} versions[] = {
    { "0::", "/sys/fs/cgroup", "memory.max", "memory.current", "memory.swap.max",
      "memory.swap.current", "memory.stat", { "inactive_file ", "active_file " } },
    { ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", NULL,
      NULL, "memory.stat", { "total_inactive_file ", "total_active_file " } },
};

static uint64_t kibibytes(const char *text, const char *name);
static uint64_t group_free(const char *root, const struct group_files *files, const char *groups,
                           uint64_t swap);
static uint64_t free_here(const char *dir, const struct group_files *files, uint64_t swap);
static bool     read_bytes(const char *dir, const char *name, uint64_t *bytes);
static uint64_t file_pages(const char *dir, const struct group_files *files);
static char    *read_text(const char *dir, const char *name);
static bool     number_at(const char *text, const char *name, uint64_t *number);
static uint64_t lesser(uint64_t a, uint64_t b);

struct free_memory free_memory_read(const char *root)
{
    char              *info = read_text(root, "proc/meminfo");
    char              *groups = read_text(root, "proc/self/cgroup");
    const uint64_t     swap = info != NULL ? kibibytes(info, "SwapFree:") : 0;
    struct free_memory memory = { FREE_MEMORY_UNKNOWN, FREE_MEMORY_UNKNOWN };
    size_t             i;

    if (info != NULL && kibibytes(info, "MemAvailable:") > 0)
        memory.machine = kibibytes(info, "MemAvailable:") + swap;
    for (i = 0; i < sizeof versions / sizeof versions[0] && groups != NULL; i++)
        memory.group = lesser(memory.group, group_free(root, &versions[i], groups, swap));
    free(groups);
    free(info);
    return memory;
}

static uint64_t kibibytes(const char *text, const char *name)
{
    uint64_t number;

    return number_at(text, name, &number) ? number * 1024 : 0;
}

/* In a container the directory may not be visible by that name, but its limits are those of the
 * first directory. */
static uint64_t group_free(const char *root, const struct group_files *files, const char *groups,
                           uint64_t swap)
{
    const char *line = strstr(groups, files->start);
    uint64_t    least = FREE_MEMORY_UNKNOWN;
    char       *dir, *slash, *end;

    if (line == NULL)
        return least;
    line += strlen(files->start);
    dir = xasprintf("%s%s%.*s", root, files->mount, (int)strcspn(line, "\n"), line);
    end = dir + strlen(root) + strlen(files->mount);
    do {
        least = lesser(least, free_here(dir, files, swap));
        slash = strrchr(end, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (slash != NULL);
    free(dir);
    return least;
}

static uint64_t free_here(const char *dir, const struct group_files *files, uint64_t swap)
{
    uint64_t limit, used, pages, swap_limit, swap_used;

    if (!read_bytes(dir, files->limit, &limit) || !read_bytes(dir, files->used, &used))
        return FREE_MEMORY_UNKNOWN;
    pages = file_pages(dir, files);
    used -= lesser(used, pages);
    if (files->swap_limit != NULL && read_bytes(dir, files->swap_limit, &swap_limit) &&
        read_bytes(dir, files->swap_used, &swap_used))
        swap = lesser(swap, swap_limit - lesser(swap_limit, swap_used));
    return limit - lesser(limit, used) + swap;
}

/* False also if there is no limit, "max". */
static bool read_bytes(const char *dir, const char *name, uint64_t *bytes)
{
    char *text = read_text(dir, name);
    bool  is = text != NULL && number_at(text, "", bytes);

    free(text);
    return is;
}

static uint64_t file_pages(const char *dir, const struct group_files *files)
{
    char    *text = read_text(dir, files->stat);
    uint64_t pages = 0, number;
    int      i;

    for (i = 0; i < 2 && text != NULL; i++)
        if (number_at(text, files->file[i], &number))
            pages += number;
    free(text);
    return pages;
}

static char *read_text(const char *dir, const char *name)
{
    char  *path = xasprintf("%s/%s", dir, name);
    size_t size;
    char  *text = file_read_at_once(path, TEXT_MAX, &size, NULL);

    free(path);
    return text;
}

/* Finds the number behind this name at the start of a line. */
static bool number_at(const char *text, const char *name, uint64_t *number)
{
    const size_t size = strlen(name);
    char        *end;

    while (strncmp(text, name, size) != 0) {
        text += strcspn(text, "\n");
        if (*text++ == '\0')
            return false;
    }
    *number = strtoull(text + size, &end, 10);
    return end != text + size;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
