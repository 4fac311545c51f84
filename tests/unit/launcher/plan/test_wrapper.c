/* test_wrapper.c - other launchers, as the program of a run
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

#include "plan/wrapper.h"
#include "xalloc.h"

#define WORDS 5

static const struct {
    const char *words[WORDS];
    bool        module;
    const char *expected; /* NULL: none */
    bool        is_of_node;
} lines[] = {
    { { "torchrun", "train.py" }, false, "torchrun", true },
    { { "/opt/venv/bin/torchrun", "train.py" }, false, "torchrun", true },
    { { "python3", "-m", "torch.distributed.run", "x.py" }, false,
      "torch.distributed.run", true },
    { { "python3.11", "-u", "-m", "torch.distributed.launch" }, false,
      "torch.distributed.launch", true },
    { { "torch.distributed.run", "x.py" }, true, "torch.distributed.run", true },
    { { "accelerate", "launch", "x.py" }, false, "accelerate", true },
    { { "accelerate", "config" }, false, NULL, false },
    { { "accelerate" }, false, NULL, false },
    { { "llamafactory-cli", "train", "x.yaml" }, false, "llamafactory-cli", true },
    { { "swift", "sft" }, false, "swift", true },
    { { "deepspeed", "x.py" }, false, "deepspeed", false },
    { { "mpirun", "-np", "4" }, false, "mpirun", false },
    { { "python3", "-m", "json.tool" }, false, NULL, false },
    { { "python3", "-m" }, false, NULL, false },
    { { "python3", "/usr/bin/torchrun", "x.py" }, false, "torchrun", true },
    { { "python3", "train.py", "torchrun" }, false, NULL, false },
    { { "train.py", "torchrun" }, false, NULL, false },
    { { "json.tool" }, true, NULL, false },
    { { "sh", "-c", "cd /data && torchrun train.py" }, false, "torchrun", true },
    { { "bash", "-c", "echo torchrun" }, false, NULL, false },
    { { "env", "A=1", "torchrun" }, false, "torchrun", true },
    { { "nohup", "python3", "/usr/bin/torchrun" }, false, "torchrun", true },
    { { "numactl", "-l", "torchrun" }, false, "torchrun", true },
    { { "uv", "run", "torchrun" }, false, "torchrun", true },
    { { "nice", "-5", "accelerate", "launch" }, false, "accelerate", true },
    { { "nice", "-5" }, false, NULL, false },
    { { "env" }, false, NULL, false },
    { { "ray", "start", "--head" }, false, "ray", true },
    { { "ray", "status" }, false, NULL, false },
    { { "vllm", "serve", "m" }, false, "vllm", true },
    { { "python3", "-m", "sglang.launch_server" }, false, "sglang.launch_server", true },
    { { "bash", "nosuch.sh" }, false, NULL, false },
    { { "bash" }, false, NULL, false },
    { { "echo", "torchrun" }, false, NULL, false },
};

static void knows_command_lines(void **state)
{
    size_t i, w;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct options options = { .script = (char *)lines[i].words[0],
                                   .module = lines[i].module };
        struct wrapper wrapper;

        for (w = 1; w < WORDS && lines[i].words[w] != NULL; w++)
            strlist_add(&options.args, lines[i].words[w]);
        wrapper = wrapper_find(&options, "/nowhere");
        if ((wrapper.words == NULL) != (lines[i].expected == NULL) ||
            (wrapper.words != NULL && strcmp(wrapper.words, lines[i].expected) != 0) ||
            wrapper.is_of_node != lines[i].is_of_node)
            fail_msg("%s %s: %s", lines[i].words[0], lines[i].words[1], wrapper.words);
        wrapper_clear(&wrapper);
        strlist_clear(&options.args);
    }
}

