/* test_horovod.c - which scripts import horovod
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

#include "plan/horovod.h"
#include "xalloc.h"

#define WORDS 4

static void knows_imports(void **state)
{
    static const struct {
        const char *text;
        bool        expected;
    } cases[] = {
        { "import horovod", true },
        { "import horovod.torch as hvd\n", true },
        { "import os\nimport horovod.tensorflow.keras as hvd\n", true },
        { "from horovod import torch", true },
        { "from horovod.torch.elastic import run\r\n", true },
        { "try:\n    import horovod.torch\nexcept ImportError:\n    pass\n", true },
        { "\timport\thorovod", true },
        { "import os, horovod", true },
        { "import os,horovod.torch , sys", true },
        { "", false },
        { "import", false },
        { "from", false },
        { "import\nhorovod", false },
        { "import ,\n", false },
        { "# import horovod", false },
        { "import os # horovod", false },
        { "import os # , horovod", false },
        { "import horovod_like", false },
        { "import my.horovod", false },
        { "from os import horovod", false },
        { "from os, horovod", false },
        { "importhorovod", false },
        { "imports horovod", false },
        { "print('import horovod')", false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        if (horovod_is_imported(cases[i].text) != cases[i].expected)
            fail_msg("'%s'", cases[i].text);
}

/* horovodrun's line has the interpreter in it. */
static const struct {
    const char *words[WORDS];
    bool        expected;
} lines[] = {
    { { "python", "pkg/train.py" }, true },
    { { "/usr/bin/python3.11", "-u", "pkg/train.py", "--lr" }, true },
    { { "python3", "-u", "-m", "pkg.train" }, true },
    { { "python3", "pkg/other.py", "pkg/train.py" }, false },
    { { "python3", "-m" }, false },
    { { "python3", "-u" }, false },
    { { "python3" }, false },
    { { "sh", "pkg/train.py" }, false },
};

static void reads_scripts_and_modules(void **state)
{
    char           dir[] = "/tmp/test_horovod.XXXXXX", *folder, *file, *ours;
    struct options options = { 0 };
    FILE          *out;
    size_t         i, w;

    (void)state;
    assert_non_null(mkdtemp(dir));
    folder = xasprintf("%s/pkg", dir);
    file = xasprintf("%s/train.py", folder);
    ours = xasprintf("%s/other.py", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    out = fopen(file, "w");
    fputs("import horovod\n", out);
    fclose(out);
    out = fopen(ours, "w");
    fputs("import os\n", out);
    fclose(out);

    options.script = file;
    assert_true(horovod_is_in_script(&options, NULL));
    options.script = (char *)"pkg/train.py";
    assert_true(horovod_is_in_script(&options, dir));
    assert_false(horovod_is_in_script(&options, folder));
    options.script = folder; /* no file */
    assert_false(horovod_is_in_script(&options, dir));
    options.script = ours;
    assert_false(horovod_is_in_script(&options, dir));
    options.script = (char *)"pkg.train";
    assert_false(horovod_is_in_script(&options, dir));
    options.module = true;
    assert_true(horovod_is_in_script(&options, dir));
    options.script = (char *)"train";
    assert_true(horovod_is_in_script(&options, folder));
    options.script = (char *)"pkg";
    assert_false(horovod_is_in_script(&options, dir));

    options.module = false;
    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        options.script = (char *)lines[i].words[0];
        for (w = 1; w < WORDS && lines[i].words[w] != NULL; w++)
            strlist_add(&options.args, lines[i].words[w]);
        if (horovod_is_in_script(&options, dir) != lines[i].expected)
            fail_msg("line %zu: %s", i, options.script);
        strlist_clear(&options.args);
    }

    unlink(file);
    unlink(ours);
    rmdir(folder);
    rmdir(dir);
    free(ours);
    free(file);
    free(folder);
}

static void is_served_where_it_can_be(void **state)
{
    struct options options = { .command = COMMAND_RUN };
    struct strlist env = { 0 };

    (void)state;
    assert_true(horovod_is_used(&options, true, &env));
    assert_false(horovod_is_used(&options, false, &env));
    options.pmix = true;
    assert_false(horovod_is_used(&options, true, &env));
    options.pmix = false;
    env_set(&env, "HOROVOD_GLOO_RENDEZVOUS_ADDR", "te0");
    assert_false(horovod_is_used(&options, true, &env));
    options.horovod = true;
    assert_true(horovod_is_used(&options, false, &env));
    options.no_ssh = true;
    assert_false(horovod_is_used(&options, true, &env));
    options.no_ssh = false;
    options.per_node = true;
    assert_false(horovod_is_used(&options, true, &env));
    options.per_node = false;
    options.command = COMMAND_EXEC;
    assert_false(horovod_is_used(&options, true, &env));
    strlist_clear(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_imports),
        cmocka_unit_test(reads_scripts_and_modules),
        cmocka_unit_test(is_served_where_it_can_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
