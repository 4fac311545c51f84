/* sudo.c - see sudo.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "link/sudo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "exit_code.h"
#include "fd.h"
#include "frame.h"
#include "link/relay.h"
#include "node/own_limits.h"
#include "node/test_switch.h"
#include "sanitize.h"
#include "xalloc.h"

/* sudo may ask a directory service, and waits before it says that a password is wrong. */
#define START_S    30
#define PASSWORD_S 120 /* for the launcher's user to type it: more than LOGIN_ASK_S */
#define END_MS     3000
#define SAID_MAX   4096 /* of what sudo says, the last bytes */

#define LUSTRE_MAGIC 0x0bd00bd0
#define GPFS_MAGIC   0x47504653
#define BEEGFS_MAGIC 0x19830326

struct sudo {
    int              in_fd, out_fd; /* to the launcher */
    int              fd, err_fd;    /* our ends of sudo's stdin and stdout, and of its stderr */
    pid_t            pid;
    const struct sudo_request *request;
    struct evbuffer *in;   /* from the launcher */
    struct evbuffer *said; /* to stderr */
    char             answer[FRAME_NONCE_CHARS + 1]; /* the last bytes of stdout */
    size_t           noise;
    int64_t          late_ns;
    bool             has_asked, has_password, is_refused;
};

static int   start(struct sudo *s, struct error *err);
static char *agent_for_root(struct error *err);
static bool  is_far(int fd);
static void  become_sudo(const struct sudo *s, char *agent, int socket, int errors)
    __attribute__((noreturn));
static void  expect(struct sudo *s, double within_s);
static double answer_s(void);
static int   turn(struct sudo *s, struct error *err);
static int   take_answer(struct sudo *s, struct error *err);
static int   take_said(struct sudo *s, struct error *err);
static int   take_password(struct sudo *s, struct error *err);
static int   has_ended(struct sudo *s, struct error *err);
static void  last_line(struct sudo *s, char *text, size_t size);
static void  send_frame(const struct sudo *s, enum frame_type type, json_t *body);
static void  refuse(struct sudo *s, const struct error *why);
static int   exit_status(struct sudo *s);
static const char *user_name(void);

int sudo_request_read(struct sudo_request *request, const json_t *body, struct error *err)
{
    const char *nonce = json_string_value(json_object_get(body, "nonce"));
    const char *purpose = json_string_value(json_object_get(body, "for"));

    if (!frame_is_nonce(nonce))
        return err_set(err, "SUDO frame: \"nonce\" is not %d hex digits", FRAME_NONCE_CHARS);
    if (purpose == NULL || strlen(purpose) > FRAME_PURPOSE_MAX)
        return err_set(err, "SUDO frame: \"for\" is missing or too long");
    snprintf(request->nonce, sizeof request->nonce, "%s", nonce);
    snprintf(request->purpose, sizeof request->purpose, "%s", purpose);
    return 0;
}

int sudo_run(int in_fd, int out_fd, const struct sudo_request *request)
{
    struct sudo  s = { .in_fd = in_fd, .out_fd = out_fd, .fd = -1, .err_fd = -1, .request = request,
                       .in = evbuffer_new(), .said = evbuffer_new() };
    struct error err;
    int          rc;

    if (s.in == NULL || s.said == NULL)
        xalloc_die();
    fcntl(out_fd, F_SETFL, fcntl(out_fd, F_GETFL) & ~O_NONBLOCK);
    rc = start(&s, &err);
    while (rc == 0)
        rc = turn(&s, &err);
    if (rc < 0) {
        refuse(&s, &err);
        return EXIT_FAILURE;
    }
    send_frame(&s, FRAME_SUDO, json_pack("{s:b}", "is_root", 1));
    rc = relay_run(in_fd, out_fd, s.fd, s.err_fd);
    close(s.fd);
    return rc == 0 ? exit_status(&s) : rc;
}

/* --- sudo ------------------------------------------------------------------- */

static int start(struct sudo *s, struct error *err)
{
    int   pair[2], errors[2];
    char *agent = agent_for_root(err);

    if (agent == NULL)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
        pipe2(errors, O_CLOEXEC) < 0)
        return err_set(err, "socketpair: %s", strerror(errno));
    s->fd = pair[0];
    s->err_fd = errors[0];
    s->pid = fork();
    if (s->pid == 0)
        become_sudo(s, agent, pair[1], errors[1]);
    close(pair[1]);
    close(errors[1]);
    free(agent);
    if (s->pid < 0)
        return err_set(err, "fork: %s", strerror(errno));
    expect(s, answer_s());
    return 0;
}

/* Returns the path of this program, as root can execute it. A file server may give root no rights,
 * and an agent for which there was no place is no file: root can read a copy of those that this
 * process holds in memory. */
