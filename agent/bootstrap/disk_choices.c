/* disk_choices.c - see disk_choices.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/disk_choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/peek.h"
#include "buffer.h"
#include "journal/mount_state.h"
#include "sanitize.h"
#include "xalloc.h"

#define CHOICES_MAX 16 /* notes of one node */
#define NAMES_SHOWN 8
#define NAME_WIDE   40 /* columns */
#define MIB         (1024.0 * 1024.0)
#define GIB         (1024 * MIB)
#define LARGE       (UINT64_C(10) << 30)

/* inih takes " ;" for the beginning of a comment, and strips blanks. */
#define NOT_IN_CONF " \t\n;#\"'\\"

static void  note(const struct bootstrap *b, struct finding *finding, const struct disks *disks,
                  const struct disk *disk, const char *place);
static char *contents(const struct bootstrap *b, const struct disk *disk, const char *place);
static bool  is_only_serial(const struct disks *disks, const struct disk *disk);

void disk_choices_note(const struct bootstrap *b, struct finding *finding,
                       const struct disks *disks, const char *mountinfo, const char *place)
{
    const struct disk *disk;
    size_t             i, count = 0;
    char              *at;

    for (i = 0; i < disks->count; i++) {
        disk = &disks->disk[i];
        if (disk->superblock.type == NULL)
            continue;
        at = mount_of_device(mountinfo, disk->major, disk->minor);
        if ((at == NULL || strcmp(at, place) == 0) && ++count <= CHOICES_MAX)
            note(b, finding, disks, disk, at);
        free(at);
    }
    if (count > CHOICES_MAX)
        finding_note(finding, "and %zu more disks", count - CHOICES_MAX);
}

/* place NULL: it is not mounted. */
static void note(const struct bootstrap *b, struct finding *finding, const struct disks *disks,
                 const struct disk *disk, const char *place)
{
    char *line = disk_choice_line(disks, disk), *inside = contents(b, disk, place);
    char *label = sanitize_text(disk->superblock.label, strlen(disk->superblock.label));
    bool  is_large = disk->bytes >= LARGE;

    finding_note(finding, "/dev/%s%s%s (%s, label '%s', UUID %s, %.0f %s) has %s; %s%s",
                 disk->name, place != NULL ? " on " : "", place != NULL ? place : "",
                 disk->superblock.type, label, disk->superblock.uuid,
                 (double)disk->bytes / (is_large ? GIB : MIB), is_large ? "GiB" : "MiB", inside,
                 line != NULL ? "the line for it: " : "",
                 line != NULL ? line : "it has a clone here, and no serial that differs");
    free(label);
    free(inside);
    free(line);
}

/* Returns "models/, train.py and 3 more", or why that is unknown. */
static char *contents(const struct bootstrap *b, const struct disk *disk, const char *place)
{
    struct strlist names = { 0 };
    struct buffer  text = { 0 };
    struct error   err;
    char           more[32];
    size_t         i;

    if (peek_names(b->root, disk, place, &names, &err) < 0)
        return xasprintf("unknown files (%s)", err.text);
    for (i = 0; i < names.count && i < NAMES_SHOWN; i++) {
        buffer_add_text(&text, i > 0 ? ", " : "");
        sanitize_add(&text, names.item[i], strlen(names.item[i]), NAME_WIDE);
    }
    if (names.count > NAMES_SHOWN) {
        snprintf(more, sizeof more, " and %zu more", names.count - NAMES_SHOWN);
        buffer_add_text(&text, more);
    }
    if (names.count == 0)
        buffer_add_text(&text, "no files");
    buffer_add(&text, "", 1);
    strlist_clear(&names);
    return text.bytes;
}

char *disk_choice_line(const struct disks *disks, const struct disk *disk)
{
    const char *label = disk->superblock.label;

    if (label[0] != '\0' && strpbrk(label, NOT_IN_CONF) == NULL &&
        disks_is_only_label(disks, disk))
        return xasprintf("label = %s", label);
    if (disks_is_only_uuid(disks, disk))
        return xasprintf("uuid = %s", disk->superblock.uuid);
    if (disk->serial[0] != '\0' && strpbrk(disk->serial, NOT_IN_CONF) == NULL &&
        is_only_serial(disks, disk))
        return xasprintf("serial = %s", disk->serial);
    return NULL;
}

/* The partitions of a disk have the same serial. */
static bool is_only_serial(const struct disks *disks, const struct disk *disk)
{
    size_t i;

    for (i = 0; i < disks->count; i++)
        if (&disks->disk[i] != disk && disks->disk[i].superblock.type != NULL &&
            strcmp(disks->disk[i].serial, disk->serial) == 0)
            return false;
    return true;
}
