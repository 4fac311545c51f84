/* user.c - a user of conf: the account, a public key, and sudo
 *
 * .ssh comes last into a new home: while it is missing, an apply completes what a power cut has
 * left.
 * An account that was here before is left as it is; it gets the key and sudo.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/authorized_key.h"
#include "journal/account.h"
#include "task/command.h"
#include "xalloc.h"

#define HOMES        "/home"
#define SKELETON     "/etc/skel"
#define SKELETON_MAX 64
#define SUDOERS      "/etc/sudoers"
#define SUDOERS_DIR  "/etc/sudoers.d"
#define CHECK_S      30.0
#define WHY          "[user] of bootstrap.conf"

static int  find(struct finding *finding, const char *name, struct account *user, bool *is_ours,
                 struct error *err);
static int  check_existing(struct finding *finding, const char *name, const struct account *user,
                           struct error *err);
static int  plan_account(struct finding *finding, const char *name, struct account *user,
                         struct error *err);
static long choose_uid(struct finding *finding, const char *home, struct error *err);
static bool is_free(const char *root, long uid);
static int  add_home(struct finding *finding, const char *name, const struct account *user,
                     bool is_ours, struct error *err);
static int  add_skeleton(struct finding *finding, const struct account *user, struct error *err);
static int  add_skeleton_file(struct finding *finding, const struct account *user,
                              const char *name, struct error *err);
static int  add_key(struct bootstrap *b, struct finding *finding, const char *name,
                    const struct account *user, struct error *err);
static int  add_sudo(struct bootstrap *b, struct finding *finding, const char *name,
                     struct error *err);
static int  check_sudoers(struct finding *finding, const char *text, struct error *err);
static int  ask_visudo(const char *text, struct error *err);

int step_user(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char    *name = bootstrap_conf(b, "user", "name");
    struct account user;
    bool           is_ours;
    int            rc;

    if (name == NULL || b->root[0] != '\0') {
        finding->is_unused = true;
        return 0;
    }
    if (!account_name_is_valid(name))
        return err_set(err, "'%s' is not the name of a user", name);
    if (find(finding, name, &user, &is_ours, err) < 0)
        return -1;
    rc = add_home(finding, name, &user, is_ours, err);
    if (rc == 0)
        rc = add_key(b, finding, name, &user, err);
    if (rc == 0)
        rc = add_sudo(b, finding, name, err);
    account_clear(&user);
    return rc;
}

/* --- the account ------------------------------------------------------------ */

/* Finds the account, or adds the change that makes it. */
static int find(struct finding *finding, const char *name, struct account *user, bool *is_ours,
                struct error *err)
{
    struct state now;
    int          rc = 0;

    if (state_read(finding->changes.root, STATE_ACCOUNT, name, &now, err) < 0)
        return -1;
    if (now.exists && account_parse(now.bytes, user)) {
        *is_ours = strcmp(user->comment, ACCOUNT_MARK) == 0;
        rc = check_existing(finding, name, user, err);
        if (rc < 0)
            account_clear(user);
    } else {
        *is_ours = true;
        rc = plan_account(finding, name, user, err);
    }
    state_clear(&now);
    return rc;
}

static int check_existing(struct finding *finding, const char *name, const struct account *user,
                          struct error *err)
{
    if (user->uid >= ACCOUNT_UID_MIN && user->uid != ACCOUNT_NOBODY)
        return 0;
    finding_fix(finding, "choose another name in [user] of bootstrap.conf");
    return err_set(err, "%s has uid %lu: it is an account of the system", name,
                   (unsigned long)user->uid);
}

static int plan_account(struct finding *finding, const char *name, struct account *user,
                        struct error *err)
{
    struct state want = { .exists = true };
    char        *home = xasprintf(HOMES "/%s", name), *what;
    long         uid = choose_uid(finding, home, err);
    const char  *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    int          rc = uid < 0 ? -1 : 0;

