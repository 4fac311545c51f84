/* mesh.c - nodes log in to each other (muster bootstrap --mesh)
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/block.h"
#include "buffer.h"
#include "journal/journal.h"
#include "task/command.h"
#include "xalloc.h"

#define MESH_KNOWN "/etc/ssh/ssh_known_hosts"
#define KEY_NAME   "/.ssh/id_ed25519"
#define TEMP_KEY   JOURNAL_DIR "/new_key"
#define KEYGEN_S   30.0

static int   add_key(struct bootstrap *b, struct finding *finding, struct error *err);
static int   add_pair(struct bootstrap *b, struct finding *finding, const struct state *home,
                      struct error *err);
static int   add_public(struct finding *finding, const char *key, const struct state *home,
                        struct error *err);
static int   make_pair(const struct bootstrap *b, struct error *err);
static int   add_file(struct finding *finding, const char *path, const char *from,
                      const struct state *home, mode_t mode, struct error *err);
static void  tell(struct bootstrap *b);
static char *first_line(const struct bootstrap *b, const char *path);
static char *known_lines(const struct bootstrap *b);

/* --- the key of this node --------------------------------------------------- */

int mesh_run(struct bootstrap *b, bool is_apply, struct error *err)
{
    struct finding finding = { .changes = { .root = b->root } };
    struct journal journal;
    int            rc = 0;

    if (is_apply && journal_open(&journal, b->root, err) < 0)
        return -1;
    if (is_apply) {
        rc = add_key(b, &finding, err);
        if (rc == 0)
            rc = changes_make(&finding.changes, "mesh", &journal, err);
        if (rc == 0 && finding.changes.count > 0)
            task_output_line(b->out, json_pack("{s:s, s:s, s:[{s:s, s:s}], s:[]}", "step",
                                               "mesh", "state", "changed", "changes", "what",
                                               "~" KEY_NAME ": make a key pair", "why",
                                               "this user has none", "notes"));
        journal_close(&journal);
    }
    changes_clear(&finding.changes);
    if (rc == 0)
        tell(b);
    return rc;
}

static int add_key(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct state home, dir, now = { 0 };
    char        *ssh = xasprintf("%s/.ssh", b->home), *path = xasprintf("%s" KEY_NAME, b->home);
    int          rc = state_read(b->root, STATE_DIR, b->home, &home, err);

    if (rc == 0 && !home.exists)
        rc = err_set(err, "%s, the home of %s, does not exist", b->home, b->user);
    if (rc == 0)
        rc = state_read(b->root, STATE_FILE, path, &now, err);
    if (rc == 0 && now.exists) {
        rc = add_public(finding, path, &home, err);
    } else if (rc == 0) {
        dir = (struct state){ .exists = true, .mode = 0700, .uid = home.uid, .gid = home.gid };
        if (state_read(b->root, STATE_DIR, ssh, &now, err) == 0 && !now.exists)
            rc = changes_add(&finding->changes, STATE_DIR, ssh, &dir, "make it",
                             "ssh keeps keys there", err);
        if (rc == 0)
            rc = add_pair(b, finding, &home, err);
    }
    state_clear(&now);
    free(path);
    free(ssh);
    return rc;
}

/* Makes the pair elsewhere first, so that the journal has it before it is in its place. */
static int add_pair(struct bootstrap *b, struct finding *finding, const struct state *home,
                    struct error *err)
{
    char *key = xasprintf("%s" KEY_NAME, b->home), *public = xasprintf("%s.pub", key);
    int   rc = make_pair(b, err);

    if (rc == 0)
        rc = add_file(finding, key, TEMP_KEY, home, 0600, err);
    if (rc == 0)
        rc = add_file(finding, public, TEMP_KEY ".pub", home, 0644, err);
    free(public);
    free(key);
    return rc;
}

/* Adds the missing public file of an existing key: an earlier apply may have been interrupted,
 * or the user has removed the file, and without it no other node could get the key. A key that
 * needs a passphrase stays without. */
static int add_public(struct finding *finding, const char *key, const struct state *home,
                      struct error *err)
{
    char        *public = xasprintf("%s.pub", key), *whole;
    const char  *argv[] = { "ssh-keygen", "-y", "-P", "", "-f", NULL, NULL };
    struct state now, want = { .exists = true, .mode = 0644, .uid = home->uid, .gid = home->gid };
    struct command_result result;
    int                   rc = state_read(finding->changes.root, STATE_FILE, public, &now, err);

