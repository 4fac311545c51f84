/* stale_files.c - see stale_files.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/stale_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup/orphans.h"
#include "frame.h"
#include "guard/cgroup.h"
#include "copy/partials.h"
#include "node/scratch.h"
#include "runid.h"
#include "xalloc.h"

#define GROUPS_DEEP 16    /* depth of nested control groups */
#define GROUPS_MOST 50000
#define PART_OLD_S  60    /* a copy in progress grows all the time; an older part does not */

struct stale {
    json_t     *list;
    bool        remove;
    int         looked_at; /* number of control groups */
    const char *run;       /* NULL: no particular run */
    bool        has_dying; /* a control group of that run remains, though its guard is gone */
};

static void add_all_parts(struct stale *stale);
static void add_all_groups(struct stale *stale);
static void add_groups(struct stale *stale, const char *path, int depth);
static void add_group(struct stale *stale, const char *path, const char *name);
static void add_parts(struct stale *stale, const char *base);
static void add_parts_in(struct stale *stale, const char *folder);
static void add_notices(struct stale *stale);
static bool is_notice(const char *name);
static bool add_file(const char *path, void *arg);
static void add_directory(const char *path, void *arg);
static bool add(struct stale *stale, const char *what, const char *path);
static bool group_of(const char *path, struct cgroup *group);
static bool is_ours(const char *path, mode_t type, struct stat *about);
static bool is_hex(const char *name, size_t length);

json_t *stale_files_list(bool remove)
{
    struct stale stale = { .list = json_array(), .remove = remove };

    add_all_groups(&stale);
    add_all_parts(&stale);
    add_notices(&stale);
    scratch_find_stale(add_directory, &stale);
    partials_find(add_file, &stale);
    return stale.list;
}

/* Looks in the places that launcher/transport/agent_start.c tries, in that order. */
static void add_all_parts(struct stale *stale)
{
    const char *user = getenv("LOGNAME") != NULL ? getenv("LOGNAME") : "me";
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    char       *base[5];
    size_t      i;

    base[0] = cache != NULL ? xasprintf("%s/muster", cache)
                            : xasprintf("%s/.cache/muster", home != NULL ? home : "");
    base[1] = runtime != NULL ? xasprintf("%s/muster", runtime) : NULL;
    base[2] = tmp != NULL ? xasprintf("%s/muster-%s", tmp, user) : NULL;
    base[3] = xasprintf("/tmp/muster-%s", user);
    base[4] = xasprintf("/dev/shm/muster-%s", user);
    for (i = 0; i < sizeof base / sizeof *base; i++) {
        if (base[i] != NULL)
            add_parts(stale, base[i]);
        free(base[i]);
    }
}

bool stale_files_remove_groups(const char *run)
{
    struct stale stale = { .list = json_array(), .remove = true, .run = run };

    add_all_groups(&stale);
    json_decref(stale.list);
    return stale.has_dying;
}

static void add_all_groups(struct stale *stale)
{
    add_groups(stale, "/sys/fs/cgroup/unified", GROUPS_DEEP);
    add_groups(stale, "/sys/fs/cgroup/freezer", GROUPS_DEEP);
    if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
        add_groups(stale, "/sys/fs/cgroup", GROUPS_DEEP);
}

/* --- control groups --------------------------------------------------------- */

