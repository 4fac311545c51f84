/* own_key.c - see own_key.h
 *
 * ssh-keygen writes the pair into a directory of its own, from where link(2) puts it into place:
 * it replaces nothing, and there is never a part of a key under that name.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/own_key.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/answer.h"
#include "bootstrap/bootstrap_job.h"
#include "bootstrap/public_key.h"
#include "transport/login.h"
#include "xalloc.h"

#define KEY_NAME    "/id_ed25519"
#define KEYGEN_S    10 /* it takes milliseconds; until then no other node is heard */
#define ANSWER_MAX  65536
#define KEEP_ASKING "nodes keep asking for a password"

/* What a plan sends in place of the key: no key on a node has these bytes. */
#define STAND_IN "ssh-ed25519 AAAA-which-apply-makes"

static enum own_key_state decide(struct bootstrap *bootstrap, struct error *why);
static bool               is_chosen(const json_t *steps);
static const char        *ssh_home(struct error *err);
static int                add_key(json_t *keys, struct error *err);
static int                generate(const char *temp, struct error *err);
static int                put(const char *temp, const char *dir, struct error *err);
static int                put_file(const char *from, const char *to, struct error *err);
static void               sync_path(const char *path);
static void               remove_temp(const char *temp);

/* --- is one needed? --------------------------------------------------------- */

int own_key_settle(struct bootstrap *bootstrap)
{
    struct own_key *own = &bootstrap->own_key;

    if (own->state == OWN_KEY_UNKNOWN && login_was_accepted(LOGIN_BY_SSH))
        own->state = decide(bootstrap, &own->why);
    return own->state == OWN_KEY_FAILED ? -1 : 0;
}

static enum own_key_state decide(struct bootstrap *bootstrap, struct error *why)
{
    json_t     *keys = json_object_get(json_object_get(bootstrap->conf, "access"), "keys");
    bool        is_plan = strcmp(bootstrap->op, "plan") == 0;
    const char *home;
    char       *locked;

    if (json_array_size(keys) > 0 || !is_chosen(bootstrap->steps) ||
        (!is_plan && strcmp(bootstrap->op, "apply") != 0))
        return OWN_KEY_NEEDLESS;
    if (bootstrap->own_key.is_unwanted) {
        err_set(why, "you have no key, so " KEEP_ASKING " (make_key = no in [access])");
        return OWN_KEY_NOTED;
    }
    locked = public_key_private();
    if (locked != NULL) {
        err_set(why, "%s has no .pub file, so " KEEP_ASKING ": ssh-keygen -y -f %s >%s.pub "
                "makes it", locked, locked, locked);
        free(locked);
        return OWN_KEY_NOTED;
    }
    if ((home = ssh_home(why)) == NULL)
        return OWN_KEY_NOTED;
    if (is_plan)
        json_array_append_new(keys, json_string(STAND_IN));
    else if (own_key_make(home, why) < 0 || add_key(keys, why) < 0)
        return OWN_KEY_FAILED;
    return is_plan ? OWN_KEY_PLANNED : OWN_KEY_MADE;
}

static bool is_chosen(const json_t *steps)
{
    const json_t *one;
    size_t        i;

    json_array_foreach(steps, i, one)
        if (strcmp(json_string_value(one), "key") == 0)
            return true;
    return steps == NULL;
}

/* Where ssh looks for keys, if that is also the home in which we have looked for them: under
 * sudo, say, the two may differ, and a key in either would be of no use. */
static const char *ssh_home(struct error *err)
{
    const struct passwd *me = getpwuid(getuid());
    const char          *home = getenv("HOME");
    struct stat          one, other;

    if (me == NULL || home == NULL || home[0] == '\0')
        err_set(err, "you have no %s, so muster makes no key, and " KEEP_ASKING,
                me == NULL ? "entry in passwd" : "HOME");
    else if (strcmp(home, me->pw_dir) == 0 ||
             (stat(home, &one) == 0 && stat(me->pw_dir, &other) == 0 &&
              one.st_dev == other.st_dev && one.st_ino == other.st_ino))
        return home;
    else
        err_set(err, "HOME is %s, but ssh looks for keys in %s, so muster makes none, and "
                KEEP_ASKING, home, me->pw_dir);
    return NULL;
}

