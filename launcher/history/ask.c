/* ask.c - sends a line to the launcher of a run, over the socket in the run directory
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "history/run_dir.h"
#include "sanitize.h"
#include "xalloc.h"

static int     call(const struct past_run *run, int limit_s, struct error *err);
static int     say(int fd, const char *line);
static ssize_t hear(int fd, char *text, size_t size);

int past_run_ask(const struct past_run *run, const char *line, int limit_s, char *answer,
                 size_t size, struct error *err)
{
    char   text[RUN_DIR_ANSWER_MAX], *word;
    int     fd;
    ssize_t got;

    if (strlen(line) >= RUN_DIR_LINE_MAX || strchr(line, '\n') != NULL)
        return err_set(err, "the request is too long (at most %d bytes)", RUN_DIR_LINE_MAX - 1);
    fd = call(run, limit_s, err);
    if (fd < 0)
        return -1;
    got = say(fd, line) == 0 ? hear(fd, text, sizeof text) : -1;
    close(fd);
    if (got < 0)
        return err_set(err, "%s: its launcher did not answer within %d s", run->id, limit_s);
    if (got == 0)
        return err_set(err, "%s: its launcher hung up: the run has ended, or is asked too much",
                       run->id);
    word = sanitize_text(text, (size_t)got);
    if (strncmp(word, "ok ", 3) == 0) {
        strncpy(answer, word + 3, size - 1);
        answer[size - 1] = '\0';
        free(word);
        return 0;
    }
    err_set(err, "%s: %s", run->id, strncmp(word, "error ", 6) == 0 ? word + 6 : word);
    free(word);
    return -1;
}

static int call(const struct past_run *run, int limit_s, struct error *err)
{
    const struct timeval limit = { .tv_sec = limit_s };
    struct sockaddr_un   name;
    int                  fd;

    if (run->state == PAST_RUN_ELSEWHERE)
        return err_set(err, "%s was launched on %s: run muster there", run->id,
                       past_run_host(run));
    if (run->state != PAST_RUN_ACTIVE)
        return err_set(err, "%s is not running", run->id);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    run_dir_control(run->dir_fd, &name);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
        connect(fd, (struct sockaddr *)&name, sizeof name) == 0)
        return fd;
    err_set(err, "%s: its launcher cannot be reached: %s", run->id, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static int say(int fd, const char *line)
{
    char   *text = xasprintf("%s\n", line);
    size_t  size = strlen(text), sent = 0;
    ssize_t now = 1;

    while (sent < size && now > 0) {
        now = send(fd, text + sent, size - sent, MSG_NOSIGNAL);
        sent += now > 0 ? (size_t)now : 0;
    }
    free(text);
    return sent == size ? 0 : -1;
}

/* Receives one line. Returns its size without the newline; 0: the other side has closed; -1: it
 * did not come in time. */
static ssize_t hear(int fd, char *text, size_t size)
{
    size_t  got = 0;
    ssize_t now = 1;

    while (now > 0 && got < size && memchr(text, '\n', got) == NULL) {
        now = recv(fd, text + got, size - got, 0);
        got += now > 0 ? (size_t)now : 0;
    }
    if (got > 0 && text[got - 1] == '\n')
        return (ssize_t)got - 1;
    return now < 0 && errno == EAGAIN ? -1 : 0;
}
