/* disks.c - file systems: mounted as in fstab, with space and inodes, writable; the data disk
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fnv.h"
#include "strlist.h"

#define MIB        (1024.0 * 1024.0)
#define INODES_FEW 1000
#define MARKER     ".muster-data.json" /* muster bootstrap writes it to a data disk */
#define PLACES_MAX 32
#define MARKER_MAX 65536
#define CACHE_BREAKS                                                                           \
    "muster must keep its agent elsewhere, and PyTorch and Triton cannot use the code that "   \
    "they "                                                                                    \
    "compile"

/* Places that need some free space: less than warn_mib will soon be too little. */
static const struct place {
    const char *path; /* NULL: taken from the request */
    const char *key;  /* in the request */
    double      warn_mib, fail_mib;
    bool        is_written;
    const char *breaks;
} places[] = {
    { "/tmp", NULL, 512, 32, true, "programs cannot make temporary files" },
    { "/dev/shm", NULL, 512, 64, true, "NCCL and PyTorch's data loaders end with a bus error" },
    { "/var/log", NULL, 256, 16, false, "logins and services fail once it is full" },
    { NULL, "log_dir", 1024, 64, true, "logs of ranks are truncated" },
    { NULL, "cwd", 1024, 64, false, "checkpoints cannot be written" },
};

static void mounts_check(const struct checkup *checkup);
static bool is_mounted(const struct checkup *checkup, const char *path, char *type, size_t size);
static void data_check(const struct checkup *checkup, const char *path);
static void place_check(const struct checkup *checkup, const struct place *place, const char *path,
                        dev_t *seen, size_t *seen_count);
static void cache_check(const struct checkup *checkup, dev_t *seen, size_t *seen_count);

void disks_check(const struct checkup *checkup)
{
    const struct place data = { NULL, NULL, 2048, 64, false, "checkpoints cannot be written" };
    const json_t      *list = json_object_get(checkup->request, "data"), *item;
    const char        *path;
    dev_t              seen[PLACES_MAX];
    size_t             i, count = 0;

    mounts_check(checkup);
    json_array_foreach(list, i, item) {
        path = json_string_value(item);
        if (path == NULL)
            continue;
        data_check(checkup, path);
        place_check(checkup, &data, path, seen, &count);
    }
    for (i = 0; i < sizeof places / sizeof *places; i++) {
        path = places[i].path != NULL ? places[i].path : checkup_word(checkup, places[i].key);
        if (path != NULL)
            place_check(checkup, &places[i], path, seen, &count);
    }
    cache_check(checkup, seen, &count);
}

/* Finds file systems that fstab wants at boot but that are not mounted: a data disk
 * with nofail, for example. */
static void mounts_check(const struct checkup *checkup)
{
    char          path[PATH_MAX], mend[PATH_MAX], line[4096];
    FILE         *fstab;
    struct mntent entry;

    checkup_path(checkup, "/etc/fstab", path);
    fstab = setmntent(path, "re");
    while (fstab != NULL && getmntent_r(fstab, &entry, line, sizeof line) != NULL) {
        if (entry.mnt_dir[0] != '/' || strcmp(entry.mnt_type, "swap") == 0 ||
            hasmntopt(&entry, "noauto") != NULL || is_mounted(checkup, entry.mnt_dir, NULL, 0))
            continue;
        snprintf(mend, sizeof mend, "sudo mount %s", entry.mnt_dir);
        checkup_find(checkup, CHECKUP_FAIL,
                     "programs find an empty folder, and checkpoints fill the system disk", mend,
                     "%s is in /etc/fstab, but not mounted", entry.mnt_dir);
    }
    if (fstab != NULL)
        endmntent(fstab);
}

static bool is_mounted(const struct checkup *checkup, const char *path, char *type, size_t size)
{
    char          mounts[PATH_MAX], line[8192];
    struct mntent entry;
    bool          is_found = false;
    FILE         *file;

    checkup_path(checkup, "/proc/self/mounts", mounts);
    file = setmntent(mounts, "re");
    while (file != NULL && getmntent_r(file, &entry, line, sizeof line) != NULL) {
        if (strcmp(entry.mnt_dir, path) != 0)
            continue;
        is_found = true;
        if (type != NULL)
            snprintf(type, size, "%s", entry.mnt_type);
    }
    if (file != NULL)
        endmntent(file);
    return is_found;
}

