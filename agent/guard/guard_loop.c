/* guard_loop.c - the guard process, see guard.h
 *
 * One poll() loop over the agent's socket, SIGCHLD and the pipes of children that are
 * between fork and exec. It ignores all signals but KILL: only the agent's message, death
 * or silence ends the ranks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "guard/pid_range.h"
#include "guard/stop.h"
#include "lease.h"
#include "xalloc.h"

#define AGENT_FD 3 /* the socket to the agent */

/* The longest time between two checks of the agent's silence. */
#define TURN_MS 1000
/* Children to reap per turn: processes that fork endlessly must not
 * keep us from killing them. */
#define REAP_MOST 1000
/* An agent that reads nothing for this long counts as gone. */
#define UNREAD_S 10

struct child {
    int                  id;
    pid_t                pid;
    int                  word_fd; /* reports (struct spawn_failure): it is set up, or why it
                                     failed. Closes at exec. -1: closed */
    bool                 ended;
    struct spawn_failure failure;
};

struct guard_process {
    int                 agent_fd, signal_fd;
    int                 gate[2]; /* a pipe: ranks wait for its end. gate[1] -1: GO came */
    bool                agent_gone;
    int64_t             agent_due_ns; /* we must hear the agent before then; 0: no limit */
    bool                is_leased;    /* the ranks must be dead then, even if we were stopped */
    struct lease_timer  lease_timer;
    int64_t             heard_ns;     /* when we last heard the agent */
    int64_t             turn_ns;      /* when the last turn of the loop was */
    struct containment *contain;
    struct go_env      *go_env;
    struct stop         stop;
    struct child       *child; /* all that were started in this generation */
    int                 children;
    int                 running;
    int                 servers; /* of those, see GUARD_SERVER */
    bool                has_more; /* more children can be reaped at once */
    int                 outlived; /* processes that existed when the last rank had ended */
    bool                is_over;  /* EMPTY was sent, and AGAIN has not arrived */
    struct pollfd      *poll;
};

static void  set_up(struct guard_process *g, int fd, struct containment *contain,
                    const char *run_id);
static void  wait_for_something(struct guard_process *g, int timeout_ms);
static void  hear_agent(struct guard_process *g);
static void  watch_agent(struct guard_process *g);
static void  take_message(struct guard_process *g, const struct guard_message *message,
                          const int *fds);
static void  stop_ranks(struct guard_process *g, double grace_s);
static void  child_start(struct guard_process *g, int id, const int *fds);
static void  child_run(struct guard_process *g, int id, const int *fds, int word_fd, pid_t guard)
    __attribute__((noreturn));
static void  tell_unforked(struct guard_process *g, int id, int error);
static pid_t fork_blocked(struct cgroup *cgroup);
static bool  reap(struct guard_process *g);
static void  detach_tracee(const siginfo_t *stopped);
static void  child_ended(struct guard_process *g, pid_t pid);
static bool  child_heard(struct guard_process *g, struct child *child);
static void  open_gate(struct guard_process *g);
static void  signal_ranks(struct guard_process *g, int id, int signal_number);
static void  answer_agent(struct guard_process *g, const struct guard_message *message);
static void  set_lease_timer(struct guard_process *g);
static void  tell_empty(struct guard_process *g, int left);
static void  begin_again(struct guard_process *g);
static void  leave(struct guard_process *g) __attribute__((noreturn));
static void  tell(struct guard_process *g, struct guard_message *message, pid_t pid);

void guard_loop(int fd, struct containment *contain, struct go_env *go_env, const char *run_id)
{
    struct guard_process g;
    int                  timeout_ms = 0; /* the agent may be gone already */
    bool                 empty;

    set_up(&g, fd, contain, run_id);
    g.go_env = go_env;
    for (;;) {
        wait_for_something(&g, timeout_ms);
        if (g.poll[0].revents != 0)
            hear_agent(&g);
        else
            watch_agent(&g);
        g.turn_ns = clock_now_ns();
        set_lease_timer(&g);
        empty = reap(&g);
        if (g.agent_gone)
            stop_begin(&g.stop, 0, NULL, 0);
        if (g.stop.begun && empty)
            tell_empty(&g, 0);
        if (g.is_over && g.agent_gone)
            leave(&g);
        timeout_ms = g.is_over ? -1 : stop_step(&g.stop);
        if (g.has_more && (timeout_ms != STOP_STUCK || containment_count(contain, getpid()) == 0))
            timeout_ms = 0; /* all remaining processes are dead */
        if (timeout_ms == STOP_STUCK) {
            tell_empty(&g, stop_left(&g.stop));
            leave(&g);
        }
    }
}

