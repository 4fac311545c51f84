/* conn_openssh.c - an agent on another machine, by OpenSSH's ssh
 *
 * For configurations that libssh cannot follow exactly (FIDO keys, certificates, a key exchange
 * that it does not have), and for sites that trust only OpenSSH. The remote command is the same
 * as in conn_libssh.c, and the same dialogue follows on ssh's standard input and output
 * (agent_start.h). ssh never prompts, because it has BatchMode and no terminal.
 *
 * If ssh itself fails, it exits with 255 after a line on stderr. That line is the error
 * message. We use its wording only to select the stage and the exit code.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "strlist.h"
#include "transport/agent_file.h"
#include "transport/agent_start.h"
#include "transport/child.h"
#include "transport/conn.h"
#include "transport/ssh/proxy_turn.h"
#include "transport/ssh/retry.h"
#include "transport/ssh/ssh_query.h"
#include "xalloc.h"
#include "xevent.h"

#define SSH_FAILED       255             /* exit status of ssh itself, not of the agent */
#define SSH_KILLED       (-1)            /* ... and none: a signal killed it */
#define STEPS            3               /* connection, key exchange and login: one deadline */
#define READ_MAX         (256 * 1024)    /* bytes per turn of the loop */
#define END_S            5.0             /* from the end of ssh's output until ssh exits */
#define LOOK_MS          2               /* between two checks whether ssh has exited */

struct conn_openssh {
    struct conn              conn; /* first, so that the two convert */
    struct event_base       *base;
    struct conn_target       target; /* owns its strings */
    const struct agent_file *agent;
    struct child             ssh;
    struct agent_start       start;
    struct evbuffer         *in, *out;
    struct event            *readable, *writable; /* NULL: no ssh is running */
    struct event            *late; /* the deadline; in a pause between attempts, its end */
    struct event            *look; /* has ssh exited? */
    int64_t                  end_by_ns;
    int                      retries;
    struct proxy_turn       *turn; /* NULL: no turn is needed now */
    enum agent_push          push;
    bool                     is_open, is_pausing, is_draining;
    bool                     is_verbose; /* ssh has failed before without a reason */
};

static void  openssh_start(struct conn *conn);
static void  openssh_write(struct conn *conn, struct evbuffer *from);
static size_t openssh_unwritten(const struct conn *conn);
static bool  openssh_close_input(struct conn *conn);
static void  openssh_free(struct conn *conn);
static int   begin(struct conn_openssh *c, struct error *err);
static void  make_argv(const struct conn_openssh *c, struct strlist *argv);
static void  late_cb(evutil_socket_t fd, short what, void *arg);
static double shell_s(const struct conn_openssh *c);
static void  start_in_turn(struct conn_openssh *c);
static bool  try_elsewhere(struct conn_openssh *c);
static void  run_ssh(void *arg);
static void  writable_cb(evutil_socket_t fd, short what, void *arg);
static void  readable_cb(evutil_socket_t fd, short what, void *arg);
static void  talk(struct conn_openssh *c);
static void  input_ended(struct conn_openssh *c);
static void  look_cb(evutil_socket_t fd, short what, void *arg);
static void  ssh_ended(struct conn_openssh *c, int status);
static bool  try_again(struct conn_openssh *c, int status, const char *said);
static bool  is_dropped(const struct conn_openssh *c, int status, const char *said);
static void  last_words(struct conn_openssh *c, char *said, size_t size);
static bool  is_usual(const char *line);
static void  pause_before(struct conn_openssh *c, double seconds);
static void  drop_ssh(struct conn_openssh *c);
static void  explain_loss(int status, const char *said, struct conn_failure *why);
static void  explain_ssh(const struct conn_openssh *c, const char *said,
                         struct conn_failure *why);
static void  explain_shell(struct conn_openssh *c, int status, const char *said,
                           struct conn_failure *why);
static void  end(struct conn_openssh *c, const struct conn_failure *why);
static void  set_deadline(struct conn_openssh *c, double seconds);

static const struct conn_kind kind = {
    .start = openssh_start,
    .write = openssh_write,
    .unwritten = openssh_unwritten,
    .close_input = openssh_close_input,
    .free = openssh_free,
};

/* ---- the interface of conn.h ---- */

