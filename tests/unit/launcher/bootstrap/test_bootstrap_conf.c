/* test_bootstrap_conf.c - bootstrap.conf: what it may say; and the address of a node
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/bootstrap_conf.h"
#include "bootstrap/node_address.h"
#include "bootstrap/public_key.h"
#include "file.h"
#include "xalloc.h"

static const char *in(const json_t *conf, const char *section, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(conf, section), key));

    return text != NULL ? text : "";
}

static void settings(void **state)
{
    struct error err;
    json_t      *conf = bootstrap_conf_parse(
        "my.conf", "[project]\ngit = ssh://git@host:22/a:b/@c.git\n"
                   "# comment\r\n[data] ; ours\nmount=/data//\n  label = my data ; note\n"
                   "size = 1.5K\n"
                   "serial =\nmarker = miniconda3/\n[limits]\nmemlock: unlimited\n"
                   "[warm]\npaths = /a /b\n", &err);

    (void)state;
    assert_non_null(conf);
    assert_string_equal(in(conf, "project", "git"), "ssh://git@host:22/a:b/@c.git");
    assert_string_equal(in(conf, "data", "mount"), "/data");
    assert_string_equal(in(conf, "data", "label"), "my data"); /* indented: not more of the line */
    assert_string_equal(in(conf, "data", "size"), "1536");
    assert_string_equal(in(conf, "data", "marker"), "miniconda3/");
    assert_null(json_object_get(json_object_get(conf, "data"), "serial"));
    assert_string_equal(in(conf, "limits", "memlock"), "unlimited");
    assert_non_null(json_object_get(conf, "warm"));
    json_decref(conf);
}

struct mistake {
    const char *text, *why;
};

/* Each text is refused, for that reason. */
static void refuse(const struct mistake *rows, size_t count)
{
    struct error err;
    size_t       i;

    for (i = 0; i < count; i++) {
        assert_null(bootstrap_conf_parse("my.conf", rows[i].text, &err));
        if (strstr(err.text, rows[i].why) == NULL)
            fail_msg("'%s' is not in: %s", rows[i].why, err.text);
    }
}

static void mistakes(void **state)
{
    static const struct mistake rows[] = {
        { "mount = /data\n", "my.conf:1: 'mount' comes before the first [section]" },
        { "\n[dat]\n", "my.conf:2: unknown section '[dat]'; there are: access" },
        { "[data\n", "my.conf:1: unknown section" },
        { "[data]\nmont = /data\n", "my.conf:2: [data] has no setting 'mont'; there are: " },
        { "[data]\ndevice = /dev/vdb1\n", "my.conf:2: [data] has no setting 'device': names such "
                                          "as /dev/vdb1 may change at each boot; write label" },
        { "[python]\npip = x\n", "has no setting 'pip'; there are: requirements, " },
        { "[data]\nmount\n", "my.conf:2: this is neither" },
        { "[data]\nmount = data\n", "'data' is not an absolute path" },
        { "[data]\nmount = /data/../etc\n", "not an absolute path without '..'" },
        { "[data]\nmount = /my data\n", "contains a space" },
        { "[data]\nmount = /a\nmount = /b\n", "my.conf:3: [data] mount is set twice" },
        { "[data]\nmarker = ../x\n", "not a path below the mount point" },
        { "[data]\nmarker = /x\n", "not a path below the mount point" },
        { "[data]\nmarker = ./\n", "not a path below the mount point" },
        { "[data]\nmarker_text = x\nmarker = models/\n",
          "my.conf: [data] marker_text is for a file, but the marker models/ is a folder" },
        { "[data]\nsize = -1\n", "my.conf:2: [data] size:" },
        { "[data]\nsize = 1X\n", "my.conf:2: [data] size:" },
        { "[data]\ngrow = maybe\n", "neither yes nor no" },
        { "[access]\nmake_key = id_rsa\n", "'id_rsa' is neither yes nor no" },
        { "[limits]\nnofile = many\n", "my.conf:2: [limits] nofile:" },
        { "[limits]\nnofile = 0\n", "my.conf:2: [limits] nofile:" },
        { "[limits]\nsshd_max_startups = unlimited\n", "sshd_max_startups:" },
        { "[gpus]\ncount = 257\n", "[gpus] count:" },
        { "[hosts]\nnetwork = 10.0.0.0\n", "not of the form 10.0.0.0/8" },
        { "[hosts]\nnetwork = 10.0.0.0/33\n", "not of the form 10.0.0.0/8" },
        { "[hosts]\nnetwork = 10.0.0/8\n", "not of the form 10.0.0.0/8" },
        { "[data]\nlabel = a\x01z\n", "contains a control character" },
        { "[data]\nlabel = a\xffz\n", "is not UTF-8" },
        { "[warm]\nstreams = 0\n", "[warm] streams:" },
    };
    char         line[600] = "[data]\nlabel = ";
    struct error err;

    (void)state;
    refuse(rows, sizeof rows / sizeof *rows);
    memset(line + strlen(line), 'x', 500);
    assert_null(bootstrap_conf_parse("my.conf", line, &err));
    assert_non_null(strstr(err.text, "my.conf:2: the line has "));
}