static void set_up(struct guard_process *g, int fd, struct containment *contain, const char *run_id)
{
    static const int            ignored[] = { SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGPIPE,
                                              SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2 };
    static const struct timeval unread = { .tv_sec = UNREAD_S };
    struct guard_message        ready = { .type = GUARD_READY };
    sigset_t                    child;
    size_t                      i;
    int                         null = open("/dev/null", O_RDWR | O_CLOEXEC);

    *g = (struct guard_process){ .agent_fd = AGENT_FD, .contain = contain };
    /* No descriptor of the agent may stay open here, least of all its end of the launcher's
     * stream. If this fails, the agent reports that we did not start. */
    for (i = 0; i <= 2; i++)
        if (dup2(null, (int)i) < 0)
            _exit(1);
    if (fd != AGENT_FD && dup3(fd, AGENT_FD, O_CLOEXEC) < 0)
        _exit(1);
    fd_close_from(AGENT_FD + 1);
    setsockopt(AGENT_FD, SOL_SOCKET, SO_SNDTIMEO, &unread, sizeof unread);
    for (i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    g->signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g->signal_fd < 0 || pipe2(g->gate, O_CLOEXEC) < 0)
        _exit(1); /* SIGCHLD could not be read */
    /* In a namespace the guard may die with the agent, since everything in it dies with the
     * guard. Without one it must survive and end the ranks. */
    if (contain->pidns)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    containment_reap_here(contain, run_id);
    stop_init(&g->stop, contain, getpid());
    g->poll = xcalloc(2, sizeof *g->poll);
    ready.contain = *contain;
    tell(g, &ready, 0);
}

static void wait_for_something(struct guard_process *g, int timeout_ms)
{
    int i, count = 2;

    if (timeout_ms < 0 || timeout_ms > TURN_MS)
        timeout_ms = TURN_MS;
    g->poll[0] = (struct pollfd){ .fd = g->agent_gone ? -1 : g->agent_fd, .events = POLLIN };
    g->poll[1] = (struct pollfd){ .fd = g->signal_fd, .events = POLLIN };
    for (i = 0; i < g->children; i++)
        if (g->child[i].word_fd >= 0)
            g->poll[count++] = (struct pollfd){ .fd = g->child[i].word_fd, .events = POLLIN };
    while (poll(g->poll, (nfds_t)count, timeout_ms) < 0)
        if (errno != EINTR)
            xalloc_die(); /* ENOMEM */
    for (i = 0; i < g->children; i++)
        while (child_heard(g, &g->child[i]))
            ;
}

