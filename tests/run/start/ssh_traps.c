/* ssh_traps.c - what libssh does that muster has to work around
 *
 * Small experiments with libssh alone against a real sshd. Each trap that is
 * still there passes; one that a newer libssh has mended is reported as skipped
 * with the place whose workaround can go.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <libssh/libssh.h>

#include "sshd.h"
#include "transport/ssh/ssh_exit.h"
#include "xalloc.h"

#define PATIENCE_MS 10000

static struct sshd server;
static bool        has_server;

struct client {
    int         fd;
    ssh_session session;
    ssh_channel channel;
};

#define NEEDS_SSHD()     \
    do {                 \
        (void)state;     \
        if (!has_server) \
            skip();      \
    } while (0)

/* The trap is there, or we say that it has gone. */
#define TRAP(is_there, where)                                                          \
    do {                                                                               \
        if (!(is_there)) {                                                             \
            print_message("# libssh %s has mended this: simplify %s\n", ssh_version(0), \
                          where);                                                      \
            skip();                                                                    \
        }                                                                              \
    } while (0)

static void wait_socket(struct client *c)
{
    struct pollfd socket = { .fd = c->fd, .events = POLLIN };

    if (ssh_get_poll_flags(c->session) & SSH_WRITE_PENDING)
        socket.events |= POLLOUT;
    assert_int_equal(poll(&socket, 1, PATIENCE_MS), 1);
}

static bool is_readable(struct client *c, int timeout_ms)
{
    struct pollfd socket = { .fd = c->fd, .events = POLLIN };

    return poll(&socket, 1, timeout_ms) == 1;
}

static void client_connect(struct client *c)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)server.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool               no = false;
    int                rc;

    *c = (struct client){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    assert_int_equal(connect(c->fd, (struct sockaddr *)&address, sizeof address), 0);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->session = ssh_new();
    ssh_set_blocking(c->session, 0);
    ssh_options_set(c->session, SSH_OPTIONS_PROCESS_CONFIG, &no);
    ssh_options_set(c->session, SSH_OPTIONS_FD, &c->fd);
    while ((rc = ssh_connect(c->session)) == SSH_AGAIN)
        wait_socket(c);
    assert_int_equal(rc, SSH_OK);
}

static void client_run(struct client *c, const char *command)
{
    char   *path = xasprintf("%s/id", server.dir);
    ssh_key key;
    int     rc;

    client_connect(c);
    assert_int_equal(ssh_pki_import_privkey_file(path, NULL, NULL, NULL, &key), SSH_OK);
    while ((rc = ssh_userauth_publickey(c->session, NULL, key)) == SSH_AUTH_AGAIN)
        wait_socket(c);
    assert_int_equal(rc, SSH_AUTH_SUCCESS);
    c->channel = ssh_channel_new(c->session);
    while ((rc = ssh_channel_open_session(c->channel)) == SSH_AGAIN)
        wait_socket(c);
    assert_int_equal(rc, SSH_OK);
    while ((rc = ssh_channel_request_exec(c->channel, command)) == SSH_AGAIN)
        wait_socket(c);
    assert_int_equal(rc, SSH_OK);
    ssh_key_free(key);
    free(path);
}

static void client_clear(struct client *c)
{
    ssh_channel_free(c->channel);
    ssh_free(c->session);
}

static void test_socket_becomes_blocking(void **state)
{
    struct client c;
    int           flags;

    NEEDS_SSHD();
    client_connect(&c);
    flags = fcntl(c.fd, F_GETFL);
    client_clear(&c);
    TRAP(!(flags & O_NONBLOCK), "step_kex() in conn_ssh.c");
}

static void test_nagle_stays_on(void **state)
{
    struct client c;
    int           is_off = 0;
    socklen_t     size = sizeof is_off;

    NEEDS_SSHD();
    client_connect(&c);
    getsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &is_off, &size);
    client_clear(&c);
    TRAP(!is_off, "set_options() in dial.c");
}

static void test_disconnect_leaves_the_socket(void **state)
{
    struct client c;
    bool          is_left;

    NEEDS_SSHD();
    client_connect(&c);
    ssh_disconnect(c.session);
    ssh_free(c.session);
    is_left = fcntl(c.fd, F_GETFD) >= 0;
    if (is_left)
        close(c.fd);
    TRAP(is_left, "the note on ownership in conn_ssh.c");

    client_connect(&c);
    ssh_free(c.session);
    assert_true(fcntl(c.fd, F_GETFD) < 0);
}

/* Ten bytes come in one packet; after four of them the socket has nothing. */
static void test_decrypted_bytes_do_not_wake(void **state)
{
    struct client c;
    char          text[16];
    int           n = 0;
    bool          is_quiet;

    NEEDS_SSHD();
    client_run(&c, "printf 0123456789; read wait");
    while (n == 0) {
        n = ssh_channel_read_nonblocking(c.channel, text, 4, 0);
        if (n == 0)
            wait_socket(&c);
    }
    assert_int_equal(n, 4);
    is_quiet = !is_readable(&c, 100);
    assert_int_equal(ssh_channel_read_nonblocking(c.channel, text, sizeof text, 0), 6);
    client_clear(&c);
    TRAP(is_quiet, "ssh_stream_turn()");
}