static int add_key(json_t *keys, struct error *err)
{
    json_t *made = public_key_read(NULL, err);

    if (made == NULL)
        return -1;
    json_array_extend(keys, made);
    json_decref(made);
    return 0;
}

json_t *own_key_line(const struct own_key *own)
{
    json_t *line = json_pack("{s:s, s:s, s:[], s:[]}", "step", "key", "state", "ok", "changes",
                             "notes");

    switch (own->state) {
    case OWN_KEY_PLANNED:
    case OWN_KEY_MADE:
        json_object_set_new(line, "state", json_string(own->state == OWN_KEY_MADE ? "changed"
                                                                                  : "change"));
        json_array_append_new(json_object_get(line, "changes"),
                              json_pack("{s:s, s:s}", "what", "~/.ssh" KEY_NAME ": make a key "
                                        "pair, without a passphrase", "why", "you have none, and "
                                        "without one " KEEP_ASKING));
        return line;
    case OWN_KEY_NOTED:
        json_array_append_new(json_object_get(line, "notes"),
                              json_text(own->why.text, strlen(own->why.text)));
        return line;
    case OWN_KEY_FAILED:
        json_object_set_new(line, "state", json_string("failed"));
        json_object_set_new(line, "error", json_text(own->why.text, strlen(own->why.text)));
        json_object_set_new(line, "fix", json_string("no node was changed; make a key with "
                                                     "ssh-keygen, or set make_key = no in "
                                                     "[access]"));
        return line;
    default:
        json_decref(line);
        return NULL;
    }
}

/* --- the pair --------------------------------------------------------------- */

int own_key_make(const char *home, struct error *err)
{
    char *dir = xasprintf("%s/.ssh", home), *temp = xasprintf("%s/.muster-key.XXXXXX", dir);
    bool  is_new = mkdir(dir, 0700) == 0;
    int   rc;

    if ((!is_new && errno != EEXIST) || mkdtemp(temp) == NULL) {
        rc = err_set(err, "%s: %s", dir, strerror(errno));
    } else {
        rc = generate(temp, err);
        if (rc == 0)
            rc = put(temp, dir, err);
        remove_temp(temp);
    }
    if (rc < 0 && is_new)
        rmdir(dir);
    free(temp);
    free(dir);
    return rc;
}

/* Its comment is user@host. */
static int generate(const char *temp, struct error *err)
{
    char       *path = xasprintf("%s" KEY_NAME, temp), *said;
    const char *argv[] = { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, NULL };
    size_t      size;
    int         status = answer_ask(argv, KEYGEN_S, ANSWER_MAX, &said, &size, err);

    free(said);
    free(path);
    return status == 0 ? 0 : -1;
}

/* The public half comes last: where it is, the private one is, too. */
static int put(const char *temp, const char *dir, struct error *err)
{
    char *from = xasprintf("%s" KEY_NAME, temp), *to = xasprintf("%s" KEY_NAME, dir);
    char *from_public = xasprintf("%s.pub", from), *to_public = xasprintf("%s.pub", to);
    int   rc = put_file(from, to, err);

    if (rc == 0 && (rc = put_file(from_public, to_public, err)) < 0)
        unlink(to);
    sync_path(dir);
    free(from);
    free(to);
    free(from_public);
    free(to_public);
    return rc;
}

static int put_file(const char *from, const char *to, struct error *err)
{
    sync_path(from);
    return link(from, to) == 0 ? 0 : err_set(err, "%s: %s", to, strerror(errno));
}

/* A node must not keep a key that a power failure has taken from here. */
static void sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static void remove_temp(const char *temp)
{
    char *path = xasprintf("%s" KEY_NAME, temp), *public = xasprintf("%s.pub", path);

    unlink(path);
    unlink(public);
    rmdir(temp);
    free(public);
    free(path);
}
