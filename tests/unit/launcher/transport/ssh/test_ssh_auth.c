/* test_ssh_auth.c - logging in
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "ssh_client.h"

static void test_key_refused(void **state)
{
    char lines[256];

    NEEDS_SSHD();
    other_key("ed25519", "other");
    sshd_client_config(&server, "");
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/other|' ssh_config", server.dir,
               server.dir);
    expect_fails("authenticate", EXIT_REFUSED, "/other; the server offers publickey)",
                 "ssh-copy-id");
    /* A refused key does not keep the next one from being tried. */
    snprintf(lines, sizeof lines, "IdentityFile %s/other\nIdentityFile %s/absent", server.dir,
             server.dir);
    sshd_client_config(&server, lines);
    expect_opens();
}

/* sshd ends the connection at the sixth one: that is said, instead of waiting for an answer. */
static void test_many_keys_refused(void **state)
{
    char   lines[1024] = "";
    size_t used = 0;
    int    i;

    NEEDS_SSHD();
    for (i = 0; i < 8; i++) {
        snprintf(lines + used, sizeof lines - used, "refused%d", i);
        other_key("ed25519", lines + used);
        used += (size_t)snprintf(lines + used, sizeof lines - used, "IdentityFile %s/refused%d\n",
                                 server.dir, i);
    }
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i '/IdentityFile .*id$/d' ssh_config", server.dir);
    expect_fails("authenticate", EXIT_REFUSED, "Too many authentication failures", "IdentityFile");
}

/* As ssh has it: a key that others can read is no key; with IdentitiesOnly the agent has none. */
static void test_keys_that_ssh_does_not_use(void **state)
{
    char lines[256];

    NEEDS_SSHD();
    sshd_client_config(&server, "");
    sshd_shell("chmod 644 %s/id", server.dir);
    expect_fails("authenticate", EXIT_REFUSED, "/id is readable by others", "chmod 600 ");
    sshd_shell("chmod 600 %s/id", server.dir);
    other_key("ed25519", "other");
    sshd_shell("cd %s && ssh-agent -a $PWD/only.sock >agent.env && . ./agent.env >/dev/null && "
               "ssh-add -q id", server.dir);
    snprintf(lines, sizeof lines, "IdentityAgent %s/only.sock", server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/other|' ssh_config", server.dir,
               server.dir);
    expect_opens();
    snprintf(lines, sizeof lines, "IdentityAgent %s/only.sock\nIdentitiesOnly yes", server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/other|' ssh_config", server.dir,
               server.dir);
    expect_fails("authenticate", EXIT_REFUSED, "/other", NULL);
    /* A public key selects the agent's: OpenSSH does that. */
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/id.pub|' ssh_config",
               server.dir, server.dir);
    expect_opens();
    sshd_shell("cd %s && . ./agent.env >/dev/null && ssh-agent -k >/dev/null", server.dir);
}

/* What the configuration excludes is not used instead: libssh has none of these. */
static void test_algorithms_are_only_narrowed(void **state)
{
    NEEDS_SSHD();
    sshd_client_config(&server, "KexAlgorithms sntrup761x25519-sha512@openssh.com");
    expect_opens(); /* by OpenSSH */
    sshd_client_config(&server, "Ciphers aes192-cbc");
    expect_fails("key exchange", EXIT_PROTOCOL, "no match for method encryption", NULL);
    sshd_client_config(&server, "KexAlgorithms no-such-thing");
    expect_fails("config", EXIT_DATA, "no-such-thing", "asks ssh -G because of");
}

static void test_key_encrypted(void **state)
{
    NEEDS_SSHD();
    sshd_shell("cd %s && rm -f locked* && ssh-keygen -q -t ed25519 -N secret -f locked && "
               "sed -i 's|IdentityFile .*|IdentityFile %s/locked|' ssh_config",
               server.dir, server.dir);
    expect_fails("authenticate", EXIT_REFUSED, "/locked is encrypted", "ssh-add");
    /* ... unless the agent has it. */
    sshd_shell("cd %s && cp id.pub id.pub.orig && cat locked.pub >>id.pub && "
               "cp locked unlocked && ssh-keygen -q -p -P secret -N '' -f unlocked >/dev/null && "
               "ssh-agent -a $PWD/locked.sock >agent.env && . ./agent.env >/dev/null && "
               "ssh-add -q unlocked && sed -i '1i IdentityAgent '$PWD/locked.sock'\\n"
               "IdentitiesOnly yes' ssh_config", server.dir);
    expect_opens();
    sshd_shell("cd %s && mv id.pub.orig id.pub && . ./agent.env >/dev/null && "
               "ssh-agent -k >/dev/null", server.dir);
}

static struct sshd usual; /* while the server is another one */

/* An sshd of its own: to offer a login by ticket it needs no Kerberos. False: it cannot; Debian's
 * can only up to 13. */