struct conn *conn_openssh_new(struct event_base *base, const struct conn_target *target,
                              const struct agent_file *agent, const struct conn_ops *ops,
                              void *arg)
{
    struct conn_openssh *c = xcalloc(1, sizeof *c);

    c->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    c->base = base;
    conn_target_copy(&c->target, target);
    c->agent = agent;
    c->in = evbuffer_new();
    c->out = evbuffer_new();
    c->late = xevent_new(base, -1, late_cb, c);
    c->look = xevent_new(base, -1, look_cb, c);
    return &c->conn;
}

/* Starts from the event loop, not from here: closed() may free us. */
static void openssh_start(struct conn *conn)
{
    struct conn_openssh *c = (struct conn_openssh *)conn;

    pause_before(c, 0);
}

static void openssh_write(struct conn *conn, struct evbuffer *from)
{
    struct conn_openssh *c = (struct conn_openssh *)conn;

    evbuffer_add_buffer(c->out, from);
    if (c->writable != NULL)
        xevent_add(c->writable, NULL);
}

static size_t openssh_unwritten(const struct conn *conn)
{
    return evbuffer_get_length(((const struct conn_openssh *)conn)->out);
}

static bool openssh_close_input(struct conn *conn)
{
    struct conn_openssh *c = (struct conn_openssh *)conn;

    if (c->readable == NULL)
        return false;
    evbuffer_drain(c->out, evbuffer_get_length(c->out));
    event_del(c->writable);
    shutdown(event_get_fd(c->readable), SHUT_WR);
    c->is_draining = true;
    return true;
}

/* An agent that is still alive notices the end of its input and cleans up. */
static void openssh_free(struct conn *conn)
{
    struct conn_openssh *c = (struct conn_openssh *)conn;

    drop_ssh(c);
    event_free(c->late);
    event_free(c->look);
    evbuffer_free(c->in);
    evbuffer_free(c->out);
    conn_target_clear(&c->target);
    free(c);
}

/* ---- the start of ssh ---- */

static int begin(struct conn_openssh *c, struct error *err)
{
    struct strlist argv = { 0 };
    int            fd, rc;

    make_argv(c, &argv);
    rc = child_start(&c->ssh, c->base, argv.item, &fd, err);
    strlist_clear(&argv);
    if (rc < 0)
        return -1;
    c->readable = event_new(c->base, fd, EV_READ | EV_PERSIST, readable_cb, c);
    c->writable = event_new(c->base, fd, EV_WRITE | EV_PERSIST, writable_cb, c);
    if (c->readable == NULL || c->writable == NULL)
        xalloc_die();
    if (agent_start_begin(&c->start, c->agent, c->push, c->out) < 0)
        return err_set(err, "OpenSSL could not generate random numbers");
    xevent_add(c->readable, NULL);
    xevent_add(c->writable, NULL);
    return 0;
}

/* Overrides settings that a configuration may have for interactive logins and that must not
 * apply here: forwardings, a terminal, another command, a master that outlives the run. */