    if (rc == 0 && !now.exists) {
        argv[5] = whole = xasprintf("%s%s", finding->changes.root, key);
        if (command_run(argv, NULL, KEYGEN_S, &result)) {
            want.bytes = result.out; /* borrowed */
            want.size = result.out_size;
            rc = changes_add(&finding->changes, STATE_FILE, public, &want, "make it",
                             "nodes log in to each other", err);
        }
        command_clear(&result);
        free(whole);
    }
    state_clear(&now);
    free(public);
    return rc;
}

static int make_pair(const struct bootstrap *b, struct error *err)
{
    char *temp = xasprintf("%s" TEMP_KEY, b->root), *public = xasprintf("%s.pub", temp);
    char *comment = xasprintf("%s@%s", b->user, b->name), why[512];
    const char *const     argv[] = { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment,
                                     "-f", temp, NULL };
    struct command_result result;
    int                   rc = 0;

    unlink(temp); /* left by an interrupted run */
    unlink(public);
    if (!command_run(argv, NULL, KEYGEN_S, &result)) {
        command_why(&result, KEYGEN_S, why, sizeof why);
        rc = err_set(err, "ssh-keygen: %s", why);
    }
    command_clear(&result);
    free(comment);
    free(public);
    free(temp);
    return rc;
}

static int add_file(struct finding *finding, const char *path, const char *from,
                    const struct state *home, mode_t mode, struct error *err)
{
    struct state file;
    char        *whole = xasprintf("%s%s", finding->changes.root, from);
    int          rc = state_read(finding->changes.root, STATE_FILE, from, &file, err);

    if (rc == 0) {
        file.mode = mode;
        file.uid = home->uid;
        file.gid = home->gid;
        rc = changes_add(&finding->changes, STATE_FILE, path, &file, "make it",
                         "nodes log in to each other", err);
        state_clear(&file);
    }
    unlink(whole);
    free(whole);
    return rc;
}

static void tell(struct bootstrap *b)
{
    static const char *const host_keys[] = { "/etc/ssh/ssh_host_ed25519_key.pub",
                                             "/etc/ssh/ssh_host_ecdsa_key.pub",
                                             "/etc/ssh/ssh_host_rsa_key.pub" };
    json_t *mesh = json_pack("{s:[]}", "host_keys");
    char   *path = xasprintf("%s" KEY_NAME ".pub", b->home), *line = first_line(b, path);
    size_t  i;

    if (line != NULL)
        json_object_set_new(mesh, "key", json_string(line));
    free(line);
    for (i = 0; i < sizeof host_keys / sizeof *host_keys; i++) {
        line = first_line(b, host_keys[i]);
        if (line != NULL)
            json_array_append_new(json_object_get(mesh, "host_keys"), json_string(line));
        free(line);
    }
    free(path);
    task_output_line(b->out, json_pack("{s:o}", "mesh", mesh));
}

/* Returns NULL if the file cannot be read. Caller frees. */
static char *first_line(const struct bootstrap *b, const char *path)
{
    struct state file;
    char        *line = NULL;

    if (state_read(b->root, STATE_FILE, path, &file, NULL) < 0)
        return NULL;
    if (file.exists && file.size > 0)
        line = xstrndup(file.bytes, strcspn(file.bytes, "\r\n"));
    state_clear(&file);
    return line;
}

/* --- the host keys of all nodes ---------------------------------------------- */

int step_mesh(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const json_t *known = json_object_get(json_object_get(b->conf, "access"), "known");
    struct state  now;
    char         *lines, *text;
    int           rc;

    if (json_array_size(known) == 0) {
        finding->is_unused = true;
        return 0;
    }
    if (state_read(b->root, STATE_FILE, MESH_KNOWN, &now, err) < 0)
        return -1;
    lines = known_lines(b);
    text = block_put(now.exists ? now.bytes : "", lines, err);
    rc = text == NULL ? err_set(err, MESH_KNOWN ": %s", err->text)
                      : changes_add_file(&finding->changes, MESH_KNOWN, text, 0644,
                                         "nodes log in to each other", err);
    free(text);
    free(lines);
    state_clear(&now);
    return rc;
}

static char *known_lines(const struct bootstrap *b)
{
    const json_t *known = json_object_get(json_object_get(b->conf, "access"), "known"), *one;
    struct buffer lines = { 0 };
    size_t        i;

    json_array_foreach(known, i, one) {
        const char *line = json_string_value(one);

        if (line == NULL || strpbrk(line, "\r\n") != NULL)
            continue;
        buffer_add_text(&lines, line);
        buffer_add_text(&lines, "\n");
    }
    buffer_add(&lines, "", 1);
    return lines.bytes;
}
