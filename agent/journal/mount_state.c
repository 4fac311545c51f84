/* mount_state.c - see mount_state.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/mount_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "file.h"
#include "journal/superblock.h"
#include "strlist.h"
#include "xalloc.h"

#define MOUNTINFO_MAX (16u << 20)
#define FIELDS_MAX    32

/* The fields of mountinfo (proc_pid_mountinfo(5)) up to the separator. */
enum { FIELD_DEVICE = 2, FIELD_ROOT, FIELD_PLACE, FIELD_OPTIONS, FIELD_OPTIONAL };

/* The lines of a state's bytes. */
enum { WORD_SOURCE, WORD_TYPE, WORD_OPTIONS, WORD_UUID, WORDS };

static const char *next_line(const char *text, struct strlist *fields);
static bool        read_line(const struct strlist *fields, struct mounted *mounted);
static void        unescape(char *text);
static void        split(char *bytes, char **word);
static unsigned long split_options(const char *options, char *rest, size_t size);

bool mount_find(const char *mountinfo, const char *path, struct mounted *found)
{
    struct strlist fields = { 0 };
    const char    *at = mountinfo;
    bool           is_there = false;

    while ((at = next_line(at, &fields)) != NULL) {
        if (fields.count > FIELD_OPTIONAL && strcmp(fields.item[FIELD_PLACE], path) == 0 &&
            read_line(&fields, found))
            is_there = true;
        strlist_clear(&fields);
    }
    return is_there;
}

char *mount_of_device(const char *mountinfo, unsigned major, unsigned minor)
{
    struct strlist fields = { 0 };
    struct mounted mounted;
    const char    *at = mountinfo;
    char          *place = NULL;

    while (place == NULL && (at = next_line(at, &fields)) != NULL) {
        if (fields.count > FIELD_OPTIONAL && read_line(&fields, &mounted) &&
            mounted.major == major && mounted.minor == minor)
            place = xstrdup(fields.item[FIELD_PLACE]);
        strlist_clear(&fields);
    }
    return place;
}

char *mount_read_all(void)
{
    size_t size;
    char  *text = file_read_at_once("/proc/self/mountinfo", MOUNTINFO_MAX, &size, NULL);

    return text != NULL ? text : xstrdup("");
}

/* Returns NULL at the end of the text. */
static const char *next_line(const char *text, struct strlist *fields)
{
    size_t length;

    if (*text == '\0')
        return NULL;
    while (*text != '\n' && *text != '\0') {
        length = strcspn(text, " \n");
        if (length > 0 && fields->count < FIELDS_MAX) {
            strlist_add_bytes(fields, text, length);
            unescape(fields->item[fields->count - 1]);
        }
        text += length;
        text += *text == ' ';
    }
    return text + (*text == '\n');
}

static bool read_line(const struct strlist *fields, struct mounted *mounted)
{
    size_t i = FIELD_OPTIONAL;

    while (i < fields->count && strcmp(fields->item[i], "-") != 0)
        i++;
    if (i + 3 >= fields->count ||
        sscanf(fields->item[FIELD_DEVICE], "%u:%u", &mounted->major, &mounted->minor) != 2)
        return false;
    snprintf(mounted->type, sizeof mounted->type, "%s", fields->item[i + 1]);
    snprintf(mounted->source, sizeof mounted->source, "%s", fields->item[i + 2]);
    snprintf(mounted->options, sizeof mounted->options, "%s,%s", fields->item[FIELD_OPTIONS],
             fields->item[i + 3]);
    return true;
}

