/* login.c - see login.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

/* What muster says, by the way of the login. */
static const struct {
    const char *option, *prompt;
} words[LOGIN_WAYS] = {
    [LOGIN_BY_SSH] = { "--password-fd",
                       "muster: password (asked once, for all nodes that refuse the key): " },
    [LOGIN_BY_SUDO] = { "--sudo-password-fd",
                        "muster: password for sudo (asked once, for all nodes that want it): " },
};

/* In memory that is shared with forked processes. */
struct secret {
    bool   is_known, is_accepted, is_refused;
    size_t size; /* typed so far */
    char   text[LOGIN_PASSWORD_MAX + 1];
};

struct question {
    enum login_by    by;
    char            *host;   /* NULL: all nodes */
    struct secret   *secret; /* NULL: not allowed */
    struct error     why;    /* why there will be no password; "": there may be one */
    struct question *next;   /* of another host */
};

struct waiter {
    struct question *question;
    void (*ready)(void *arg);
    void            *arg;
};

/* One per process, because there is one terminal. */
static struct login {
    bool             records_unknown;
    struct question  question[LOGIN_WAYS], *of_hosts;
    bool             may_ask[LOGIN_WAYS];
    int              tty;    /* -1: not asking now */
    struct question *asking;
    struct termios   before;
    struct event    *typed;
    struct waiter   *waiter;
    size_t           waiters;
} login = { .tty = -1 };

static struct question *question_of(enum login_by by, const char *host);
static void             allow(struct question *question);
static void             forbid(struct question *question);
static int              ask(struct question *question, struct event_base *base);
static void             typed_cb(evutil_socket_t fd, short what, void *arg);
static int              take(struct question *question, const char *bytes, size_t size);
static void             answer(struct event_base *base);
static bool             take_waiter(const struct question *question, struct waiter *waiter);
static void             end_asking(void);
static void             wipe(struct secret *secret);

void login_allow_unknown(void)
{
    login.records_unknown = true;
}

void login_allow_asking(enum login_by by)
{
    login.may_ask[by] = true;
    allow(question_of(by, NULL));
}

bool login_asks_again(enum login_by by)
{
    return login.may_ask[by];
}

int login_read_password(enum login_by by, int fd, struct error *err)
{
    struct question *question = question_of(by, NULL);
    const char      *option = words[by].option;
    char             byte;
    ssize_t          got;
    int              rc = 0;

    allow(question);
    while (rc == 0 && ((got = read(fd, &byte, 1)) > 0 || (got < 0 && errno == EINTR)))
        rc = got > 0 ? take(question, &byte, 1) : 0;
    if (rc == 0 && got < 0)
        return err_set(err, "%s %d: %s", option, fd, strerror(errno));
    if (rc < 0)
        return err_set(err, "%s %d: %s", option, fd, question->why.text);
    if (question->secret->size == 0)
        return err_set(err, "%s %d: no password received", option, fd);
    if (fd != STDIN_FILENO)
        close(fd);
    question->secret->is_known = true;
    return 0;
}

/* Returns the question for this password, which is made if it is the first for its host. */
static struct question *question_of(enum login_by by, const char *host)
{
    struct question *question = host == NULL ? &login.question[by] : login.of_hosts;

    if (host == NULL) {
        question->by = by;
        return question;
    }
    while (question != NULL && (question->by != by || strcmp(question->host, host) != 0))
        question = question->next;
    if (question == NULL) {
        question = xcalloc(1, sizeof *question);
        *question = (struct question){ .by = by, .host = xstrdup(host), .next = login.of_hosts };
        login.of_hosts = question;
        allow(question);
    }
    return question;
}

/* If the memory cannot be locked, it is a password that may be swapped, as anyone's. */
static void allow(struct question *question)
{
    if (question->secret != NULL)
        return;
    question->secret = mmap(NULL, sizeof *question->secret, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (question->secret == MAP_FAILED)
        xalloc_die();
    mlock(question->secret, sizeof *question->secret);
}

void login_clear(void)
{
    struct question *question;
    int              by;

    end_asking();
    for (by = 0; by < LOGIN_WAYS; by++)
        forbid(&login.question[by]);
    while ((question = login.of_hosts) != NULL) {
        login.of_hosts = question->next;
        forbid(question);
        free(question->host);
        free(question);
    }
    free(login.waiter);
    login = (struct login){ .tty = -1 };
}

static void forbid(struct question *question)
{
    if (question->secret == NULL)
        return;
    wipe(question->secret);
    munmap(question->secret, sizeof *question->secret);
}

bool login_records_unknown(void)
{
    return login.records_unknown;
}

bool login_takes_password(enum login_by by)
{
    return login.question[by].secret != NULL;
}

const char *login_password(enum login_by by, const char *host)
{
    return question_of(by, host)->secret->text;
}

void login_accepted(enum login_by by)
{
    login.question[by].secret->is_accepted = true;
}

bool login_was_accepted(enum login_by by)
{
    return login_takes_password(by) && login.question[by].secret->is_accepted;
}

void login_refused(enum login_by by)
{
    login.question[by].secret->is_refused = true;
}

void login_drop_refused(void)
{
    int by;

    for (by = 0; by < LOGIN_WAYS; by++)
        if (login.question[by].secret != NULL && login.question[by].secret->is_refused)
            wipe(login.question[by].secret);
}

enum login_password login_await(enum login_by by, const char *host, struct event_base *base,
                                void (*ready)(void *arg), void *arg, struct error *err)
{
    struct question *question = question_of(by, host);
    size_t           i;

    if (question->secret->is_known)
        return LOGIN_HAVE;
    if (question->why.text[0] != '\0' || (login.tty < 0 && ask(question, base) < 0)) {
        err_set(err, "%s", question->why.text);
        return LOGIN_NONE;
    }
    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].arg == arg)
            return LOGIN_WAIT;
    login.waiter = xreallocarray(login.waiter, login.waiters + 1, sizeof *login.waiter);
    login.waiter[login.waiters++] = (struct waiter){ question, ready, arg };
    return LOGIN_WAIT;
}

