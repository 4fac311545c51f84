/* pmix.c - see pmix.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/pmix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "exit_code.h"
#include "node/scratch.h"
#include "xalloc.h"
#include "xevent.h"

#define PROGRAM "muster-pmix"
/* As pmix/host.h. */
#define PACKET_MAX (160u << 10)
/* What it writes: messages of libpmix. Only the end is shown. */
#define OUTPUT_MAX (1u << 20)
#define SHOWN_MAX  400

struct pmix {
    struct guard          *guard;
    const struct pmix_ops *ops; /* NULL: it has failed, or must end */
    void                  *arg;
    struct scratch         scratch;
    int                    fd;     /* to muster-pmix; -1: closed */
    int                    output; /* a file in memory that it writes to */
    struct event          *readable, *late;
    struct strlist        *env; /* by local rank */
    int                    ranks, told; /* ... of so many is it known */
};

static int     start(struct pmix *pmix, const char *path, const struct strlist *env,
                     struct error *err);
static int     send_job(struct pmix *pmix, const struct node_plan *plan, unsigned generation);
static void    readable_cb(evutil_socket_t fd, short what, void *arg);
static int     take_env(struct pmix *pmix, const json_t *body);
static void    late_cb(evutil_socket_t fd, short what, void *arg);
static void    fail(struct pmix *pmix, const char *why);
static ssize_t last_output(const struct pmix *pmix, char *text, size_t size);

char *pmix_find(const struct strlist *env)
{
    static const char installed[] = PKGLIBEXECDIR "/" PROGRAM;
    struct failure    failure;
    char             *path = prepare_program(PROGRAM, env, &failure);

    return path == NULL && access(installed, X_OK) == 0 ? xstrdup(installed) : path;
}

struct pmix *pmix_start(struct event_base *base, struct guard *guard,
                        const struct node_plan *plan, unsigned generation, const char *path,
                        const struct strlist *env, const struct pmix_ops *ops, void *arg)
{
    const struct timeval limit = { .tv_sec = PMIX_DEADLINE_S };
    struct pmix         *pmix = xcalloc(1, sizeof *pmix);
    struct error         err;

    *pmix = (struct pmix){ .guard = guard, .ops = ops, .arg = arg, .scratch = { .fd = -1 },
                           .fd = -1, .output = -1, .ranks = plan->ranks };
    pmix->env = xcalloc((size_t)plan->ranks, sizeof *pmix->env);
    pmix->late = xevent_new(base, -1, late_cb, pmix);
    pmix->readable = xevent_new(base, -1, readable_cb, pmix);
    if (start(pmix, path, env, &err) < 0) {
        fail(pmix, err.text);
        return pmix;
    }
    event_assign(pmix->readable, base, pmix->fd, EV_READ | EV_PERSIST, readable_cb, pmix);
    xevent_add(pmix->readable, NULL);
    xevent_add(pmix->late, &limit);
    if (send_job(pmix, plan, generation) < 0)
        fail(pmix, strerror(errno));
    return pmix;
}

void pmix_free(struct pmix *pmix)
{
    int i;

    if (pmix == NULL)
        return;
    pmix_end(pmix);
    event_free(pmix->readable);
    event_free(pmix->late);
    if (pmix->output >= 0)
        close(pmix->output);
    scratch_remove(&pmix->scratch);
    for (i = 0; i < pmix->ranks; i++)
        strlist_clear(&pmix->env[i]);
    free(pmix->env);
    free(pmix);
}

/* What the user has set for Open MPI counts, what an outer PMIx has set does not. */
void pmix_env(const struct pmix *pmix, int local, struct strlist *env)
{
    const struct strlist *more = &pmix->env[local];
    size_t                i;
    char                 *name;
    const char           *equals;

    for (i = 0; i < more->count; i++) {
        equals = strchr(more->item[i], '=');
        name = xstrndup(more->item[i], (size_t)(equals - more->item[i]));
        if (strncmp(name, "PMIX_", 5) == 0 || env_get(env, name) == NULL)
            env_set(env, name, equals + 1);
        free(name);
    }
    env_unset(env, "PMI_FD");
    env_unset(env, "PMI_RANK");
    env_unset(env, "PMI_SIZE");
}

