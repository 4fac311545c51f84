/* test_roles.c - the words of each role, from a command line and from a file
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "options/roles.h"
#include "options_fixture.h"
#include "xalloc.h"

static struct role_lines lines;

/* The words of all roles: "--role|a:1|x :--role|b|y". */
static char *words_of(void)
{
    static char text[4096];
    size_t      i, k, used = 0;

    text[0] = '\0';
    for (i = 0; i < lines.count; i++)
        for (k = 0; k < lines.line[i].count; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     k > 0 ? "|" : i > 0 ? " :" : "", lines.line[i].item[k]);
    return text;
}

static int read_file(const char *text, size_t size)
{
    char  path[] = "/tmp/test_roles.XXXXXX";
    int   fd = mkstemp(path), rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
    role_lines_clear(&lines);
    rc = role_lines_read(&lines, path, &err);
    unlink(path);
    return rc;
}

static void a_file_is_read(void **state)
{
    static const char *const cases[][2] = {
        { "a:1 x", "--role|a:1|x" },
        { "a:1 x\nb y\n", "--role|a:1|x :--role|b|y" },
        { "\n  # none\n\ta:1\tx  \r\n#b y\n", "--role|a:1|x" },
        { "a:1 x # y", "--role|a:1|x" },
        { "a:1 x#y \\# '#'", "--role|a:1|x#y|#|#" },
        { "a:1 'x y' \"x 'y' \\\" z\" x\\ y", "--role|a:1|x y|x 'y' \" z|x y" },
        { "a:1 x'y'\"z\" '' 'a\\b' \"$HOME *\"", "--role|a:1|xyz||a\\b|$HOME *" },
        { "a:1 x\\\n", "--role|a:1|x\\" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (read_file(cases[i][0], strlen(cases[i][0])) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(words_of(), cases[i][1]);
    }
    role_lines_clear(&lines);
}

static void a_bad_file_is_refused(void **state)
{
    static const char many[] = "a x\n";
    static const struct {
        const char *text;
        size_t      size;
        const char *why;
    } cases[] = {
        { "", 0, "no role in " },
        { "# a\n", 4, "no role in " },
        { "a x\nb 'y\n", 9, ":2: ' without its end" },
        { "a \"x", 4, ":1: \" without its end" },
        { "a x\nb ':' y\n", 11, ":2: ':' alone begins another role" },
        { "a x\0y\n", 6, "has a NUL byte" },
    };
    char   text[(ROLES_MAX + 1) * (sizeof many - 1)];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_file(cases[i].text, cases[i].size), -1);
        if (strstr(err.text, cases[i].why) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].why, err.text);
        role_lines_clear(&lines);
    }
    for (i = 0; i <= ROLES_MAX; i++)
        memcpy(text + i * (sizeof many - 1), many, sizeof many - 1);
    assert_int_equal(read_file(text, sizeof text), -1);
    assert_non_null(strstr(err.text, ":33: more than 32 roles"));
    role_lines_clear(&lines);
    assert_int_equal(role_lines_read(&lines, "/nowhere", &err), -1);
    assert_string_equal(err.text, "--roles: /nowhere: No such file or directory");
    assert_int_equal(role_lines_read(&lines, "/dev/zero", &err), -1);
}

static void expect_words(const struct strlist *words, const char *expected)
{
    char   text[1024] = "";
    size_t i, used = 0;

    for (i = 0; i < words->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "|" : "",
                                 words->item[i]);
    assert_string_equal(text, expected);
}

/* The words before the first role are for all; a role adds its own. */
static void each_role_is_a_command_line(void **state)
{
    (void)state;
    ACCEPT("--hostfile", "h", "--env", "A=1", "--role", "a:2", "--env=B=2", "-m", "x", "--y", ":",
           "--role=b", "-i", "te1", "--", "-z", "--", "w");
    assert_true(options.has_roles);
    assert_int_equal(options.roles, 2);
    assert_null(options.script);
    expect_words(&options.args, "--role=a:2|--env=B|--module|x|--y|:|--role=b|-i=te1|--|-z|--|w");
    expect_words(&options.given, "--hostfile=h|--env=A");
    assert_string_equal(options.role[0].role_name, "a");
    assert_int_equal(options.role[0].role_ranks, 2);
    assert_string_equal(options.role[0].hostfile, "h");
    assert_true(options.role[0].module);
    assert_int_equal(options.role[0].env.count, 2);
    assert_string_equal(options.role[0].script, "x");
    assert_int_equal(options.role[0].args.count, 1);
    assert_int_equal(options.role[1].role_ranks, 0);
    assert_false(options.role[1].module);
    assert_int_equal(options.role[1].env.count, 1);
    assert_string_equal(options.role[1].include, "te1");
    assert_string_equal(options.role[1].script, "-z");
    assert_false(options.role[1].has_roles);
}

static void roles_are_refused(void **state)
{
    (void)state;
    REFUSE("--role: 'a b' is not a name", "--role", "a b", "x");
    REFUSE("--role: '' is not a name", "--role=:3", "x");
    REFUSE("--role: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is not a name", "--role",
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x");
    REFUSE("'x'", "--role=a:x", "x");
    REFUSE("nothing follows the last ':'", "--role", "a:1", "x", ":");
    REFUSE("after ':' comes --role NAME:N, not 'b'", "--role", "a:1", "x", ":", "b");
    REFUSE("no script to run", "--role", "a:1", ":", "--role", "b", "x");
    REFUSE("there is a role a_b already", "--role", "a_b:1", "x", ":", "--role", "A-B", "x");
    REFUSE("how many ranks? Write --role a:N", "--role", "a", "x", ":", "--role", "b", "x");
    REFUSE("--json belongs before the first --role", "--role", "a", "--json=-", "x");
    REFUSE("-np: write the number of ranks behind the role", "--role", "a", "-np", "2", "x");
    REFUSE("--role: 'b:2' before the script of a; ':' ends a role", "--role", "a:1", "--role",
           "b:2", "x");
    REFUSE("unknown option --foo", "--role", "a", "--foo=1", "x");
    REFUSE("--module and --no_python", "--role", "a:1", "x", ":", "--role", "b", "-m",
           "--no_python", "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(a_bad_file_is_refused),
        cmocka_unit_test(each_role_is_a_command_line),
        cmocka_unit_test(roles_are_refused),
    };

    return cmocka_run_group_tests_name("roles", tests, set_up, tear_down);
}
