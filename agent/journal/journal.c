/* journal.c - see journal.h
 *
 * An entry is one line of JSON, then the bytes before and the bytes after.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "buffer.h"
#include "file.h"
#include "xalloc.h"

#define ENTRY_MAX   (2 * STATE_BYTES_MAX + 65536)
#define HEADER_MAX  65536
#define NAME_FORMAT "%06d"
#define NAME_LENGTH 6

static int     make_dirs(const char *root, struct error *err);
static void    find_last(struct journal *journal);
static bool    is_entry_name(const char *name);
static json_t *state_json(const struct state *state);
static int     read_header(const json_t *header, struct journal_entry *entry, struct error *err);
static int     read_state(const json_t *json, struct state *state, struct error *err);
static char   *path_of(const struct journal *journal, int number);

int journal_open(struct journal *journal, const char *root, struct error *err)
{
    *journal = (struct journal){ .root = root, .lock = -1 };
    if (make_dirs(root, err) < 0)
        return -1;
    journal->dir = xasprintf("%s%s/journal", root, JOURNAL_DIR);
    journal->lock = open(journal->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->lock < 0)
        err_set(err, "%s: %s", journal->dir, strerror(errno));
    else if (flock(journal->lock, LOCK_EX | LOCK_NB) < 0)
        err_set(err, "another muster bootstrap is running on this node (it has locked %s)",
                journal->dir);
    else {
        find_last(journal);
        return 0;
    }
    journal_close(journal);
    return -1;
}

static int make_dirs(const char *root, struct error *err)
{
    static const char        last[] = JOURNAL_DIR "/journal";
    static const char *const dirs[] = { "/var", "/var/lib", "/var/lib/muster", JOURNAL_DIR, last };
    size_t i;
    char  *dir;
    int    rc = 0;

    for (i = 0; i < sizeof dirs / sizeof *dirs && rc == 0; i++) {
        dir = xasprintf("%s%s", root, dirs[i]);
        if (mkdir(dir, strstr(dir, JOURNAL_DIR) != NULL ? 0700 : 0755) == 0)
            state_sync_dir_of(dir);
        else if (errno != EEXIST)
            rc = err_set(err, "%s: %s", dir, strerror(errno));
        free(dir);
    }
    return rc;
}

void journal_close(struct journal *journal)
{
    if (journal->lock >= 0)
        close(journal->lock);
    free(journal->dir);
    *journal = (struct journal){ .lock = -1 };
}

static void find_last(struct journal *journal)
{
    DIR           *dir = opendir(journal->dir);
    struct dirent *one;

    while (dir != NULL && (one = readdir(dir)) != NULL)
        if (is_entry_name(one->d_name) && atoi(one->d_name) > journal->last)
            journal->last = atoi(one->d_name);
    if (dir != NULL)
        closedir(dir);
}

static bool is_entry_name(const char *name)
{
    return strlen(name) == NAME_LENGTH && strspn(name, "0123456789") == NAME_LENGTH;
}

/* --- writing ---------------------------------------------------------------- */

int journal_add(struct journal *journal, const struct journal_entry *entry, struct error *err)
{
    json_t       *header = json_pack("{s:s, s:s, s:s, s:o, s:o}", "step", entry->step, "kind",
                                     state_kinds[entry->kind], "path", entry->path, "before",
                                     state_json(&entry->before), "after",
                                     state_json(&entry->after));
    char         *text = json_dumps(header, JSON_COMPACT), *path;
    struct buffer bytes = { 0 };
    struct state  file = { .exists = true, .mode = 0600, .uid = geteuid(), .gid = getegid() };
    int           rc;

    json_decref(header);
    if (text == NULL)
        return err_set(err, "%s: this path is not UTF-8", entry->path);
    buffer_add_text(&bytes, text);
    buffer_add_text(&bytes, "\n");
    buffer_add(&bytes, entry->before.bytes, entry->before.size);
    buffer_add(&bytes, entry->after.bytes, entry->after.size);
    free(text);
    if (journal->last >= JOURNAL_MAX) {
        buffer_clear(&bytes);
        return err_set(err, "%s has %d entries: run muster bootstrap --undo", journal->dir,
                       journal->last);
    }
    file.bytes = bytes.bytes;
    file.size = bytes.size;
    path = path_of(journal, journal->last + 1);
    rc = state_write_file(path, &file, err);
    if (rc == 0)
        journal->last++;
    free(path);
    buffer_clear(&bytes);
    return rc;
}