    if (rc == 0 && account_is_taken(finding->changes.root, true, name)) {
        finding_fix(finding, "choose another name in [user], or: groupdel %s", name);
        rc = err_set(err, "a group %s exists, but no user of that name", name);
    }
    if (rc == 0) {
        want.bytes = xasprintf("%ld:%ld:" ACCOUNT_MARK ":%s:%s", uid, uid, home, shell);
        want.size = strlen(want.bytes);
        what = xasprintf("make this user, with uid %ld and home %s", uid, home);
        rc = changes_add(&finding->changes, STATE_ACCOUNT, name, &want, what, WHY, err);
        account_parse(want.bytes, user);
        finding_fix(finding, "is another program changing accounts? If not, a file such as "
                    "/etc/passwd.lock may be left from a power cut: remove it");
        free(what);
        free(want.bytes);
    }
    free(home);
    return rc;
}

/* A home that is here already, perhaps on the data disk, keeps its owner. */
static long choose_uid(struct finding *finding, const char *home, struct error *err)
{
    struct state dir, passwd, group;
    const char  *root = finding->changes.root;
    long         uid = -1;

    if (state_read(root, STATE_DIR, home, &dir, err) < 0)
        return -1;
    if (dir.exists) {
        if (dir.uid >= ACCOUNT_UID_MIN && dir.uid < ACCOUNT_UID_END && is_free(root, dir.uid))
            return dir.uid;
        finding_fix(finding, "rename it, or give it to a uid that is free: chown -R UID %s", home);
        return err_set(err, "%s exists, and belongs to uid %lu, which a new user cannot have",
                       home, (unsigned long)dir.uid);
    }
    if (state_read(root, STATE_FILE, "/etc/passwd", &passwd, err) < 0)
        return -1;
    if (state_read(root, STATE_FILE, "/etc/group", &group, err) == 0) {
        uid = account_next_uid(passwd.bytes, group.bytes);
        while (uid > 0 && uid < ACCOUNT_UID_END && !is_free(root, uid))
            uid++;
        if (uid < 0 || uid >= ACCOUNT_UID_END)
            uid = err_set(err, "no uid below %d is free", ACCOUNT_UID_END);
        state_clear(&group);
    }
    state_clear(&passwd);
    return uid;
}

static bool is_free(const char *root, long uid)
{
    char number[24];

    snprintf(number, sizeof number, "%ld", uid);
    return !account_is_taken(root, false, number) && !account_is_taken(root, true, number);
}

/* --- its home --------------------------------------------------------------- */

static int add_home(struct finding *finding, const char *name, const struct account *user,
                    bool is_ours, struct error *err)
{
    struct changes *changes = &finding->changes;
    struct state    home, ssh = { 0 };
    struct state    want = { .exists = true, .mode = 0750, .uid = user->uid, .gid = user->gid };
    char           *dir = xasprintf("%s/.ssh", user->home);
    int             rc = state_read(changes->root, STATE_DIR, user->home, &home, err);

    if (rc == 0)
        rc = state_read(changes->root, STATE_DIR, dir, &ssh, err);
    free(dir);
    if (rc < 0 || (is_ours ? ssh.exists : home.exists))
        return rc;
    if (!is_ours) {
        finding_fix(finding, "create it: install -d -o %s -m 750 %s", name, user->home);
        return err_set(err, "%s, the home of %s, does not exist", user->home, name);
    }
    if (!home.exists && (changes_add_dirs(changes, HOMES, err) < 0 ||
                         changes_add(changes, STATE_DIR, user->home, &want, "create it",
                                     "the home of the new user", err) < 0))
        return -1;
    return add_skeleton(finding, user, err);
}