static char *agent_for_root(struct error *err)
{
    char        path[PATH_MAX];
    ssize_t     size = readlink("/proc/self/exe", path, sizeof path - 1);
    int         self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy;
    struct stat ours, there;
    off_t       at = 0;

    path[size > 0 ? size : 0] = '\0';
    if (self < 0 || fstat(self, &ours) < 0)
        return err_set(err, "/proc/self/exe: %s", strerror(errno)), NULL;
    if (stat(path, &there) == 0 && there.st_ino == ours.st_ino && there.st_dev == ours.st_dev &&
        !is_far(self)) {
        close(self);
        return xstrdup(path);
    }
    copy = memfd_create("muster-agent", MFD_CLOEXEC);
    while (copy >= 0 && at < ours.st_size)
        if (sendfile(copy, self, &at, (size_t)(ours.st_size - at)) <= 0)
            break;
    close(self);
    if (copy < 0 || at < ours.st_size)
        return err_set(err, "cannot copy the agent into memory: %s", strerror(errno)), NULL;
    return xasprintf("/proc/%d/fd/%d", (int)getpid(), copy);
}

static bool is_far(int fd)
{
    static const uint32_t far[] = { NFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC,
                                    FUSE_SUPER_MAGIC, AFS_SUPER_MAGIC, CEPH_SUPER_MAGIC,
                                    LUSTRE_MAGIC, GPFS_MAGIC, BEEGFS_MAGIC };
    struct statfs         where;
    size_t                i;

    if (fstatfs(fd, &where) < 0)
        return true;
    for (i = 0; i < sizeof far / sizeof *far; i++)
        if ((uint32_t)where.f_type == far[i])
            return true;
    return false;
}

/* Without -k sudo would remember that the password was right. */
static void become_sudo(const struct sudo *s, char *agent, int socket, int errors)
{
    const char *connection = getenv("SSH_CONNECTION");
    char       *argv[] = { (char *)"sudo", (char *)"-S", (char *)"-k", (char *)"-p",
                           (char *)s->request->nonce, (char *)"--", agent, (char *)"--nonce",
                           (char *)s->request->nonce, (char *)"--" SUDO_PURPOSE_OPTION,
                           (char *)s->request->purpose, NULL, NULL, NULL };

    if (connection != NULL) {
        argv[11] = (char *)"--" SUDO_CONNECTION_OPTION;
        argv[12] = (char *)connection;
    }
    own_limits_undo();
    signal(SIGPIPE, SIG_DFL);
    if (dup2(socket, STDIN_FILENO) >= 0 && dup2(socket, STDOUT_FILENO) >= 0 &&
        dup2(errors, STDERR_FILENO) >= 0)
        execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "sudo: %s", errno == ENOENT ? "there is no sudo on this node"
                                                       : strerrordesc_np(errno));
    _exit(EXIT_NOT_FOUND);
}

/* --- until root's agent answers --------------------------------------------- */

static void expect(struct sudo *s, double within_s)
{
    s->late_ns = clock_now_ns() + (int64_t)(within_s * NS_PER_S);
}

static double answer_s(void)
{
    const char *other = test_switch(TEST_SWITCH_SUDO_S);

    return other != NULL ? strtod(other, NULL) : START_S;
}

/* 1: it has. -1: there will be none. */
static int turn(struct sudo *s, struct error *err)
{
    struct pollfd wait[] = { { .fd = s->fd, .events = POLLIN },
                             { .fd = s->err_fd, .events = POLLIN },
                             { .fd = s->in_fd, .events = POLLIN } };
    int64_t       left_ms = (s->late_ns - clock_now_ns()) / (NS_PER_S / 1000);
    int           rc = 0;

    if (left_ms <= 0)
        return s->has_asked && !s->has_password
                   ? err_set(err, "no password came within %d s", PASSWORD_S)
                   : err_set(err, "sudo did not answer within %g s%s", answer_s(),
                             s->has_password ? " of the password" : "");
    if (poll(wait, 3, (int)left_ms + 1) < 0)
        return errno == EINTR ? 0 : err_set(err, "poll: %s", strerror(errno));
    if (wait[0].revents != 0)
        rc = take_answer(s, err);
    if (rc == 0 && wait[1].revents != 0)
        rc = take_said(s, err);
    if (rc == 0 && wait[2].revents != 0)
        rc = take_password(s, err);
    return rc;
}

/* Reads to the end of the line with the nonce: what follows it is for the launcher. Before it, a
 * module of PAM may have said something. */
