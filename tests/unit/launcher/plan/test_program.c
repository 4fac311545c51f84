/* test_program.c - which program the ranks run: scripts, executables, what is not there
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
#include <unistd.h>

#include <cmocka.h>

#include "plan_fixture.h"

static void python_scripts(void **state)
{
    static char venv[64], conda[64];

    (void)state;
    strlist_add(&options.args, "--epochs");
    assert_int_equal(find(), 0);
    assert_true(program.is_python && program.wants_local_rank);
    assert_words(&program.head, "bin/python3 -u train.py");
    assert_words(&program.args, "--epochs");

    snprintf(conda, sizeof conda, "CONDA_PREFIX=%s/venv", folder);
    here[1] = conda;
    assert_int_equal(find(), 0);
    assert_words(&program.head, "venv/bin/python -u train.py");
    snprintf(venv, sizeof venv, "VIRTUAL_ENV=%s/gone", folder);
    here[1] = venv; /* an environment that was removed */
    assert_int_equal(find(), 0);
    assert_words(&program.head, "bin/python3 -u train.py");

    here[1] = conda;
    set("python", "python9");
    assert_int_equal(find(), 0);
    assert_words(&program.head, "bin/python9 -u train.py");
    set("python", "/only/on/the/nodes/python");
    assert_int_equal(find(), 0);
    assert_words(&program.head, "/only/on/the/nodes/python -u train.py");
    set("python", "bin/python9");
    assert_int_equal(find(), 0);
    assert_words(&program.head, "bin/python9 -u train.py");
    set("python", "python77");
    assert_error(find(), "python77: not found on PATH");
    assert_int_equal(exit_code, 127);
    set("python", "");

    options.no_local_rank = true;
    assert_int_equal(find(), 0);
    assert_false(program.wants_local_rank);
    options.no_local_rank = false;
    options.module = true;
    set_script("pkg.train"); /* found by Python, on the nodes */
    assert_int_equal(find(), 0);
    assert_true(program.wants_local_rank);
    assert_words(&program.head, "venv/bin/python -u -m pkg.train");
}

static void executables(void **state)
{
    (void)state;
    set_script("./tool");
    assert_int_equal(find(), 0);
    assert_false(program.is_python || program.wants_local_rank);
    assert_words(&program.head, "./tool");
    set_script("job"); /* on PATH: looked up again on each node */
    assert_int_equal(find(), 0);
    assert_words(&program.head, "job");
    set_script("tool"); /* here, not on PATH */
    assert_int_equal(find(), 0);
    assert_words(&program.head, "./tool");

    options.no_python = true; /* DeepSpeed's way, with --local_rank */
    assert_int_equal(find(), 0);
    assert_true(program.wants_local_rank);
    options.no_local_rank = true;
    assert_int_equal(find(), 0);
    assert_false(program.wants_local_rank);
    set_script("train.py");
    assert_error(find(), "train.py: not executable");
    assert_int_equal(exit_code, 126);
}

static void programs_that_are_not_there(void **state)
{
    (void)state;
    set_script("nothing.py");
    assert_error(find(), "nothing.py: not found");
    assert_int_equal(exit_code, 127);
    set_script("./nothing");
    assert_error(find(), "./nothing: not found");
    assert_int_equal(exit_code, 127);
    set_script("nothing");
    assert_error(find(), "nothing: not found in PATH or this directory");
    set_script("data");
    assert_error(find(), "data: not executable; chmod +x it, or name it *.py");
    assert_int_equal(exit_code, 126);
    set_script("bin");
    assert_error(find(), "bin: is a directory");
    assert_int_equal(exit_code, 126);
    /* A working directory that is only on the nodes cannot be looked into. */
    set("cwd", "/only/on/the/nodes");
    set_script("nothing.py");
    assert_int_equal(find(), 0);
    set("cwd", folder);
    assert_int_equal(find(), -1);
}

static void binding_and_kmp_affinity(void **state)
{
    (void)state;
    here[1] = (char *)(uintptr_t) "KMP_AFFINITY=none";
    assert_int_equal(find(), 0);
    options.bind_cores = true;
    assert_error(find(), "KMP_AFFINITY");
    assert_int_equal(exit_code, 2);
}

static void check_runs_muster_train(void **state)
{
    (void)state;
    options.command = COMMAND_CHECK;
    free(options.script);
    options.script = NULL;
    strlist_add(&options.args, "-b");
    touch("bin/muster-train", 0755);
    assert_int_equal(find(), 0);
    remove("bin/muster-train");
    assert_int_equal(program.head.count, 2);
    assert_non_null(strstr(program.head.item[0], "/muster-train"));
    assert_string_equal(program.head.item[1], "check");
    assert_words(&program.args, "-b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(python_scripts, start, finish),
        cmocka_unit_test_setup_teardown(executables, start, finish),
        cmocka_unit_test_setup_teardown(programs_that_are_not_there, start, finish),
        cmocka_unit_test_setup_teardown(binding_and_kmp_affinity, start, finish),
        cmocka_unit_test_setup_teardown(check_runs_muster_train, start, finish),
    };

    return cmocka_run_group_tests_name("program", tests, make_folder, remove_folder);
}
