/* disks.c - see disks.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/disks.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fd.h"
#include "xalloc.h"

#define SYS_BLOCK "/sys/class/block"
#define SECTOR    512 /* in sysfs, whatever the disk uses */

enum word { WORD_LABEL, WORD_UUID, WORD_SERIAL, WORDS };

static bool     read_disk(struct disk *disk, const char *root, const char *name);
static void     read_parent(struct disk *disk, const char *dir);
static void     read_serial(struct disk *disk, const char *root);
static uint64_t number_of(const char *dir, const char *name);
static bool     text_of(const char *dir, const char *name, char *text, size_t size);
static size_t   count_of(const struct disks *disks, const struct disk_wanted *wanted,
                         enum word word);
static bool     has(const struct disk *disk, const struct disk_wanted *wanted, enum word word);
static const char *word_of(const struct disk_wanted *wanted, enum word word);
static int      none(const struct disks *disks, const struct disk_wanted *wanted,
                     struct error *err);
static int      several(const struct disk *const *found, size_t count, struct error *err);

/* --- reading ---------------------------------------------------------------- */

void disks_read(struct disks *disks, const char *root)
{
    char          *path = xasprintf("%s" SYS_BLOCK, root);
    DIR           *dir = opendir(path);
    struct dirent *one;

    *disks = (struct disks){ 0 };
    while (dir != NULL && disks->count < DISKS_MAX && (one = readdir(dir)) != NULL) {
        if (one->d_name[0] == '.')
            continue;
        disks->disk = xreallocarray(disks->disk, disks->count + 1, sizeof *disks->disk);
        if (read_disk(&disks->disk[disks->count], root, one->d_name))
            disks->count++;
    }
    if (dir != NULL)
        closedir(dir);
    free(path);
}

/* False: it has no medium. */
static bool read_disk(struct disk *disk, const char *root, const char *name)
{
    char *dir = xasprintf("%s" SYS_BLOCK "/%s", root, name);
    char *device = xasprintf("%s/dev/%s", root, name), text[64];
    DIR  *holders;
    int   entries = 0;

    *disk = (struct disk){ 0 };
    snprintf(disk->name, sizeof disk->name, "%.63s", name);
    disk->bytes = number_of(dir, "size") * SECTOR;
    disk->start = number_of(dir, "start") * SECTOR;
    disk->partition = (unsigned)number_of(dir, "partition");
    if (text_of(dir, "dev", text, sizeof text) &&
        sscanf(text, "%u:%u", &disk->major, &disk->minor) != 2)
        disk->bytes = 0;
    if (disk->bytes > 0) {
        read_parent(disk, dir);
        read_serial(disk, root);
        free(dir);
        dir = xasprintf("%s" SYS_BLOCK "/%s/holders", root, name);
        for (holders = opendir(dir); holders != NULL && readdir(holders) != NULL;)
            entries++;
        if (holders != NULL)
            closedir(holders);
        disk->is_held = entries > 2; /* besides "." and ".." */
        if (!disk->is_held)
            superblock_read(device, &disk->superblock);
    }
    free(device);
    free(dir);
    return disk->bytes > 0;
}

/* In sysfs a partition is inside its disk. */
static void read_parent(struct disk *disk, const char *dir)
{
    char real[PATH_MAX], *slash;

    if (disk->partition == 0 || realpath(dir, real) == NULL)
        return;
    if ((slash = strrchr(real, '/')) == NULL)
        return;
    *slash = '\0';
    slash = strrchr(real, '/');
    snprintf(disk->parent, sizeof disk->parent, "%.63s", slash != NULL ? slash + 1 : "");
}

static void read_serial(struct disk *disk, const char *root)
{
    char *dir = xasprintf("%s" SYS_BLOCK "/%s", root,
                          disk->parent[0] != '\0' ? disk->parent : disk->name);

    if (!text_of(dir, "serial", disk->serial, sizeof disk->serial))
        text_of(dir, "device/serial", disk->serial, sizeof disk->serial);
    free(dir);
}

