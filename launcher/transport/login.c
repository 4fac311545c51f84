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

struct waiter {
    enum login_by by;
    void (*ready)(void *arg);
    void  *arg;
};

/* One per process, because there is one terminal. */
static struct login {
    bool           records_unknown;
    struct secret *secret[LOGIN_WAYS]; /* NULL: not allowed */
    struct error   why[LOGIN_WAYS];    /* why there will be no password; "": there may be one */
    int            tty;                /* -1: not asking now */
    enum login_by  asking;             /* what for */
    struct termios before;
    struct event  *typed;
    struct waiter *waiter;
    size_t         waiters;
} login = { .tty = -1 };

static struct secret *allow(enum login_by by);
static int            ask(enum login_by by, struct event_base *base);
static void           typed_cb(evutil_socket_t fd, short what, void *arg);
static int            take(enum login_by by, const char *bytes, size_t size);
static void           answer(struct event_base *base);
static bool           take_waiter(enum login_by by, struct waiter *waiter);
static void           end_asking(void);
static void           wipe(struct secret *secret);

void login_allow_unknown(void)
{
    login.records_unknown = true;
}

void login_allow_asking(enum login_by by)
{
    allow(by);
}

int login_read_password(enum login_by by, int fd, struct error *err)
{
    struct secret *secret = allow(by);
    const char    *option = words[by].option;
    char           byte;
    ssize_t        got;
    int            rc = 0;

    while (rc == 0 && ((got = read(fd, &byte, 1)) > 0 || (got < 0 && errno == EINTR)))
        rc = got > 0 ? take(by, &byte, 1) : 0;
    if (rc == 0 && got < 0)
        return err_set(err, "%s %d: %s", option, fd, strerror(errno));
    if (rc < 0)
        return err_set(err, "%s %d: %s", option, fd, login.why[by].text);
    if (secret->size == 0)
        return err_set(err, "%s %d: no password received", option, fd);
    if (fd != STDIN_FILENO)
        close(fd);
    secret->is_known = true;
    return 0;
}

/* If the memory cannot be locked, it is a password that may be swapped, as anyone's. */
static struct secret *allow(enum login_by by)
{
    struct secret *secret = login.secret[by];

    if (secret != NULL)
        return secret;
    secret = mmap(NULL, sizeof *secret, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (secret == MAP_FAILED)
        xalloc_die();
    mlock(secret, sizeof *secret);
    login.secret[by] = secret;
    return secret;
}

void login_clear(void)
{
    int by;

    end_asking();
    for (by = 0; by < LOGIN_WAYS; by++)
        if (login.secret[by] != NULL) {
            wipe(login.secret[by]);
            munmap(login.secret[by], sizeof *login.secret[by]);
        }
    free(login.waiter);
    login = (struct login){ .tty = -1 };
}

bool login_records_unknown(void)
{
    return login.records_unknown;
}

bool login_takes_password(enum login_by by)
{
    return login.secret[by] != NULL;
}

const char *login_password(enum login_by by)
{
    return login.secret[by]->text;
}

void login_accepted(enum login_by by)
{
    login.secret[by]->is_accepted = true;
}

bool login_was_accepted(enum login_by by)
{
    return login.secret[by] != NULL && login.secret[by]->is_accepted;
}

void login_refused(enum login_by by)
{
    login.secret[by]->is_refused = true;
}

void login_drop_refused(void)
{
    int by;

    for (by = 0; by < LOGIN_WAYS; by++)
        if (login.secret[by] != NULL && login.secret[by]->is_refused)
            wipe(login.secret[by]);
}

enum login_password login_await(enum login_by by, struct event_base *base,
                                void (*ready)(void *arg), void *arg, struct error *err)
{
    size_t i;

    if (login.secret[by]->is_known)
        return LOGIN_HAVE;
    if (login.why[by].text[0] != '\0' || (login.tty < 0 && ask(by, base) < 0)) {
        err_set(err, "%s", login.why[by].text);
        return LOGIN_NONE;
    }
    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].arg == arg)
            return LOGIN_WAIT;
    login.waiter = xreallocarray(login.waiter, login.waiters + 1, sizeof *login.waiter);
    login.waiter[login.waiters++] = (struct waiter){ by, ready, arg };
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

static int ask(enum login_by by, struct event_base *base)
{
    struct timeval limit = { LOGIN_ASK_S, 0 };
    struct termios quiet;

    login.tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (login.tty < 0)
        return err_set(&login.why[by], "there is no terminal to ask for a password on; %s reads "
                       "one from a descriptor", words[by].option);
    if (tcgetpgrp(login.tty) != getpgrp() || tcgetattr(login.tty, &login.before) < 0) {
        close(login.tty);
        login.tty = -1;
        return err_set(&login.why[by], "muster cannot ask for a password in the background");
    }
    quiet = login.before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    quiet.c_lflag |= ICANON | ISIG;
    tcsetattr(login.tty, TCSAFLUSH, &quiet);
    fd_write_all(login.tty, words[by].prompt, strlen(words[by].prompt));
    login.asking = by;
    login.secret[by]->size = 0;
    login.typed = event_new(base, login.tty, EV_READ | EV_PERSIST, typed_cb, base);
    if (login.typed == NULL)
        xalloc_die();
    xevent_add(login.typed, &limit);
    return 0;
}

static void typed_cb(evutil_socket_t fd, short what, void *arg)
{
    struct secret *secret = login.secret[login.asking];
    struct error  *why = &login.why[login.asking];
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
static int take(enum login_by by, const char *bytes, size_t size)
{
    struct secret *secret = login.secret[by];
    size_t         i;

    for (i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            secret->text[secret->size] = '\0';
            return 1;
        }
        if (secret->size == LOGIN_PASSWORD_MAX)
            return err_set(&login.why[by], "a password has at most %d bytes", LOGIN_PASSWORD_MAX);
        secret->text[secret->size++] = bytes[i];
    }
    return 0;
}

/* A waiter's callback may start another wait or forget another waiter. */
static void answer(struct event_base *base)
{
    enum login_by by = login.asking;
    struct waiter waiter;

    end_asking();
    while (take_waiter(by, &waiter))
        waiter.ready(waiter.arg);
    /* They may also wait for the other password. If muster cannot ask, each of them learns why. */
    if (login.waiters > 0 && login.tty < 0) {
        by = login.waiter[0].by;
        if (ask(by, base) < 0)
            while (take_waiter(by, &waiter))
                waiter.ready(waiter.arg);
    }
}

/* Removes one of those who wait for this password. False: there is none. */
static bool take_waiter(enum login_by by, struct waiter *waiter)
{
    size_t i;

    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].by == by) {
            *waiter = login.waiter[i];
            login.waiter[i] = login.waiter[--login.waiters];
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
