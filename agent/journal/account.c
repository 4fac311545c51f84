/* account.c - see account.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/account.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "strlist.h"
#include "task/command.h"
#include "xalloc.h"

#define PASSWD    "/etc/passwd"
#define SHADOW    "/etc/shadow"
#define GROUP     "/etc/group"
#define NAME_MAX_ 32
#define ASK_S     30.0 /* a server of accounts may not answer */
#define CHANGE_S  120.0
#define ID_MAX    INT64_C(4294967294)

static const char *line_of(const char *text, const char *name);
static const char *next_line(const char *text);
static bool        take_field(const char **at, char stop, char **field);
static char       *text_of(const char *root, const char *path);
static char       *ask_passwd(const char *name);
static bool        is_half(const char *root, const char *name, const struct account *account);
static int         make(const char *name, const struct account *want, struct error *err);
static int         remove_it(const char *root, const char *name, struct error *err);
static bool        has_files(const char *dir);
static int         run(const struct strlist *argv, struct error *err);

/* --- texts ------------------------------------------------------------------ */

bool account_name_is_valid(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz_";
    static const char others[] = "abcdefghijklmnopqrstuvwxyz_0123456789-";
    size_t            length = strlen(name);

    return length > 0 && length <= NAME_MAX_ && strchr(first, name[0]) != NULL &&
           strspn(name, others) == length && strcmp(name, "root") != 0;
}

bool account_find(const char *passwd, const char *name, struct account *found)
{
    const char *line = line_of(passwd, name);
    char       *bytes;
    bool        is_one;

    *found = (struct account){ 0 };
    if (line == NULL || line[0] != ':')
        return false;
    line += 1 + strcspn(line + 1, ":\n"); /* the password, which is in shadow */
    if (*line != ':')
        return false;
    bytes = xstrndup(line + 1, strcspn(line + 1, "\n"));
    is_one = account_parse(bytes, found);
    free(bytes);
    return is_one;
}

bool account_parse(const char *bytes, struct account *account)
{
    struct error err;
    char        *id[2] = { NULL, NULL };
    int64_t      uid = -1, gid = -1;
    bool         is_one;

    *account = (struct account){ 0 };
    is_one = take_field(&bytes, ':', &id[0]) && take_field(&bytes, ':', &id[1]) &&
             parse_number(id[0], 0, ID_MAX, &uid, &err) == 0 &&
             parse_number(id[1], 0, ID_MAX, &gid, &err) == 0 &&
             take_field(&bytes, ':', &account->comment) &&
             take_field(&bytes, ':', &account->home) &&
             take_field(&bytes, '\0', &account->shell) && account->home[0] == '/';
    account->uid = (uid_t)uid;
    account->gid = (gid_t)gid;
    free(id[0]);
    free(id[1]);
    if (!is_one)
        account_clear(account);
    return is_one;
}

static bool take_field(const char **at, char stop, char **field)
{
    size_t length = strcspn(*at, ":");

    if ((*at)[length] != stop)
        return false;
    *field = xstrndup(*at, length);
    *at += length + (stop != '\0');
    return true;
}

void account_clear(struct account *account)
{
    free(account->comment);
    free(account->home);
    free(account->shell);
    *account = (struct account){ 0 };
}

/* Returns what follows the name at the beginning of a line. */
static const char *line_of(const char *text, const char *name)
{
    size_t length = strlen(name);

    while (text != NULL && *text != '\0') {
        if (strncmp(text, name, length) == 0 && text[length] == ':')
            return text + length;
        text = next_line(text);
    }
    return NULL;
}

/* NULL: there is none. */
static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end != NULL ? end + 1 : NULL;
}

bool account_is_whole(const char *shadow, const char *group, const char *name, gid_t gid)
{
    const char *line;
    char       *wanted, *password;
    bool        is_whole = false;

    if (shadow != NULL && line_of(shadow, name) == NULL)
        return false;
    wanted = xasprintf(":%lu:", (unsigned long)gid);
    for (line = group; line != NULL && *line != '\0' && !is_whole;
         line = next_line(line)) {
        password = strchr(line, ':');
        if (password == NULL)
            break;
        password += 1 + strcspn(password + 1, ":\n");
        is_whole = strncmp(password, wanted, strlen(wanted)) == 0;
    }
    free(wanted);
    return is_whole;
}

