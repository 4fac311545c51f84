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
#include "node/scratch.h"
#include "node/signal_caught.h"
#include "rank/python_stack.h"
#include "session/agent.h"
#include "xalloc.h"
#include "xevent.h"

#define PROCESSES_MAX 16 /* per rank */
#define THREADS_MAX   64 /* per process */
#define HELPERS_MAX   16 /* at a time: each takes memory and a CPU */

enum stack_state {
    STACK_WAITS,  /* for a helper */
    STACK_ASKED,  /* Python was asked by a signal */
    STACK_HELPED, /* a helper runs */
    STACK_TOLD,   /* the launcher has it */
};

/* The text of one rank, and what may still add to it. */
struct stack {
    struct stacks       *stacks;
    struct rank         *rank;
    enum stack_state     state;
    struct evbuffer     *text;
    struct process       python; /* pid 0: none */
    bool                 has_python_stack;
    struct python_stack *asked;
    char                *path; /* of the helper; NULL: there is none */
    const char *const   *words; /* ... its arguments, without the pid */
    pid_t                helper; /* 0: none */
    struct event        *readable;
};

struct stacks {
    struct agent *agent;
    struct stack *stack;
    int           count, told_count;
    int           helpers; /* running ones */
    struct event *late;
    void        (*told)(uint32_t rank, json_t *body, void *arg);
    void         *arg;
};

static const char *const spy[] = { "py-spy", "dump", "--pid", NULL };
/* Let gdb read our files in place of the ranks': their mount namespace would need root. It would
 * advise in ten lines to load what comes with Python. */
static const char *const gdb[] = { "gdb", "-batch", "-nx", "-iex", "set sysroot /", "-iex",
                                   "set auto-load off", "-ex", "thread apply all bt", "-p", NULL };

static void  stack_begin(struct stack *stack);
static void  describe(struct stack *stack);
static void  note_python(struct stack *stack, pid_t pid);
static bool  is_python(pid_t pid);
static void  describe_process(struct stack *stack, pid_t pid);
static void  describe_thread(struct stack *stack, const char *folder, const char *id);
static void  status_of(const char *folder, const char *key, char *text, size_t size);
static void  ask_python(struct stack *stack);
static void  python_cb(void *arg);
static void  end_asking(struct stack *stack);
static void  helpers_start(struct stacks *stacks);
static void  helper_start(struct stack *stack);
static void  helper_find(struct stack *stack);
static void  explain_none(struct stack *stack);
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
        stack_begin(stack);
    }
    helpers_start(stacks);
    if (stacks->count == 0) {
        event_del(stacks->late);
        told(0, json_pack("{s:b}", "end", true), arg);
    }
    return stacks;
}

static void stack_begin(struct stack *stack)
{
    stack->text = evbuffer_new();
    if (stack->text == NULL)
        xalloc_die();
    describe(stack);
    helper_find(stack);
    if (stack->python.pid > 0 && stack->words != spy)
        ask_python(stack);
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
        python_stack_free(stacks->stack[i].asked);
        evbuffer_free(stacks->stack[i].text);
        free(stacks->stack[i].path);
    }
    event_free(stacks->late);
    free(stacks->stack);
    free(stacks);
}

/* --- from /proc ------------------------------------------------------------- */

/* Describes the rank's process and those below it. */
static void describe(struct stack *stack)
{
    struct processes below;
    size_t           i;

    note_python(stack, stack->rank->pid);
    describe_process(stack, stack->rank->pid);
    processes_below(&below, stack->rank->pid);
    for (i = 0; i < below.count && i < PROCESSES_MAX; i++) {
        note_python(stack, below.item[i].pid);
        describe_process(stack, below.item[i].pid);
    }
    if (below.count > PROCESSES_MAX)
        evbuffer_add_printf(stack->text, "and %zu more processes\n", below.count - PROCESSES_MAX);
    processes_clear(&below);
}

/* The rank's Python is the first one; or the first that catches the signal, if it may be asked:
 * before it there may be one that starts the script. */