/* Replaces octal escapes: "\040" is a blank. */
static void unescape(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
            *to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 3;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

/* --- states ----------------------------------------------------------------- */

int mount_state_read(const char *path, struct state *state, struct error *err)
{
    struct mounted    mounted;
    struct superblock superblock = { .uuid = "" };
    char             *all = mount_read_all();

    (void)err;
    state->exists = mount_find(all, path, &mounted);
    if (state->exists) {
        if (mounted.source[0] == '/')
            superblock_read(mounted.source, &superblock);
        state->bytes = xasprintf("%s\n%s\n%s\n%s", mounted.source, mounted.type,
                                 mounted.options, superblock.uuid);
        state->size = strlen(state->bytes);
    }
    free(all);
    return 0;
}

bool mount_state_is(const struct state *one, const struct state *other)
{
    char *mine = xstrdup(one->bytes), *theirs = xstrdup(other->bytes);
    char *my[WORDS], *their[WORDS];
    int   word;

    split(mine, my);
    split(theirs, their);
    word = my[WORD_UUID][0] != '\0' && their[WORD_UUID][0] != '\0' ? WORD_UUID : WORD_SOURCE;
    word = strcmp(my[word], their[word]);
    free(mine);
    free(theirs);
    return word == 0;
}

/* Splits a state's bytes into lines; missing ones are "". */
static void split(char *bytes, char **word)
{
    int i;

    for (i = 0; i < WORDS; i++) {
        word[i] = bytes;
        bytes += strcspn(bytes, "\n");
        if (*bytes == '\n')
            *bytes++ = '\0';
    }
}

/* The mount point exists by now: it is a separate state. */
int mount_state_make(const char *path, const struct state *want, struct error *err)
{
    char         *bytes, *word[WORDS], rest[256];
    unsigned long flags;
    int           rc;

    if (!want->exists) {
        if (umount2(path, UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
            return err_set(err, "%s: unmounting it failed: %s%s", path, strerror(errno),
                           errno == EBUSY ? " (fuser -vm shows who uses it)" : "");
        return 0;
    }
    bytes = xstrdup(want->bytes);
    split(bytes, word);
    flags = split_options(word[WORD_OPTIONS], rest, sizeof rest);
    rc = mount(word[WORD_SOURCE], path, word[WORD_TYPE], flags, rest);
    if (rc < 0)
        err_set(err, "%s: mounting %s (%s) there failed: %s", path, word[WORD_SOURCE],
                word[WORD_TYPE], strerror(errno));
    free(bytes);
    return rc;
}

/* Returns the options that mount(2) takes as flags; copies the rest for the file system. */
static unsigned long split_options(const char *options, char *rest, size_t size)
{
    static const struct {
        const char   *name;
        unsigned long flag;
    } known[] = {
        { "noatime", MS_NOATIME }, { "ro", MS_RDONLY },     { "nodev", MS_NODEV },
        { "nosuid", MS_NOSUID },   { "noexec", MS_NOEXEC }, { "nofail", 0 },
        { "defaults", 0 },         { "rw", 0 },
    };
    unsigned long flags = 0;
    size_t        i, length, used = 0;

    for (rest[0] = '\0'; *options != '\0'; options += length + (options[length] == ',')) {
        length = strcspn(options, ",");
        for (i = 0; i < sizeof known / sizeof *known; i++)
            if (strlen(known[i].name) == length && memcmp(known[i].name, options, length) == 0)
                break;
        if (i < sizeof known / sizeof *known)
            flags |= known[i].flag;
        else if (used + length + 2 < size)
            used += (size_t)snprintf(rest + used, size - used, "%s%.*s", used > 0 ? "," : "",
                                     (int)length, options);
    }
    return flags;
}

int mount_state_read_shm(const char *path, struct state *state, struct error *err)
{
    struct statvfs about;

    if (statvfs(path, &about) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    state->exists = true;
    state->bytes = xasprintf("%" PRIu64, (uint64_t)about.f_blocks * about.f_frsize);
    state->size = strlen(state->bytes);
    return 0;
}

/* A remount without the current flags would clear them. */
int mount_state_make_shm(const char *path, const struct state *want, struct error *err)
{
    struct statvfs about;
    char           size[64];
    unsigned long  flags = MS_REMOUNT;

    if (statvfs(path, &about) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    flags |= about.f_flag & ST_NOSUID ? MS_NOSUID : 0;
    flags |= about.f_flag & ST_NODEV ? MS_NODEV : 0;
    flags |= about.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
    snprintf(size, sizeof size, "size=%s", want->bytes);
    if (mount("tmpfs", path, "tmpfs", flags, size) < 0)
        return err_set(err, "%s: making it %s bytes failed: %s", path, want->bytes,
                       strerror(errno));
    return 0;
}