static int take_answer(struct sudo *s, struct error *err)
{
    ssize_t got;
    char    byte;

    while ((got = recv(s->fd, &byte, 1, MSG_DONTWAIT)) == 1) {
        memmove(s->answer, s->answer + 1, FRAME_NONCE_CHARS);
        s->answer[FRAME_NONCE_CHARS] = byte;
        if (byte == '\n' && memcmp(s->answer, s->request->nonce, FRAME_NONCE_CHARS) == 0)
            return 1;
        if (++s->noise > FRAME_NOISE_MAX)
            return err_set(err, "sudo writes and writes, but starts no agent");
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : has_ended(s, err);
}

static int take_said(struct sudo *s, struct error *err)
{
    struct evbuffer_ptr at;
    size_t              length;

    if (fd_read_buffer(s->err_fd, s->said, SAID_MAX) == 0) {
        close(s->err_fd);
        s->err_fd = -1; /* poll() passes over it */
    }
    at = evbuffer_search(s->said, s->request->nonce, FRAME_NONCE_CHARS, NULL);
    length = evbuffer_get_length(s->said);
    if (at.pos < 0) {
        if (length > SAID_MAX)
            evbuffer_drain(s->said, length - SAID_MAX);
        return 0;
    }
    s->is_refused = s->has_password;
    if (s->is_refused)
        return err_set(err, "sudo refused the password of user %s", user_name());
    evbuffer_drain(s->said, (size_t)at.pos + FRAME_NONCE_CHARS);
    s->has_asked = true;
    expect(s, PASSWORD_S);
    send_frame(s, FRAME_SUDO, json_pack("{s:b}", "asks", 1));
    return 0;
}

/* Nothing else may come. The launcher's end: it is gone, or gives up. */
static int take_password(struct sudo *s, struct error *err)
{
    struct frame frame;
    ssize_t      got = fd_read_buffer(s->in_fd, s->in, FRAME_HEADER_BYTES + FRAME_BODY_MAX);
    int          rc;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0)
        return err_set(err, "the launcher is gone");
    rc = frame_peek(s->in, &frame, err);
    if (rc <= 0)
        return rc;
    if (frame.type != FRAME_PASSWORD || !s->has_asked || s->has_password)
        return err_set(err, "%s frame while sudo starts an agent", frame_name(frame.type));
    s->has_password = true;
    expect(s, answer_s());
    fd_write_all(s->fd, frame.body, frame.size); /* an error: sudo has ended, which shows */
    fd_write_all(s->fd, "\n", 1);
    explicit_bzero((void *)(uintptr_t)frame.body, frame.size);
    frame_drop(s->in, &frame);
    return 0;
}

/* sudo, or the agent below it, has closed its output. */
static int has_ended(struct sudo *s, struct error *err)
{
    const int64_t late_ns = clock_now_ns() + END_MS * (NS_PER_S / 1000);
    struct pollfd wait = { .fd = s->err_fd, .events = POLLIN };
    char          text[300], *line = text;
    ssize_t       got = 1;

    while (s->err_fd >= 0 && got > 0 && clock_now_ns() < late_ns && poll(&wait, 1, END_MS) > 0)
        got = fd_read_buffer(s->err_fd, s->said, SAID_MAX);
    last_line(s, text, sizeof text);
    if (strncmp(text, "sudo: ", strlen("sudo: ")) == 0)
        line += strlen("sudo: ");
    return err_set(err, "sudo started no agent: %s", line[0] != '\0' ? line : "it gave no reason");
}

/* Before the reason sudo may greet, or warn that it cannot resolve the host's name. */
static void last_line(struct sudo *s, char *text, size_t size)
{
    size_t      length = evbuffer_get_length(s->said);
    const char *bytes = (const char *)evbuffer_pullup(s->said, -1), *line;

    while (length > 0 && strchr("\r\n ", bytes[length - 1]) != NULL)
        length--;
    line = length > 0 ? memrchr(bytes, '\n', length) : NULL;
    if (line != NULL) {
        length -= (size_t)(line + 1 - bytes);
        bytes = line + 1;
    }
    sanitize_tail(bytes, length, text, size);
}

/* --- the launcher ----------------------------------------------------------- */

static void send_frame(const struct sudo *s, enum frame_type type, json_t *body)
{
    struct evbuffer *out = evbuffer_new();

    if (out == NULL)
        xalloc_die();
    frame_put_json(out, type, 0, 0, body);
    fd_write_all(s->out_fd, evbuffer_pullup(out, -1), evbuffer_get_length(out));
    evbuffer_free(out);
}

/* Without its input sudo ends. We may not send signals to it. */
static void refuse(struct sudo *s, const struct error *why)
{
    char    hint[200];
    json_t *text = json_text(why->text, strlen(why->text)), *json_hint;

    if (s->is_refused)
        snprintf(hint, sizeof hint, "all nodes get the same password: type it again, or leave "
                 "this node out (--exclude)");
    else
        snprintf(hint, sizeof hint, "log in as root (--ssh_user root), or allow %s to use sudo",
                 user_name());
    json_hint = json_text(hint, strlen(hint));
    send_frame(s, FRAME_ERROR, json_pack("{s:s, s:o, s:o, s:i}", "stage", "sudo", "text", text,
                                         "hint", json_hint, "code", EXIT_REFUSED));
    if (s->fd >= 0)
        close(s->fd);
}

/* sudo exits with the status of root's agent. */
static int exit_status(struct sudo *s)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    const int64_t         late_ns = clock_now_ns() + END_MS * (NS_PER_S / 1000);
    int                   status = 0;

    while (waitpid(s->pid, &status, WNOHANG) == 0) {
        if (clock_now_ns() > late_ns)
            return EXIT_FAILURE;
        nanosleep(&pause, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static const char *user_name(void)
{
    const char *name = getenv("USER") != NULL ? getenv("USER") : getenv("LOGNAME");

    return name != NULL ? name : "this user";
}