/* Reports a fact that must be the same on all nodes. */
static void data_check(const struct checkup *checkup, const char *path)
{
    char        marker[PATH_MAX], text[MARKER_MAX], type[64] = "", name[PATH_MAX];
    struct stat about;
    ssize_t     size;

    snprintf(marker, sizeof marker, "%s/" MARKER, path);
    size = checkup_read(checkup, marker, text, sizeof text);
    checkup_path(checkup, path, name);
    snprintf(marker, sizeof marker, "data %s", path);
    if (stat(name, &about) < 0)
        checkup_fact(checkup, marker, json_string("nothing"));
    else if (!is_mounted(checkup, path, type, sizeof type))
        checkup_fact(checkup, marker, json_string("a folder of the system disk"));
    else if (size > 0)
        checkup_fact(checkup, marker,
                     json_sprintf("a mounted %s with the marker %016llx", type,
                                  (unsigned long long)fnv_add(FNV_START, text, (size_t)size)));
    else
        checkup_fact(checkup, marker, json_sprintf("a mounted %s", type));
}

/* Checks each file system only once. */
static void place_check(const struct checkup *checkup, const struct place *place, const char *path,
                        dev_t *seen, size_t *seen_count)
{
    struct statvfs about;
    struct stat    file;
    char           mend[PATH_MAX + 64];
    double         free_mib;
    size_t         i;

    if (stat(path, &file) < 0 || statvfs(path, &about) < 0 || *seen_count == PLACES_MAX)
        return;
    for (i = 0; i < *seen_count; i++)
        if (seen[i] == file.st_dev)
            return;
    seen[(*seen_count)++] = file.st_dev;
    free_mib =
        (double)(geteuid() == 0 ? about.f_bfree : about.f_bavail) * (double)about.f_frsize / MIB;
    snprintf(mend, sizeof mend, "find what fills it: sudo du -xh -d 2 %s | sort -h | tail", path);
    if (place->is_written && (about.f_flag & ST_RDONLY) != 0)
        checkup_find(checkup, CHECKUP_FAIL, place->breaks,
                     "look at dmesg for errors of the disk, "
                     "then: sudo mount -o remount,rw",
                     "%s is read-only", path);
    else if (free_mib < place->warn_mib)
        checkup_find(checkup, free_mib < place->fail_mib ? CHECKUP_FAIL : CHECKUP_WARN,
                     place->breaks, mend, "%s has only %.0f MiB left", path, free_mib);
    if (about.f_files > 0 && about.f_ffree < INODES_FEW)
        checkup_find(checkup, about.f_ffree == 0 ? CHECKUP_FAIL : CHECKUP_WARN, place->breaks,
                     mend, "%s has only %llu inodes left", path,
                     (unsigned long long)about.f_ffree);
}

static void cache_check(const struct checkup *checkup, dev_t *seen, size_t *seen_count)
{
    static const struct place cached = { NULL, NULL, 64, 0, false, CACHE_BREAKS };
    const char               *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char                      path[PATH_MAX];
    struct statvfs            about;

    snprintf(path, sizeof path, "%s%s",
             cache != NULL  ? cache
             : home != NULL ? home
                            : "",
             cache != NULL ? "" : "/.cache");
    if (statvfs(path, &about) < 0) {
        if (home == NULL || statvfs(home, &about) < 0)
            return;
        snprintf(path, sizeof path, "%s", home);
    }
    if ((about.f_flag & (ST_NOEXEC | ST_RDONLY)) != 0)
        checkup_find(checkup, CHECKUP_WARN, CACHE_BREAKS,
                     "mount it with exec and rw, or set XDG_CACHE_HOME", "%s is mounted %s", path,
                     (about.f_flag & ST_NOEXEC) != 0 ? "noexec" : "read-only");
    else
        place_check(checkup, &cached, path, seen, seen_count);
}
