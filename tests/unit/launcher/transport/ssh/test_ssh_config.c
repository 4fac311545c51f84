/* test_ssh_config.c - what ssh config says about a host, as ssh would read it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sshd.h"
#include "transport/ssh/ssh_config.h"
#include "xalloc.h"

/* Our own reader understands all of text. */
static struct ssh_config parse(const char *host, const char *text)
{
    struct conn_target target = { .host = host };
    struct ssh_config  config;
    struct error       err;
    char              *doubt;

    if (ssh_config_parse(&config, "config", text, &target, &doubt, &err) < 0)
        fail_msg("%s", err.text);
    if (doubt != NULL)
        fail_msg("not understood: %s", doubt);
    return config;
}

static struct ssh_config answer(const char *text)
{
    struct conn_target target = { .host = "te1" };
    struct ssh_config  config;
    struct error       err;

    if (ssh_config_answer(&config, text, &target, &err) < 0)
        fail_msg("%s", err.text);
    return config;
}

static void test_defaults(void **state)
{
    const struct passwd *me = getpwuid(getuid());
    struct ssh_config    config;
    char                *path;

    (void)state;
    setenv("SSH_AUTH_SOCK", "/run/agent%1", 1);
    config = parse("te_1", "");
    assert_string_equal(config.hostname, "te_1");
    assert_int_equal(config.port, 22);
    assert_int_equal(config.family, AF_UNSPEC);
    assert_string_equal(config.user, me->pw_name);
    assert_false(config.identities_named);
    assert_false(config.identities_only);
    assert_int_equal(config.identity_files.count, 3);
    path = xasprintf("%s/.ssh/id_ed25519", me->pw_dir);
    assert_string_equal(config.identity_files.item[0], path);
    assert_string_equal(config.identity_agent, "/run/agent%1");
    assert_int_equal(config.known_hosts.count, 4);
    assert_false(config.accept_unknown);
    assert_null(config.proxy_command);
    assert_null(config.needs_openssh);
    free(path);
    ssh_config_clear(&config);
}

static void test_first_value_wins(void **state)
{
    struct ssh_config config = parse("te1",
        "# comment\n"
        "Host te2\n"
        "  HostName wrong\n"
        "Host te1 te3\n"
        "  hostname = 10.0.0.1\n"
        "\tPort=2222  \n"
        "  User someone\n"
        "  IdentityFile ~/.ssh/cluster\n"
        "  IdentitiesOnly yes\n"
        "  StrictHostKeyChecking off\n"
        "  AddressFamily inet6\n"
        "  ServerAliveInterval 30\n"
        "  ForwardAgent no\n"
        "Host *\n"
        "  HostName 10.9.9.9\n"
        "  Port 1\n"
        "  User nobody\n"
        "  IdentityFile /etc/keys/one\n"
        "  SendEnv LANG LC_*\n");

    (void)state;
    assert_string_equal(config.hostname, "10.0.0.1");
    assert_int_equal(config.port, 2222);
    assert_string_equal(config.user, "someone");
    assert_true(config.accept_unknown);
    assert_true(config.identities_only);
    assert_int_equal(config.family, AF_INET6);
    assert_true(config.identities_named);
    assert_int_equal(config.identity_files.count, 2);
    assert_non_null(strstr(config.identity_files.item[0], "/.ssh/cluster"));
    assert_string_equal(config.identity_files.item[1], "/etc/keys/one");
    ssh_config_clear(&config);
}

static void test_host_patterns(void **state)
{
    static const struct {
        const char *host, *line;
        bool        matches;
    } cases[] = {
        { "te1", "Host te?", true },
        { "te11", "Host te?", false },
        { "te1.example", "Host *.example", true },
        { "te1.example", "Host *.example !te1*", false },
        { "te2.example", "Host !te1* *.example", true },
        { "te2", "Host !te1", false },
        { "abcabd", "Host *ab?", true },
        { "abcabd", "Host *abc", false },
    };
    struct ssh_config config;
    char             *text;
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text = xasprintf("%s\n  Port 7\n", cases[i].line);
        config = parse(cases[i].host, text);
        if ((config.port == 7) != cases[i].matches)
            fail_msg("%s: %s", cases[i].host, cases[i].line);
        ssh_config_clear(&config);
        free(text);
    }
}