static void hear_agent(struct guard_process *g)
{
    struct guard_message message;
    int                  fds[SPAWN_FDS] = { -1, -1, -1, -1, -1 };
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(sizeof fds)];
    } control;
    struct iovec    into = { .iov_base = &message, .iov_len = sizeof message };
    struct msghdr   header = { .msg_iov = &into, .msg_iovlen = 1,
                               .msg_control = control.bytes, .msg_controllen = sizeof control };
    struct cmsghdr *item;
    ssize_t         got = recvmsg(g->agent_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    size_t          i;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != (ssize_t)sizeof message) {
        g->agent_gone = true;
        return;
    }
    item = CMSG_FIRSTHDR(&header);
    if (item != NULL && item->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(item), item->cmsg_len - CMSG_LEN(0));
    if (header.msg_flags & MSG_CTRUNC)
        tell_unforked(g, message.id, EMFILE);
    else
        take_message(g, &message, fds);
    for (i = 0; i < SPAWN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Handles a turn in which the agent sent nothing. If we did not run ourselves, the agent may
 * not have run either (the machine was suspended, or both were frozen). From inside a namespace
 * we cannot continue the agent; then another agent does that. */
static void watch_agent(struct guard_process *g)
{
    int64_t now = clock_now_ns(), slept = now - g->turn_ns;

    if (g->agent_due_ns == 0)
        return;
    if (slept > 2 * TURN_MS * (NS_PER_S / 1000)) {
        g->agent_due_ns += slept;
        g->heard_ns += slept;
    } else if (now > g->agent_due_ns) {
        g->agent_gone = true;
    } else if (now - g->heard_ns > (int64_t)(GUARD_SUSPECT_S * NS_PER_S) && !g->contain->inside) {
        kill(getppid(), SIGCONT);
    }
}

static void take_message(struct guard_process *g, const struct guard_message *message,
                         const int *fds)
{
    switch (message->type) {
    case GUARD_SPAWN:
        child_start(g, message->id, fds);
        break;
    case GUARD_GO:
        open_gate(g);
        break;
    case GUARD_SIGNAL:
        signal_ranks(g, message->id, message->value);
        break;
    case GUARD_STOP:
        if (g->is_over)
            break; /* it crossed with our EMPTY */
        if (reap(g)) {
            stop_begin(&g->stop, 0, NULL, 0); /* the usual end: no process is left */
            break;
        }
        if (g->running == g->servers)
            g->outlived = containment_count(g->contain, getpid()) - g->servers;
        stop_ranks(g, message->seconds);
        break;
    case GUARD_ALIVE:
        answer_agent(g, message);
        break;
    case GUARD_PIDS:
        pid_range_enter(message->value);
        break;
    case GUARD_AGAIN:
        begin_again(g);
        break;
    }
}

/* A server ends after the ranks that it serves. */
static void stop_ranks(struct guard_process *g, double grace_s)
{
    pid_t *ranks = xcalloc((size_t)g->children + 1, sizeof *ranks);
    size_t count = 0;
    int    i;

    for (i = 0; i < g->children; i++)
        if (!g->child[i].ended && g->child[i].id != GUARD_SERVER)
            ranks[count++] = g->child[i].pid;
    stop_begin(&g->stop, grace_s, ranks, count);
    free(ranks);
}

static void child_start(struct guard_process *g, int id, const int *fds)
{
    struct child child = { .id = id };
    pid_t        self = getpid();
    int          pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0) {
        tell_unforked(g, id, errno);
        return;
    }
    child.pid = fork_blocked(&g->contain->cgroup);
    if (child.pid == 0)
        child_run(g, id, fds, pair[1], self);
    if (child.pid < 0) {
        tell_unforked(g, id, errno);
        close(pair[0]);
        close(pair[1]);
        return;
    }
    /* Also here: a signal may come before the child does it. But a leader of a group cannot begin
     * a session, as a child with a terminal does. */
    if (!isatty(fds[SPAWN_FD_STDIN]))
        setpgid(child.pid, child.pid);
    close(pair[1]);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    child.word_fd = pair[0];
    g->child = xreallocarray(g->child, (size_t)g->children + 1, sizeof *g->child);
    g->child[g->children++] = child;
    g->poll = xreallocarray(g->poll, (size_t)g->children + 2, sizeof *g->poll);
    g->running++;
    g->servers += id == GUARD_SERVER;
}

/* The gate opens when no process has its other end: a child closes it first. */
static void child_run(struct guard_process *g, int id, const int *fds, int word_fd, pid_t guard)
{
    struct spawn_failure failure = { SPAWN_PREPARE, 0 };
    struct spawn_guard   about = { guard, &g->contain->cgroup, -1, -1, g->go_env };

    if (g->gate[1] >= 0)
        close(g->gate[1]);
    about.word_fd = fcntl(word_fd, F_DUPFD_CLOEXEC, SPAWN_PMI_FD + 1);
    if (id >= 0)
        about.gate_fd = fcntl(g->gate[0], F_DUPFD_CLOEXEC, SPAWN_PMI_FD + 1);
    if (about.word_fd < 0 || (id >= 0 && about.gate_fd < 0))
        failure.error = errno;
    else
        failure = spawn_exec(fds, &about);
    fd_write_all(about.word_fd < 0 ? word_fd : about.word_fd, &failure, sizeof failure);
    _exit(126);
}

