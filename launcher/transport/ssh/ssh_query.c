/* ssh_query.c - see ssh_query.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "exit_code.h"
#include "strlist.h"
#include "transport/child.h"
#include "transport/ssh/ssh_config.h"
#include "xalloc.h"
#include "xevent.h"

#define ANSWER_MAX (256 * 1024) /* bytes; a real one has 5000 */
#define ANSWER_S   10.0         /* Match exec may run programs */
#define LOOK_MS    2            /* between two checks whether ssh has exited */

struct ssh_query {
    void          (*done)(const char *answer, const struct conn_failure *why, void *arg);
    void           *arg;
    char           *question; /* argv as one text */
    char           *stamp; /* of the files before ssh reads them; NULL: store no answer */
    struct strlist  argv;
    struct child    ssh;
    struct evbuffer *in;
    struct event   *readable; /* NULL: not running */
    struct event   *again;    /* first: start ssh; then: has ssh exited? */
    struct event   *late;
};

/* ssh's answers to questions, stored for the life of the process. */
static struct answer {
    char *question, *stamp, *text;
} *answers;
static size_t answer_count;

static char       *question_of(const struct strlist *argv);
static void        again_cb(evutil_socket_t fd, short what, void *arg);
static const char *kept_answer(const struct ssh_query *query);
static void        keep_answer(const struct ssh_query *query, const char *text);
static void        readable_cb(evutil_socket_t fd, short what, void *arg);
static void        wait_for_end(struct ssh_query *query);
static void        late_cb(evutil_socket_t fd, short what, void *arg);
static void        ended(struct ssh_query *query, int status);
static void        fail(struct ssh_query *query, const char *text);

struct ssh_query *ssh_query_start(struct event_base *base, const struct conn_target *target,
                                  void (*done)(const char *answer,
                                               const struct conn_failure *why, void *arg),
                                  void *arg)
{
    const struct timeval now = { 0 }, limit = clock_interval(ANSWER_S);
    struct ssh_query    *query = xcalloc(1, sizeof *query);

    query->done = done;
    query->arg = arg;
    strlist_add(&query->argv, "ssh");
    strlist_add(&query->argv, "-G");
    ssh_destination(target, &query->argv);
    query->question = question_of(&query->argv);
    query->stamp = ssh_config_stamp(target);
    query->in = evbuffer_new();
    query->again = xevent_new(base, -1, again_cb, query);
    query->late = xevent_new(base, -1, late_cb, query);
    xevent_add(query->late, &limit);
    xevent_add(query->again, &now);
    return query;
}

void ssh_query_free(struct ssh_query *query)
{
    if (query == NULL)
        return;
    if (query->readable != NULL) {
        close(event_get_fd(query->readable));
        event_free(query->readable);
    }
    child_stop(&query->ssh);
    event_free(query->again);
    event_free(query->late);
    evbuffer_free(query->in);
    strlist_clear(&query->argv);
    free(query->question);
    free(query->stamp);
    free(query);
}

void ssh_destination(const struct conn_target *target, struct strlist *argv)
{
    if (target->ssh_config != NULL)
        strlist_addf(argv, "-F%s", target->ssh_config);
    if (target->addr != NULL)
        strlist_addf(argv, "-oHostName=%s", target->addr);
    if (target->user != NULL)
        strlist_addf(argv, "-l%s", target->user);
    if (target->port > 0)
        strlist_addf(argv, "-p%d", target->port);
    strlist_add(argv, "--");
    strlist_add(argv, target->host);
}

static char *question_of(const struct strlist *argv)
{
    struct buffer made = { 0 };
    size_t        i;

    for (i = 0; i < argv->count; i++) {
        buffer_add_text(&made, argv->item[i]);
        buffer_add_text(&made, "\n");
    }
    buffer_add(&made, "", 1);
    return made.bytes;
}

/* Starts ssh, unless the answer is stored; later, checks whether ssh has exited. */
static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct ssh_query *query = arg;
    const char       *answer = kept_answer(query);
    struct error      err;
    int               socket;

    (void)fd, (void)what;
    if (query->readable != NULL) {
        wait_for_end(query);
    } else if (answer != NULL) {
        query->done(answer, NULL, query->arg); /* may free query */
    } else if (child_start(&query->ssh, event_get_base(query->late), query->argv.item, &socket,
                           &err) < 0) {
        fail(query, err.text);
    } else {
        query->readable = event_new(event_get_base(query->late), socket, EV_READ | EV_PERSIST,
                                    readable_cb, query);
        if (query->readable == NULL)
            xalloc_die();
        xevent_add(query->readable, NULL);
    }
}

static const char *kept_answer(const struct ssh_query *query)
{
    size_t i;

    for (i = 0; query->stamp != NULL && i < answer_count; i++)
        if (strcmp(answers[i].question, query->question) == 0 &&
            strcmp(answers[i].stamp, query->stamp) == 0)
            return answers[i].text;
    return NULL;
}

/* Replaces an older answer to the same question. */
static void keep_answer(const struct ssh_query *query, const char *text)
{
    size_t i = 0;

    while (i < answer_count && strcmp(answers[i].question, query->question) != 0)
        i++;
    if (i == answer_count) {
        answers = xreallocarray(answers, ++answer_count, sizeof *answers);
    } else {
        free(answers[i].question);
        free(answers[i].stamp);
        free(answers[i].text);
    }
    answers[i] = (struct answer){ xstrdup(query->question), xstrdup(query->stamp),
                                  xstrdup(text) };
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct ssh_query *query = arg;
    int               n = evbuffer_read(query->in, fd, ANSWER_MAX);

    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (evbuffer_get_length(query->in) > ANSWER_MAX) {
        fail(query, "the answer of ssh -G is too long");
        return;
    }
    if (n > 0)
        return;
    event_del(query->readable);
    wait_for_end(query);
}

static void wait_for_end(struct ssh_query *query)
{
    const struct timeval pause = { .tv_usec = LOOK_MS * 1000 };
    int                  status;

    if (waitpid(query->ssh.pid, &status, WNOHANG) == 0) {
        xevent_add(query->again, &pause);
        return;
    }
    query->ssh.pid = 0;
    ended(query, status);
}

static void ended(struct ssh_query *query, int status)
{
    const char *answer;
    char        said[640];

    child_stderr(&query->ssh, said, sizeof said);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail(query, said[0] != '\0' ? said : "ssh -G failed without a message");
        return;
    }
    evbuffer_add(query->in, "", 1);
    answer = (const char *)evbuffer_pullup(query->in, -1);
    if (query->stamp != NULL)
        keep_answer(query, answer);
    event_del(query->late);
    query->done(answer, NULL, query->arg); /* may free query */
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    fail(arg, "ssh -G did not answer within 10 s");
}

/* Makes the last call: the callee may free query. */
static void fail(struct ssh_query *query, const char *text)
{
    struct conn_failure why = { .stage = "config" };

    conn_failure_set(&why, EXIT_DATA, "%s", text);
    event_del(query->late);
    event_del(query->again);
    if (query->readable != NULL)
        event_del(query->readable);
    query->done(NULL, &why, query->arg);
}
