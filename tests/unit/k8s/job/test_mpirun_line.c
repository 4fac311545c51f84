/* test_mpirun_line.c - the lines of other launchers as muster's: good ones, and a table of bad ones
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

#include <cmocka.h>

#include "job/mpirun_line.h"
#include "yaml/yaml.h"

#define MPI "--no_local_rank --no_python "

static int read_line(const char *box, struct mpirun_line *line, struct error *err)
{
    json_t *container = yaml_parse("f", box, strlen(box), err);
    int     rc = container != NULL ? mpirun_line_read(line, container, err) : -1;

    json_decref(container);
    return rc;
}

/* The words with one blank between them. */
static const char *joined(const struct strlist *words)
{
    static char text[1024];
    size_t      i, size = 0;

    text[0] = '\0';
    for (i = 0; i < words->count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", i > 0 ? " " : "",
                                 words->item[i]);
    return text;
}

static const struct {
    const char *box, *words;
    size_t      changes;
} good[] = {
    { "{command: [mpirun, a.out]}", MPI "a.out", 0 },
    { "{command: [/usr/bin/mpiexec], args: [a, -x, b, --allow-run-as-root]}",
      MPI "a -x b --allow-run-as-root", 0 },
    /* The line of the MPI operator's examples. */
    { "{command: [mpirun, --allow-run-as-root, -np, '2', -bind-to, none, -map-by, slot, -x, "
      "NCCL_DEBUG=INFO, -x, LD_LIBRARY_PATH, -x, PATH, -mca, pml, ob1, -mca, btl, ^openib, "
      "python, train.py, --model=m]}",
      MPI "-bind-to none -map-by slot --env=NCCL_DEBUG=INFO --env=OMPI_MCA_pml=ob1 "
          "--env=OMPI_MCA_btl=^openib python train.py --model=m", 5 },
    { "{command: [mpirun, --hostfile, /etc/mpi/hostfile, -H, 'a:1,b:1', --host, a, -genv, A, b, "
      "-N, '4', --mca, orte_base_help_aggregate, '0', p]}",
      MPI "--env=A=b --npernode=4 --env=OMPI_MCA_orte_base_help_aggregate=0 p", 6 },
    { "{command: [horovodrun, --verbose, --log-level, DEBUG, --network-interface=eth0, -p, '22', "
      "--autotune, --gloo, python, a.py]}",
      MPI "--verbose --env=HOROVOD_LOG_LEVEL=DEBUG --env=NCCL_SOCKET_IFNAME=eth0 "
          "--env=HOROVOD_AUTOTUNE=1 --gloo python a.py", 4 },
    { "{command: [deepspeed, --hostfile=/job/hostfile, --num_gpus, '2', --master_port=1234, "
      "--module, pkg.train, --deepspeed]}",
      "--num_gpus 2 --master_port 1234 --module pkg.train --deepspeed", 1 },
    /* What Kubernetes itself replaces. */
    { "{command: [mpirun, '$(A)$(B) $$(A) $$$', '$(A', ''], env: [{name: A, value: x y}]}",
      MPI "x y$(B) $(A) $$ $(A ", 0 },
    { "{command: [sh, -c, 'mpirun $(A)'], env: [{name: A, value: x y}]}", MPI "x y", 0 },
    /* Lines for a shell. */
    { "{command: [sh, -c, 'mpirun -x A=1 a']}", MPI "--env=A=1 a", 0 },
    { "{command: [/bin/bash, -lc], args: [\"exec mpirun 'a b' \\\"c d\\\" e\\\\ f\\n\"]}",
      MPI "a b c d e f", 0 },
    { "{command: [bash, -c, \"mpirun \\\\\\n  -x A=1 \\\\\\n  a\\n\"]}", MPI "--env=A=1 a", 0 },
    { "{command: [sh, -c, 'cd /data && mpirun a']}", MPI "a", 1 },
    { "{command: [sh, -c, 'cd $DIR; mpirun a'], env: [{name: DIR, value: /data}]}", MPI "a", 1 },
    /* As Arena writes it. */
    { "{command: [sh, -c, 'horovodrun --slots $((${workers}*${gpus})) python \"$FILE\" $N'], env: ["
      "{name: workers, value: '3'}, {name: gpus, value: '2'}, {name: FILE, value: 'a b.py'}, "
      "{name: N, value: '1 2'}]}",
      MPI "python a b.py 1 2", 1 },
    { "{command: [sh, -c, \"mpirun a '*' \\\"{}\\\" \\\\; '#'\"]}", MPI "a * {} ; #", 0 },
};

static void test_good(void **state)
{
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct mpirun_line line = { 0 };

        if (read_line(good[i].box, &line, &err) < 0)
            fail_msg("%s: %s", good[i].box, err.text);
        if (strcmp(joined(&line.words), good[i].words) != 0)
            fail_msg("%s:\n  %s\nand not:\n  %s", good[i].box, joined(&line.words), good[i].words);
        if (line.changes.count != good[i].changes)
            fail_msg("%s: %zu changes: %s", good[i].box, line.changes.count,
                     joined(&line.changes));
        mpirun_line_clear(&line);
    }
}