static int add_skeleton(struct finding *finding, const struct account *user, struct error *err)
{
    struct dirent **names;
    int             count = scandir(SKELETON, &names, NULL, alphasort), i, rc = 0;

    for (i = 0; i < count; i++) {
        if (rc == 0 && i < SKELETON_MAX && strcmp(names[i]->d_name, ".") != 0 &&
            strcmp(names[i]->d_name, "..") != 0)
            rc = add_skeleton_file(finding, user, names[i]->d_name, err);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    if (count > SKELETON_MAX)
        finding_note(finding, SKELETON " has more than %d files; the others are not copied",
                     SKELETON_MAX);
    return rc;
}

static int add_skeleton_file(struct finding *finding, const struct account *user,
                             const char *name, struct error *err)
{
    char        *from = xasprintf(SKELETON "/%s", name);
    char        *to = xasprintf("%s/%s", user->home, name);
    struct state file = { 0 };
    struct stat  about;
    int          rc = 0;

    if (lstat(to, &about) == 0) {
        rc = 0; /* it has come with an earlier apply */
    } else if (lstat(from, &about) < 0 || !S_ISREG(about.st_mode)) {
        finding_note(finding, "%s is not copied: it is not a file", from);
    } else if ((rc = state_read("", STATE_FILE, from, &file, err)) == 0) {
        file.uid = user->uid;
        file.gid = user->gid;
        rc = changes_add(&finding->changes, STATE_FILE, to, &file, "create it",
                         "each new user gets " SKELETON, err);
    }
    state_clear(&file);
    free(to);
    free(from);
    return rc;
}

/* --- key and sudo ----------------------------------------------------------- */

static int add_key(struct bootstrap *b, struct finding *finding, const char *name,
                   const struct account *user, struct error *err)
{
    const json_t    *keys = json_object_get(json_object_get(b->conf, "user"), "keys");
    struct key_owner owner = { .home = user->home, .uid = user->uid, .gid = user->gid,
                               .has_other_rights = strcmp(user->home, b->home) != 0 };
    char            *why = xasprintf("who has this key can log in as %s", name);
    int              rc = 0;

    if (keys == NULL)
        keys = json_object_get(json_object_get(b->conf, "access"), "keys");
    if (json_array_size(keys) == 0)
        finding_note(finding, "no key is known for %s, who cannot log in without: set key in "
                     "[user] of bootstrap.conf", name);
    else
        rc = authorized_key_add(finding, &owner, keys, why, err);
    free(why);
    return rc;
}

static int add_sudo(struct bootstrap *b, struct finding *finding, const char *name,
                    struct error *err)
{
    const char  *sudo = bootstrap_conf(b, "user", "sudo");
    char        *path = xasprintf(SUDOERS_DIR "/90-muster-%s", name), *text;
    struct state want = { .exists = true, .mode = 0440 };
    int          rc;

    if (sudo == NULL || strcmp(sudo, "yes") != 0) {
        rc = changes_add_file(&finding->changes, path, NULL, 0, "sudo = yes is gone from [user]",
                              err);
    } else if (access(SUDOERS, F_OK) < 0 && b->is_pending) {
        finding->is_later = true; /* it may come with a package */
        rc = 0;
    } else {
        text = xasprintf("# written by muster bootstrap\n%s ALL=(ALL:ALL) NOPASSWD: ALL\n", name);
        want.bytes = text;
        want.size = strlen(text);
        rc = check_sudoers(finding, text, err);
        if (rc == 0)
            rc = changes_add(&finding->changes, STATE_FILE, path, &want,
                             "let the user become root without a password", "sudo = yes in [user]",
                             err);
        free(text);
    }
    free(path);
    return rc;
}

/* If sudo cannot read one of its files, it gives no user its rights. */
static int check_sudoers(struct finding *finding, const char *text, struct error *err)
{
    struct state sudoers;
    int          rc;

    if (state_read(finding->changes.root, STATE_FILE, SUDOERS, &sudoers, err) < 0)
        return -1;
    if (!sudoers.exists) {
        finding_fix(finding, "[packages] install = sudo, or sudo = no in [user]");
        rc = err_set(err, "sudo is not installed here: there is no " SUDOERS);
    } else if (strstr(sudoers.bytes, "\n@includedir " SUDOERS_DIR) == NULL &&
               strstr(sudoers.bytes, "\n#includedir " SUDOERS_DIR) == NULL) {
        finding_fix(finding, "add this line to it, with visudo: @includedir " SUDOERS_DIR);
        rc = err_set(err, SUDOERS " does not read the files in " SUDOERS_DIR);
    } else {
        rc = ask_visudo(text, err);
    }
    state_clear(&sudoers);
    return rc;
}

static int ask_visudo(const char *text, struct error *err)
{
    const char *const     argv[] = { "visudo", "-c", "-f", "-", NULL };
    struct command_result result;
    char                  why[512];
    int                   rc = 0;

    if (!command_run(argv, text, CHECK_S, &result) && result.error == 0) {
        command_why(&result, CHECK_S, why, sizeof why);
        rc = err_set(err, "visudo refuses what muster would write: %s", why);
    }
    command_clear(&result);
    return rc;
}
