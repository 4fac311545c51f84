/* undo.c - see undo.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/undo.h"

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "journal/journal.h"
#include "xalloc.h"

static bool is_wanted(const struct bootstrap *b, const char *step);
static int  take_back(const char *root, const struct journal_entry *entry, struct error *err);
static void note(json_t *lines, const char *root, const struct journal_entry *entry,
                 const struct error *why);
static const char *outcome(const char *root, const struct journal_entry *entry);
static void tell(struct bootstrap *b, json_t *lines);

int undo_run(struct bootstrap *b, struct error *err)
{
    struct journal       journal;
    struct journal_entry entry;
    struct error         why;
    json_t              *lines = json_array(); /* one per step */
    int                  n, rc, pass, failed = 0;

    if (journal_open(&journal, b->root, err) < 0) {
        json_decref(lines);
        return -1;
    }
    /* Commands come last: sshd must read its restored files. */
    for (pass = 0, n = journal.last; pass < 2; n > 1 ? n-- : (pass++, n = journal.last)) {
        rc = journal_read(&journal, n, &entry, &why);
        if (rc > 0 && (entry.kind == STATE_COMMAND) == pass && is_wanted(b, entry.step)) {
            rc = take_back(b->root, &entry, &why);
            if (rc == 0)
                rc = journal_drop(&journal, n, &why);
            note(lines, b->root, &entry, rc < 0 ? &why : NULL);
        } else if (rc < 0 && pass == 0) {
            task_output_line(b->out, json_pack("{s:o}", "error",
                                               json_text(why.text, strlen(why.text))));
        }
        journal_entry_clear(&entry);
        failed |= rc < 0;
    }
    tell(b, lines);
    journal_close(&journal);
    return failed;
}

static bool is_wanted(const struct bootstrap *b, const char *step)
{
    const json_t *one;
    size_t        i;

    json_array_foreach(b->steps, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), step) == 0)
            return true;
    return b->steps == NULL;
}

/* If the state is as before the change, the change was recorded but never made. */
static int take_back(const char *root, const struct journal_entry *entry, struct error *err)
{
    struct state now;
    int          rc = 0;

    state_tidy(root, entry->kind, entry->path);
    if (entry->kind == STATE_COMMAND)
        return state_make(root, entry->kind, entry->path, &entry->before, err);
    if (state_read(root, entry->kind, entry->path, &now, err) < 0)
        return -1;
    if (state_is(entry->kind, &now, &entry->after))
        rc = state_make(root, entry->kind, entry->path, &entry->before, err);
    else if (!state_is(entry->kind, &now, &entry->before))
        rc = err_set(err,
                     "%s: was changed since, by another program or by a step that is not "
                     "undone; left unchanged",
                     entry->path);
    state_clear(&now);
    return rc;
}

static void note(json_t *lines, const char *root, const struct journal_entry *entry,
                 const struct error *why)
{
    json_t *line = NULL, *one;
    char   *what;
    size_t  i;

    json_array_foreach(lines, i, one)
        if (strcmp(json_string_value(json_object_get(one, "step")), entry->step) == 0)
            line = one;
    if (line == NULL) {
        line = json_pack("{s:s, s:s, s:[], s:[]}", "step", entry->step, "state", "changed",
                         "changes", "notes");
        json_array_append_new(lines, line);
    }
    if (why != NULL) {
        json_object_set_new(line, "state", json_string("failed"));
        json_object_set_new(line, "error", json_text(why->text, strlen(why->text)));
        return;
    }
    what = xasprintf("%s: %s", entry->path, outcome(root, entry));
    json_array_append_new(json_object_get(line, "changes"),
                          json_pack("{s:o, s:s}", "what", json_text(what, strlen(what)), "why",
                                    "undo"));
    free(what);
}

static const char *outcome(const char *root, const struct journal_entry *entry)
{
    struct state now;
    struct error err;
    bool         is_there;

    if (entry->kind == STATE_COMMAND)
        return entry->before.size > 0 ? "undone" : "stays as it is";
    if (entry->before.exists)
        return "as it was";
    if (entry->kind != STATE_DIR || state_read(root, STATE_DIR, entry->path, &now, &err) < 0)
        return "removed";
    is_there = now.exists;
    state_clear(&now);
    return is_there ? "stays, as it has other files" : "removed";
}

static void tell(struct bootstrap *b, json_t *lines)
{
    json_t *line;
    size_t  i;

    json_array_foreach(lines, i, line)
        task_output_line(b->out, json_incref(line));
    json_decref(lines);
}