static void tell_unforked(struct guard_process *g, int id, int error)
{
    struct guard_message message = { .type = GUARD_EXITED, .id = id, .value = 126 << 8,
                                     .at_ns = clock_now_ns(),
                                     .failure = { SPAWN_FORK, error } };

    tell(g, &message, 0);
}

static void open_gate(struct guard_process *g)
{
    if (g->gate[1] >= 0)
        close(g->gate[1]);
    g->gate[1] = -1;
}

/* Forks with all signals blocked in the child, until spawn_exec() unblocks them. The guard
 * ignores TERM: a child that still ignored it when a stop came would lose the TERM and get KILL
 * after the grace. A blocked TERM stays pending. */
static pid_t fork_blocked(struct cgroup *cgroup)
{
    sigset_t all, before;
    pid_t    pid;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = cgroup_fork(cgroup);
    if (pid != 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Reaps the children that have ended. True if there is no child at all: with a subreaper, or as
 * process 1, there is no descendant then. */
static bool reap(struct guard_process *g)
{
    struct signalfd_siginfo signalled;
    siginfo_t               info;
    int                     rc = 0, reaped;

    while (read(g->signal_fd, &signalled, sizeof signalled) > 0)
        ;
    for (reaped = 0; reaped < REAP_MOST; reaped++) {
        info.si_pid = 0;
        rc = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
        if (rc < 0 || info.si_pid == 0)
            break;
        if (info.si_code == CLD_TRAPPED)
            detach_tracee(&info);
        else
            child_ended(g, info.si_pid);
    }
    g->has_more = reaped == REAP_MOST;
    return rc < 0 && errno == ECHILD && cgroup_is_empty(&g->contain->cgroup);
}

/* A child has made us its debugger (PTRACE_TRACEME) and waits to be continued. Detaches from
 * it, and passes on the signal that stopped it. */
static void detach_tracee(const siginfo_t *stopped)
{
    int signal_number = stopped->si_status & 0x7f;

    ptrace(PTRACE_DETACH, stopped->si_pid, NULL,
           (void *)(intptr_t)(signal_number == SIGTRAP ? 0 : signal_number));
}

/* The child is still a zombie here, so STARTED can name its pid if STARTED was not
 * sent before the child ended. */
static void child_ended(struct guard_process *g, pid_t pid)
{
    struct guard_message message = { .type = GUARD_EXITED };
    struct child        *child = g->child, *end = g->child + g->children;
    struct rusage        usage;

    while (child < end && (child->pid != pid || child->ended))
        child++;
    while (child < end && child_heard(g, child))
        ;
    wait4(pid, &message.value, 0, &usage);
    if (child == end)
        return; /* an orphan that was reparented to us */
    child->ended = true;
    g->running--;
    g->servers -= child->id == GUARD_SERVER;
    message.id = child->id;
    message.at_ns = clock_now_ns();
    message.maxrss_kb = usage.ru_maxrss;
    message.failure = child->failure;
    tell(g, &message, 0);
}

/* Reads one report of a child. If exec succeeds, the pipe closes without one. False:
 * nothing more to read now. */
static bool child_heard(struct guard_process *g, struct child *child)
{
    struct guard_message message = { .type = GUARD_STARTED, .id = child->id };
    struct spawn_failure word;
    ssize_t              got;

    if (child->word_fd < 0)
        return false;
    got = read(child->word_fd, &word, sizeof word);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got == (ssize_t)sizeof word && word.step == SPAWN_OK) {
        message.type = GUARD_STANDS;
        tell(g, &message, 0);
        return true;
    }
    if (got < 0) { /* nothing would ever report whether it is set up */
        word = (struct spawn_failure){ SPAWN_PREPARE, errno };
        got = sizeof word;
        kill(child->pid, SIGKILL);
    }
    close(child->word_fd);
    child->word_fd = -1;
    if (got == (ssize_t)sizeof word)
        child->failure = word; /* EXITED will carry it */
    else if (child->id < 0 || g->gate[1] < 0) { /* else it was killed while it waited for GO */
        message.at_ns = clock_now_ns();
        tell(g, &message, child->pid);
    }
    return false;
}

/* Does not signal ranks that still wait for GO: the signal would kill them. */
static void signal_ranks(struct guard_process *g, int id, int signal_number)
{
    int i;

    for (i = 0; i < g->children; i++)
        if (!g->child[i].ended &&
            (id == g->child[i].id || (id == GUARD_ALL && g->child[i].id >= 0)) &&
            (g->child[i].id < 0 || g->gate[1] < 0))
            kill(-g->child[i].pid, signal_number);
}

/* The agent must be heard again within `seconds`, and gets an answer. */
static void answer_agent(struct guard_process *g, const struct guard_message *message)
{
    struct guard_message alive = { .type = GUARD_ALIVE, .value = g->stop.dumping };

    g->heard_ns = clock_now_ns();
    g->agent_due_ns = g->heard_ns + (int64_t)(message->seconds * NS_PER_S);
    g->is_leased = message->value != 0;
    tell(g, &alive, 0);
}

/* While we run, we end the ranks ourselves, which may take longer than the lease. In a
 * namespace the agent has the timer. */
static void set_lease_timer(struct guard_process *g)
{
    double left_s = (double)(g->agent_due_ns - g->turn_ns) / NS_PER_S;

    if (g->is_leased && !g->contain->inside)
        lease_timer_set(&g->lease_timer, left_s > LEASE_LOCAL_S ? left_s : LEASE_LOCAL_S);
}

static void tell_empty(struct guard_process *g, int left)
{
    struct guard_message message = { .type = GUARD_EMPTY, .killed = g->outlived, .left = left };

    if (!g->is_over)
        tell(g, &message, 0);
    g->is_over = true;
}

/* No child is left; the namespace, the control group and the agent remain. */
static void begin_again(struct guard_process *g)
{
    open_gate(g);
    close(g->gate[0]);
    if (pipe2(g->gate, O_CLOEXEC) < 0)
        leave(g); /* the agent notices that */
    g->children = g->running = g->servers = g->outlived = 0;
    g->is_over = false;
    /* Linux 6.14 to 6.18 at least kill processes that begin in a group that was killed once. */
    if (g->stop.killing_since_ns != 0)
        g->contain->cgroup.takes_forks = false;
    stop_clear(&g->stop);
    stop_init(&g->stop, g->contain, getpid());
}

static void leave(struct guard_process *g)
{
    cgroup_remove(&g->contain->cgroup);
    _exit(0);
}

/* Inside a namespace our pids mean nothing to the agent. If they are sent as credentials,
 * the kernel translates them. */
static void tell(struct guard_process *g, struct guard_message *message, pid_t pid)
{
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control = { 0 };
    struct ucred    who = { .pid = pid, .uid = getuid(), .gid = getgid() };
    struct iovec    from = { .iov_base = message, .iov_len = sizeof *message };
    struct msghdr   header = { .msg_iov = &from, .msg_iovlen = 1 };
    struct cmsghdr *item;
    ssize_t         sent;

    if (g->agent_gone)
        return;
    message->pid = (int32_t)pid;
    if (pid > 0 && g->contain->pidns) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_CREDENTIALS;
        item->cmsg_len = CMSG_LEN(sizeof who);
        memcpy(CMSG_DATA(item), &who, sizeof who);
    }
    do
        sent = sendmsg(g->agent_fd, &header, MSG_NOSIGNAL);
    while (sent < 0 && (errno == EINTR || (errno == ENOBUFS && poll(NULL, 0, 1) == 0)));
    if (sent < 0)
        g->agent_gone = true;
}