static void reads_scripts(void **state)
{
    static const char *const cases[][2] = {
        { "torchrun train.py\n", "torchrun" },
        { "export NCCL_DEBUG=INFO\nOMP_NUM_THREADS=1 torchrun \\\n  --nnodes 2 train.py\n",
          "torchrun" },
        { "cd /data && exec torchrun train.py", "torchrun" },
        { "if true; then accelerate launch x.py; fi", "accelerate" },
        { "python -m torch.distributed.run x.py", "torch.distributed.run" },
        { "nohup \"$VENV/bin/torchrun\" x.py > log 2>&1 &", "torchrun" },
        { "( torchrun x.py )", "torchrun" },
        { "FORCE_TORCHRUN=1 llamafactory-cli train x.yaml", "llamafactory-cli" },
        { "deepspeed --num_gpus 8 x.py", "deepspeed" },
        { "# torchrun train.py\npython train.py\n", NULL },
        { "  # torchrun train.py", NULL },
        { "pip install deepspeed accelerate", NULL },
        { "python train.py --deepspeed ds.json", NULL },
        { "python train.py \\\n  torchrun\n", NULL },
        { "echo torchrun", NULL },
        { "which torchrun", NULL },
        { "accelerate config", NULL },
        { "accelerate", NULL },
        { "", NULL },
        { "\\", NULL },
        { ";;;|||&&&\n\n = == \"", NULL },
        { "python -m", NULL },
        { "torchrunner x", NULL },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options = { .script = (char *)"sh" };
        struct wrapper wrapper;

        strlist_add(&options.args, "-c");
        strlist_add(&options.args, cases[i][0]);
        wrapper = wrapper_find(&options, "/nowhere");
        if ((wrapper.words == NULL) != (cases[i][1] == NULL) ||
            (wrapper.words != NULL && strcmp(wrapper.words, cases[i][1]) != 0))
            fail_msg("%s: %s", cases[i][0], wrapper.words);
        wrapper_clear(&wrapper);
        strlist_clear(&options.args);
    }
}

/* A file is read if a shell will read it, or if it names one; Python's doc strings mention
 * torchrun. */
static void reads_shell_scripts_only(void **state)
{
    static const struct {
        const char *text;
        const char *by_itself, *by_a_shell;
    } cases[] = {
        { "#!/bin/sh\ntorchrun x.py\n", "run (torchrun)", "run (torchrun)" },
        { "#!/usr/bin/env bash\ntorchrun x.py\n", "run (torchrun)", "run (torchrun)" },
        { "#! /bin/bash -e\r\ntorchrun x.py\n", "run (torchrun)", "run (torchrun)" },
        { "# none\ntorchrun x.py\n", NULL, "run (torchrun)" },
        { "#!/home/shared/bin/python3\ntorchrun x.py\n", NULL, "run (torchrun)" },
        { "torchrun x.py\n", NULL, "run (torchrun)" },
        { "\177ELF\n", NULL, NULL },
        { "", NULL, NULL },
    };
    char   dir[] = "/tmp/muster-wrapper.XXXXXX", *path;
    size_t i, by_a_shell;

    (void)state;
    assert_non_null(mkdtemp(dir));
    path = xasprintf("%s/run", dir);
    for (i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct options options = { .script = (char *)"./run" };
        struct wrapper wrapper;
        FILE          *file = fopen(path, "w");
        const char    *expected = cases[i / 2].by_itself;

        by_a_shell = i % 2;
        assert_non_null(file);
        fputs(cases[i / 2].text, file);
        fclose(file);
        if (by_a_shell) {
            expected = cases[i / 2].by_a_shell;
            options.script = (char *)"/bin/bash";
            strlist_add(&options.args, "run");
        }
        wrapper = wrapper_find(&options, dir);
        if ((wrapper.words == NULL) != (expected == NULL) ||
            (wrapper.words != NULL && strcmp(wrapper.words, expected) != 0))
            fail_msg("%s: %s", cases[i / 2].text, wrapper.words);
        wrapper_clear(&wrapper);
        strlist_clear(&options.args);
    }
    unlink(path);
    rmdir(dir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_command_lines),
        cmocka_unit_test(reads_scripts),
        cmocka_unit_test(reads_shell_scripts_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