static json_t *state_json(const struct state *state)
{
    return json_pack("{s:b, s:i, s:I, s:I, s:I}", "exists", state->exists, "mode",
                     (int)state->mode, "uid", (json_int_t)state->uid, "gid",
                     (json_int_t)state->gid, "size", (json_int_t)state->size);
}

int journal_drop(struct journal *journal, int number, struct error *err)
{
    char *path = path_of(journal, number);
    int   rc = 0;

    if (unlink(path) < 0 && errno != ENOENT)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    else
        state_sync_dir_of(path);
    if (rc == 0 && number == journal->last)
        journal->last--;
    free(path);
    return rc;
}

/* --- reading ---------------------------------------------------------------- */

int journal_read(const struct journal *journal, int number, struct journal_entry *entry,
                 struct error *err)
{
    char  *path = path_of(journal, number), *bytes = NULL;
    size_t size;
    int    rc = 0;

    *entry = (struct journal_entry){ 0 };
    if (access(path, F_OK) == 0) {
        bytes = file_read_at_once(path, ENTRY_MAX, &size, err);
        rc = bytes == NULL || journal_parse(bytes, size, entry, err) < 0 ? -1 : 1;
        if (rc < 0 && bytes != NULL)
            err_set(err, "%s: %s", path, err->text);
    }
    free(bytes);
    free(path);
    return rc;
}

int journal_parse(const char *bytes, size_t size, struct journal_entry *entry,
                  struct error *err)
{
    const char *end = memchr(bytes, '\n', size < HEADER_MAX ? size : HEADER_MAX);
    json_t     *header = end == NULL ? NULL : json_loadb(bytes, (size_t)(end - bytes),
                                                         JSON_REJECT_DUPLICATES, NULL);
    size_t      have;
    int         rc;

    *entry = (struct journal_entry){ 0 };
    if (header == NULL)
        return err_set(err, "not an entry of the journal");
    rc = read_header(header, entry, err);
    json_decref(header);
    have = size - (size_t)(end + 1 - bytes);
    if (rc == 0 && (entry->before.size > have || entry->after.size != have - entry->before.size))
        rc = err_set(err, "%zu bytes follow the first line, which announces another number",
                     have);
    if (rc == 0) {
        entry->before.bytes = xcalloc(1, entry->before.size + 1);
        entry->after.bytes = xcalloc(1, entry->after.size + 1);
        memcpy(entry->before.bytes, end + 1, entry->before.size);
        memcpy(entry->after.bytes, end + 1 + entry->before.size, entry->after.size);
    } else {
        journal_entry_clear(entry);
    }
    return rc;
}

static int read_header(const json_t *header, struct journal_entry *entry, struct error *err)
{
    const char *step = json_string_value(json_object_get(header, "step"));
    const char *path = json_string_value(json_object_get(header, "path"));
    const char *kind = json_string_value(json_object_get(header, "kind"));
    int         i;

    for (i = 0; kind != NULL && i < STATE_KINDS && strcmp(kind, state_kinds[i]) != 0; i++)
        ;
    if (step == NULL || path == NULL || kind == NULL || i == STATE_KINDS)
        return err_set(err, "step, path or kind is missing or unknown");
    if (read_state(json_object_get(header, "before"), &entry->before, err) < 0 ||
        read_state(json_object_get(header, "after"), &entry->after, err) < 0)
        return -1;
    entry->kind = (enum state_kind)i;
    entry->step = xstrdup(step);
    entry->path = xstrdup(path);
    return 0;
}

static int read_state(const json_t *json, struct state *state, struct error *err)
{
    json_int_t mode = json_integer_value(json_object_get(json, "mode"));
    json_int_t size = json_integer_value(json_object_get(json, "size"));

    if (!json_is_boolean(json_object_get(json, "exists")) || mode < 0 || mode > 07777 ||
        size < 0 || size > STATE_BYTES_MAX)
        return err_set(err, "before or after is missing or out of range");
    state->exists = json_is_true(json_object_get(json, "exists"));
    state->mode = (mode_t)mode;
    state->uid = (uid_t)json_integer_value(json_object_get(json, "uid"));
    state->gid = (gid_t)json_integer_value(json_object_get(json, "gid"));
    state->size = (size_t)size;
    return 0;
}

void journal_entry_clear(struct journal_entry *entry)
{
    free(entry->step);
    free(entry->path);
    state_clear(&entry->before);
    state_clear(&entry->after);
    *entry = (struct journal_entry){ 0 };
}

static char *path_of(const struct journal *journal, int number)
{
    return xasprintf("%s/" NAME_FORMAT, journal->dir, number);
}
