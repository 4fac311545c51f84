/* stacks.c - see stacks.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/stacks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "frame.h"
#include "node/process.h"
#include "session/agent.h"
#include "xalloc.h"
#include "xevent.h"

#define PROCESSES_MAX 16 /* per rank */
#define THREADS_MAX   64 /* per process */
#define HELPERS_MAX   16 /* at a time: each takes memory and a CPU */

/* The text of one rank, and the helper that may still add to it. */
struct stack {
    struct stacks   *stacks;
    struct rank     *rank;
    struct evbuffer *text;
    pid_t            python; /* 0: none */
    pid_t            helper; /* 0: none */
    struct event    *readable;
};

struct stacks {
    struct agent *agent;
    struct stack *stack;
    int           count, told_count;
    int           next, helpers; /* next: whose helper starts next; helpers: running ones */
    struct event *late;
    void        (*told)(uint32_t rank, json_t *body, void *arg);
    void         *arg;
};

static void  describe(struct stack *stack);
static bool  is_python(pid_t pid);
static void  describe_process(struct stack *stack, pid_t pid);
static void  describe_thread(struct stack *stack, const char *folder, const char *id);
static void  status_of(const char *folder, const char *key, char *text, size_t size);
static void  helpers_start(struct stacks *stacks);
static void  helper_start(struct stack *stack);
static char *helper_find(const struct stack *stack, char *pid, const char **argv);
static void  helper_exec(const char *path, const char *const *argv, int out,
                         pid_t parent);
static void  readable_cb(evutil_socket_t fd, short what, void *arg);
static void  late_cb(evutil_socket_t fd, short what, void *arg);
static void  helper_end(struct stack *stack);
static void  tell(struct stack *stack);

struct stacks *stacks_begin(struct agent *agent,
                            void (*told)(uint32_t rank, json_t *body, void *arg), void *arg)
{
    const struct timeval limit = { .tv_sec = STACKS_S };
    struct stacks       *stacks = xcalloc(1, sizeof *stacks);
    int                  i;

    *stacks = (struct stacks){ .agent = agent, .told = told, .arg = arg };
    stacks->stack = xcalloc((size_t)agent->ranks.count + 1, sizeof *stacks->stack);
    stacks->late = evtimer_new(agent->base, late_cb, stacks);
    if (stacks->late == NULL)
        xalloc_die();
    xevent_add(stacks->late, &limit);
    for (i = 0; i < agent->ranks.count; i++) {
        struct stack *stack = &stacks->stack[stacks->count];

        if (agent->ranks.rank[i].state != RANK_RUNNING)
            continue;
        stacks->count++;
        stack->stacks = stacks;
        stack->rank = &agent->ranks.rank[i];
        stack->text = evbuffer_new();
        if (stack->text == NULL)
            xalloc_die();
        describe(stack);
    }
    helpers_start(stacks);
    if (stacks->count == 0) {
        event_del(stacks->late);
        told(0, json_pack("{s:b}", "end", true), arg);
    }
    return stacks;
}

bool stacks_are_told(const struct stacks *stacks)
{
    return stacks->told_count == stacks->count;
}

void stacks_free(struct stacks *stacks)
{
    int i;

    if (stacks == NULL)
        return;
    for (i = 0; i < stacks->count; i++) {
        helper_end(&stacks->stack[i]);
        if (stacks->stack[i].text != NULL)
            evbuffer_free(stacks->stack[i].text);
    }
    event_free(stacks->late);
    free(stacks->stack);
    free(stacks);
}

/* --- from /proc ------------------------------------------------------------- */

/* Describes the rank's process and those below it; python: the first of them that is Python. */
static void describe(struct stack *stack)
{
    struct processes below;
    size_t           i;

    stack->python = is_python(stack->rank->pid) ? stack->rank->pid : 0;
    describe_process(stack, stack->rank->pid);
    processes_below(&below, stack->rank->pid);
    for (i = 0; i < below.count && i < PROCESSES_MAX; i++) {
        if (stack->python == 0 && is_python(below.item[i].pid))
            stack->python = below.item[i].pid;
        describe_process(stack, below.item[i].pid);
    }
    if (below.count > PROCESSES_MAX)
        evbuffer_add_printf(stack->text, "and %zu more processes\n", below.count - PROCESSES_MAX);
    processes_clear(&below);
}

