/* changes.c - see changes.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/changes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

static struct change *append(struct changes *changes, enum state_kind kind, const char *path,
                             const char *what, const char *why);
static void           pack(struct state *state, const struct strlist *argv);
static bool           is_later(const struct change *change);
static int            make(const struct changes *changes, const struct change *change,
                           const char *step, struct journal *journal, struct error *err);

/* --- adding ----------------------------------------------------------------- */

int changes_add_file(struct changes *changes, const char *path, const char *text, mode_t mode,
                     const char *why, struct error *err)
{
    struct state now, want = { .exists = text != NULL, .mode = mode, .uid = geteuid(),
                               .gid = getegid() };
    int          rc;

    if (state_read(changes->root, STATE_FILE, path, &now, err) < 0)
        return -1;
    if (now.exists) {
        want.mode = now.mode;
        want.uid = now.uid;
        want.gid = now.gid;
    }
    want.bytes = (char *)text; /* borrowed */
    want.size = text != NULL ? strlen(text) : 0;
    rc = changes_add(changes, STATE_FILE, path, &want,
                     text == NULL ? "remove it"
                     : now.exists ? "change it"
                                  : "create it",
                     why, err);
    state_clear(&now);
    return rc;
}

int changes_add(struct changes *changes, enum state_kind kind, const char *path,
                const struct state *want, const char *what, const char *why, struct error *err)
{
    struct state now;

    if (state_read(changes->root, kind, path, &now, err) < 0)
        return -1;
    if (!state_is(kind, &now, want))
        changes_add_again(changes, kind, path, want, what, why);
    state_clear(&now);
    return 0;
}

void changes_add_again(struct changes *changes, enum state_kind kind, const char *path,
                       const struct state *want, const char *what, const char *why)
{
    char          *text = xasprintf("%s: %s", path, what);
    struct change *change = append(changes, kind, path, text, why);

    state_copy(&change->want, want);
    free(text);
}

int changes_add_dirs(struct changes *changes, const char *path, struct error *err)
{
    struct state want = { .exists = true, .mode = 0755, .uid = geteuid(), .gid = getegid() }, now;
    const char  *slash = path;
    char        *dir;
    int          rc = 0;

    while (rc == 0 && slash != NULL) {
        slash = strchr(slash + 1, '/');
        dir = slash != NULL ? xstrndup(path, (size_t)(slash - path)) : xstrdup(path);
        rc = state_read(changes->root, STATE_DIR, dir, &now, err);
        if (rc == 0 && !now.exists)
            rc = changes_add(changes, STATE_DIR, dir, &want, "create this directory",
                             "it is missing", err);
        state_clear(&now);
        free(dir);
    }
    return rc;
}

int changes_add_value(struct changes *changes, const char *path, const char *value,
                      const char *why, struct error *err)
{
    struct state want = { .exists = true, .bytes = (char *)value, .size = strlen(value) };
    char        *what = xasprintf("set it to %s", value);
    int          rc = changes_add(changes, STATE_VALUE, path, &want, what, why, err);

    free(what);
    return rc;
}

void changes_add_command(struct changes *changes, const char *name, const struct strlist *argv,
                         const struct strlist *back, const char *what, const char *why)
{
    struct change *change = append(changes, STATE_COMMAND, name, what, why);

    pack(&change->want, argv);
    if (back != NULL)
        pack(&change->back, back);
}

/* A command without words. */
void changes_add_later(struct changes *changes, const char *name, const char *what,
                       const char *why)
{
    append(changes, STATE_COMMAND, name, what, why);
}

static struct change *append(struct changes *changes, enum state_kind kind, const char *path,
                             const char *what, const char *why)
{
    struct change *change;

    changes->item = xreallocarray(changes->item, changes->count + 1, sizeof *changes->item);
    change = &changes->item[changes->count++];
    *change = (struct change){ .kind = kind, .path = xstrdup(path), .what = xstrdup(what),
                               .why = xstrdup(why) };
    return change;
}

static void pack(struct state *state, const struct strlist *argv)
{
    state->exists = true;
    state->bytes = strlist_pack(argv, &state->size);
}

void changes_clear(struct changes *changes)
{
    size_t i;

    for (i = 0; i < changes->count; i++) {
        free(changes->item[i].path);
        free(changes->item[i].what);
        free(changes->item[i].why);
        state_clear(&changes->item[i].want);
        state_clear(&changes->item[i].back);
    }
    free(changes->item);
    changes->item = NULL;
    changes->count = 0;
}

/* --- making ----------------------------------------------------------------- */

int changes_make(const struct changes *changes, const char *step, struct journal *journal,
                 struct error *err)
{
    size_t i;

    for (i = 0; i < changes->count; i++)
        if (!is_later(&changes->item[i]) &&
            make(changes, &changes->item[i], step, journal, err) < 0)
            return -1;
    return 0;
}

static bool is_later(const struct change *change)
{
    return change->kind == STATE_COMMAND && change->want.bytes == NULL;
}

static int make(const struct changes *changes, const struct change *change, const char *step,
                struct journal *journal, struct error *err)
{
    struct journal_entry entry = { .step = (char *)step, .path = change->path,
                                   .kind = change->kind, .after = change->want };
    struct state         before;
    int                  rc;

    state_tidy(changes->root, change->kind, change->path); /* not what is half made */
    if (state_read(changes->root, change->kind, change->path, &before, err) < 0)
        return -1;
    entry.before = change->kind == STATE_COMMAND ? change->back : before;
    rc = journal_add(journal, &entry, err);
    if (rc == 0)
        rc = state_make(changes->root, change->kind, change->path, &change->want, err);
    state_clear(&before);
    return rc;
}