long account_next_uid(const char *passwd, const char *group)
{
    const char *texts[] = { passwd, group }, *line, *number;
    long        next = ACCOUNT_UID_MIN, one;
    size_t      i;

    for (i = 0; i < 2; i++)
        for (line = texts[i]; line != NULL && *line != '\0'; line = next_line(line)) {
            number = line + strcspn(line, ":\n");
            number += *number == ':' ? 1 + strcspn(number + 1, ":\n") : 0;
            one = *number == ':' ? strtol(number + 1, NULL, 10) : -1;
            if (one >= next && one < ACCOUNT_UID_END)
                next = one + 1;
        }
    return next < ACCOUNT_UID_END ? next : -1;
}

/* --- this node -------------------------------------------------------------- */

/* A number that is in another field of the file counts, too: there are others. */
bool account_is_taken(const char *root, bool group, const char *key)
{
    const char *const     argv[] = { "getent", group ? "group" : "passwd", key, NULL };
    struct command_result result;
    char                 *text = text_of(root, group ? GROUP : PASSWD);
    char                 *field = xasprintf(":%s:", key);
    bool is_taken = text != NULL && (line_of(text, key) != NULL || strstr(text, field) != NULL);

    free(field);
    free(text);
    if (is_taken || root[0] != '\0')
        return is_taken;
    is_taken = command_run(argv, NULL, ASK_S, &result);
    command_clear(&result);
    return is_taken;
}

int account_state_read(const char *root, const char *name, struct state *state,
                       struct error *err)
{
    struct account account;
    char          *text = text_of(root, PASSWD), *line;
    bool           is_found = text != NULL && account_find(text, name, &account);

    *state = (struct state){ 0 };
    if (!is_found && line_of(text, name) != NULL) {
        free(text);
        return err_set(err, PASSWD ": the line of %s is malformed", name);
    }
    free(text);
    if (!is_found && root[0] == '\0' && (line = ask_passwd(name)) != NULL) {
        is_found = account_find(line, name, &account);
        free(line);
    }
    if (!is_found)
        return 0;
    state->exists = true;
    state->bytes = is_half(root, name, &account)
                       ? xstrdup("")
                       : xasprintf("%lu:%lu:%s:%s:%s", (unsigned long)account.uid,
                                   (unsigned long)account.gid, account.comment, account.home,
                                   account.shell);
    state->size = strlen(state->bytes);
    account_clear(&account);
    return 0;
}

/* An account may come from a directory of the site. */
static char *ask_passwd(const char *name)
{
    const char *const     argv[] = { "getent", "passwd", name, NULL };
    struct command_result result;
    char                 *line = command_run(argv, NULL, ASK_S, &result) ? xstrdup(result.out)
                                                                         : NULL;

    command_clear(&result);
    return line;
}

static char *text_of(const char *root, const char *path)
{
    struct state state;
    struct error err;
    char        *text;

    if (state_read(root, STATE_FILE, path, &state, &err) < 0)
        return NULL;
    text = state.bytes != NULL ? xstrdup(state.bytes) : NULL;
    state_clear(&state);
    return text;
}

static bool is_half(const char *root, const char *name, const struct account *account)
{
    char *shadow, *group;
    bool  is_whole;

    if (strcmp(account->comment, ACCOUNT_MARK) != 0)
        return false;
    shadow = text_of(root, SHADOW);
    group = text_of(root, GROUP);
    is_whole = account_is_whole(shadow, group, name, account->gid);
    free(group);
    free(shadow);
    return !is_whole;
}

bool account_state_is(const struct state *one, const struct state *other)
{
    const char *texts[2] = { one->bytes != NULL ? one->bytes : "",
                             other->bytes != NULL ? other->bytes : "" };
    const char *end[2] = { strrchr(texts[0], ':'), strrchr(texts[1], ':') };

    if (end[0] == NULL || end[1] == NULL)
        return strcmp(texts[0], texts[1]) == 0;
    return end[0] - texts[0] == end[1] - texts[1] &&
           memcmp(texts[0], texts[1], (size_t)(end[0] - texts[0])) == 0;
}