/* All that ssh reads in a way of its own, or refuses, is for ssh to answer: the place is named. */
static void test_doubts(void **state)
{
    static const char *const lines[] = {
        "Match all", "Match exec true", "match host te1", "SomethingElse yes", "User \"me\"",
        "User me # comment", "User", "Host", "User a b", "Port 22 23", "Port ssh", "Port 022",
        "Port -1", "Port 65536", "HostName %h.example.com", "HostName ${HOST}",
        "IdentityFile ~other/id",
        "IdentityFile /a b", "IdentityFile %d/.ssh/id", "IdentityFile ${HOME}/id",
        "IdentityAgent $SOCKET", "AddressFamily inet5", "StrictHostKeyChecking maybe",
        "IdentitiesOnly perhaps", "Ciphers aes128-ctr", "KexAlgorithms -ecdh*", "MACs +x",
        "HostKeyAlgorithms ssh-rsa", "PubkeyAcceptedAlgorithms *", "PubkeyAuthentication no",
        "PreferredAuthentications password", "RequiredRSASize 4096", "ProxyCommand nc %h %p",
        "CertificateFile /c", "RevokedHostKeys /r", "KnownHostsCommand /c", "VerifyHostKeyDNS yes",
        "PKCS11Provider /p", "BindAddress 10.0.0.1", "User me\r", "ConnectTimeout 1m",
        "Include other", "CanonicalizeHostname yes", "UserKnownHostsFile \"/t w o\"",
        "ProxyJump hop;reboot", "ProxyJump -oProxyCommand=reboot", "\"Port\" 22", "Tunnel yes",
    };
    struct conn_target target = { .host = "te1" };
    struct ssh_config  config;
    struct error       err;
    char              *text, *doubt;
    size_t             i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        text = xasprintf("Host other\n  Port 7\n  %s\n", lines[i]); /* although it does not apply */
        assert_int_equal(ssh_config_parse(&config, "config", text, &target, &doubt, &err), 0);
        if (doubt == NULL || strncmp(doubt, "config:3: ", 10) != 0)
            fail_msg("%s: %s", lines[i], doubt != NULL ? doubt : "understood");
        assert_null(config.hostname);
        free(doubt);
        free(text);
    }
    target.host = "Te1";
    assert_int_equal(ssh_config_parse(&config, "config", "", &target, &doubt, &err), 0);
    assert_non_null(strstr(doubt, "Te1: a name"));
    free(doubt);
}

static void test_target_wins(void **state)
{
    struct conn_target target = { .host = "te1", .addr = "10.0.0.7", .user = "me", .port = 9 };
    struct ssh_config  config;
    struct error       err;
    char              *doubt;

    (void)state;
    assert_int_equal(ssh_config_parse(&config, "config", "HostName x\nUser y\nPort 8\n", &target,
                                      &doubt, &err), 0);
    assert_null(doubt);
    assert_string_equal(config.hostname, "10.0.0.7");
    assert_string_equal(config.user, "me");
    assert_int_equal(config.port, 9);
    ssh_config_clear(&config);
}

static void test_proxy_jump(void **state)
{
    struct ssh_config config;

    (void)state;
    config = answer("hostname te1\nport 22\nproxyjump me@hop:2200\n");
    assert_string_equal(config.proxy_command,
                        "ssh -o BatchMode=yes -W '[te1]:22' ssh://me@hop:2200");
    ssh_config_clear(&config);
    config = parse("te1", "ProxyJump one,two,three\n");
    assert_string_equal(config.proxy_command,
                        "ssh -o BatchMode=yes -J one,two -W '[te1]:22' ssh://three");
    ssh_config_clear(&config);
    config = parse("te1", "ProxyJump none\n");
    assert_null(config.proxy_command);
    ssh_config_clear(&config);
}

