/* guard.c - the agent's end of the guard, see guard.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "node/process.h"

/* Time for the guard to start: it opens two descriptors. Until then the agent does
 * not read from the launcher. */
#define START_MS 5000

static int send_message(struct guard *guard, const struct guard_message *message,
                        const int *fds, int count);

int guard_start(struct guard *guard, const char *run_id, bool use_pidns, struct error *err)
{
    struct guard_message message;
    struct pollfd        wait;
    int                  pair[2], on = 1, error;

    guard->go_env = go_env_new(err);
    if (guard->go_env == NULL)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, "socketpair: %s", strerror(errno));
    /* Makes the kernel translate the pids that the guard sends. */
    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    guard->pid = containment_fork(&guard->contain, use_pidns);
    if (guard->pid == 0)
        guard_loop(pair[1], &guard->contain, guard->go_env, run_id);
    error = errno;
    close(pair[1]);
    if (guard->pid < 0) {
        close(pair[0]);
        errno = error;
        return err_set(err, "cannot fork the guard: %s", strerror(error));
    }
    guard->fd = pair[0];
    /* If the guard is killed, its children become ours. */
    if (!guard->contain.pidns)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    wait = (struct pollfd){ .fd = guard->fd, .events = POLLIN };
    while (poll(&wait, 1, START_MS) < 0 && errno == EINTR)
        ;
    if (guard_receive(guard, &message) == 1 && message.type == GUARD_READY) {
        guard->contain = message.contain;
        guard->contain.inside = false;
        guard->contain.cgroup.lock_fd = 0; /* the guard's own */
        guard->watched_ns = clock_now_ns();
        return 0;
    }
    close(guard->fd);
    guard->fd = -1;
    kill(guard->pid, SIGKILL);
    waitpid(guard->pid, NULL, 0);
    errno = ECHILD;
    return err_set(err, "the guard process did not start");
}

int guard_spawn(struct guard *guard, int id, const int fds[SPAWN_FDS])
{
    const struct guard_message message = { .type = GUARD_SPAWN, .id = id };

    return send_message(guard, &message, fds, fds[SPAWN_FD_PMI] >= 0 ? SPAWN_FDS : SPAWN_FD_PMI);
}

int guard_go(struct guard *guard)
{
    const struct guard_message message = { .type = GUARD_GO };

    return send_message(guard, &message, NULL, 0);
}

int guard_signal(struct guard *guard, int id, int signal)
{
    const struct guard_message message = { .type = GUARD_SIGNAL, .id = id, .value = signal };

    return send_message(guard, &message, NULL, 0);
}

int guard_stop(struct guard *guard, double grace_s)
{
    const struct guard_message message = { .type = GUARD_STOP, .seconds = grace_s };

    return send_message(guard, &message, NULL, 0);
}

void guard_number(struct guard *guard, int before)
{
    const struct guard_message message = { .type = GUARD_PIDS, .value = before };

    if (guard->contain.pidns)
        send_message(guard, &message, NULL, 0);
}

int guard_again(struct guard *guard)
{
    const struct guard_message message = { .type = GUARD_AGAIN };

    return send_message(guard, &message, NULL, 0);
}

/* The guard exits when it sees that our end of the socket is closed. */
void guard_end(struct guard *guard)
{
    close(guard->fd);
    guard->fd = -1;
    waitpid(guard->pid, NULL, 0);
}

/* If this process was late, it has not read the guard's messages in that time: do not
 * judge the guard by that. */
void guard_watch(struct guard *guard, double lease_s, double patience_s)
{
    const struct guard_message message = { .type = GUARD_ALIVE, .value = guard->is_leased,
                                           .seconds = lease_s };
    int64_t                    now = clock_now_ns();
    struct process             process;
    double                     silent_s;

    if (guard->is_leased && guard->contain.pidns)
        lease_timer_set(&guard->lease_timer, lease_s);
    if (now - guard->watched_ns > (int64_t)(2 * GUARD_BEAT_S * NS_PER_S))
        guard->heard_ns = now;
    guard->watched_ns = now;
    silent_s = (double)(now - guard->heard_ns) / NS_PER_S;
    if (silent_s > patience_s && process_read(guard->pid, &process) &&
        (process.state != 'R' || silent_s > GUARD_BUSY_S)) {
        guard->silent_as = process.state;
        kill(guard->pid, SIGKILL); /* it is reaped only after its socket has closed */
        return;
    }
    if (silent_s > GUARD_SUSPECT_S)
        kill(guard->pid, SIGCONT);
    send_message(guard, &message, NULL, 0);
}

void guard_unwatch(struct guard *guard)
{
    lease_timer_clear(&guard->lease_timer);
}

int guard_receive(struct guard *guard, struct guard_message *message)
{
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec    into = { .iov_base = message, .iov_len = sizeof *message };
    struct msghdr   header = { .msg_iov = &into, .msg_iovlen = 1,
                               .msg_control = control.bytes, .msg_controllen = sizeof control };
    struct cmsghdr *item;
    struct ucred    sender;
    ssize_t         got;

    /* A guard that ended before it read everything (a second STOP) resets the socket. recv()
     * reports that first, once; the guard's last messages can still be read. */
    do
        got = recvmsg(guard->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got != (ssize_t)sizeof *message)
        return -1;
    guard->heard_ns = clock_now_ns();
    for (item = CMSG_FIRSTHDR(&header); item != NULL; item = CMSG_NXTHDR(&header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&sender, CMSG_DATA(item), sizeof sender);
        if (guard->contain.pidns && message->type == GUARD_STARTED)
            message->pid = sender.pid;
    }
    return 1;
}

static int send_message(struct guard *guard, const struct guard_message *message,
                        const int *fds, int count)
{
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(SPAWN_FDS * sizeof(int))];
    } control = { 0 };
    struct iovec    from = { .iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message };
    struct msghdr   header = { .msg_iov = &from, .msg_iovlen = 1 };
    struct cmsghdr *item;
    ssize_t         sent;

    if (count > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE((size_t)count * sizeof *fds);
        item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN((size_t)count * sizeof *fds);
        memcpy(CMSG_DATA(item), fds, (size_t)count * sizeof *fds);
    }
    /* The guard reads at once unless it is stopped; then we must not block too. */
    do
        sent = sendmsg(guard->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && (errno == EINTR || (errno == ENOBUFS && poll(NULL, 0, 1) == 0)));
    return sent < 0 ? -1 : 0;
}