void pmix_give(struct pmix *pmix, int fd)
{
    char          text[] = "{}";
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(sizeof fd)];
    } control = { 0 };
    struct iovec    from = { .iov_base = text, .iov_len = strlen(text) };
    struct msghdr   header = { .msg_iov = &from, .msg_iovlen = 1,
                               .msg_control = control.bytes, .msg_controllen = sizeof control };
    struct cmsghdr *item = CMSG_FIRSTHDR(&header);

    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(item), &fd, sizeof fd);
    /* The caller goes on with the rank, so this fails afterwards. */
    if (sendmsg(pmix->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        event_active(pmix->late, EV_TIMEOUT, 0);
}

void pmix_end(struct pmix *pmix)
{
    pmix->ops = NULL;
    event_del(pmix->readable);
    event_del(pmix->late);
    if (pmix->fd >= 0)
        close(pmix->fd);
    pmix->fd = -1;
}

void pmix_exited(struct pmix *pmix, const struct guard_message *end)
{
    char why[100];

    if (end->failure.step != SPAWN_OK)
        snprintf(why, sizeof why, "cannot be started: %s", strerror(end->failure.error));
    else if (WIFSIGNALED(end->value))
        snprintf(why, sizeof why, "was killed by %s", signal_name(WTERMSIG(end->value)).text);
    else
        snprintf(why, sizeof why, "has ended with status %d", WEXITSTATUS(end->value));
    fail(pmix, why);
}

static int start(struct pmix *pmix, const char *path, const struct strlist *env,
                 struct error *err)
{
    struct strlist argv = { 0 };
    struct spawn   spawn = { .path = path, .cwd = "/", .argv = &argv, .env = env };
    int            fds[SPAWN_FDS] = { -1, -1, -1, -1, -1 }, pair[2], rc = -1;

    if (scratch_make(&pmix->scratch, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, "cannot make a socket: %s", strerror(errno));
    pmix->fd = pair[0];
    fds[SPAWN_FD_STDIN] = pair[1];
    pmix->output = memfd_create(PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (pmix->output < 0 || ftruncate(pmix->output, OUTPUT_MAX) < 0 ||
        fcntl(pmix->output, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
        err_set(err, "cannot make a file in memory: %s", strerror(errno));
    else if ((fds[SPAWN_FD_SPEC] = (strlist_add(&argv, PROGRAM), spawn_pack(&spawn, err))) >= 0) {
        fds[SPAWN_FD_STDOUT] = fds[SPAWN_FD_STDERR] = pmix->output;
        rc = guard_spawn(pmix->guard, GUARD_SERVER, fds);
        close(fds[SPAWN_FD_SPEC]);
        if (rc < 0)
            err_set(err, "the guard is gone");
    }
    close(pair[1]);
    strlist_clear(&argv);
    return rc;
}

static int send_job(struct pmix *pmix, const struct node_plan *plan, unsigned generation)
{
    char   *name = xasprintf("%sg%u", plan->pmix_name, generation), *text;
    json_t *body = json_pack("{s:s, s:i, s:s, s:i, s:s}", "namespace", name, "size",
                             plan->world_size, "mapping", plan->mapping, "first",
                             (int)plan->rank[0].rank, "dir", pmix->scratch.path);
    ssize_t sent;

    text = json_dumps(body, JSON_COMPACT);
    if (text == NULL)
        xalloc_die();
    sent = send(pmix->fd, text, strlen(text), MSG_NOSIGNAL);
    free(text);
    free(name);
    json_decref(body);
    return sent < 0 ? -1 : 0;
}

/* If it ends, the guard reports that, with the status. */
static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct pmix *pmix = arg;
    char        *text = xmalloc(PACKET_MAX);
    ssize_t      got = recv(fd, text, PACKET_MAX, MSG_DONTWAIT);
    json_t      *body = got > 0 ? json_loadb(text, (size_t)got, 0, NULL) : NULL;

    (void)what;
    free(text);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        event_del(pmix->readable);
    if (got > 0 && take_env(pmix, body) < 0)
        fail(pmix, "does not speak as this muster does");
    json_decref(body);
    if (got <= 0 || pmix->ops == NULL || pmix->told < pmix->ranks)
        return;
    event_del(pmix->late);
    pmix->ops->ready(pmix->arg);
}

static int take_env(struct pmix *pmix, const json_t *body)
{
    const json_t *list = json_object_get(body, "env"), *value;
    const char   *variable;
    size_t        i;

    if (!json_is_array(list) || pmix->told >= pmix->ranks)
        return -1;
    json_array_foreach (list, i, value) {
        variable = json_string_value(value);
        if (variable == NULL || variable[0] == '=' || strchr(variable, '=') == NULL)
            return -1;
        strlist_add(&pmix->env[pmix->told], variable);
    }
    pmix->told++;
    return 0;
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct pmix *pmix = arg;
    char         why[64];

    (void)fd, (void)what;
    if (pmix->told < pmix->ranks)
        snprintf(why, sizeof why, "is not ready after %d s", PMIX_DEADLINE_S);
    else
        snprintf(why, sizeof why, "does not take the connections of the ranks");
    guard_signal(pmix->guard, GUARD_SERVER, SIGKILL);
    fail(pmix, why);
}

static void fail(struct pmix *pmix, const char *why)
{
    const struct pmix_ops *ops = pmix->ops;
    struct failure         failure;
    char                   said[SHOWN_MAX + 1];
    ssize_t                size = last_output(pmix, said, sizeof said);

    pmix->ops = NULL;
    if (ops == NULL)
        return;
    failure_set(&failure, EXIT_CANNOT_EXECUTE, "", PROGRAM ": %s%s%.*s", why,
                size > 0 ? ": " : "", (int)size, said);
    ops->failed(&failure, pmix->arg);
}

/* It writes through our open file, so the file position is the size. */
static ssize_t last_output(const struct pmix *pmix, char *text, size_t size)
{
    off_t   end = pmix->output >= 0 ? lseek(pmix->output, 0, SEEK_CUR) : 0;
    off_t   from = end > (off_t)size ? end - (off_t)size : 0;
    ssize_t got = end > 0 ? pread(pmix->output, text, (size_t)(end - from), from) : 0;

    while (got > 0 && text[got - 1] == '\n')
        got--;
    return got;
}