static void test_errors(void **state)
{
    struct conn_target target = { .host = "te1" };
    struct ssh_config  config;
    struct error       err;
    char              *doubt;

    (void)state;
    target.ssh_config = "/nonexistent/config";
    assert_int_equal(ssh_config_read(&config, &target, &doubt, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/config"));
}

/* ---- what ssh -G says ---- */

static void test_answer(void **state)
{
    struct ssh_config config;

    (void)state;
    config = answer("host te1\nuser me too\nhostname 10.0.0.1\nport 2222\naddressfamily any\n"
                    "stricthostkeychecking accept-new\nidentitiesonly yes\n"
                    "identityfile ~/.ssh/my key\nidentityfile /etc/%h/%p/%r/%n%%\n"
                    "identityagent none\ncertificatefile /c\n"
                    "userknownhostsfile /one /two\nglobalknownhostsfile none\n"
                    "hostkeyalias farm\nciphers aes256-ctr\nkexalgorithms curve25519-sha256\n"
                    "proxycommand nc -X 5 '%h' %p\nrequiredrsasize 2048\n"
                    "pubkeyauthentication true\npreferredauthentications password,publickey\n"
                    "verifyhostkeydns false\nsomething else\nport 1\n");
    assert_string_equal(config.hostname, "10.0.0.1");
    assert_string_equal(config.user, "me too");
    assert_int_equal(config.port, 2222);
    assert_false(config.accept_unknown);
    assert_true(config.identities_named);
    assert_true(config.identities_only);
    assert_non_null(strstr(config.identity_files.item[0], "/.ssh/my key"));
    assert_string_equal(config.identity_files.item[1], "/etc/10.0.0.1/2222/me too/te1%");
    assert_string_equal(config.identity_agent, "");
    assert_int_equal(config.known_hosts.count, 2);
    assert_string_equal(config.known_hosts.item[1], "/two");
    assert_string_equal(config.host_key_alias, "farm");
    assert_string_equal(config.ciphers, "aes256-ctr");
    assert_string_equal(config.kex, "curve25519-sha256");
    assert_string_equal(config.proxy_command, "nc -X 5 '10.0.0.1' 2222");
    assert_int_equal(config.rsa_bits, 2048);
    assert_null(config.needs_openssh);
    ssh_config_clear(&config);
    config = answer("hostname te1\nport 22\nidentityfile ~/.ssh/id_rsa\n"
                    "identityfile ~/.ssh/id_ecdsa\nidentityfile ~/.ssh/id_ecdsa_sk\n"
                    "identityfile ~/.ssh/id_ed25519\nidentityfile ~/.ssh/id_ed25519_sk\n"
                    "stricthostkeychecking false\n");
    assert_false(config.identities_named); /* they are ssh's defaults */
    assert_true(config.accept_unknown);
    ssh_config_clear(&config);
    config = answer("hostname te1\nport 22\nidentityfile ~/.ssh/id_work\n");
    assert_true(config.identities_named); /* not all of them: the user has set it */
    ssh_config_clear(&config);
}

/* A name with capitals is a reason to ask, and none to doubt what ssh says. */
static void test_answer_about_any_name(void **state)
{
    struct conn_target target = { .host = "GPU-1" };
    struct ssh_config  config;
    struct error       err;

    (void)state;
    assert_int_equal(ssh_config_answer(&config, "hostname te1\nport 2222\n", &target, &err), 0);
    assert_string_equal(config.hostname, "te1");
    assert_int_equal(config.port, 2222);
    ssh_config_clear(&config);
}

static void test_needs_openssh(void **state)
{
    static const char *const lines[] = {
        "pubkeyauthentication no", "pubkeyauthentication false", "knownhostscommand /bin/x",
        "revokedhostkeys /r", "verifyhostkeydns true", "verifyhostkeydns ask", "pkcs11provider /p",
        "bindaddress 10.0.0.1", "bindinterface eth0", "checkhostip yes", "proxyusefdpass yes",
        "rekeylimit 1073741824 0", "preferredauthentications password",
        "preferredauthentications gssapi-with-mic,hostbased", "identityfile ~other/.ssh/id",
        "identityfile ${HOME}/id", "identityfile /%C", "userknownhostsfile /%j",
        "proxycommand nc %d", "identityagent /run/%C",
    };
    struct ssh_config config;
    char             *text;
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        text = xasprintf("hostname te1\nport 22\n%s\n", lines[i]);
        config = answer(text);
        if (config.needs_openssh == NULL)
            fail_msg("%s", lines[i]);
        ssh_config_clear(&config);
        free(text);
    }
}

/* ---- files ---- */

static void test_include(void **state)
{
    struct conn_target target = { .host = "te1" };
    struct sshd        dir = { .dir = "/tmp/muster-test-XXXXXX" };
    struct ssh_config  config;
    struct error       err;
    char              *path, *doubt;

    (void)state;
    assert_non_null(mkdtemp(dir.dir));
    path = xasprintf("%s/main", dir.dir);
    target.ssh_config = path;
    sshd_file(&dir, "main", 0600, "Host te*\n Include %s/part*\n Port 5\n", dir.dir);
    sshd_file(&dir, "part1", 0600, "User one\nHost other\n User other\n Port 6\n");
    sshd_file(&dir, "part2", 0600, "HostName two\n");
    sshd_shell("mkdir %s/part3", dir.dir); /* which ssh passes over, too */
    assert_int_equal(ssh_config_read(&config, &target, &doubt, &err), 0);
    assert_null(doubt);
    assert_string_equal(config.hostname, "two");
    assert_string_equal(config.user, "one");
    assert_int_equal(config.port, 5);
    ssh_config_clear(&config);
    sshd_shell("chmod 664 %s/part1", dir.dir); /* ssh refuses that */
    assert_int_equal(ssh_config_read(&config, &target, &doubt, &err), 0);
    assert_non_null(strstr(doubt, "part1:0: its owner or mode"));
    free(doubt);
    sshd_shell("chmod 600 %s/part1", dir.dir);
    sshd_file(&dir, "part2", 0600, "Include %s/main\n", dir.dir);
    assert_int_equal(ssh_config_read(&config, &target, &doubt, &err), 0);
    assert_non_null(strstr(doubt, "Include")); /* without end */
    free(doubt);
    sshd_shell("rm -rf %s", dir.dir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_first_value_wins),
        cmocka_unit_test(test_host_patterns),
        cmocka_unit_test(test_doubts),
        cmocka_unit_test(test_target_wins),
        cmocka_unit_test(test_proxy_jump),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_answer_about_any_name),
        cmocka_unit_test(test_needs_openssh),
        cmocka_unit_test(test_include),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
