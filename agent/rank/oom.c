/* oom.c - see oom.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/oom.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "guard/cgroup.h"

static int64_t count_kills(const struct memory *memory);
static int64_t cgroup_limit(const struct memory *memory);
static bool    find_number(const char *path, const char *key, int64_t *number);

void oom_begin(struct memory *memory)
{
    *memory = (struct memory){ 0 };
    if (cgroup_own("", memory->cgroup, sizeof memory->cgroup) &&
        (memory->kills = count_kills(memory)) >= 0)
        return;
    memory->is_v1 = true;
    if (cgroup_own("memory", memory->cgroup, sizeof memory->cgroup) &&
        (memory->kills = count_kills(memory)) >= 0)
        return;
    memory->cgroup[0] = '\0';
    memory->kills = count_kills(memory);
}

bool oom_evidence(struct memory *memory, char *text, size_t size)
{
    int64_t now = count_kills(memory), limit = cgroup_limit(memory), before = memory->kills;

    if (before < 0 || now <= before)
        return false;
    if (limit >= 0)
        snprintf(text, size, "oom_kill %" PRId64 "\xe2\x86\x92%" PRId64 ", limit %" PRId64 " MiB",
                 before, now, limit >> 20);
    else
        snprintf(text, size, "oom_kill %" PRId64 "\xe2\x86\x92%" PRId64 ", %s", before, now,
                 memory->cgroup[0] != '\0' ? "no limit on its cgroup" : "the whole machine");
    return true;
}

static int64_t count_kills(const struct memory *memory)
{
    char    path[600];
    int64_t kills = -1;

    if (memory->cgroup[0] == '\0')
        snprintf(path, sizeof path, "/proc/vmstat");
    else
        snprintf(path, sizeof path, "%s/%s", memory->cgroup,
                 memory->is_v1 ? "memory.oom_control" : "memory.events");
    return find_number(path, "oom_kill", &kills) ? kills : -1;
}

/* Returns the nearest limit: of the cgroup or of one above it. */
static int64_t cgroup_limit(const struct memory *memory)
{
    const int64_t none = INT64_C(1) << 60; /* in version 1 "no limit" is a huge number */
    char          dir[512], path[600], text[32], *end;
    int64_t       limit;

    snprintf(dir, sizeof dir, "%s", memory->cgroup);
    while (strlen(dir) > strlen("/sys/fs/cgroup")) {
        snprintf(path, sizeof path, "%s/%s", dir,
                 memory->is_v1 ? "memory.limit_in_bytes" : "memory.max");
        fd_read_file(path, text, sizeof text);
        limit = strtoll(text, &end, 10);
        if (end != text && limit < none)
            return limit;
        *strrchr(dir, '/') = '\0';
    }
    return -1;
}

/* Finds "key number" on a separate line. */
static bool find_number(const char *path, const char *key, int64_t *number)
{
    char        text[8192], *line, *next;
    size_t      length = strlen(key);

    if (fd_read_file(path, text, sizeof text) <= 0)
        return false;
    for (line = text; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            next++;
        if (strncmp(line, key, length) != 0 || line[length] != ' ')
            continue;
        *number = strtoll(line + length + 1, NULL, 10);
        return true;
    }
    return false;
}
