/* data_disk.c - the data disk is mounted where conf wants it, also after the next boot
 *
 * The disk is found by its contents (disks.h), never by its name, and is never formatted.
 * Before the step mounts it, it looks into it, read-only and in a temporary mount namespace: a
 * clone of another snapshot has another marker, and is refused. It is mounted with
 * nofail, so that a node whose disk is gone still boots.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bootstrap/disk_choices.h"
#include "bootstrap/disks.h"
#include "bootstrap/fstab.h"
#include "bootstrap/peek.h"
#include "journal/mount_state.h"
#include "xalloc.h"

#define OPTIONS "defaults,nofail,noatime"
#define MIB     (1024.0 * 1024.0)

/* A file system may be smaller than its disk by 1/SLACK: less is not worth a change. */
#define SLACK 64

struct look {
    struct bootstrap  *b;
    struct finding    *finding;
    const char        *place;
    struct disks       disks;
    const struct disk *disk;
    char              *mountinfo, *device;
    bool               is_mounted;
};

static const struct disk *find(struct look *look, struct error *err);
static const struct disk *find_by_marker(struct look *look, struct error *err);
static int   check_mounts(struct look *look, struct error *err);
static int   check_marker(struct look *look, struct error *err);
static int   add_mount(struct look *look, struct error *err);
static int   add_fstab(struct look *look, struct error *err);
static int   fstab_name(const struct look *look, char *text, size_t size, struct error *err);
static void  add_growth(struct look *look);
static void  add_partition_growth(struct look *look, uint64_t *room);

int step_data_disk(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct look look = { .b = b, .finding = finding,
                         .place = bootstrap_conf(b, "data", "mount") };
    int         rc = -1;

    if (look.place == NULL) {
        finding->is_unused = true;
        return 0;
    }
    if (look.place[0] != '/' || strcmp(look.place, "/") == 0)
        return err_set(err, "[data] mount: '%s' is not the path of a folder to mount on",
                       look.place);
    disks_read(&look.disks, b->root);
    look.mountinfo = mount_read_all();
    look.disk = find(&look, err);
    if (look.disk == NULL)
        disk_choices_note(b, finding, &look.disks, look.mountinfo, look.place);
    if (look.disk != NULL) {
        look.device = xasprintf("/dev/%s", look.disk->name);
        rc = check_mounts(&look, err);
        if (rc == 0)
            rc = check_marker(&look, err);
        if (rc == 0)
            rc = add_mount(&look, err);
        if (rc == 0)
            rc = add_fstab(&look, err);
        if (rc == 0)
            add_growth(&look);
    }
    free(look.device);
    free(look.mountinfo);
    disks_clear(&look.disks);
    return rc;
}

/* --- which disk ------------------------------------------------------------- */

static const struct disk *find(struct look *look, struct error *err)
{
    const struct disk_wanted wanted = {
        .label = bootstrap_conf(look->b, "data", "label"),
        .uuid = bootstrap_conf(look->b, "data", "uuid"),
        .serial = bootstrap_conf(look->b, "data", "serial"),
    };
    const struct disk *disk;

    if (wanted.label == NULL && wanted.uuid == NULL && wanted.serial == NULL)
        return find_by_marker(look, err);
    disk = disks_choose(&look->disks, &wanted, err);
    if (disk == NULL && strstr(err->text, "disks match") != NULL)
        finding_fix(look->finding, "they are clones of one snapshot: detach one, or name the right "
                    "one with serial in [data]; XFS mounts a second clone only after xfs_admin -U "
                    "generate");
    else if (disk == NULL)
        finding_fix(look->finding, "attach the disk, or correct [data] in bootstrap.conf; e2label "
                    "and xfs_admin -L give a disk its label");
    return disk;
}

/* Finds the only disk that is not mounted, is at least as large as conf
 * says, and has the marker. */
