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

static struct ssh_config parse(const char *host, const char *text)
{
    struct conn_target target = { .host = host };
    struct ssh_config  config;
    struct error       err;

    if (ssh_config_parse(&config, "config", text, &target, &err) < 0)
        fail_msg("%s", err.text);
    return config;
}

static void expect_error(const char *text, const char *expected)
{
    struct conn_target target = { .host = "te1" };
    struct ssh_config  config;
    struct error       err;

    assert_int_equal(ssh_config_parse(&config, "config", text, &target, &err), -1);
    assert_string_equal(err.text, expected);
    assert_null(config.hostname);
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
    assert_int_equal(config.identity_files.count, 3);
    path = xasprintf("%s/.ssh/id_ed25519", me->pw_dir);
    assert_string_equal(config.identity_files.item[0], path);
    assert_string_equal(config.identity_agent, "/run/agent%1");
    assert_int_equal(config.known_hosts.count, 4);
    assert_false(config.accept_unknown);
    assert_null(config.proxy_command);
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
        "  hostname = 10.0.0.1\r\n"
        "\tPort=2222   # trailing\n"
        "  User \"some one\"\n"
        "  IdentityFile ~/.ssh/cluster\n"
        "  Ciphers aes256-ctr\n"
        "  StrictHostKeyChecking off\n"
        "  AddressFamily inet6\n"
        "Host *\n"
        "  HostName 10.9.9.9\n"
        "  Port 1\n"
        "  User nobody\n"
        "  IdentityFile /etc/%h/%p/%r/%n%%\n"
        "  SomethingElse yes\n");

    (void)state;
    assert_string_equal(config.hostname, "10.0.0.1");
    assert_int_equal(config.port, 2222);
    assert_string_equal(config.user, "some one");
    assert_string_equal(config.ciphers, "aes256-ctr");
    assert_true(config.accept_unknown);
    assert_int_equal(config.family, AF_INET6);
    assert_true(config.identities_named);
    assert_int_equal(config.identity_files.count, 2);
    assert_non_null(strstr(config.identity_files.item[0], "/.ssh/cluster"));
    assert_string_equal(config.identity_files.item[1], "/etc/10.0.0.1/2222/some one/te1%");
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
        { "te1", "Match all", true },
        { "te1", "Match originalhost te2,te1", true },
        { "te1", "Match originalhost te*,!te1", false },
        { "te1", "Match !originalhost te2 host te1", true },
        { "te1", "Match host te1 user nobody-at-all", false },
        { "te1", "Match exec true", false },
        { "te1", "Match !exec false", false },
        { "te1", "Match final all", false },
        { "te1", "Match host", false },
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

static void test_target_wins(void **state)
{
    struct conn_target target = { .host = "te1", .addr = "10.0.0.7", .user = "me", .port = 9 };
    struct ssh_config  config;
    struct error       err;

    (void)state;
    assert_int_equal(ssh_config_parse(&config, "config",
                                      "HostName x\nUser y\nPort 8\nMatch host 10.0.0.7 user me\n"
                                      "HostKeyAlias %n\n", &target, &err), 0);
    assert_string_equal(config.hostname, "10.0.0.7");
    assert_string_equal(config.user, "me");
    assert_int_equal(config.port, 9);
    assert_string_equal(config.host_key_alias, "%n");
    ssh_config_clear(&config);
}

static void test_hostname_token(void **state)
{
    struct ssh_config config = parse("te1", "HostName %h.example.com\n");

    (void)state;
    assert_string_equal(config.hostname, "te1.example.com");
    ssh_config_clear(&config);
}

static void test_proxies(void **state)
{
    struct ssh_config config;

    (void)state;
    config = parse("te1", "ProxyCommand nc -X 5 '%h' %p # not a comment\nProxyJump hop\n");
    assert_string_equal(config.proxy_command, "nc -X 5 'te1' 22 # not a comment");
    ssh_config_clear(&config);
    config = parse("te1", "ProxyJump me@hop:2200\nProxyCommand nc\n");
    assert_string_equal(config.proxy_command,
                        "ssh -o BatchMode=yes -W '[te1]:22' ssh://me@hop:2200");
    ssh_config_clear(&config);
    config = parse("te1", "ProxyJump one,two,three\n");
    assert_string_equal(config.proxy_command,
                        "ssh -o BatchMode=yes -J one,two -W '[te1]:22' ssh://three");
    ssh_config_clear(&config);
    config = parse("te1", "ProxyJump none\nProxyCommand nc\n");
    assert_null(config.proxy_command);
    ssh_config_clear(&config);
    expect_error("ProxyJump hop;reboot\n", "config:1: ProxyJump hop;reboot: not [user@]host[:port]");
    expect_error("ProxyJump -oProxyCommand=reboot\n",
                 "config:1: ProxyJump -oProxyCommand=reboot: not [user@]host[:port]");
}

static void test_files(void **state)
{
    struct ssh_config config = parse("te1",
        "UserKnownHostsFile /one \"/t w o\"\nGlobalKnownHostsFile none\nIdentityFile none\n"
        "CertificateFile /c\nIdentityAgent none\n");

    (void)state;
    assert_int_equal(config.known_hosts.count, 2);
    assert_string_equal(config.known_hosts.item[1], "/t w o");
    assert_true(config.identities_named);
    assert_int_equal(config.identity_files.count, 0);
    assert_string_equal(config.certificate_files.item[0], "/c");
    assert_string_equal(config.identity_agent, "");
    ssh_config_clear(&config);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("\nPort 99999\n",
                 "config:2: Port: '99999' is not a number from 1 to 65535");
    expect_error("User \"me\n", "config:1: a quote is not closed");
    expect_error("Host *\nHostName\n", "config:2: HostName has no value");
    expect_error("IdentityFile %Z\n", "config:1: %Z is not a token that muster can expand");
    expect_error("Include other\n", "config:1: Include is nested too deep");
}

static void test_include(void **state)
{
    struct conn_target target = { .host = "te1" };
    struct sshd        dir = { .dir = "/tmp/muster-test-XXXXXX" };
    struct ssh_config  config;
    struct error       err;
    char              *path;

    (void)state;
    assert_non_null(mkdtemp(dir.dir));
    path = xasprintf("%s/main", dir.dir);
    target.ssh_config = path;
    sshd_file(&dir, "main", 0600,
              "Host te2\n Include %s/never\nHost te*\n Include %s/part*\n Port 5\n", dir.dir,
              dir.dir);
    sshd_file(&dir, "never", 0600, "HostName never\n");
    sshd_file(&dir, "part1", 0600, "User one\nHost other\n User other\n Port 6\n");
    sshd_file(&dir, "part2", 0600, "HostName two\n");
    sshd_shell("mkdir %s/part3", dir.dir); /* which ssh passes over, too */
    assert_int_equal(ssh_config_read(&config, &target, &err), 0);
    assert_string_equal(config.hostname, "two");
    assert_string_equal(config.user, "one");
    assert_int_equal(config.port, 5);
    ssh_config_clear(&config);
    sshd_file(&dir, "part2", 0600, "Include %s/main\n", dir.dir);
    assert_int_equal(ssh_config_read(&config, &target, &err), -1);
    assert_non_null(strstr(err.text, "nested too deep"));
    sshd_shell("rm -rf %s", dir.dir);
    assert_int_equal(ssh_config_read(&config, &target, &err), -1);
    assert_non_null(strstr(err.text, path));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_first_value_wins),
        cmocka_unit_test(test_host_patterns),
        cmocka_unit_test(test_target_wins),
        cmocka_unit_test(test_hostname_token),
        cmocka_unit_test(test_proxies),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_include),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