static void test_values(void **state)
{
    struct mpirun_line line = { 0 };
    struct error       err;

    (void)state;
    assert_int_equal(read_line("{command: [horovodrun, -np, '4', --min-np=2, --max-num-proc, '8', "
                               "--host-discovery-script, /etc/edl/discover_hosts.sh, a]}",
                               &line, &err),
                     0);
    assert_int_equal(line.ranks, 4);
    assert_int_equal(line.least, 2);
    assert_int_equal(line.most, 8);
    assert_null(line.directory);
    assert_int_equal(line.changes.count, 1);
    assert_string_equal(line.changes.item[0], "--host-discovery-script /etc/edl/discover_hosts.sh "
                                              "is left out: the hosts are the workers");
    mpirun_line_clear(&line);
    assert_int_equal(read_line("{command: [sh, -c, 'cd \"/a b\" && mpirun -mca btl tcp a']}", &line,
                               &err),
                     0);
    assert_string_equal(line.directory, "/a b");
    assert_string_equal(line.changes.item[0], "'cd \"/a b\"' becomes the workers' workingDir");
    assert_string_equal(line.changes.item[1], "-mca btl tcp is read as --env=OMPI_MCA_btl=tcp");
    mpirun_line_clear(&line);
}

/* The submitter's own variables are not those of the launcher's container. */
static void test_environment(void **state)
{
    struct mpirun_line line = { 0 };
    struct error       err;

    (void)state;
    setenv("MUSTER_TEST_OWN", "a", 1);
    assert_int_equal(read_line("{command: [sh, -c, 'mpirun $MUSTER_TEST_OWN']}", &line, &err), -1);
    assert_non_null(strstr(err.text, "has a variable that is not in Launcher's env"));
    assert_string_equal(getenv("MUSTER_TEST_OWN"), "a");
    mpirun_line_clear(&line);
    unsetenv("MUSTER_TEST_OWN");
}

static const struct {
    const char *box, *says;
} bad[] = {
    { "{}", "must begin with mpirun, mpiexec, horovodrun or deepspeed, not ''" },
    { "{args: []}", "must begin with mpirun" },
    { "{command: [python, a.py]}", "not 'python'" },
    { "{command: [mpirun]}", "has no program after mpirun" },
    { "{command: [mpirun, -np, '2']}", "has no program after mpirun" },
    { "{command: mpirun a}", "must be lists of strings" },
    { "{command: [mpirun, 3]}", "must be lists of strings" },
    { "{command: [mpirun, -np, two, a]}", "-np: 'two' is not a number" },
    { "{command: [mpirun, -np=0, a]}", "-np=0: '0' is not a number from 1" },
    { "{command: [mpirun, -np]}", "-np needs 1 words after it" },
    { "{command: [mpirun, -mca, btl]}", "-mca needs 2 words after it" },
    { "{command: [mpirun, -mca=btl, tcp, a]}", "muster does not know -mca=btl of mpirun" },
    { "{command: [mpirun, --allow-run-as-root=1, a]}", "does not know --allow-run-as-root=1" },
    { "{command: [mpirun, --min-np, '2', a]}", "does not know --min-np of mpirun" },
    { "{command: [horovodrun, -x, A, a]}", "does not know -x of horovodrun" },
    { "{command: [deepspeed, --autotuning, run, a.py]}",
      "does not know --autotuning of deepspeed" },
    { "{command: [mpirun, -, a]}", "does not know - of mpirun" },
    { "{command: [mpirun, --, a]}", "does not know -- of mpirun" },
    { "{command: [mpirun, '', a]}", "has no program after mpirun" },
    { "{command: [sh, -c, 'mpirun a | tee log']}", "'mpirun a | tee log': | needs a shell" },
    { "{command: [sh, -c, 'mpirun a > log']}", "> needs a shell" },
    { "{command: [sh, -c, 'pip install x && mpirun a']}", "& needs a shell" },
    { "{command: [sh, -c, 'mpirun a; sleep 1']}", "; needs a shell" },
    { "{command: [sh, -c, \"set -e\\nmpirun a\"]}", "the second line needs a shell" },
    { "{command: [sh, -c, 'mpirun a *.py']}", "* needs a shell" },
    { "{command: [sh, -c, 'mpirun ~/a']}", "~ needs a shell" },
    { "{command: [sh, -c, 'mpirun a # b']}", "# needs a shell" },
    { "{command: [sh, -c, 'mpirun a{1,2}']}", "{ needs a shell" },
    { "{command: [sh, -c, 'mpirun `a`']}", "which needs a shell: write its output" },
    { "{command: [sh, -c, 'mpirun \"$(a)\"']}", "has a $(command), which needs a shell" },
    { "{command: [sh, -c, 'mpirun $A']}", "has a variable that is not in Launcher's env" },
    { "{command: [sh, -c, \"mpirun 'a\"]}", "is not a line that a shell could read" },
    { "{command: [sh, -c, 'mpirun $((1/0))']}", "is not a line that a shell could read" },
    { "{command: [sh, -c, 'cd data && mpirun a']}", "must name a directory that begins with /" },
    { "{command: [sh, -c, 'cd /a /b && mpirun a']}", "must name a directory that begins with /" },
    { "{command: [sh, -c, 'cd /a & mpirun a']}", "& needs a shell" },
    { "{command: [sh, -c, 'cd $A && mpirun a']}", "has a variable that is not in Launcher's env" },
    { "{command: [sh, -c, '']}", "must begin with mpirun" },
    { "{command: [sh, -c, 'cd /data']}", "not 'cd'" },
    { "{command: [sh, -c, mpirun a, b]}", "not 'sh'" },
    { "{command: [sh, run.sh]}", "not 'sh'" },
    { "{command: [sh, -e, run.sh]}", "not 'sh'" },
};

static void test_bad(void **state)
{
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct mpirun_line line = { 0 };

        err.text[0] = '\0';
        if (read_line(bad[i].box, &line, &err) == 0)
            fail_msg("accepted: %s", bad[i].box);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s:\n  %s\nand not:\n  %s", bad[i].box, err.text, bad[i].says);
        mpirun_line_clear(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