static bool start_kerberos_sshd(const char *more)
{
    char lines[128];

    usual = server;
    snprintf(lines, sizeof lines, "ForceCommand %%s/shell\nGSSAPIAuthentication yes\n%s", more);
    if (!sshd_start(&server, lines) || !sshd_knows(&server, "gssapiauthentication yes"))
        return false;
    use_shell("#!/bin/sh\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    return true;
}

static int end_kerberos_sshd(void **state)
{
    (void)state;
    if (usual.port == 0)
        return 0;
    sshd_stop(&server);
    server = usual;
    usual.port = 0;
    return 0;
}

static void test_a_ticket_would_do(void **state)
{
    NEEDS_SSHD();
    if (!start_kerberos_sshd("PubkeyAuthentication no"))
        skip();
    expect_fails("authenticate", EXIT_REFUSED, "the server offers gssapi-with-mic",
                 "--transport openssh");
    sshd_shell("rm %s/id", server.dir); /* whoever has tickets may have no key at all */
    expect_fails("authenticate", EXIT_REFUSED, "the server offers gssapi-with-mic",
                 "--transport openssh");
}

static void test_a_ticket_is_demanded(void **state)
{
    NEEDS_SSHD();
    if (!start_kerberos_sshd(""))
        skip();
    expect_opens();
    /* The key that was just accepted is not what the configuration allows. */
    sshd_client_config(&server, "PreferredAuthentications gssapi-with-mic");
    expect_fails("authenticate", EXIT_REFUSED, "Permission denied (publickey,gssapi-",
                 "kinit");
    sshd_client_config(&server, "GSSAPIAuthentication yes\nPreferredAuthentications "
                                "gssapi-with-mic,publickey");
    expect_opens();
    sshd_client_config(&server, "");
    other_key("ed25519", "other");
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/other|' ssh_config", server.dir,
               server.dir);
    expect_fails("authenticate", EXIT_REFUSED, "offers publickey,gssapi-with-mic",
                 "ssh-copy-id");
    expect_fails("authenticate", EXIT_REFUSED, "offers publickey,gssapi-with-mic",
                 "--transport openssh");
}

static void test_rsa_and_ecdsa(void **state)
{
    char lines[256];

    NEEDS_SSHD();
    other_key("rsa", "rsa");
    other_key("ecdsa", "ecdsa");
    sshd_shell("cd %s && cp id.pub id.pub.orig && cat rsa.pub >>id.pub", server.dir);
    snprintf(lines, sizeof lines, "IdentityFile %s/ecdsa\nIdentityFile %s/rsa\n", server.dir,
             server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i '/IdentityFile .*id$/d' ssh_config", server.dir);
    expect_opens();
    sshd_shell("cd %s && mv id.pub.orig id.pub", server.dir);
}

static void sign(const char *name)
{
    sshd_shell("cd %s && ssh-keygen -q -s ca -I muster -n $(id -un) %s.pub", server.dir, name);
}

/* The server takes what ca has signed; the client has signed, and maybe more keys. */
static void test_certificates(void **state)
{
    static const char *const types[] = { "ed25519", "rsa", "ecdsa" };
    char                     lines[256];
    struct client            c;
    size_t                   i;

    NEEDS_SSHD();
    other_key("ed25519", "ca");
    sshd_shell("cd %s && cp id.pub id.pub.orig && echo \"cert-authority $(cat ca.pub)\" >id.pub",
               server.dir);
    for (i = 0; i < sizeof types / sizeof types[0]; i++) {
        other_key(types[i], "signed");
        sign("signed");
        sshd_client_config(&server, "");
        sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/signed|' ssh_config",
                   server.dir, server.dir);
        expect_opens();
        /* Somewhere else it has to be named; and one that is named is the only one. */
        snprintf(lines, sizeof lines, "CertificateFile %s/another-cert.pub\nCertificateFile "
                 "%s/named", server.dir, server.dir);
        sshd_client_config(&server, lines);
        other_key(types[i], "another");
        sign("another");
        sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/signed|' ssh_config && "
                   "cp signed-cert.pub named", server.dir, server.dir);
        expect_opens();
        sshd_shell("rm %s/named", server.dir);
        client_connect(&c);
        expect_failure(&c, "authenticate", EXIT_REFUSED, "/signed; the server offers publickey)");
        assert_null(strstr(c.why.text, "certificate")); /* the other's was not offered with it */
        client_clear(&c);
    }
    sshd_shell("cd %s && mv id.pub.orig id.pub", server.dir);
}