static const struct disk *find_by_marker(struct look *look, struct error *err)
{
    const char        *size = bootstrap_conf(look->b, "data", "size");
    const char        *marker = bootstrap_conf(look->b, "data", "marker");
    const char        *text = bootstrap_conf(look->b, "data", "marker_text");
    const struct disk *found = NULL, *disk;
    struct mounted     mounted;
    double             least = size != NULL ? strtod(size, NULL) : 0;
    char              *at;
    size_t             i;

    if (marker == NULL) {
        finding_fix(look->finding, "write the line of the right disk below [data] in "
                    "bootstrap.conf; if nodes differ, marker = FOLDER/ names what is on it");
        err_set(err, "[data] does not say which disk belongs to %s", look->place);
        return NULL;
    }
    for (i = 0; i < look->disks.count; i++) {
        disk = &look->disks.disk[i];
        at = mount_of_device(look->mountinfo, disk->major, disk->minor);
        if (disk->superblock.type != NULL && (double)disk->bytes >= least &&
            (at == NULL ? peek_marker(look->b->root, disk, marker, text, NULL) > 0
                        : strcmp(at, look->place) == 0)) {
            if (found != NULL)
                err_set(err, "2 disks match: %s and %s both have %s", found->name, disk->name,
                        marker);
            free(at);
            if (found != NULL)
                return NULL;
            found = disk;
            continue;
        }
        free(at);
    }
    if (found == NULL && mount_find(look->mountinfo, look->place, &mounted))
        err_set(err, "%s is mounted on %s and does not have %s", mounted.source, look->place,
                marker);
    else if (found == NULL)
        err_set(err, "no disk that is not mounted has the marker %s", marker);
    return found;
}

/* --- is it the right disk? -------------------------------------------------- */

static int check_mounts(struct look *look, struct error *err)
{
    struct mounted mounted;
    char          *elsewhere;

    if (look->b->root[0] != '\0') /* in tests nothing is mounted below root */
        return 0;
    look->is_mounted = mount_find(look->mountinfo, look->place, &mounted);
    if (look->is_mounted &&
        (mounted.major != look->disk->major || mounted.minor != look->disk->minor)) {
        finding_fix(look->finding, "umount %s, then run it again", look->place);
        return err_set(err, "%s is mounted on %s, but the data disk is %s", mounted.source,
                       look->place, look->device);
    }
    if (look->is_mounted)
        return 0;
    elsewhere = mount_of_device(look->mountinfo, look->disk->major, look->disk->minor);
    if (elsewhere == NULL)
        return 0;
    finding_fix(look->finding, "umount %s, then run it again", elsewhere);
    err_set(err, "the data disk %s is mounted on %s, not on %s", look->device, elsewhere,
            look->place);
    free(elsewhere);
    return -1;
}

static int check_marker(struct look *look, struct error *err)
{
    const char *marker = bootstrap_conf(look->b, "data", "marker");
    const char *text = bootstrap_conf(look->b, "data", "marker_text");
    int         rc;

    if (marker == NULL)
        return 0;
    rc = look->is_mounted ? peek_mounted(look->b->root, look->place, marker, text, err)
                          : peek_marker(look->b->root, look->disk, marker, text, err);
    if (rc > 0)
        return 0;
    if (rc < 0) {
        finding_note(look->finding, "%s could not be examined before it is mounted: %s",
                     look->device, err->text);
        return 0;
    }
    finding_fix(look->finding, "attach the right disk, or correct marker in bootstrap.conf");
    return err_set(err, "%s is the wrong disk: %s", look->device, err->text);
}

/* --- changes ---------------------------------------------------------------- */

static int add_mount(struct look *look, struct error *err)
{
    struct state want = { .exists = true };
    char        *what;
    int          rc;

    if (changes_add_dirs(&look->finding->changes, look->place, err) < 0)
        return -1;
    if (look->b->root[0] != '\0')
        return 0;
    want.bytes = xasprintf("%s\n%s\nnoatime\n%s", look->device, look->disk->superblock.type,
                           look->disk->superblock.uuid);
    want.size = strlen(want.bytes);
    what = xasprintf("mount %s there (%s, label '%s', UUID %s, %.0f MiB)", look->device,
                     look->disk->superblock.type, look->disk->superblock.label,
                     look->disk->superblock.uuid, (double)look->disk->bytes / MIB);
    rc = look->is_mounted ? 0 : changes_add(&look->finding->changes, STATE_MOUNT, look->place,
                                            &want, what, "the data disk", err);
    free(what);
    free(want.bytes);
    return rc;
}

