/* test_handshake.c - reaching a node, knowing its key
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "exit_code.h"
#include "ssh_client.h"
#include "transport/login.h"

/* ---- reaching the node ---- */

static void test_not_reached(void **state)
{
    static const struct {
        struct conn_target target;
        struct end         end;
    } rows[] = {
        { { .host = "127.0.0.9", .port = 1, .connect_timeout_s = 5, .ssh_config = "/dev/null" },
          { "connect", EXIT_UNREACHABLE, "127.0.0.9 port 1: Connection refused", NULL } },
        { { .host = "no_such-name.invalid",
            .connect_timeout_s = 100,
            .ssh_config = "/dev/null" },
          { "resolve", EXIT_UNREACHABLE, "unknown name: no_such-name.invalid", NULL } },
        { { .host = "node", .ssh_config = "/no/such/file" },
          { "config", EXIT_DATA, "/no/such/file", NULL } },
    };
    struct client c;
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        client_start(&c, &rows[i].target);
        expect_end(&c, &rows[i].end);
    }
}

/* localhost is ::1 as well on most machines, where this sshd does not listen. */
static void test_every_address(void **state)
{
    char lines[256];

    NEEDS_SSHD();
    snprintf(lines, sizeof lines, "HostName localhost\nHostKeyAlias [127.0.0.1]:%d", server.port);
    sshd_client_config(&server, lines);
    expect_opens();
}

/* The look-up goes on in its thread when its connection has gone. */
static void test_free_while_resolving(void **state)
{
    struct conn_target target = { .host = "localhost", .connect_timeout_s = 100,
                                  .ssh_config = "/dev/null" };
    struct client      c;
    int                i;

    (void)state;
    for (i = 0; i < 50; i++) {
        client_start(&c, &target);
        c.free_at = "resolve";
        client_run(&c);
        client_clear(&c);
    }
}

/* A server that accepts and then does what the test wants. */
struct listener {
    int           fd, port, accepted;
    struct event *readable;
    bool          hangs_up;
    int           kept;
};

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;
    int              accepted = accept(fd, NULL, NULL);

    (void)what;
    l->accepted++;
    if (l->hangs_up)
        close(accepted);
    else
        l->kept = accepted;
}

static void listener_start(struct listener *l)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof address;

    l->kept = -1;
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(l->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(l->fd, 8), 0);
    assert_int_equal(getsockname(l->fd, (struct sockaddr *)&address, &size), 0);
    l->port = ntohs(address.sin_port);
}

static void listener_run(struct listener *l, struct client *c)
{
    l->readable = event_new(c->base, l->fd, EV_READ | EV_PERSIST, accept_cb, l);
    event_add(l->readable, NULL);
    expect_closed(c);
    event_free(l->readable);
    close(l->fd);
    if (l->kept >= 0)
        close(l->kept);
}

static void test_no_banner(void **state)
{
    static const struct {
        bool       hangs_up;
        double     timeout_s;
        int        accepted;
        struct end end;
    } rows[] = {
        { true, 20, 11,
          { "key exchange", EXIT_UNREACHABLE, "before sending its banner (11 attempts)",
            "MaxStartups" } },
        { false, 0.3, 1,
          { "key exchange", EXIT_UNREACHABLE, "no SSH banner within 0.3 s", NULL } },
    };
    struct client c;
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct listener    l = { .hangs_up = rows[i].hangs_up };
        struct conn_target target = { .host = "127.0.0.1", .ssh_config = "/dev/null",
                                      .connect_timeout_s = rows[i].timeout_s };

        listener_start(&l);
        target.port = l.port;
        client_start(&c, &target);
        listener_run(&l, &c);
        expect_end(&c, &rows[i].end);
        assert_int_equal(l.accepted, rows[i].accepted);
    }
}

static void test_proxy(void **state)
{
    struct client c;
    char          lines[512];

    NEEDS_SSHD();
    if (sshd_shell("command -v ssh >/dev/null") != 0)
        skip();
    snprintf(lines, sizeof lines, "Host far_node\n HostName 127.0.0.1\n ProxyJump hop\n"
             " HostKeyAlias [127.0.0.1]:%d\nHost hop\n HostName 127.0.0.1", server.port);
    sshd_client_config(&server, lines);
    {
        struct conn_target target = node_target();

        target.host = "far_node";
        client_start(&c, &target);
        expect_open(&c);
        client_clear(&c);
    }
    sshd_client_config(&server, "ProxyCommand echo no way through >&2; exit 9 %h");
    expect_fails("key exchange", EXIT_UNREACHABLE, "no way through", NULL);
}

/* ---- host keys ---- */

static void test_unknown_host_key(void **state)
{
    static const struct {
        const char *lines;
        struct end  end;
    } rows[] = {
        { "UserKnownHostsFile /dev/null",
          { "host key", EXIT_REFUSED, "ssh-ed25519 SHA256:", "ssh-keyscan -p" } },
        { "UserKnownHostsFile /dev/null\nStrictHostKeyChecking accept-new",
          { "host key", EXIT_REFUSED, "the host key is unknown", NULL } },
        { "UserKnownHostsFile /dev/null\nStrictHostKeyChecking no", { 0 } },
    };
    struct client c;
    size_t        i;

    NEEDS_SSHD();
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        sshd_client_config(&server, rows[i].lines);
        client_connect(&c);
        expect_end(&c, &rows[i].end);
    }
}

