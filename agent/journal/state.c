/* state.c - see state.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fd.h"
#include "journal/account.h"
#include "journal/mount_state.h"
#include "journal/tree_state.h"
#include "task/command.h"
#include "xalloc.h"

#define TEMP_SUFFIX   ".muster-new"
#define LABEL         "security.selinux" /* a replaced file must keep its label */
#define LABEL_SIZE    256
#define VALUE_SIZE    4096
#define COMMAND_S     1800.0 /* it may download packages */
#define LONG_LINES    4      /* of the stderr of long work, for the message */
#define ARGUMENTS_MAX 512

const char *const state_kinds[STATE_KINDS] = {
    [STATE_FILE] = "file",   [STATE_DIR] = "directory", [STATE_VALUE] = "value",
    [STATE_MOUNT] = "mount", [STATE_SHM] = "shm",       [STATE_COMMAND] = "command",
    [STATE_ACCOUNT] = "account", [STATE_TREE] = "tree",
};

static int   read_file(const char *path, const struct stat *about, struct state *state,
                       struct error *err);
static int   read_dir(const char *path, struct state *state, struct error *err);
static int   read_value(const char *path, struct state *state, struct error *err);
static void  take_owner(struct state *state, const struct stat *about);
static int   make_file(const char *path, const struct state *want, struct error *err);
static int   fill(int fd, const char *old, const struct state *want);
static void  keep_label(int fd, const char *old);
static int   remove_at(const char *path, bool is_dir, struct error *err);
static int   make_dir(const char *path, const struct state *want, struct error *err);
static int   make_value(const char *path, const struct state *want, struct error *err);
static int   run_command(const struct state *want, struct error *err);
static char *temp_of(const char *path);

int state_read(const char *root, enum state_kind kind, const char *path, struct state *state,
               struct error *err)
{
    char       *whole = xasprintf("%s%s", root, path);
    struct stat about;
    int         rc;

    *state = (struct state){ 0 };
    switch (kind) {
    case STATE_FILE:
        if (lstat(whole, &about) == 0)
            rc = read_file(whole, &about, state, err);
        else
            rc = errno == ENOENT ? 0 : err_set(err, "%s: %s", path, strerror(errno));
        break;
    case STATE_DIR:
        rc = read_dir(whole, state, err);
        break;
    case STATE_VALUE:
        rc = read_value(whole, state, err);
        break;
    case STATE_MOUNT:
        rc = mount_state_read(whole, state, err);
        break;
    case STATE_SHM:
        rc = mount_state_read_shm(whole, state, err);
        break;
    case STATE_ACCOUNT:
        rc = account_state_read(root, path, state, err);
        break;
    case STATE_TREE:
        rc = tree_state_read(whole, state, err);
        break;
    default:
        rc = 0;
        break;
    }
    if (rc < 0)
        state_clear(state);
    free(whole);
    return rc;
}

int state_make(const char *root, enum state_kind kind, const char *path,
               const struct state *want, struct error *err)
{
    char *whole = xasprintf("%s%s", root, path);
    int   rc;

    switch (kind) {
    case STATE_FILE:
        rc = make_file(whole, want, err);
        break;
    case STATE_DIR:
        rc = make_dir(whole, want, err);
        break;
    case STATE_VALUE:
        rc = make_value(whole, want, err);
        break;
    case STATE_MOUNT:
        rc = mount_state_make(whole, want, err);
        break;
    case STATE_SHM:
        rc = mount_state_make_shm(whole, want, err);
        break;
    case STATE_ACCOUNT:
        rc = account_state_make(root, path, want, err);
        break;
    case STATE_TREE:
        rc = tree_state_make(whole, want, err);
        break;
    default:
        rc = run_command(want, err);
        break;
    }
    free(whole);
    return rc;
}

void state_tidy(const char *root, enum state_kind kind, const char *path)
{
    char *whole = xasprintf("%s%s", root, path), *temp = temp_of(whole);

    if (kind == STATE_FILE && unlink(temp) == 0)
        state_sync_dir_of(temp);
    if (kind == STATE_ACCOUNT)
        account_state_tidy(root, path);
    if (kind == STATE_TREE)
        tree_state_tidy(whole);
    free(temp);
    free(whole);
}

bool state_is(enum state_kind kind, const struct state *one, const struct state *other)
{
    if (one->exists != other->exists)
        return false;
    if (!one->exists)
        return true;
    if ((kind == STATE_FILE || kind == STATE_DIR) &&
        (one->mode != other->mode || one->uid != other->uid || one->gid != other->gid))
        return false;
    if (kind == STATE_MOUNT)
        return mount_state_is(one, other);
    if (kind == STATE_ACCOUNT)
        return account_state_is(one, other);
    return one->size == other->size &&
           (one->size == 0 || memcmp(one->bytes, other->bytes, one->size) == 0);
}

void state_copy(struct state *to, const struct state *from)
{
    *to = *from;
    if (from->bytes != NULL) {
        to->bytes = xmalloc(from->size + 1);
        memcpy(to->bytes, from->bytes, from->size);
        to->bytes[from->size] = '\0';
    }
}

void state_clear(struct state *state)
{
    free(state->bytes);
    *state = (struct state){ 0 };
}

/* --- reading ---------------------------------------------------------------- */

/* Refuses a link: we would replace it by a file, and the user must decide that. */
static int read_file(const char *path, const struct stat *about, struct state *state,
                     struct error *err)
{
    ssize_t got = 0;
    int     fd;