/* Part of a packet looks like nothing at all. */
static void test_zero_is_not_the_end(void **state)
{
    struct client             c;
    struct ssh_counter_struct traffic = { 0 };
    char                      text[65536];
    uint64_t                  before;
    bool                      has_read_for_nothing = false;
    int                       n, left = 1000000;

    NEEDS_SSHD();
    client_run(&c, "head -c 1000000 /dev/zero");
    ssh_set_counters(c.session, &traffic, NULL);
    while (left > 0) {
        before = traffic.in_bytes;
        n = ssh_channel_read_nonblocking(c.channel, text, sizeof text, 0);
        assert_true(n >= 0);
        left -= n;
        if (n == 0 && traffic.in_bytes == before)
            wait_socket(&c);
        if (n == 0 && traffic.in_bytes > before)
            has_read_for_nothing = true;
    }
    ssh_set_counters(c.session, NULL, NULL);
    client_clear(&c);
    TRAP(has_read_for_nothing, "the use of counters in ssh_stream_turn()");
}

static void test_end_of_file_stops_reading(void **state)
{
    struct client c;
    char          text[16];
    int           n, i, status;
    bool          is_stuck;

    NEEDS_SSHD();
    /* The shell ends once our end of file comes, after its own is here. */
    client_run(&c, "exec >&- 2>&-; read wait; exit 7");
    while ((n = ssh_channel_read_nonblocking(c.channel, text, sizeof text, 0)) == 0)
        wait_socket(&c);
    assert_int_equal(n, SSH_EOF);
    assert_int_equal(ssh_channel_send_eof(c.channel), SSH_OK);
    assert_true(is_readable(&c, PATIENCE_MS));
    for (i = 0; i < 100; i++)
        ssh_channel_read_nonblocking(c.channel, text, sizeof text, 0);
    is_stuck = is_readable(&c, 0);
    while ((status = ssh_exit_status(c.channel)) < 0)
        wait_socket(&c);
    assert_int_equal(status, 7);
    client_clear(&c);
    TRAP(is_stuck, "process_packets() in ssh_stream.c");
}

/* StrictHostKeyChecking no is meant for unknown hosts. */
static void test_lax_check_passes_a_changed_key(void **state)
{
    struct client c;
    char         *path = xasprintf("%s/wrong_hosts", server.dir);
    int           no = 0, found;

    NEEDS_SSHD();
    sshd_shell("cd %s && ssh-keygen -q -t ed25519 -N '' -f wrong && "
               "echo \"[127.0.0.1]:%d $(cut -d' ' -f1,2 wrong.pub)\" >wrong_hosts",
               server.dir, server.port);
    client_connect(&c);
    ssh_options_set(c.session, SSH_OPTIONS_HOST, "127.0.0.1");
    ssh_options_set(c.session, SSH_OPTIONS_PORT, &server.port);
    ssh_options_set(c.session, SSH_OPTIONS_KNOWNHOSTS, path);
    ssh_options_set(c.session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
    assert_int_equal(ssh_session_is_known_server(c.session), SSH_KNOWN_HOSTS_CHANGED);
    ssh_options_set(c.session, SSH_OPTIONS_STRICTHOSTKEYCHECK, &no);
    found = ssh_session_is_known_server(c.session);
    client_clear(&c);
    free(path);
    TRAP(found == SSH_KNOWN_HOSTS_OK, "known_hosts.c");
}

/* Needs no server: what its parser of ssh config cannot do for us. */
static void test_config(void **state)
{
    ssh_session session = ssh_new();
    char       *file = NULL;
    bool        is_refused, is_first_only;

    (void)state;
    is_refused = ssh_options_set(session, SSH_OPTIONS_HOST, "node_1") < 0;
    ssh_options_set(session, SSH_OPTIONS_ADD_IDENTITY, "/one");
    ssh_options_set(session, SSH_OPTIONS_ADD_IDENTITY, "/two");
    ssh_options_get(session, SSH_OPTIONS_IDENTITY, &file);
    is_first_only = file != NULL && strchr(file, ',') == NULL;
    ssh_string_free_char(file);
    ssh_free(session);
    TRAP(is_refused && is_first_only, "ssh_config.c");
}

static int start_server(void **state)
{
    (void)state;
    if (!sshd_is_there())
        return 0;
    has_server = sshd_start(&server, "");
    return has_server ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    if (has_server)
        sshd_stop(&server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_socket_becomes_blocking),
        cmocka_unit_test(test_nagle_stays_on),
        cmocka_unit_test(test_disconnect_leaves_the_socket),
        cmocka_unit_test(test_decrypted_bytes_do_not_wake),
        cmocka_unit_test(test_zero_is_not_the_end),
        cmocka_unit_test(test_end_of_file_stops_reading),
        cmocka_unit_test(test_lax_check_passes_a_changed_key),
        cmocka_unit_test(test_config),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