static void test_changed_host_key(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    other_key("ed25519", "other");
    sshd_shell("cd %s && echo '# first line' >changed && "
               "echo \"[127.0.0.1]:%d $(cut -d' ' -f1,2 other.pub)\" >>changed",
               server.dir, server.port);
    /* Off does not make a changed key pass: libssh's own check would. */
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/changed\nStrictHostKeyChecking no",
             server.dir);
    sshd_client_config(&server, lines);
    client_connect(&c);
    expect_failure(&c, "host key", EXIT_REFUSED, "has changed");
    assert_non_null(strstr(c.why.text, "/changed:2 has ssh-ed25519 SHA256:"));
    assert_non_null(strstr(c.why.hint, "ssh-keygen -R '[127.0.0.1]:"));
    client_clear(&c);
    sshd_shell("cd %s && cat known_hosts >>changed", server.dir);
    expect_opens(); /* one of several keys is the right one */
    sshd_shell("cd %s && sed 's/^/@revoked /' known_hosts >>changed", server.dir);
    expect_fails("host key", EXIT_REFUSED, "revoked", NULL);
}

/* By the names that ssh would look up, and by no others. */
static void test_names_of_known_hosts(void **state)
{
    static const struct {
        const char *names; /* in known_hosts */
        bool        is_hashed, opens;
    } rows[] = {
        { "[127.0.0.1]:%d", false, true },
        { "[127.0.0.1]:%d", true, true },
        { "127.0.0.1", false, true }, /* without the port, where nothing is known with it */
        { "127.0.0.1", true, true },
        { "elsewhere,*.0.0.1", false, true },
        { "*,!127.0.0.1,![127.0.0.1]:%d", false, false },
        { "*.0.0.1,!127.*", false, false },
        { "node", false, false }, /* the hostfile's name, but not HostName */
        { "node", true, false },
        { "[127.0.0.1]:1", false, false },
    };
    char   lines[256], names[64];
    size_t i;

    NEEDS_SSHD();
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/names", server.dir);
    sshd_client_config(&server, lines);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(names, sizeof names, rows[i].names, server.port); /* NOLINT: a table */
        sshd_shell("cd %s && printf '%%s ' '%s' >names && cut -d' ' -f1,2 host_key.pub >>names",
                   server.dir, names);
        if (rows[i].is_hashed)
            sshd_shell("cd %s && ssh-keygen -q -H -f names >/dev/null 2>&1 && rm names.old",
                       server.dir);
        sshd_shell("cd %s && sed -i '1i malformed\\n' names", server.dir);
        if (rows[i].opens)
            expect_opens();
        else
            expect_fails("host key", EXIT_REFUSED, "the host key is unknown", NULL);
    }
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/names\nHostKeyAlias farm", server.dir);
    sshd_client_config(&server, lines);
    expect_fails("host key", EXIT_REFUSED, "no such key for farm", NULL);
    sshd_shell("cd %s && printf 'farm ' >names && cut -d' ' -f1,2 host_key.pub >>names",
               server.dir);
    expect_opens();
}

/* The key that counts has changed, though another name has the right one. */
static void test_changed_under_its_name(void **state)
{
    char lines[256];

    NEEDS_SSHD();
    other_key("ed25519", "other");
    snprintf(lines, sizeof lines, "UserKnownHostsFile %s/names", server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && { printf '[127.0.0.1]:%d '; cut -d' ' -f1,2 other.pub; "
               "printf '127.0.0.1,node '; cut -d' ' -f1,2 host_key.pub; } >names",
               server.dir, server.port);
    expect_fails("host key", EXIT_REFUSED, "has changed", NULL);
    /* A key of another type makes the name known, too, also where unknown ones are recorded:
     * somebody in between may show any type. */
    other_key("rsa", "other_rsa");
    sshd_shell("cd %s && { printf '[127.0.0.1]:%d '; cut -d' ' -f1,2 other_rsa.pub; "
               "printf '127.0.0.1 '; cut -d' ' -f1,2 host_key.pub; } >names",
               server.dir, server.port);
    login_allow_unknown();
    expect_fails("host key", EXIT_REFUSED, "/names:1 has ssh-rsa SHA256:", NULL);
    login_clear();
    /* Of revoked keys there may be any number in front. */
    sshd_shell("cd %s && { i=0; while [ $i -lt 100 ]; do printf '@revoked * '; "
               "cut -d' ' -f1,2 other.pub; i=$((i + 1)); done; printf '@revoked * '; "
               "cut -d' ' -f1,2 host_key.pub; cat known_hosts; } >names", server.dir);
    expect_fails("host key", EXIT_REFUSED, "revoked", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_not_reached),
        TEST(test_every_address),
        TEST(test_free_while_resolving),
        TEST(test_no_banner),
        TEST(test_proxy),
        TEST(test_unknown_host_key),
        TEST(test_changed_host_key),
        TEST(test_names_of_known_hosts),
        TEST(test_changed_under_its_name),
    };

    return cmocka_run_group_tests(tests, client_group_setup, client_group_teardown);
}