static void mistakes_about_users_and_environments(void **state)
{
    static const struct mistake rows[] = {
        { "[user]\nname = root\n", "my.conf:2: [user] name: root exists on every node" },
        { "[user]\nname = Train\n", "'Train' is not a name of at most 32 small letters" },
        { "[user]\nname = 1st\n", "'1st' is not a name" },
        { "[user]\nname = -r\n", "'-r' is not a name" },
        { "[user]\nname = a.b\n", "'a.b' is not a name" },
        { "[user]\nname = a:b\n", "'a:b' is not a name" },
        { "[user]\nname = a23456789012345678901234567890123\n", "is not a name of at most 32" },
        { "[python]\ndirectory = /data\n", "my.conf: [python] has settings, but no requirements" },
        { "[project]\nbranch = main\n", "my.conf: [project] has settings, but no git" },
        { "[project]\ngit = /a\nbranch = b\ncommit = c\n", "has both branch and commit" },
        { "[project]\ngit = --upload-pack=x:\n", "is neither a URL nor an absolute path" },
        { "[project]\ngit = train.git\n", "is neither a URL nor an absolute path" },
        { "[project]\ngit = https://me:secret@host/a\n", "a password or token in the URL can" },
        { "[project]\ngit = https://token@host/a\n", "a password or token in the URL can" },
        { "[project]\ngit = ssh://me:secret@host/a\n", "a password or token in the URL can" },
        { "[project]\ngit = /a\nbranch = -f\n", "'-f' is not the name of a branch or commit" },
        { "[project]\ngit = /a\ncommit = a:b\n", "'a:b' is not the name of a branch or commit" },
        { "[conda]\ntime_limit = 1h\n", "my.conf: [conda] has settings, but no environment" },
        { "[conda]\ntime_limit = soon\n", "my.conf:2: [conda] time_limit:" },
        { "[python]\ntime_limit = 0\n", "my.conf:2: [python] time_limit:" },
        { "[python]\ndirectory = data\n", "'data' is not an absolute path" },
        { "[project]\npush = .\ngit = /a\n", "my.conf:3: [project] has both git and push" },
        { "[project]\ngit = /a\ndirectory = /b\npush = .\n", "my.conf:4: [project] has both" },
        { "[project]\npush = .\ncommit = b\n", "branch and commit are for git, not for push" },
        { "[driver]\nversion = 535\n", "my.conf: [driver] has settings, but no nvidia" },
        { "[driver]\nnvidia = 535\n", "'535' is neither yes nor no" },
        { "[driver]\nnvidia = yes\nversion = 535-server\n", "my.conf:3: [driver] version: " },
        { "[user]\nsudo = yes\n", "my.conf: [user] has settings, but no name" },
        { "[user]\nname = train\nsudo = all\n", "'all' is neither yes nor no" },
    };

    (void)state;
    refuse(rows, sizeof rows / sizeof *rows);
}

/* The example, with every comment sign before a setting taken away, is right; and the manual
 * of it is the example, so no setting may be missing there. */
static void the_example_is_right(void **state)
{
    struct error err;
    size_t       size;
    char        *text = file_read(TOP_SRCDIR "/conf/bootstrap.conf", 1 << 20, &size, &err), *at;
    json_t      *conf;

    (void)state;
    assert_non_null(text);
    for (at = text; (at = strstr(at, "\n#")) != NULL; at++)
        if (at[2] != ' ' && at[2] != '\n')
            at[1] = ' ';
    conf = bootstrap_conf_parse("example", text, &err);
    if (conf == NULL)
        fail_msg("%s", err.text);
    assert_string_equal(in(conf, "data", "mount"), "/data");
    assert_string_equal(in(conf, "warm", "streams"), "32");
    assert_string_equal(in(conf, "user", "name"), "train");
    json_decref(conf);
    free(text);
}