static void make_argv(const struct conn_openssh *c, struct strlist *argv)
{
    static const char *const fixed[] = {
        "BatchMode=yes",        "ClearAllForwardings=yes", "ControlMaster=no",
        "ControlPath=none",     "ForwardX11=no",           "PermitLocalCommand=no",
        "RemoteCommand=none",   "RequestTTY=no",           "EscapeChar=none",
        "SessionType=default",  "StdinNull=no",            "ForkAfterAuthentication=no",
    };
    const struct conn_target *target = &c->target;
    char                     *command = agent_start_command(c->agent, c->push);
    size_t                    i;

    strlist_add(argv, "ssh");
    for (i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        strlist_addf(argv, "-o%s", fixed[i]);
    strlist_addf(argv, "-oLogLevel=%s", c->is_verbose ? "VERBOSE" : "ERROR");
    strlist_addf(argv, "-oConnectTimeout=%ld", (long)target->connect_timeout_s + 1);
    ssh_destination(target, argv);
    strlist_add(argv, command);
    free(command);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_openssh *c = arg;
    struct conn_failure  why = { .stage = "connect" };
    char                 said[640];

    (void)fd, (void)what;
    if (c->is_pausing) {
        start_in_turn(c);
    } else if (agent_start_goes_on(&c->start, evbuffer_get_length(c->out))) {
        set_deadline(c, shell_s(c));
    } else if (!try_elsewhere(c)) {
        last_words(c, said, sizeof said);
        if (c->start.pushes > 0 && evbuffer_get_length(c->out) > 0)
            conn_failure_set(&why, EXIT_UNREACHABLE, "the node took no more of the agent for %g s",
                             shell_s(c));
        else
            conn_failure_set(&why, EXIT_WAITED, "ssh did not reach the agent in time%s%s",
                             said[0] != '\0' ? ": " : "", said);
        agent_start_hint(&c->start, -1, c->target.host, &why);
        end(c, &why);
    }
}

static double shell_s(const struct conn_openssh *c)
{
    return AGENT_START_TIMES * c->target.connect_timeout_s;
}

static void start_in_turn(struct conn_openssh *c)
{
    if (c->retries > 0)
        c->turn = proxy_turn_new(c->base, "of those that were dropped", run_ssh, c);
    else
        run_ssh(c);
}

/* ssh limits the time until login, but does not report the login to us. After the deadline the
 * agent in the node's cache, or its file system, may therefore be what hangs. */
static bool try_elsewhere(struct conn_openssh *c)
{
    if (c->push != PUSH_IF_MISSING || c->start.pushes > 0 || c->is_draining)
        return false;
    log_info("%s: no answer from the shell or the agent in its cache, trying another place",
             c->target.host);
    drop_ssh(c);
    c->push = PUSH_ELSEWHERE;
    pause_before(c, 0);
    return true;
}

static void run_ssh(void *arg)
{
    struct conn_openssh *c = arg;
    struct conn_failure  why = { .stage = "connect" };
    struct error         err;

    c->is_pausing = false;
    c->conn.ops->stage("connect", c->conn.arg);
    set_deadline(c, STEPS * c->target.connect_timeout_s +
                        (c->push == PUSH_ELSEWHERE ? c->target.connect_timeout_s : shell_s(c)));
    if (begin(c, &err) == 0)
        return;
    conn_failure_set(&why, EXIT_INTERNAL, "%s", err.text);
    conn_failure_hint(&why, "--transport openssh, and features that libssh lacks, need "
                            "OpenSSH's client (Debian: apt-get install openssh-client)");
    end(c, &why);
}

/* ---- bytes ---- */

static void writable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_openssh *c = arg;

    (void)what;
    /* An error means that ssh has died, and reading will report it. */
    if (evbuffer_get_length(c->out) > 0 && evbuffer_write(c->out, fd) < 0 && errno != EAGAIN &&
        errno != EINTR)
        evbuffer_drain(c->out, evbuffer_get_length(c->out));
    if (evbuffer_get_length(c->out) == 0)
        event_del(c->writable);
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_openssh *c = arg;
    int                  n = evbuffer_read(c->in, fd, READ_MAX);

    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        input_ended(c);
    else if (!c->is_open)
        talk(c);
    else
        c->conn.ops->input(c->in, c->conn.arg); /* may free c */
}

/* Conducts the dialogue that ends with the agent's nonce. */
static void talk(struct conn_openssh *c)
{
    struct conn_failure   why = { .stage = "agent" };
    enum agent_start_result result;

    do {
        result = agent_start_feed(&c->start, c->in, &why);
        if (result == AGENT_START_PUSH) {
            log_info("%s: pushing the agent (%zu bytes)", c->target.host, c->agent->size);
            set_deadline(c, shell_s(c));
            xevent_add(c->writable, NULL);
        }
    } while (result == AGENT_START_PUSH);
    if (result == AGENT_START_FAILED) {
        end(c, &why);
    } else if (result == AGENT_START_OPEN) {
        c->conn.noise = c->start.noise;
        agent_start_clear(&c->start);
        proxy_turn_free(c->turn);
        c->turn = NULL;
        evtimer_del(c->late);
        c->is_open = true;
        c->conn.ops->stage("open", c->conn.arg);
        c->conn.ops->open(c->conn.arg);
        if (evbuffer_get_length(c->in) > 0)
            c->conn.ops->input(c->in, c->conn.arg); /* may free c */
    }
}

/* ---- the end of ssh ---- */

