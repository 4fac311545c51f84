/* plan_fixture.c - a folder with programs, and the options of one script, for tests of plans
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

#include "plan_fixture.h"

char        folder[] = "/tmp/test_plan.XXXXXX";
static char path_variable[64];

struct options   options;
struct hostlist  hosts;
struct selection selection;
struct program   program;
struct plan      plan;
struct error     err;
int              exit_code;
char            *here[16];

void touch(const char *name, mode_t mode)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fclose(file);
    assert_int_equal(chmod(name, mode), 0);
}

int make_folder(void **state)
{
    (void)state;
    setenv("HOME", "/nonexistent", 1); /* no settings of the tester's own */
    unsetenv("XDG_CONFIG_HOME");
    if (mkdtemp(folder) == NULL || chdir(folder) < 0 || mkdir("bin", 0755) < 0 ||
        mkdir("venv", 0755) < 0 || mkdir("venv/bin", 0755) < 0)
        return -1;
    touch("train.py", 0644);
    touch("tool", 0755);
    touch("data", 0644);
    touch("bin/python3", 0755);
    touch("bin/python9", 0755);
    touch("bin/job", 0755);
    touch("venv/bin/python", 0755);
    snprintf(path_variable, sizeof path_variable, "PATH=relative:%s/bin", folder);
    return 0;
}

int remove_folder(void **state)
{
    static const char *const names[] = { "train.py", "tool", "data", "bin/python3",
                                         "bin/python9", "bin/job", "venv/bin/python",
                                         "venv/bin", "venv", "bin" };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        remove(names[i]);
    return chdir("/") < 0 || rmdir(folder) < 0 ? -1 : 0;
}

static void clear(void)
{
    plan_clear(&plan);
    program_clear(&program);
    selection_clear(&selection);
    hostlist_clear(&hosts);
    options_clear(&options);
    memset(here, 0, sizeof here);
}

int start(void **state)
{
    static char name[] = "muster";
    static char script[] = "train.py";
    char       *argv[] = { name, script, NULL };

    (void)state;
    clear();
    if (options_parse(&options, 2, argv, &exit_code, &err) != OPTIONS_RUN)
        return -1;
    here[0] = path_variable;
    return 0;
}

int finish(void **state)
{
    (void)state;
    clear();
    return 0;
}

void set(const char *name, const char *value)
{
    if (options_set(&options, name, value, "test", &err) < 0)
        fail_msg("%s", err.text);
}

void set_script(const char *script)
{
    free(options.script);
    options.script = strdup(script);
}

int find(void)
{
    program_clear(&program);
    err.text[0] = '\0';
    return program_find(&options, here, options.cwd, &program, &exit_code, &err);
}

void assert_error(int rc, const char *reason)
{
    assert_int_equal(rc, -1);
    if (strstr(err.text, reason) == NULL)
        fail_msg("'%s' is not in: %s", reason, err.text);
}

void assert_words(const struct strlist *words, const char *expected)
{
    char   text[1024] = "";
    size_t i, used = 0;

    for (i = 0; i < words->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                                 strncmp(words->item[i], folder, strlen(folder)) == 0
                                     ? words->item[i] + strlen(folder) + 1
                                     : words->item[i]);
    assert_string_equal(text, expected);
}