static bool is_python(pid_t pid)
{
    char    path[64], exe[4096], *name;
    ssize_t size;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    size = readlink(path, exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    name = strrchr(exe, '/');
    return name != NULL && strncmp(name + 1, "python", strlen("python")) == 0;
}

static void describe_process(struct stack *stack, pid_t pid)
{
    char           folder[64], command[160], path[400], kept[128];
    ssize_t        size, i;
    struct dirent *entry;
    DIR           *tasks;
    int            threads = 0;

    snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
    snprintf(path, sizeof path, "%s/cmdline", folder);
    size = fd_read_file(path, command, sizeof command);
    for (i = 0; i < size - 1; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    evbuffer_add_printf(stack->text, "pid %d: %s\n", (int)pid, size > 0 ? command : "(ended)");
    snprintf(path, sizeof path, "%s/task", folder);
    tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.' || ++threads > THREADS_MAX)
            continue;
        snprintf(kept, sizeof kept, "%s/task/%.20s", folder, entry->d_name);
        describe_thread(stack, kept, entry->d_name);
    }
    if (tasks != NULL)
        closedir(tasks);
    if (threads > THREADS_MAX)
        evbuffer_add_printf(stack->text, "  and %d more threads\n", threads - THREADS_MAX);
}

/* Adds "  thread 12 pt_watchdog: S (sleeping) in futex_wait_queue", and for
 * root the kernel's stack. */
static void describe_thread(struct stack *stack, const char *folder, const char *id)
{
    char name[64], state[64], path[160], where[128], kernel[2048], *line, *rest;

    status_of(folder, "Name", name, sizeof name);
    status_of(folder, "\nState", state, sizeof state);
    snprintf(path, sizeof path, "%s/wchan", folder);
    fd_read_file(path, where, sizeof where);
    evbuffer_add_printf(stack->text, "  thread %s %s: %s%s%s\n", id, name, state,
                        where[0] != '\0' && where[0] != '0' ? " in " : "",
                        where[0] != '0' ? where : "");
    snprintf(path, sizeof path, "%s/stack", folder);
    fd_read_file(path, kernel, sizeof kernel);
    for (line = strtok_r(kernel, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        evbuffer_add_printf(stack->text, "    %s\n", line);
}

/* Copies the value of one line of /proc/PID/status to text. */
static void status_of(const char *folder, const char *key, char *text, size_t size)
{
    char path[128], status[4096], *at;

    snprintf(path, sizeof path, "%s/status", folder);
    fd_read_file(path, status, sizeof status);
    at = strstr(status, key);
    at = at != NULL ? at + strlen(key) + strspn(at + strlen(key), ": \t") : NULL;
    snprintf(text, size, "%.*s", at != NULL ? (int)strcspn(at, "\n") : 0, at != NULL ? at : "");
}

/* --- py-spy and gdb --------------------------------------------------------- */

/* Starts as many helpers as may run at a time. A rank without a helper is reported at once. */
static void helpers_start(struct stacks *stacks)
{
    struct stack *stack;

    while (stacks->next < stacks->count && stacks->helpers < HELPERS_MAX) {
        stack = &stacks->stack[stacks->next++];
        helper_start(stack);
        if (stack->helper == 0)
            tell(stack);
    }
}

static void helper_start(struct stack *stack)
{
    const char *argv[12];
    char        pid[16], *path;
    pid_t       self = getpid();
    int         pair[2];

    snprintf(pid, sizeof pid, "%d", (int)(stack->python > 0 ? stack->python : stack->rank->pid));
    path = helper_find(stack, pid, argv);
    if (path == NULL) {
        evbuffer_add_printf(stack->text, "(neither py-spy nor gdb is installed on this node)\n");
        return;
    }
    if (pipe2(pair, O_CLOEXEC) < 0) {
        evbuffer_add_printf(stack->text, "(cannot start %s: %s)\n", argv[0], strerror(errno));
        free(path);
        return;
    }
    stack->helper = fork();
    if (stack->helper == 0)
        helper_exec(path, argv, pair[1], self);
    if (stack->helper < 0) {
        evbuffer_add_printf(stack->text, "(cannot start %s: %s)\n", argv[0], strerror(errno));
        stack->helper = 0;
        close(pair[0]);
    } else {
        stack->stacks->helpers++;
        setpgid(stack->helper, stack->helper); /* also here: the child may be late */
        evbuffer_add_printf(stack->text, "%s %s:\n", argv[0], pid);
        fd_set_nonblock(pair[0]);
        stack->readable = event_new(stack->stacks->agent->base, pair[0], EV_READ | EV_PERSIST,
                                    readable_cb, stack);
        if (stack->readable == NULL)
            xalloc_die();
        xevent_add(stack->readable, NULL);
    }
    close(pair[1]);
    free(path);
}

/* Finds a helper along the PATH of the rank (a virtualenv may have its own), and its arguments:
 * all static except path and pid. */
static char *helper_find(const struct stack *stack, char *pid, const char **argv)
{
    static const char *const spy[] = { "py-spy", "dump", "--pid", NULL };
    /* Let gdb read our files in place of the ranks': their mount namespace would need root. It
     * would advise in ten lines to load what comes with Python. */
    static const char *const gdb[] = { "gdb", "-batch", "-nx", "-iex", "set sysroot /", "-iex",
                                       "set auto-load off", "-ex", "thread apply all bt", "-p",
                                       NULL };
    const struct agent *agent = stack->stacks->agent;
    const char *const  *words = spy;
    struct strlist      env = { 0 };
    struct failure      failure;
    char               *path = NULL;
    int                 i;

    prepare_env(&agent->plan, stack->rank->plan, &agent->startup.environment, 0, &env);
    if (stack->python > 0)
        path = prepare_program(spy[0], &env, &failure);
    if (path == NULL) {
        words = gdb;
        path = prepare_program(gdb[0], &env, &failure);
    }
    for (i = 0; words[i] != NULL; i++)
        argv[i] = words[i];
    argv[i++] = pid;
    argv[i] = NULL;
    strlist_clear(&env);
    return path;
}

/* The environment is empty: the user's settings could make the helper do
 * anything. It dies with us. */
static void helper_exec(const char *path, const char *const *argv, int out, pid_t parent)
{
    char        locale[] = "LC_ALL=C", places[] = "PATH=/usr/bin:/bin";
    char        home[] = "HOME=/nonexistent"; /* gdb warns if there is none */
    char *const environment[] = { locale, places, home, NULL };
    sigset_t    none;
    int         null = open("/dev/null", O_RDWR | O_CLOEXEC), i;

    for (i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0)
        _exit(127);
    execve(path, (char *const *)(uintptr_t)argv, environment);
    _exit(127);
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct stack *stack = arg;
    ssize_t       got = fd_read_buffer(fd, stack->text, STACKS_TEXT_MAX);

    (void)what;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got > 0 && evbuffer_get_length(stack->text) < STACKS_TEXT_MAX)
        return;
    helper_end(stack);
    tell(stack);
    helpers_start(stack->stacks);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct stacks *stacks = arg;
    int            i, begun = stacks->next;

    (void)fd, (void)what;
    stacks->next = stacks->count;
    for (i = 0; i < stacks->count; i++) {
        struct stack *stack = &stacks->stack[i];

        if (i < begun && stack->helper == 0)
            continue; /* already reported */
        helper_end(stack);
        evbuffer_add_printf(stack->text, "(not %s within %d s)\n",
                            i < begun ? "finished" : "started", STACKS_S);
        tell(stack);
    }
}

/* Stops a helper whose further output is not needed. Does not wait for it, since the process
 * that it examines may block it; it is reaped when we exit, at the latest. */
static void helper_end(struct stack *stack)
{
    if (stack->helper == 0)
        return;
    kill(-stack->helper, SIGKILL);
    waitpid(stack->helper, NULL, WNOHANG);
    stack->helper = 0;
    stack->stacks->helpers--;
    close(event_get_fd(stack->readable));
    event_free(stack->readable);
}

static void tell(struct stack *stack)
{
    struct stacks *stacks = stack->stacks;
    size_t         size = evbuffer_get_length(stack->text);

    if (size > STACKS_TEXT_MAX)
        size = STACKS_TEXT_MAX;
    stacks->told(stack->rank->plan->rank,
                 json_pack("{s:o}", "text",
                           json_text((char *)evbuffer_pullup(stack->text, (ev_ssize_t)size), size)),
                 stacks->arg);
    if (++stacks->told_count == stacks->count) {
        event_del(stacks->late);
        stacks->told(0, json_pack("{s:b}", "end", true), stacks->arg);
    }
}