/* ssh's exit status follows. Wait for it, but not forever. */
static void input_ended(struct conn_openssh *c)
{
    event_del(c->readable);
    event_del(c->writable);
    shutdown(event_get_fd(c->readable), SHUT_RDWR);
    c->end_by_ns = clock_now_ns() + (int64_t)(END_S * NS_PER_S);
    look_cb(-1, EV_TIMEOUT, c);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval pause = { .tv_usec = LOOK_MS * 1000 };
    struct conn_openssh *c = arg;
    struct conn_failure  why = { .stage = "running", .is_cut = true };
    int                  status = 0;

    (void)fd, (void)what;
    if (waitpid(c->ssh.pid, &status, WNOHANG) != 0) {
        c->ssh.pid = 0;
        ssh_ended(c, WIFEXITED(status) ? WEXITSTATUS(status) : SSH_KILLED);
    } else if (clock_now_ns() < c->end_by_ns) {
        xevent_add(c->look, &pause);
    } else {
        conn_failure_set(&why, EXIT_LOST, "ssh closed its output but did not exit");
        end(c, &why);
    }
}

/* Status 255 comes from ssh itself, or from a shell or agent that a signal killed. In the
 * second case ssh prints nothing, even if it is verbose. */
static void ssh_ended(struct conn_openssh *c, int status)
{
    bool                is_ssh;
    struct conn_failure why = { 0 };
    char                said[640];

    last_words(c, said, sizeof said);
    is_ssh = status == SSH_KILLED ||
             (status == SSH_FAILED && (!c->is_verbose || said[0] != '\0'));
    if (c->is_open && status == 0) {
        end(c, NULL);
        return;
    }
    if (!c->is_open && try_again(c, status, said))
        return;
    if (c->is_open)
        explain_loss(status, said, &why);
    else if (is_ssh)
        explain_ssh(c, said, &why);
    else
        explain_shell(c, status, said, &why);
    end(c, &why);
}

/* Starts ssh again in two cases. sshd dropped the connection before its banner, as it does
 * beyond MaxStartups. (It may be the sshd of a jump host that we do not know, so all dropped
 * connections take turns.) Or the agent in the node's cache does not start and must be pushed
 * again. */
static bool try_again(struct conn_openssh *c, int status, const char *said)
{
    if (c->is_draining)
        return false;
    if (c->retries < RETRY_TIMES && is_dropped(c, status, said)) {
        c->is_verbose = c->is_verbose || !retry_is_drop(said);
        drop_ssh(c);
        pause_before(c, retry_pause_s(c->retries++));
        return true;
    }
    if (status != SSH_FAILED && status != SSH_KILLED && c->push == PUSH_IF_MISSING &&
        c->start.pushes == 0) {
        log_info("%s: the shell or the agent in its cache failed, pushing it again",
                 c->target.host);
        drop_ssh(c);
        c->push = PUSH_AGAIN;
        pause_before(c, 0);
        return true;
    }
    return false;
}

/* Did sshd drop the connection? A failure that may be a drop, or a login that the node's PAM
 * ended, is retried once in any case, with a verbose ssh that tells the two apart. */
static bool is_dropped(const struct conn_openssh *c, int status, const char *said)
{
    return status == SSH_FAILED &&
           (retry_is_drop(said) || (!c->is_verbose && retry_may_be_drop(said)));
}

/* Writes ssh's messages into said, without the lines that LogLevel=VERBOSE adds when all is
 * well. */
static void last_words(struct conn_openssh *c, char *said, size_t size)
{
    static const char separator[] = " | "; /* see sanitize_tail() */
    char             *line, *next, *put = said;
    size_t            length;

    child_stderr(&c->ssh, said, size);
    for (line = said; c->is_verbose && line != NULL; line = next) {
        next = strstr(line, separator);
        length = next != NULL ? (size_t)(next - line) : strlen(line);
        next = next != NULL ? next + strlen(separator) : NULL;
        if (is_usual(line))
            continue;
        if (put > said)
            put = mempcpy(put, separator, strlen(separator));
        memmove(put, line, length);
        put += length;
    }
    if (c->is_verbose)
        *put = '\0';
}

