/* login.c - see login.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

#define PROMPT "muster: password (asked once, for all nodes that refuse the key): "

struct waiter {
    void (*ready)(void *arg);
    void  *arg;
};

/* One per process, because there is one terminal. */
static struct login {
    bool            records_unknown, may_ask, has_password;
    char            password[LOGIN_PASSWORD_MAX + 1];
    size_t          size; /* typed so far */
    struct error    why;  /* why there will be no password; "": there may be one */
    int             tty;  /* -1: not asking now */
    struct termios  before;
    struct event   *typed;
    struct waiter  *waiter;
    size_t          waiters;
} login = { .tty = -1 };

static int  ask(struct event_base *base);
static void typed_cb(evutil_socket_t fd, short what, void *arg);
static int  take(const char *bytes, size_t size);
static void answer(void);
static void end_asking(void);

void login_allow_unknown(void)
{
    login.records_unknown = true;
}

void login_allow_asking(void)
{
    login.may_ask = true;
}

int login_read_password(int fd, struct error *err)
{
    char    byte;
    ssize_t got;
    int     rc = 0;

    while (rc == 0 && ((got = read(fd, &byte, 1)) > 0 || (got < 0 && errno == EINTR)))
        rc = got > 0 ? take(&byte, 1) : 0;
    if (rc == 0 && got < 0)
        return err_set(err, "--password-fd %d: %s", fd, strerror(errno));
    if (rc < 0)
        return err_set(err, "--password-fd %d: %s", fd, login.why.text);
    if (login.size == 0)
        return err_set(err, "--password-fd %d: no password received", fd);
    close(fd);
    login.has_password = true;
    return 0;
}

void login_clear(void)
{
    end_asking();
    OPENSSL_cleanse(login.password, sizeof login.password);
    free(login.waiter);
    login = (struct login){ .tty = -1 };
}

bool login_records_unknown(void)
{
    return login.records_unknown;
}

bool login_takes_password(void)
{
    return login.has_password || login.may_ask;
}

const char *login_password(void)
{
    return login.password;
}

enum login_password login_await(struct event_base *base, void (*ready)(void *arg), void *arg,
                                struct error *err)
{
    size_t i;

    if (login.has_password)
        return LOGIN_HAVE;
    if (login.why.text[0] != '\0' || (login.tty < 0 && ask(base) < 0)) {
        err_set(err, "%s", login.why.text);
        return LOGIN_NONE;
    }
    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].arg == arg)
            return LOGIN_WAIT;
    login.waiter = xreallocarray(login.waiter, login.waiters + 1, sizeof *login.waiter);
    login.waiter[login.waiters++] = (struct waiter){ ready, arg };
    return LOGIN_WAIT;
}

void login_forget(void *arg)
{
    size_t i;

    for (i = 0; i < login.waiters; i++)
        if (login.waiter[i].arg == arg)
            login.waiter[i--] = login.waiter[--login.waiters];
}

/* --- the terminal ----------------------------------------------------------- */

static int ask(struct event_base *base)
{
    struct timeval limit = { LOGIN_ASK_S, 0 };
    struct termios quiet;

    login.tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (login.tty < 0)
        return err_set(
            &login.why,
            "no terminal to ask for a password on; --password-fd reads one from a descriptor");
    if (tcgetpgrp(login.tty) != getpgrp() || tcgetattr(login.tty, &login.before) < 0) {
        close(login.tty);
        login.tty = -1;
        return err_set(&login.why, "cannot ask for a password in the background");
    }
    quiet = login.before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    quiet.c_lflag |= ICANON | ISIG;
    tcsetattr(login.tty, TCSAFLUSH, &quiet);
    fd_write_all(login.tty, PROMPT, strlen(PROMPT));
    login.typed = event_new(base, login.tty, EV_READ | EV_PERSIST, typed_cb, NULL);
    if (login.typed == NULL)
        xalloc_die();
    xevent_add(login.typed, &limit);
    return 0;
}

static void typed_cb(evutil_socket_t fd, short what, void *arg)
{
    char    bytes[LOGIN_PASSWORD_MAX];
    ssize_t got;

    (void)arg;
    if (what & EV_TIMEOUT) {
        err_set(&login.why, "no password was entered within %d s", LOGIN_ASK_S);
        answer();
        return;
    }
    got = read(fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0)
        err_set(&login.why, "no password was entered");
    else if (take(bytes, (size_t)got) > 0) {
        login.has_password = login.size > 0;
        if (!login.has_password)
            err_set(&login.why, "no password was entered");
    }
    OPENSSL_cleanse(bytes, sizeof bytes);
    if (login.has_password || login.why.text[0] != '\0')
        answer();
}

/* Takes bytes of the password. Returns 1 if the line is complete, 0 if not, -1 if it is too
 * long. */
static int take(const char *bytes, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            return 1;
        if (login.size == LOGIN_PASSWORD_MAX)
            return err_set(&login.why, "a password has at most %d bytes", LOGIN_PASSWORD_MAX);
        login.password[login.size++] = bytes[i];
    }
    return 0;
}

/* A waiter's callback may start another wait or forget another waiter. */
static void answer(void)
{
    struct waiter waiter;

    end_asking();
    while (login.waiters > 0) {
        waiter = login.waiter[--login.waiters];
        waiter.ready(waiter.arg);
    }
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