/* Only ssh brings together a certificate in a file and a key that the agent has. */
static void test_certificate_of_agents_key(void **state)
{
    char          lines[256];
    struct client c;

    NEEDS_SSHD();
    other_key("ed25519", "ca");
    other_key("ed25519", "signed");
    sign("signed");
    sshd_shell("cd %s && cp id.pub id.pub.orig && echo \"cert-authority $(cat ca.pub)\" >id.pub && "
               "mv signed-cert.pub named && ssh-agent -a $PWD/agent.sock >agent.env && "
               ". ./agent.env >/dev/null && ssh-add -q signed && rm signed", server.dir);
    snprintf(lines, sizeof lines, "CertificateFile %s/named\nIdentityAgent %s/agent.sock",
             server.dir, server.dir);
    sshd_client_config(&server, lines);
    client_connect(&c);
    expect_open(&c);
    assert_string_equal(c.stages, "connect;open;"); /* the stages of OpenSSH's client */
    client_clear(&c);
    sshd_shell("cd %s && . ./agent.env >/dev/null && ssh-agent -k >/dev/null; "
               "mv id.pub.orig id.pub", server.dir);
}

/* Named by a file that is encrypted, id is one of the agent's keys. Where sshd would lose patience
 * before its turn, ssh has to choose it. */
static void test_key_among_many(void **state)
{
    static const struct {
        int         others;
        const char *first_stage; /* OpenSSH's client does not say that it resolves */
    } rows[] = { { 1, "resolve;" }, { 7, "connect;" } };
    char          lines[256];
    struct client c;
    size_t        i;

    NEEDS_SSHD();
    sshd_shell("cd %s && cp id locked && cp id.pub locked.pub && "
               "ssh-keygen -q -p -P '' -N secret -f locked >/dev/null", server.dir);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sshd_shell("cd %s && ssh-agent -a $PWD/many%zu.sock >agent.env && . ./agent.env >/dev/null "
                   "&& for n in $(seq %d); do rm -f some*; ssh-keygen -q -t ed25519 -N '' -f some; "
                   "ssh-add -q some; done; ssh-add -q id", server.dir, i, rows[i].others);
        snprintf(lines, sizeof lines, "IdentityAgent %s/many%zu.sock", server.dir, i);
        sshd_client_config(&server, lines);
        sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile %s/locked|' ssh_config",
                   server.dir, server.dir);
        client_connect(&c);
        expect_open(&c);
        assert_memory_equal(c.stages, rows[i].first_stage, strlen(rows[i].first_stage));
        client_clear(&c);
        sshd_shell("cd %s && . ./agent.env >/dev/null && ssh-agent -k >/dev/null", server.dir);
    }
}

/* The kernel accepts, and nobody ever reads. */
static int listen_in_file(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int                listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", server.dir, name);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 9), 0);
    return listener;
}

static void test_ssh_agent(void **state)
{
    struct client c;
    char          lines[256];

    NEEDS_SSHD();
    sshd_shell("cd %s && ssh-agent -a $PWD/agent.sock >agent.env && . ./agent.env >/dev/null && "
               "ssh-add -q id", server.dir);
    snprintf(lines, sizeof lines, "IdentityAgent %s/agent.sock", server.dir);
    sshd_client_config(&server, lines);
    sshd_shell("cd %s && sed -i 's|IdentityFile .*|IdentityFile none|' ssh_config", server.dir);
    expect_opens();
    sshd_shell("cd %s && . ./agent.env >/dev/null && ssh-agent -k >/dev/null", server.dir);

    /* One that accepts and never answers must not hang us. */
    {
        struct conn_target target = node_target();
        int64_t            begin = clock_now_ns();
        int                listener = listen_in_file("dead.sock");

        sshd_shell("cd %s && sed -i 's|agent.sock|dead.sock|' ssh_config", server.dir);
        client_start(&c, &target);
        expect_failure(&c, "authenticate", EXIT_REFUSED, "does not answer");
        assert_true(clock_now_ns() - begin < 10 * NS_PER_S);
        client_clear(&c);
        close(listener);
    }
}

/* An agent that does not answer delays nobody who has named a file. */
static void test_agent_is_not_asked(void **state)
{
    char lines[256];
    int  listener;

    NEEDS_SSHD();
    listener = listen_in_file("unasked.sock");
    snprintf(lines, sizeof lines, "IdentityAgent %s/unasked.sock", server.dir);
    sshd_client_config(&server, lines);
    expect_opens();
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(accept(listener, NULL, NULL), -1); /* nobody has connected */
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_key_refused),
        TEST(test_many_keys_refused),
        TEST(test_key_encrypted),
        TEST(test_keys_that_ssh_does_not_use),
        TEST(test_algorithms_are_only_narrowed),
        cmocka_unit_test_setup_teardown(test_a_ticket_would_do, client_setup, end_kerberos_sshd),
        cmocka_unit_test_setup_teardown(test_a_ticket_is_demanded, client_setup, end_kerberos_sshd),
        TEST(test_rsa_and_ecdsa),
        TEST(test_certificates),
        TEST(test_certificate_of_agents_key),
        TEST(test_key_among_many),
        TEST(test_ssh_agent),
        TEST(test_agent_is_not_asked),
    };

    return cmocka_run_group_tests(tests, client_group_setup, client_group_teardown);
}