static void note_python(struct stack *stack, pid_t pid)
{
    const int signal = stack->stacks->agent->plan.stack_signal;

    if (!is_python(pid))
        return;
    if (stack->python.pid > 0 &&
        (signal == 0 || signal_process_catches(stack->python.pid, signal) ||
         !signal_process_catches(pid, signal)))
        return;
    process_read(pid, &stack->python);
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

/* --- faulthandler ----------------------------------------------------------- */

/* If no directory can be made, Python's stacks are on stderr alone. */
void stacks_prepare(struct agent *agent)
{
    struct scratch *files;
    struct error    err;

    stacks_forget(agent);
    if (agent->plan.stack_signal == 0)
        return;
    files = xcalloc(1, sizeof *files);
    if (scratch_make(files, &err) == 0)
        agent->stack_files = files;
    else
        free(files);
    ranks_set_stack(&agent->ranks, agent->plan.stack_signal,
                    agent->stack_files != NULL ? files->path : NULL);
}

void stacks_forget(struct agent *agent)
{
    if (agent->stack_files != NULL)
        scratch_remove(agent->stack_files);
    free(agent->stack_files);
    agent->stack_files = NULL;
}

static void ask_python(struct stack *stack)
{
    struct agent               *agent = stack->stacks->agent;
    const struct scratch       *files = agent->stack_files;
    char                       *file;
    struct python_stack_request request = { .rank = stack->rank, .python = &stack->python,
                                            .signal = agent->plan.stack_signal,
                                            .known = python_cb, .arg = stack };
    struct error                why;

    if (request.signal == 0)
        return;
    file = files != NULL ? ranks_stack_file(stack->rank, files->path) : NULL;
    request.file = file;
    stack->asked = python_stack_ask(&request, &why);
    if (stack->asked != NULL)
        stack->state = STACK_ASKED;
    else
        evbuffer_add_printf(stack->text, "(%s)\n", why.text);
    free(file);
}

static void python_cb(void *arg)
{
    struct stack *stack = arg;

    end_asking(stack);
    stack->state = STACK_WAITS;
    helpers_start(stack->stacks);
}

/* Takes what Python has shown so far. */
static void end_asking(struct stack *stack)
{
    if (stack->asked == NULL)
        return;
    stack->has_python_stack = python_stack_write(stack->asked, stack->text);
    python_stack_free(stack->asked);
    stack->asked = NULL;
}

/* --- py-spy and gdb --------------------------------------------------------- */

/* Starts as many helpers as may run at a time. A rank without a helper is reported at once. */
static void helpers_start(struct stacks *stacks)
{
    struct stack *stack;
    int           i;

    for (i = 0; i < stacks->count && stacks->helpers < HELPERS_MAX; i++) {
        stack = &stacks->stack[i];
        if (stack->state != STACK_WAITS)
            continue;
        explain_none(stack);
        if (stack->path != NULL)
            helper_start(stack);
        if (stack->helper == 0)
            tell(stack);
    }
}

/* Says what would show more. */
static void explain_none(struct stack *stack)
{
    const bool is_python = stack->python.pid > 0 && stack->words != spy &&
                           stack->stacks->agent->plan.stack_signal == 0;

    if (stack->path == NULL && !stack->has_python_stack)
        evbuffer_add_printf(stack->text, "(neither py-spy nor gdb is installed on this node%s)\n",
                            is_python ? "; --stack-signal would do for Python" : "");
    else if (is_python)
        evbuffer_add_printf(stack->text, "(py-spy is not installed on this node; --stack-signal "
                                         "would do for Python)\n");
}

static void helper_start(struct stack *stack)
{
    const pid_t self = getpid();
    const pid_t seen = stack->python.pid > 0 ? stack->python.pid : stack->rank->pid;
    const char *argv[12];
    char        pid[16];
    int         pair[2], i;

    snprintf(pid, sizeof pid, "%d", (int)seen);
    for (i = 0; stack->words[i] != NULL; i++)
        argv[i] = stack->words[i];
    argv[i++] = pid;
    argv[i] = NULL;
    if (pipe2(pair, O_CLOEXEC) < 0) {
        evbuffer_add_printf(stack->text, "(cannot start %s: %s)\n", argv[0], strerror(errno));
        return;
    }
    stack->helper = fork();
    if (stack->helper == 0)
        helper_exec(stack->path, argv, pair[1], self);
    if (stack->helper < 0) {
        evbuffer_add_printf(stack->text, "(cannot start %s: %s)\n", argv[0], strerror(errno));
        stack->helper = 0;
        close(pair[0]);
    } else {
        stack->state = STACK_HELPED;
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
}

/* Finds a helper along the PATH of the rank: a virtualenv may have its own. */
static void helper_find(struct stack *stack)
{
    const struct agent *agent = stack->stacks->agent;
    struct strlist      env = { 0 };
    struct failure      failure;

    prepare_env(&agent->plan, stack->rank->plan, &agent->startup.environment, 0, &env);
    stack->words = spy;
    if (stack->python.pid > 0)
        stack->path = prepare_program(spy[0], &env, &failure);
    if (stack->path == NULL) {
        stack->words = gdb;
        stack->path = prepare_program(gdb[0], &env, &failure);
    }
    strlist_clear(&env);
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
    int            i;

    (void)fd, (void)what;
    for (i = 0; i < stacks->count; i++) {
        struct stack *stack = &stacks->stack[i];

        if (stack->state == STACK_TOLD)
            continue;
        end_asking(stack);
        evbuffer_add_printf(stack->text, "(not %s within %d s)\n",
                            stack->state == STACK_WAITS ? "started" : "finished", STACKS_S);
        helper_end(stack);
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

    stack->state = STACK_TOLD;
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
