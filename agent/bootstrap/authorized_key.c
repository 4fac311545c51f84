/* authorized_key.c - see authorized_key.h; and the step: the launcher's public key, for the login
 *
 * sshd ignores the file if others can write it or its directory, so this fixes their modes,
 * too. For the home directory it only adds a note. Other keys and their order stay.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/authorized_key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bootstrap/steps.h"
#include "buffer.h"
#include "xalloc.h"

#define OTHERS_MAY_WRITE 022
#define BLANKS           " \t"

static int    add_dir(struct finding *finding, const char *dir, const struct key_owner *owner,
                      struct error *err);
static int    refuse_link(struct finding *finding, const char *dir, struct error *err);
static int    add_keys(struct finding *finding, const char *path, const json_t *keys,
                       const struct key_owner *owner, const char *why, struct error *err);
static bool   has_key(const char *text, const char *key);
static size_t key_bytes(const char *key, const char **bytes);

int step_authorized_key(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const json_t    *keys = json_object_get(json_object_get(b->conf, "access"), "keys");
    struct key_owner owner = { .home = b->home };
    struct state     home;

    if (json_array_size(keys) == 0 || b->home[0] != '/') {
        finding->is_unused = true;
        return 0;
    }
    if (state_read(b->root, STATE_DIR, b->home, &home, err) < 0)
        return -1;
    if (!home.exists) {
        finding_fix(finding, "create the home directory of %s, or log in as another user",
                    b->user);
        return err_set(err, "%s, the home of %s, does not exist", b->home, b->user);
    }
    owner.uid = home.uid;
    owner.gid = home.gid;
    return authorized_key_add(finding, &owner, keys, "muster logs in with this key", err);
}

int authorized_key_add(struct finding *finding, const struct key_owner *owner, const json_t *keys,
                       const char *why, struct error *err)
{
    struct state home;
    char        *dir, *path;
    int          rc;

    if (state_read(finding->changes.root, STATE_DIR, owner->home, &home, err) < 0)
        return -1;
    if (home.exists && home.mode & OTHERS_MAY_WRITE)
        finding_note(finding, "%s can be written by others, so sshd may ignore its keys: "
                     "chmod go-w %s", owner->home, owner->home);
    dir = xasprintf("%s/.ssh", owner->home);
    path = xasprintf("%s/authorized_keys", dir);
    rc = owner->has_other_rights ? refuse_link(finding, dir, err) : 0;
    if (rc == 0)
        rc = add_dir(finding, dir, owner, err);
    if (rc == 0)
        rc = add_keys(finding, path, keys, owner, why, err);
    free(path);
    free(dir);
    return rc;
}

/* Root would write where an account says that has fewer rights. */
static int refuse_link(struct finding *finding, const char *dir, struct error *err)
{
    char       *whole = xasprintf("%s%s", finding->changes.root, dir);
    struct stat about;
    bool        is_link = lstat(whole, &about) == 0 && S_ISLNK(about.st_mode);

    free(whole);
    if (!is_link)
        return 0;
    finding_fix(finding, "replace it by a directory, or add the key by hand");
    return err_set(err, "%s: is a symbolic link, which muster does not follow as root", dir);
}

static int add_dir(struct finding *finding, const char *dir, const struct key_owner *owner,
                   struct error *err)
{
    struct state now, want;

    if (state_read(finding->changes.root, STATE_DIR, dir, &now, err) < 0)
        return -1;
    if (now.exists && !(now.mode & OTHERS_MAY_WRITE))
        return 0;
    want = now.exists ? now : (struct state){ .exists = true, .mode = 0700, .uid = owner->uid,
                                              .gid = owner->gid };
    want.mode &= ~(mode_t)OTHERS_MAY_WRITE;
    return changes_add(&finding->changes, STATE_DIR, dir, &want,
                       now.exists ? "remove write permission for others" : "create it",
                       "sshd looks for keys there", err);
}

static int add_keys(struct finding *finding, const char *path, const json_t *keys,
                    const struct key_owner *owner, const char *why, struct error *err)
{
    struct state  now, want;
    struct buffer text = { 0 };
    const json_t *one;
    size_t        i;
    int           rc;

    if (state_read(finding->changes.root, STATE_FILE, path, &now, err) < 0)
        return -1;
    want = now.exists ? now : (struct state){ .exists = true, .mode = 0600, .uid = owner->uid,
                                              .gid = owner->gid };
    want.mode &= ~(mode_t)OTHERS_MAY_WRITE;
    buffer_add(&text, now.bytes, now.size);
    json_array_foreach(keys, i, one) {
        buffer_add(&text, "", 1);
        text.size--;
        if (json_string_value(one) == NULL || has_key(text.bytes, json_string_value(one)))
            continue;
        if (text.size > 0 && text.bytes[text.size - 1] != '\n')
            buffer_add_text(&text, "\n");
        buffer_add_text(&text, json_string_value(one));
        buffer_add_text(&text, "\n");
    }
    want.bytes = text.bytes;
    want.size = text.size;
    rc = changes_add(&finding->changes, STATE_FILE, path, &want,
                     text.size != now.size ? "add a public key" : "fix its mode", why, err);
    buffer_clear(&text);
    state_clear(&now);
    return rc;
}

/* Compares only the key itself: comments and options may differ. */
static bool has_key(const char *text, const char *key)
{
    const char *bytes, *found;
    size_t      size = key_bytes(key, &bytes), line;

    for (; *text != '\0'; text += line) {
        line = strcspn(text, "\n");
        line += text[line] == '\n';
        if (text[strspn(text, BLANKS)] == '#')
            continue;
        found = memmem(text, line, bytes, size);
        if (size > 0 && found != NULL && (found + size == text + line ||
                                          strchr(BLANKS "\r\n", found[size]) != NULL))
            return true;
    }
    return false;
}

/* Finds the key in "ssh-ed25519 AAAA... me@here": the second word. */
static size_t key_bytes(const char *key, const char **bytes)
{
    key += strcspn(key, BLANKS);
    key += strspn(key, BLANKS);
    *bytes = key;
    return strcspn(key, BLANKS "\r\n");
}