static bool is_usual(const char *line)
{
    static const char *const words[] = {
        "Authenticated to ", "Transferred: sent ", "Bytes per second: ",
    };
    size_t i;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(line, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static void pause_before(struct conn_openssh *c, double seconds)
{
    c->is_pausing = true;
    set_deadline(c, seconds);
}

static void drop_ssh(struct conn_openssh *c)
{
    int fd;

    if (c->readable != NULL) {
        fd = event_get_fd(c->readable);
        event_free(c->readable);
        event_free(c->writable);
        close(fd);
    }
    c->readable = c->writable = NULL;
    proxy_turn_free(c->turn);
    c->turn = NULL;
    agent_start_clear(&c->start);
    evtimer_del(c->look);
    child_stop(&c->ssh);
    evbuffer_drain(c->in, evbuffer_get_length(c->in));
    evbuffer_drain(c->out, evbuffer_get_length(c->out));
}

static void explain_loss(int status, const char *said, struct conn_failure *why)
{
    char end[AGENT_END_MAX];

    why->stage = "running";
    why->is_cut = status == SSH_KILLED || (status == SSH_FAILED && said[0] != '\0');
    agent_end_text(status, end, sizeof end);
    if (status == SSH_KILLED)
        conn_failure_set(why, EXIT_LOST, "connection lost: ssh was killed on this machine");
    else if (why->is_cut)
        conn_failure_set(why, EXIT_LOST, "connection lost: %s", said);
    else if (status == SSH_FAILED)
        conn_failure_set(why, EXIT_LOST, "muster-agent was killed by a signal");
    else
        conn_failure_set(why, EXIT_LOST, "muster-agent %s%s%s", end, said[0] != '\0' ? ": " : "",
                         said);
}

/* Explains messages of OpenSSH 8.9 to 10; known[] has a part of each. */
static void explain_ssh(const struct conn_openssh *c, const char *said, struct conn_failure *why)
{
    static const struct {
        const char *words, *stage;
        int         exit_code;
    } known[] = {
        { "Host key verification failed", "host key", EXIT_REFUSED },
        { "IDENTIFICATION HAS CHANGED", "host key", EXIT_REFUSED },
        { "Permission denied", "authenticate", EXIT_REFUSED },
        { "Too many authentication failures", "authenticate", EXIT_REFUSED },
        { "Could not resolve hostname", "resolve", EXIT_UNREACHABLE },
        { "Bad configuration option", "config", EXIT_DATA },
        { "terminating, ", "config", EXIT_DATA },
        { "Bad owner or permissions", "config", EXIT_DATA },
        { "no matching", "key exchange", EXIT_PROTOCOL },
        { "", "connect", EXIT_UNREACHABLE },
    };
    size_t i = 0;

    while (strstr(said, known[i].words) == NULL)
        i++;
    conn_failure_set(why, known[i].exit_code, "%s",
                     said[0] != '\0' ? said : "ssh failed without a message");
    why->stage = known[i].stage;
    if (known[i].exit_code == EXIT_REFUSED)
        conn_failure_hint(why, "try: ssh -o BatchMode=yes %s true%s", c->target.host,
                          strstr(said, "gssapi-with-mic") == NULL
                              ? ""
                              : "; a Kerberos ticket (kinit) works, with GSSAPIAuthentication "
                                "yes in ~/.ssh/config");
}

static void explain_shell(struct conn_openssh *c, int status, const char *said,
                          struct conn_failure *why)
{
    char end[AGENT_END_MAX], noise[640];

    why->stage = "agent";
    if (status == SSH_FAILED)
        snprintf(end, sizeof end, "was killed by a signal or exited with status %d", status);
    else
        agent_end_text(status, end, sizeof end);
    agent_start_end(&c->start, c->in);
    agent_start_noise(&c->start, noise, sizeof noise);
    if (said[0] == '\0')
        said = noise;
    if (said[0] != '\0')
        conn_failure_set(why, EXIT_PROTOCOL, "the login shell printed \"%s\" and %s", said, end);
    else
        conn_failure_set(why, EXIT_PROTOCOL, "the login shell %s", end);
    if (c->start.pushes > 0)
        conn_failure_hint(why, "the agent was pushed but does not start: is %s built for this "
                               "node's processor?", c->agent->path);
    else
        agent_start_hint(&c->start, status, c->target.host, why);
}

/* Makes the last call into ops: the callee may free c. */
static void end(struct conn_openssh *c, const struct conn_failure *why)
{
    evtimer_del(c->late);
    evtimer_del(c->look);
    if (c->readable != NULL) {
        event_del(c->readable);
        event_del(c->writable);
    }
    c->conn.ops->closed(why, c->conn.arg);
}

static void set_deadline(struct conn_openssh *c, double seconds)
{
    struct timeval limit = clock_interval(seconds);

    xevent_add(c->late, &limit);
}
