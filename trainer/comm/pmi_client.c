/* pmi_client.c - see pmi_client.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/pmi_client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "number.h"

static int         env_number(const char *name, int64_t min, int64_t max, int *number,
                              struct error *err);
static int         greet(struct pmi *pmi, struct error *err);
static int         limit(char *answer, const char *name, int *number, struct error *err);
static int         ask(struct pmi *pmi, const char *want, char answer[PMI_LINE_MAX],
                       struct error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static int         send_line(struct pmi *pmi, const char *line, size_t size,
                             int64_t deadline_ns, struct error *err);
static int         read_line(struct pmi *pmi, char line[PMI_LINE_MAX],
                             int64_t deadline_ns, struct error *err);
static int         wait_for(struct pmi *pmi, short what, int64_t deadline_ns,
                            struct error *err);
static const char *field(char *line, const char *name);
static int         hex_digit(char c);

int pmi_init(struct pmi *pmi, double timeout_s, struct error *err)
{
    *pmi = (struct pmi){ .fd = -1, .size = 1, .timeout_s = timeout_s };
    if (getenv("PMI_FD") == NULL)
        return 0;
    if (env_number("PMI_FD", 0, INT_MAX, &pmi->fd, err) < 0 ||
        env_number("PMI_SIZE", 1, INT_MAX, &pmi->size, err) < 0 ||
        env_number("PMI_RANK", 0, pmi->size - 1, &pmi->rank, err) < 0)
        return -1;

    /* Child processes must not keep the connection open. */
    if (fcntl(pmi->fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set(err, "PMI_FD=%d: %s", pmi->fd, strerror(errno));
    return greet(pmi, err);
}

int pmi_put(struct pmi *pmi, const char *key, const char *value, struct error *err)
{
    char answer[PMI_LINE_MAX];

    if (pmi->fd < 0)
        return 0;
    if (strlen(key) >= (size_t)pmi->key_max)
        return err_set(err, "PMI: key %s is longer than %d", key, pmi->key_max - 1);
    if (strlen(value) >= (size_t)pmi->value_max)
        return err_set(err, "PMI: the value of %s has %zu characters, the server accepts %d",
                       key, strlen(value), pmi->value_max - 1);
    if (*key == '\0' || *value == '\0' || strpbrk(key, " =\n") || strpbrk(value, " \n"))
        return err_set(err, "PMI: key and value of '%s' must be words without blanks", key);
    return ask(pmi, "put_result", answer, err, "cmd=put kvsname=%s key=%s value=%s\n",
               pmi->kvsname, key, value);
}

int pmi_barrier(struct pmi *pmi, struct error *err)
{
    char answer[PMI_LINE_MAX];

    if (pmi->fd < 0)
        return 0;
    if (ask(pmi, "barrier_out", answer, err, "cmd=barrier_in\n") == 0)
        return 0;
    if (pmi->timed_out)
        err_set(err, "PMI barrier: not all %d ranks arrived within %g s", pmi->size,
                pmi->timeout_s);
    return -1;
}

int pmi_get(struct pmi *pmi, const char *key, char *value, size_t size, struct error *err)
{
    char        answer[PMI_LINE_MAX];
    const char *found;

    if (pmi->fd < 0)
        return err_set(err, "PMI: no key %s: this process was started alone", key);
    if (ask(pmi, "get_result", answer, err, "cmd=get kvsname=%s key=%s\n", pmi->kvsname,
            key) < 0)
        return err_set(err, "%s (key %s)", err ? err->text : "", key);
    found = field(answer, "value");
    if (found == NULL || strlen(found) >= size)
        return err_set(err, "PMI: the value of %s is %s", key,
                       found ? "longer than expected" : "missing from the answer");
    memcpy(value, found, strlen(found) + 1);
    return 0;
}

int pmi_finalize(struct pmi *pmi, struct error *err)
{
    char answer[PMI_LINE_MAX];
    int  rc;

    if (pmi->fd < 0)
        return 0;
    rc = ask(pmi, "finalize_ack", answer, err, "cmd=finalize\n");
    close(pmi->fd);
    pmi->fd = -1;
    return rc;
}

void pmi_abort(struct pmi *pmi, int code)
{
    char line[64];
    int  size = snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", code);

    /* abort has no answer. If the server has exited, no rank is left to kill. */
    if (pmi->fd >= 0)
        (void)!send(pmi->fd, line, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int env_number(const char *name, int64_t min, int64_t max, int *number,
                      struct error *err)
{
    const char  *text = getenv(name);
    struct error why;
    int64_t      value;

    if (text == NULL)
        return err_set(err, "PMI_FD is set but %s is not", name);
    if (parse_number(text, min, max, &value, &why) < 0)
        return err_set(err, "%s: %s", name, why.text);
    *number = (int)value;
    return 0;
}

static int greet(struct pmi *pmi, struct error *err)
{
    char        answer[PMI_LINE_MAX], copy[PMI_LINE_MAX];
    const char *name;

    if (ask(pmi, "response_to_init", answer, err,
            "cmd=init pmi_version=1 pmi_subversion=1\n") < 0 ||
        ask(pmi, "maxes", answer, err, "cmd=get_maxes\n") < 0)
        return -1;
    memcpy(copy, answer, sizeof copy); /* field() modifies its line */
    if (limit(answer, "keylen_max", &pmi->key_max, err) < 0 ||
        limit(copy, "vallen_max", &pmi->value_max, err) < 0 ||
        ask(pmi, "my_kvsname", answer, err, "cmd=get_my_kvsname\n") < 0)
        return -1;
    name = field(answer, "kvsname");
    if (name == NULL || strlen(name) >= sizeof pmi->kvsname)
        return err_set(err, "PMI: no usable kvsname in the server's answer");
    memcpy(pmi->kvsname, name, strlen(name) + 1);
    return 0;
}

static int limit(char *answer, const char *name, int *number, struct error *err)
{
    const char  *text = field(answer, name);
    struct error why = { "it is missing" };
    int64_t      value;

    if (text == NULL || parse_number(text, 2, INT_MAX, &value, &why) < 0)
        return err_set(err, "PMI: %s in the server's answer: %s", name, why.text);
    *number = (int)value;
    return 0;
}

/* Sends a request and reads its answer, which must be the command want and, if it has an rc,
 * rc=0. */
static int ask(struct pmi *pmi, const char *want, char answer[PMI_LINE_MAX],
               struct error *err, const char *format, ...)
{
    char        line[PMI_LINE_MAX], copy[PMI_LINE_MAX];
    int64_t     deadline_ns = clock_now_ns() + (int64_t)(pmi->timeout_s * NS_PER_S);
    const char *cmd, *rc;
    va_list     ap;
    int         size;

    pmi->timed_out = false;
    va_start(ap, format);
    size = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    if (size < 0 || (size_t)size >= sizeof line)
        return err_set(err, "PMI: a request is longer than %d bytes", PMI_LINE_MAX);
    if (send_line(pmi, line, (size_t)size, deadline_ns, err) < 0 ||
        read_line(pmi, answer, deadline_ns, err) < 0)
        return -1;

    memcpy(copy, answer, sizeof copy);
    cmd = field(copy, "cmd");
    if (cmd == NULL || strcmp(cmd, want) != 0)
        return err_set(err, "PMI: the launcher answered '%.60s' instead of cmd=%s", answer,
                       want);
    memcpy(copy, answer, sizeof copy);
    rc = field(copy, "rc");
    if (rc != NULL && strcmp(rc, "0") != 0)
        return err_set(err, "PMI: the launcher refused: '%.200s'", answer);
    return 0;
}

static int send_line(struct pmi *pmi, const char *line, size_t size, int64_t deadline_ns,
                     struct error *err)
{
    ssize_t n;

    while (size > 0) {
        if (wait_for(pmi, POLLOUT, deadline_ns, err) < 0)
            return -1;
        n = send(pmi->fd, line, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_set(err, "PMI: cannot write to the launcher: %s",
                           strerror(errno));
        if (n > 0) {
            line += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

/* Reads one line, without its newline. */
static int read_line(struct pmi *pmi, char line[PMI_LINE_MAX], int64_t deadline_ns,
                     struct error *err)
{
    char   *end;
    size_t  size;
    ssize_t n;

    while ((end = memchr(pmi->in, '\n', pmi->in_size)) == NULL) {
        if (pmi->in_size == sizeof pmi->in)
            return err_set(err, "PMI: an answer is longer than %d bytes", PMI_LINE_MAX);
        if (wait_for(pmi, POLLIN, deadline_ns, err) < 0)
            return -1;
        n = read(pmi->fd, pmi->in + pmi->in_size, sizeof pmi->in - pmi->in_size);
        if (n == 0)
            return err_set(err, "PMI: the launcher closed the connection");
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_set(err, "PMI: cannot read from the launcher: %s", strerror(errno));
        if (n > 0)
            pmi->in_size += (size_t)n;
    }
    size = (size_t)(end - pmi->in);
    memcpy(line, pmi->in, size);
    line[size] = '\0';
    pmi->in_size -= size + 1;
    memmove(pmi->in, end + 1, pmi->in_size);
    return 0;
}

/* Waits until the descriptor is readable or writable, as what says. */
static int wait_for(struct pmi *pmi, short what, int64_t deadline_ns, struct error *err)
{
    struct pollfd ready = { .fd = pmi->fd, .events = what };
    int64_t       left_ms;
    int           n;

    do {
        left_ms = (deadline_ns - clock_now_ns()) / 1000000;
        n = left_ms > 0 ? poll(&ready, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) : 0;
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, "PMI: poll: %s", strerror(errno));
    if (n == 0) {
        pmi->timed_out = true;
        return err_set(err, "PMI: the launcher did not answer within %g s", pmi->timeout_s);
    }
    return 0;
}

/* Returns the value of name in "a=1 name=2 b=3", or NULL. Writes a NUL after the value. */
static const char *field(char *line, const char *name)
{
    size_t size = strlen(name);
    char  *word = line, *end;

    for (;; word = end + 1) {
        end = strchrnul(word, ' ');
        if (strncmp(word, name, size) == 0 && word[size] == '=') {
            *end = '\0';
            return word + size + 1;
        }
        if (*end == '\0')
            return NULL;
    }
}

void hex_encode(const void *bytes, size_t size, char *text)
{
    const unsigned char *from = bytes;
    size_t               i;

    for (i = 0; i < size; i++) {
        text[2 * i] = "0123456789abcdef"[from[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[from[i] & 15];
    }
    text[2 * size] = '\0';
}

int hex_decode(const char *text, void *bytes, size_t size)
{
    unsigned char *to = bytes;
    size_t         length = strlen(text), i;
    int            high, low;

    if (length % 2 != 0 || length / 2 > size)
        return -1;
    for (i = 0; i < length / 2; i++) {
        high = hex_digit(text[2 * i]);
        low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return -1;
        to[i] = (unsigned char)(high << 4 | low);
    }
    return (int)(length / 2);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