static int add_fstab(struct look *look, struct error *err)
{
    struct state now, want;
    char         name[128], *line, *text, *what;
    int          rc = -1;

    if (fstab_name(look, name, sizeof name, err) < 0 ||
        state_read(look->b->root, STATE_FILE, FSTAB, &now, err) < 0)
        return -1;
    line = xasprintf("%s %s %s " OPTIONS " 0 2\n", name, look->place,
                     look->disk->superblock.type);
    text = fstab_put(now.exists ? now.bytes : "", look->place, line, err);
    if (text != NULL) {
        want = now.exists ? now : (struct state){ .exists = true, .mode = 0644,
                                                  .uid = geteuid(), .gid = getegid() };
        want.bytes = text;
        want.size = strlen(text);
        what = xasprintf("write '%.*s'%s", (int)strcspn(line, "\n"), line,
                         fstab_has(now.exists ? now.bytes : "", look->place)
                             ? ", in place of the line for it" : "");
        rc = changes_add(&look->finding->changes, STATE_FILE, FSTAB, &want, what,
                         "so that it is mounted after the next boot", err);
        free(what);
    }
    free(text);
    free(line);
    state_clear(&now);
    return rc;
}

/* Writes the label, if no other disk here has it; else the UUID. */
static int fstab_name(const struct look *look, char *text, size_t size, struct error *err)
{
    const struct superblock *own = &look->disk->superblock;

    if (own->label[0] != '\0' && strpbrk(own->label, " \t\n#\"'\\") == NULL &&
        disks_is_only_label(&look->disks, look->disk))
        snprintf(text, size, "LABEL=%s", own->label);
    else if (disks_is_only_uuid(&look->disks, look->disk))
        snprintf(text, size, "UUID=%s", own->uuid);
    else {
        finding_fix(look->finding, "detach the other one, or give this one its own: tune2fs -U "
                    "random %s (XFS: xfs_admin -U generate %s)", look->device, look->device);
        return err_set(err, "another disk has the same label and UUID as %s, so fstab cannot tell "
                       "them apart", look->device);
    }
    return 0;
}

/* --- a disk that is larger than its file system ------------------------------ */

static void add_growth(struct look *look)
{
    const char    *grow = bootstrap_conf(look->b, "data", "grow"), *type;
    struct strlist argv = { 0 };
    struct statvfs about;
    uint64_t       bytes = look->disk->superblock.bytes, room = look->disk->bytes;
    char          *why;

    if (look->b->root[0] != '\0' || (grow != NULL && strcmp(grow, "no") == 0))
        return;
    add_partition_growth(look, &room);
    type = look->disk->superblock.type;
    /* The superblock has the old size until XFS writes it back from its log. */
    if (strcmp(type, "xfs") == 0 && look->is_mounted && statvfs(look->place, &about) == 0)
        bytes = (uint64_t)about.f_blocks * about.f_frsize + look->disk->superblock.log_bytes;
    if (bytes + room / SLACK >= room)
        return;
    strlist_add(&argv, strcmp(type, "xfs") == 0 ? "xfs_growfs" : "resize2fs");
    strlist_add(&argv, strcmp(type, "xfs") == 0 ? look->place : look->device);
    why = xasprintf("the disk has %.0f MiB, its file system %.0f MiB; undo does not shrink it",
                    (double)room / MIB, (double)bytes / MIB);
    changes_add_command(&look->finding->changes, look->device, &argv, NULL,
                        "grow the file system", why);
    finding_fix(look->finding, "see dmesg; grow = no in [data] keeps the size");
    free(why);
    strlist_clear(&argv);
}

/* Grows the last partition of a disk that has become larger. room: the resulting
 * space for its file system. */
static void add_partition_growth(struct look *look, uint64_t *room)
{
    const struct disk *disk = look->disk, *whole = disks_find(&look->disks, disk->parent);
    struct strlist     argv = { 0 };
    size_t             i;

    if (disk->partition == 0 || whole == NULL ||
        disk->start + disk->bytes + whole->bytes / SLACK >= whole->bytes)
        return;
    for (i = 0; i < look->disks.count; i++)
        if (strcmp(look->disks.disk[i].parent, disk->parent) == 0 &&
            look->disks.disk[i].start > disk->start)
            return;
    strlist_add(&argv, "growpart");
    strlist_addf(&argv, "/dev/%s", disk->parent);
    strlist_addf(&argv, "%u", disk->partition);
    changes_add_command(&look->finding->changes, disk->parent, &argv, NULL,
                        "grow the partition", "the disk is larger than its last partition");
    strlist_clear(&argv);
    *room = whole->bytes - disk->start;
}