static uint64_t number_of(const char *dir, const char *name)
{
    char text[32];

    return text_of(dir, name, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

static bool text_of(const char *dir, const char *name, char *text, size_t size)
{
    char   *path = xasprintf("%s/%s", dir, name);
    ssize_t got = fd_read_file(path, text, size);
    size_t  length = got > 0 ? strlen(text) : 0;

    free(path);
    while (length > 0 && strchr(" \n", text[length - 1]) != NULL)
        text[--length] = '\0';
    return length > 0;
}

void disks_clear(struct disks *disks)
{
    free(disks->disk);
    *disks = (struct disks){ 0 };
}

const struct disk *disks_find(const struct disks *disks, const char *name)
{
    size_t i;

    for (i = 0; i < disks->count; i++)
        if (strcmp(disks->disk[i].name, name) == 0)
            return &disks->disk[i];
    return NULL;
}

/* --- choosing --------------------------------------------------------------- */

const struct disk *disks_choose(const struct disks *disks, const struct disk_wanted *wanted,
                                struct error *err)
{
    const struct disk **found = xcalloc(disks->count + 1, sizeof *found), *chosen = NULL;
    size_t              count = 0, kept, i;
    enum word           word;

    for (word = 0; word < WORDS && count != 1; word++) {
        if (word_of(wanted, word) == NULL)
            continue;
        if (count == 0) {
            for (i = 0; i < disks->count; i++)
                if (has(&disks->disk[i], wanted, word))
                    found[count++] = &disks->disk[i];
            continue;
        }
        for (kept = 0, i = 0; i < count; i++)
            if (has(found[i], wanted, word))
                found[kept++] = found[i];
        count = kept > 0 ? kept : count;
    }
    if (count == 1)
        chosen = found[0];
    else if (count == 0)
        none(disks, wanted, err);
    else
        several(found, count, err);
    free(found);
    return chosen;
}

bool disks_is_only_label(const struct disks *disks, const struct disk *disk)
{
    const struct disk_wanted wanted = { .label = disk->superblock.label };

    return count_of(disks, &wanted, WORD_LABEL) <= 1;
}

bool disks_is_only_uuid(const struct disks *disks, const struct disk *disk)
{
    const struct disk_wanted wanted = { .uuid = disk->superblock.uuid };

    return count_of(disks, &wanted, WORD_UUID) <= 1;
}

static size_t count_of(const struct disks *disks, const struct disk_wanted *wanted,
                       enum word word)
{
    size_t i, count = 0;

    for (i = 0; i < disks->count; i++)
        count += has(&disks->disk[i], wanted, word);
    return count;
}

static bool has(const struct disk *disk, const struct disk_wanted *wanted, enum word word)
{
    if (disk->superblock.type == NULL)
        return false;
    switch (word) {
    case WORD_LABEL:
        return strcmp(disk->superblock.label, wanted->label) == 0;
    case WORD_UUID:
        return strcasecmp(disk->superblock.uuid, wanted->uuid) == 0;
    default:
        return strcmp(disk->serial, wanted->serial) == 0;
    }
}

static const char *word_of(const struct disk_wanted *wanted, enum word word)
{
    return word == WORD_LABEL  ? wanted->label
           : word == WORD_UUID ? wanted->uuid
                               : wanted->serial;
}

static int none(const struct disks *disks, const struct disk_wanted *wanted, struct error *err)
{
    char   text[512] = "";
    size_t i, used = 0;

    for (i = 0; i < disks->count && used < sizeof text; i++)
        if (disks->disk[i].superblock.type != NULL)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s, label '%s')",
                                     used > 0 ? ", " : "", disks->disk[i].name,
                                     disks->disk[i].superblock.type,
                                     disks->disk[i].superblock.label);
    return err_set(err, "no disk here has %s '%s'; there are: %s",
                   wanted->label != NULL  ? "the label"
                   : wanted->uuid != NULL ? "the UUID"
                                          : "a file system and the serial",
                   wanted->label != NULL  ? wanted->label
                   : wanted->uuid != NULL ? wanted->uuid
                                          : wanted->serial,
                   text[0] != '\0' ? text : "none with ext2, ext3, ext4 or XFS");
}

static int several(const struct disk *const *found, size_t count, struct error *err)
{
    char   text[512] = "";
    size_t i, used = 0;
    bool   is_clone = true;

    for (i = 0; i < count && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (serial %s)",
                                 i > 0 ? ", " : "", found[i]->name,
                                 found[i]->serial[0] != '\0' ? found[i]->serial : "none");
        is_clone = is_clone && strcmp(found[i]->superblock.uuid, found[0]->superblock.uuid) == 0;
    }
    return err_set(err, "%zu disks match: %s%s%s", count, text,
                   is_clone ? "; all have the UUID " : "",
                   is_clone ? found[0]->superblock.uuid : "");
}