    if (!S_ISREG(about->st_mode))
        return err_set(err, "%s: is a %s, not a file", path,
                       S_ISLNK(about->st_mode) ? "symbolic link" : "directory or device");
    if (about->st_size > (off_t)STATE_BYTES_MAX)
        return err_set(err, "%s: has more than %u MiB", path, STATE_BYTES_MAX >> 20);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    take_owner(state, about);
    state->bytes = xcalloc(1, (size_t)about->st_size + 1);
    while (state->size < (size_t)about->st_size &&
           (got = read(fd, state->bytes + state->size,
                       (size_t)about->st_size - state->size)) > 0)
        state->size += (size_t)got;
    close(fd);
    return got < 0 ? err_set(err, "%s: %s", path, strerror(errno)) : 0;
}

static int read_dir(const char *path, struct state *state, struct error *err)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return errno == ENOENT ? 0 : err_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return err_set(err, "%s: is not a directory", path);
    take_owner(state, &about);
    return 0;
}

static int read_value(const char *path, struct state *state, struct error *err)
{
    char    text[VALUE_SIZE];
    ssize_t size = fd_read_file(path, text, sizeof text);

    if (size < 0)
        return errno == ENOENT ? 0 : err_set(err, "%s: %s", path, strerror(errno));
    text[strcspn(text, "\n")] = '\0';
    state->exists = true;
    state->bytes = xstrdup(text);
    state->size = strlen(text);
    return 0;
}

static void take_owner(struct state *state, const struct stat *about)
{
    state->exists = true;
    state->mode = about->st_mode & 07777;
    state->uid = about->st_uid;
    state->gid = about->st_gid;
}

/* --- making ----------------------------------------------------------------- */

static int make_file(const char *path, const struct state *want, struct error *err)
{
    return want->exists ? state_write_file(path, want, err) : remove_at(path, false, err);
}

int state_write_file(const char *path, const struct state *want, struct error *err)
{
    char       *temp = temp_of(path);
    const char *failed = "writing";
    int         fd, rc = -1;

    unlink(temp); /* left by an interrupted write */
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        err_set(err, "%s: %s", temp, strerror(errno));
        free(temp);
        return -1;
    }
    if (fill(fd, path, want) == 0) {
        failed = "replacing it";
        rc = rename(temp, path);
    }
    if (rc < 0) {
        err_set(err, "%s: %s failed: %s%s", path, failed, strerror(errno),
                errno == EBUSY ? " (a container's runtime has mounted it there)" : "");
        unlink(temp);
    }
    close(fd);
    if (rc == 0)
        state_sync_dir_of(path);
    free(temp);
    return rc;
}

static int fill(int fd, const char *old, const struct state *want)
{
    keep_label(fd, old);
    if (fd_write_all(fd, want->bytes, want->size) != want->size)
        return -1;
    if (fchown(fd, want->uid, want->gid) < 0 && geteuid() == 0)
        return -1;
    return fchmod(fd, want->mode) < 0 || fsync(fd) < 0 ? -1 : 0;
}

static void keep_label(int fd, const char *old)
{
    char    label[LABEL_SIZE];
    ssize_t size = lgetxattr(old, LABEL, label, sizeof label);

    if (size > 0 && fsetxattr(fd, LABEL, label, (size_t)size, 0) < 0)
        return; /* keep the directory's default */
}

static int remove_at(const char *path, bool is_dir, struct error *err)
{
    if ((is_dir ? rmdir(path) : unlink(path)) < 0 && errno != ENOENT)
        return err_set(err, "%s: removing it failed: %s", path, strerror(errno));
    state_sync_dir_of(path);
    return 0;
}

/* Keeps a directory that is not empty. */
static int make_dir(const char *path, const struct state *want, struct error *err)
{
    int rc;

    if (!want->exists) {
        rc = remove_at(path, true, err);
        return rc < 0 && (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY) ? 0 : rc;
    }
    if (mkdir(path, want->mode) < 0 && errno != EEXIST)
        return err_set(err, "%s: %s", path, strerror(errno));
    if ((chown(path, want->uid, want->gid) < 0 && geteuid() == 0) || chmod(path, want->mode) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    state_sync_dir_of(path);
    return 0;
}

static int make_value(const char *path, const struct state *want, struct error *err)
{
    char *line = xasprintf("%s\n", want->exists ? want->bytes : "");
    int   rc = 0;

    if (want->exists && !fd_write_file(path, line))
        rc = err_set(err, "%s: writing '%s' failed: %s", path, want->bytes, strerror(errno));
    free(line);
    return rc;
}

static int run_command(const struct state *want, struct error *err)
{
    const char           *argv[ARGUMENTS_MAX + 1];
    struct command_result result;
    double                limit_s = want->limit_s > 0 ? want->limit_s : COMMAND_S;
    char                  why[900];
    size_t                at = 0, count = 0;
    int                   rc = 0;

    while (at < want->size && count < ARGUMENTS_MAX) {
        argv[count++] = want->bytes + at;
        at += strlen(want->bytes + at) + 1;
    }
    argv[count] = NULL;
    if (count > 0 && !command_run(argv, NULL, limit_s, &result)) {
        command_why_lines(&result, limit_s, want->limit_s > 0 ? LONG_LINES : 1, why, sizeof why);
        rc = err_set(err, "%s: %s", argv[0], why);
    }
    if (count > 0)
        command_clear(&result);
    return rc;
}

void state_sync_dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char       *dir = slash != NULL && slash != path ? xstrndup(path, (size_t)(slash - path))
                                                     : xstrdup("/");
    int         fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

static char *temp_of(const char *path)
{
    return xasprintf("%s%s", path, TEMP_SUFFIX);
}