static void addresses(void **state)
{
    static const struct {
        const char *host, *network, *chosen;
    } rows[] = {
        { "te1", NULL, "10.0.0.5" },
        { "192.168.1.5", NULL, "192.168.1.5" },
        { "8.8.4.4", NULL, "8.8.4.4" },
        { "1.2.3.4", NULL, "10.0.0.5" }, /* a public address in front of the cloud's network */
        { "te1", "192.168.0.0/16", "192.168.1.5" },
        { "10.0.0.5", "192.168.0.0/16", "192.168.1.5" },
        { "te1", "172.17.0.0/16", NULL },
        { "te1", "0.0.0.0/0", "8.8.4.4" },
    };
    json_t *all = json_loads(
        "[{\"if\":\"docker0\",\"addr\":\"172.17.0.1\",\"loopback\":false},"
        " {\"if\":\"eth2\",\"addr\":\"8.8.4.4\",\"loopback\":false},"
        " {\"if\":\"eth0\",\"addr\":\"10.0.0.5\",\"loopback\":false},"
        " {\"if\":\"eth1\",\"addr\":\"192.168.1.5\",\"loopback\":false},"
        " {\"if\":\"eth1\",\"addr\":\"fd00::1\",\"loopback\":false},"
        " {\"if\":\"lo\",\"addr\":\"127.0.0.1\",\"loopback\":true}, 7]", 0, NULL);
    const char *chosen;
    size_t      i;

    (void)state;
    assert_non_null(all);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        chosen = node_address_choose(all, rows[i].host, rows[i].network);
        assert_string_equal(chosen != NULL ? chosen : "", rows[i].chosen != NULL ? rows[i].chosen
                                                                                  : "");
    }
    assert_null(node_address_choose(NULL, "te1", NULL));
    json_decref(all);
}

static void public_keys(void **state)
{
    static const struct {
        const char *text;
        int         is_key;
    } rows[] = {
        { "ssh-ed25519 AAAAC3 me@here\n", 1 },
        { "sk-ssh-ed25519@openssh.com AAAAG me\n", 1 },
        { "ssh-ed25519 AAAAC3\nssh-rsa BBBB\n", 1 }, /* the first line */
        { "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", 0 },
        { "", 0 },
        { "ssh-ed25519\n", 0 },
        { "ssh-ed25519 AAAA\x1b[2J\n", 0 },
    };
    char         path[] = "/tmp/muster-test-key.XXXXXX";
    struct error err;
    json_t      *keys;
    FILE        *file;
    size_t       i;

    (void)state;
    close(mkstemp(path));
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(rows[i].text, file);
        fclose(file);
        keys = public_key_read(path, &err);
        assert_int_equal(keys != NULL, rows[i].is_key);
        assert_true(keys == NULL || json_array_size(keys) == 1);
        json_decref(keys);
    }
    unlink(path);
    assert_null(public_key_read(path, &err));
}

/* What ssh-add prints, and which key that is. */
static void keys_of_an_agent(void **state)
{
    static const struct {
        const char *said, *key; /* "": none */
    } rows[] = {
        { "", "" },
        { "The agent has no identities.\\n", "" },
        { "ssh-rsa-cert-v01@openssh.com AAAAB me\\nssh-rsa AAAAC a-cert-v01\\nssh-rsa AAAAD\\n",
          "ssh-rsa AAAAC a-cert-v01" },
        { "ssh-ed25519\\n\\n ssh-ed25519 AAAAE\\necdsa-sha2-nistp256 AAAAF",
          "ecdsa-sha2-nistp256 AAAAF" },
        { "ssh-ed25519 AAAA\\033[2J\\n", "" },
        { "ssh-ed25519 AAAAG\\000\\nssh-ed25519 AAAAH\\n", "ssh-ed25519 AAAAG" },
    };
    char         home[] = "/tmp/muster-test-agent.XXXXXX", *program, *path;
    char        *old_path = xstrdup(getenv("PATH")), *old_home = xstrdup(getenv("HOME"));
    const char  *key;
    struct error err;
    json_t      *keys;
    FILE        *file;
    size_t       i;

    (void)state;
    assert_non_null(mkdtemp(home));
    program = xasprintf("%s/ssh-add", home);
    path = xasprintf("%s:%s", home, old_path);
    setenv("HOME", home, 1);
    setenv("PATH", path, 1);
    setenv("SSH_AUTH_SOCK", "/nowhere", 1);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        file = fopen(program, "w");
        assert_non_null(file);
        fprintf(file, "#!/bin/sh\nprintf '%s'\n", rows[i].said);
        fclose(file);
        chmod(program, 0755);
        keys = public_key_read(NULL, &err);
        key = json_string_value(json_array_get(keys, 0));
        assert_string_equal(key != NULL ? key : "", rows[i].key);
        json_decref(keys);
    }
    setenv("PATH", old_path, 1);
    setenv("HOME", old_home, 1);
    unlink(program);
    rmdir(home);
    free(program);
    free(path);
    free(old_path);
    free(old_home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings),   cmocka_unit_test(mistakes),
        cmocka_unit_test(addresses),  cmocka_unit_test(the_example_is_right),
        cmocka_unit_test(mistakes_about_users_and_environments),
        cmocka_unit_test(public_keys), cmocka_unit_test(keys_of_an_agent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