/* --- changing --------------------------------------------------------------- */

int account_state_make(const char *root, const char *name, const struct state *want,
                       struct error *err)
{
    struct account account;
    int            rc;

    if (root[0] != '\0' || !account_name_is_valid(name))
        return err_set(err, "%s: muster makes no such account", name);
    if (!want->exists || !account_parse(want->bytes, &account))
        return remove_it(root, name, err);
    rc = make(name, &account, err);
    account_clear(&account);
    return rc;
}

/* With the password "*" no password is right, but sshd takes keys; it takes none of an account
 * with "!", which is useradd's default, if it does not use PAM. */
static int make(const char *name, const struct account *want, struct error *err)
{
    struct strlist argv = { 0 };
    int            rc;

    strlist_add(&argv, "useradd");
    strlist_add(&argv, "--no-create-home");
    strlist_add(&argv, "--user-group");
    strlist_add(&argv, "--uid");
    strlist_addf(&argv, "%lu", (unsigned long)want->uid);
    strlist_add(&argv, "--home-dir");
    strlist_add(&argv, want->home);
    strlist_add(&argv, "--shell");
    strlist_add(&argv, want->shell);
    strlist_add(&argv, "--comment");
    strlist_add(&argv, want->comment);
    strlist_add(&argv, "--password");
    strlist_add(&argv, "*");
    strlist_add(&argv, name);
    rc = run(&argv, err);
    strlist_clear(&argv);
    return rc;
}

static int remove_it(const char *root, const char *name, struct error *err)
{
    struct account account;
    struct strlist argv = { 0 };
    char          *passwd = text_of(root, PASSWD);
    int            rc = 0;

    if (passwd != NULL && account_find(passwd, name, &account)) {
        if (has_files(account.home))
            rc = err_set(err, "%s stays, since its home %s has files that muster did not put "
                         "there; to remove both: userdel --remove %s", name, account.home, name);
        strlist_add(&argv, "userdel");
        strlist_add(&argv, name);
        rc = rc < 0 ? rc : run(&argv, err);
        account_clear(&account);
    }
    free(passwd);
    strlist_clear(&argv);
    if (rc == 0)
        account_state_tidy(root, name);
    return rc;
}

static bool has_files(const char *path)
{
    DIR           *dir = opendir(path);
    struct dirent *one;
    bool           has = dir == NULL && errno != ENOENT;

    while (dir != NULL && !has && (one = readdir(dir)) != NULL)
        has = strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
    if (dir != NULL)
        closedir(dir);
    return has;
}

/* useradd writes passwd before group, and userdel may leave the group: step_user() makes no account
 * where a group of that name exists, so it is ours. */
void account_state_tidy(const char *root, const char *name)
{
    struct account account;
    struct strlist argv = { 0 };
    struct error   err;
    char          *passwd = text_of(root, PASSWD), *group = text_of(root, GROUP);
    bool           is_there = passwd != NULL && account_find(passwd, name, &account);

    if (root[0] == '\0' && account_name_is_valid(name) &&
        (is_there ? is_half(root, name, &account) : line_of(group, name) != NULL)) {
        strlist_add(&argv, is_there ? "userdel" : "groupdel");
        strlist_add(&argv, name);
        (void)!run(&argv, &err); /* who reads the state next sees whether it is gone */
    }
    if (is_there)
        account_clear(&account);
    strlist_clear(&argv);
    free(group);
    free(passwd);
}

static int run(const struct strlist *argv, struct error *err)
{
    struct command_result result;
    char                  why[512];
    int                   rc = 0;

    if (!command_run((const char *const *)argv->item, NULL, CHANGE_S, &result)) {
        command_why(&result, CHANGE_S, why, sizeof why);
        rc = err_set(err, "%s: %s", argv->item[0], why);
    }
    command_clear(&result);
    return rc;
}