void login_forget(void *arg)
{
    size_t i;

    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].arg == arg)
            login.waiter[i--] = login.waiter[--login.waiters];
    if (login.waiters == 0)
        end_asking();
}

/* --- the terminal ----------------------------------------------------------- */

static int ask(struct question *question, struct event_base *base)
{
    struct timeval limit = { LOGIN_ASK_S, 0 };
    struct termios quiet;
    char          *prompt;

    login.tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (login.tty < 0)
        return err_set(&question->why, "there is no terminal to ask for a password on; %s reads "
                       "one from a descriptor", words[question->by].option);
    if (tcgetpgrp(login.tty) != getpgrp() || tcgetattr(login.tty, &login.before) < 0) {
        close(login.tty);
        login.tty = -1;
        return err_set(&question->why, "muster cannot ask for a password in the background");
    }
    quiet = login.before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    quiet.c_lflag |= ICANON | ISIG;
    tcsetattr(login.tty, TCSAFLUSH, &quiet);
    prompt = question->host == NULL
                 ? xstrdup(words[question->by].prompt)
                 : xasprintf("muster: password of %s, which refuses that one: ", question->host);
    fd_write_all(login.tty, prompt, strlen(prompt));
    free(prompt);
    login.asking = question;
    question->secret->size = 0;
    login.typed = event_new(base, login.tty, EV_READ | EV_PERSIST, typed_cb, base);
    if (login.typed == NULL)
        xalloc_die();
    xevent_add(login.typed, &limit);
    return 0;
}

static void typed_cb(evutil_socket_t fd, short what, void *arg)
{
    struct secret *secret = login.asking->secret;
    struct error  *why = &login.asking->why;
    char           bytes[LOGIN_PASSWORD_MAX];
    ssize_t        got;

    if (what & EV_TIMEOUT) {
        err_set(why, "no password was entered within %d s", LOGIN_ASK_S);
        answer(arg);
        return;
    }
    got = read(fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0)
        err_set(why, "no password was entered");
    else if (take(login.asking, bytes, (size_t)got) > 0) {
        secret->is_known = secret->size > 0;
        if (!secret->is_known)
            err_set(why, "no password was entered");
    }
    OPENSSL_cleanse(bytes, sizeof bytes);
    if (secret->is_known || why->text[0] != '\0')
        answer(arg);
}

/* Takes bytes of the password. Returns 1 if the line is complete, 0 if not, -1 if it is too
 * long. */
static int take(struct question *question, const char *bytes, size_t size)
{
    struct secret *secret = question->secret;
    size_t         i;

    for (i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            secret->text[secret->size] = '\0';
            return 1;
        }
        if (secret->size == LOGIN_PASSWORD_MAX)
            return err_set(&question->why, "a password has at most %d bytes",
                           LOGIN_PASSWORD_MAX);
        secret->text[secret->size++] = bytes[i];
    }
    return 0;
}

/* A waiter's callback may start another wait or forget another waiter. */
static void answer(struct event_base *base)
{
    struct question *question = login.asking;
    struct waiter    waiter;

    end_asking();
    while (take_waiter(question, &waiter))
        waiter.ready(waiter.arg);
    /* The others wait for other passwords. If muster cannot ask, each of them learns why. */
    while (login.waiters > 0 && login.tty < 0) {
        question = login.waiter[0].question;
        if (ask(question, base) == 0)
            return;
        while (take_waiter(question, &waiter))
            waiter.ready(waiter.arg);
    }
}

/* Removes one of those who wait for this password, the first. False: there is none. */
static bool take_waiter(const struct question *question, struct waiter *waiter)
{
    size_t i;

    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].question == question) {
            *waiter = login.waiter[i];
            login.waiters--;
            memmove(login.waiter + i, login.waiter + i + 1,
                    (login.waiters - i) * sizeof *login.waiter);
            return true;
        }
    return false;
}

static void end_asking(void)
{
    if (login.tty < 0)
        return;
    event_free(login.typed);
    login.typed = NULL;
    tcsetattr(login.tty, TCSAFLUSH, &login.before);
    fd_write_all(login.tty, "\n", 1);
    close(login.tty);
    login.tty = -1;
}

static void wipe(struct secret *secret)
{
    OPENSSL_cleanse(secret, sizeof *secret);
}