static void add_groups(struct stale *stale, const char *path, int depth)
{
    DIR           *dir = depth > 0 ? opendir(path) : NULL;
    struct dirent *entry;
    char          *below;

    while (dir != NULL && stale->looked_at < GROUPS_MOST && (entry = readdir(dir)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        stale->looked_at++;
        below = xasprintf("%s/%s", path, entry->d_name);
        add_groups(stale, below, depth - 1);
        add_group(stale, below, entry->d_name);
        free(below);
    }
    if (dir != NULL)
        closedir(dir);
}

static void add_group(struct stale *stale, const char *path, const char *name)
{
    char          run[RUNID_MAX + 1];
    struct cgroup group;
    struct stat   about;
    bool          gone = false;
    int           held;

    if (!cgroup_name(name, run, sizeof run) || !is_ours(path, S_IFDIR, &about) ||
        !group_of(path, &group))
        return;
    held = cgroup_hold_unused(path, stale->remove);
    if (held > 0 && cgroup_is_empty(&group))
        gone = add(stale, "group", path);
    if (held > 0)
        close(held);
    if (!gone && stale->run != NULL && strcmp(run, stale->run) == 0)
        stale->has_dying = stale->has_dying || !orphans_is_agent(cgroup_maker(name));
}

/* --- parts of the agent ----------------------------------------------------- */

static void add_parts(struct stale *stale, const char *base)
{
    DIR           *dir = opendir(base);
    struct dirent *entry;
    struct stat    about;
    char          *folder;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        folder = xasprintf("%s/%s", base, entry->d_name);
        if (is_hex(entry->d_name, 64) && is_ours(folder, S_IFDIR, &about))
            add_parts_in(stale, folder);
        free(folder);
    }
    if (dir != NULL)
        closedir(dir);
}

/* A part's name is a dot and the nonce of its connection. */
static void add_parts_in(struct stale *stale, const char *folder)
{
    DIR           *dir = opendir(folder);
    struct dirent *entry;
    struct stat    about;
    char          *path;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        path = xasprintf("%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' && is_hex(entry->d_name + 1, FRAME_NONCE_CHARS) &&
            is_ours(path, S_IFREG, &about) && time(NULL) - about.st_mtime > PART_OLD_S)
            add(stale, "file", path);
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* --- notices ---------------------------------------------------------------- */

/* launcher/plan/plan.c has drawn their names. The agent that has made one holds a lock on it.
 * Our lock is shared: other processes may be looking, too. */
static void add_notices(struct stale *stale)
{
    DIR           *dir = opendir("/tmp");
    struct dirent *entry;
    struct stat    about;
    char          *path;
    int            fd;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!is_notice(entry->d_name))
            continue;
        path = xasprintf("/tmp/%s", entry->d_name);
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && is_ours(path, S_IFREG, &about) && flock(fd, LOCK_SH | LOCK_NB) == 0)
            add(stale, "file", path);
        if (fd >= 0)
            close(fd);
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Matches "muster-notice-", 32 hex digits, and the part that each node and generation adds. */
static bool is_notice(const char *name)
{
    static const char begin[] = "muster-notice-";
    size_t            length = strlen(begin);

    return strncmp(name, begin, length) == 0 &&
           strspn(name + length, "0123456789abcdef") == 32 && name[length + 32] == '.';
}

/* --- parts of files that muster bcast copied -------------------------------- */

static bool add_file(const char *path, void *arg)
{
    return add(arg, "file", path);
}

/* --- directories ------------------------------------------------------------ */

static void add_directory(const char *path, void *arg)
{
    add(arg, "directory", path);
}

/* --- all kinds -------------------------------------------------------------- */

/* True: it was removed. */
static bool add(struct stale *stale, const char *what, const char *path)
{
    struct cgroup group;
    bool          gone = false;

    if (json_array_size(stale->list) >= STALE_FILES_MAX)
        return false;
    if (stale->remove && strcmp(what, "group") == 0)
        gone = group_of(path, &group) && cgroup_remove(&group);
    else if (stale->remove)
        gone = strcmp(what, "directory") == 0 ? scratch_clear(path) : unlink(path) == 0;
    json_array_append_new(stale->list,
                          json_pack("{s:s, s:o, s:b}", "what", what, "path",
                                    json_text(path, strlen(path)), "gone", gone));
    return gone;
}

static bool group_of(const char *path, struct cgroup *group)
{
    *group = (struct cgroup){ 0 };
    return snprintf(group->path, sizeof group->path, "%s", path) < (int)sizeof group->path;
}

static bool is_ours(const char *path, mode_t type, struct stat *about)
{
    return lstat(path, about) == 0 && (about->st_mode & S_IFMT) == type &&
           about->st_uid == geteuid();
}

static bool is_hex(const char *name, size_t length)
{
    return strlen(name) == length && strspn(name, "0123456789abcdef") == length;
}
