/* test_command.c - subcommands, and which words each takes
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <unistd.h>

#include "options_fixture.h"

static void input_from(const char *path)
{
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
}

/* Who gets standard input. */
static void input(void **state)
{
    (void)state;
    input_from("/dev/zero");
    ACCEPT("exec", "x");
    assert_int_equal(options.input_to, INPUT_TO_ALL);
    ACCEPT("exec", "--nostdin", "x");
    assert_int_equal(options.input_to, INPUT_TO_NONE);
    ACCEPT("x");
    assert_int_equal(options.input_to, INPUT_TO_NONE);
    ACCEPT("--stdin=all", "x");
    assert_int_equal(options.input_to, INPUT_TO_ALL);
    ACCEPT("--input", "3", "x");
    assert_int_equal(options.input_to, 3);
    ACCEPT("--pty", "x");
    assert_int_equal(options.input_to, 0);
    REFUSE("--stdin: 'three' is neither a rank nor all or none", "--stdin=three", "x");
    REFUSE("--stdin: '-1' is neither", "--stdin=-1", "x");
    REFUSE("--pty needs one rank", "--pty", "--stdin=all", "x");
    REFUSE("--detach cannot be used together with --stdin", "--detach", "--stdin=1", "x");
    input_from("/dev/null");
    ACCEPT("exec", "x");
    assert_int_equal(options.input_to, INPUT_TO_NONE);
}

/* muster shell is muster exec on one host. */
static void shell(void **state)
{
    (void)state;
    ACCEPT("shell", "-H", "te1,te2", "te2");
    assert_int_equal(options.command, COMMAND_EXEC);
    assert_string_equal(options.include, "te2");
    assert_string_equal(options.script, "sh");
    assert_true(options.pty && options.largest_status);
    ACCEPT("shell", "--hostfile=none", "te2", "top", "-b");
    assert_string_equal(options.script, "top");
    assert_string_equal(options.args.item[0], "-b");
    ACCEPT("shell", "me@te9");
    assert_string_equal(options.hosts, "me@te9");
    assert_null(options.include);
    REFUSE("which host? muster shell [OPTIONS]", "shell");
}

static void commands(void **state)
{
    (void)state;
    ACCEPT("exec", "-bS", "--", "nvidia-smi", "-L");
    assert_int_equal(options.command, COMMAND_EXEC);
    assert_true(options.fold && options.largest_status);
    assert_string_equal(options.script, "nvidia-smi");
    assert_string_equal(options.args.item[0], "-L");
    ACCEPT("exec", "git", "--", "x"); /* the command's own */
    assert_string_equal(options.args.item[0], "--");
    ACCEPT("check", "-H", "te1:1", "--", "-b", "8");
    assert_int_equal(options.command, COMMAND_CHECK);
    assert_null(options.script);
    assert_string_equal(options.args.item[0], "-b");
    assert_int_equal(options.args.count, 2);
    ACCEPT("check");
    assert_int_equal(options.args.count, 0);
    ACCEPT("./exec", "x");
    assert_int_equal(options.command, COMMAND_RUN);
    ACCEPT("run", "-q", "train.py", "--epochs=3");
    assert_int_equal(options.command, COMMAND_RUN);
    assert_string_equal(options.script, "train.py");
    assert_int_equal(options.args.count, 1);
    ACCEPT("-q", "run", "x");
    assert_string_equal(options.script, "run");
    REFUSE("a script called run is ./run", "run");
    input_from("/dev/null");
    REFUSE("no command to run: muster exec [OPTIONS] [[--] COMMAND [ARGS...]]", "exec", "-b");
    input_from("/dev/zero");
    ACCEPT("exec", "-b");
    assert_null(options.script);
    REFUSE("no command to run: --dry-run needs one", "exec", "--dry-run");
    REFUSE("no command to run: --json needs one", "exec", "--json=-");
    REFUSE("no command to run: --pty needs one", "exec", "--pty");
    REFUSE("after '--'", "check", "-b", "8");
    REFUSE("after '--'", "check", "--dtype", "float");
    REFUSE("muster exec", "--hosts=a", "exec", "x");
    REFUSE("--fold", "check", "--fold");
    ACCEPT("-b", "x");
    assert_true(options.fold);
    REFUSE("-S", "-S", "x");
    REFUSE("--module", "exec", "--module", "x");
    REFUSE("--master_port", "exec", "--master_port=1", "x");
}

/* Each subcommand, with as many words as it takes, one more and one less. */
static void words_of_a_subcommand(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < COMMANDS; i++) {
        const struct command_row *row = &command_table[i];
        enum command              found;

        assert_true(command_find(row->name, &found) && found == (enum command)i);
        assert_non_null(strstr(row->synopsis, row->name));
        assert_string_not_equal(row->summary, "");
        assert_true(row->least == 0 || row->missing != NULL);
        assert_true(row->most == ANY_NUMBER || row->takes != NULL || i == COMMAND_HELP);
    }
    ACCEPT("bcast", "a", "--to=d", "b");
    assert_int_equal(options.args.count, 2);
    ACCEPT("bootstrap", "a", "--apply");
    assert_string_equal(options.args.item[0], "a");
    ACCEPT("doctor", "-q");
    assert_null(options.script);
    ACCEPT("doctor", "train.py", "--apply");
    assert_string_equal(options.args.item[0], "--apply");
    ACCEPT("drain", "r", "te1", "te2");
    assert_string_equal(options.run, "r");
    assert_int_equal(options.args.count, 2);
    ACCEPT("scale", "r", "--nodes=2");
    assert_string_equal(options.run, "r");
    ACCEPT("scale", "--nodes=2", "r");
    assert_string_equal(options.run, "r");
    REFUSE("nothing to copy: muster bcast [OPTIONS] [NODE:]PATH...", "bcast");
    REFUSE("nothing to copy: muster collect [OPTIONS] PATH...", "collect", "--to=d");
    REFUSE("no nodes named: muster drain [OPTIONS] RUN HOST...", "drain");
    REFUSE("no nodes named", "drain", "r");
    REFUSE("muster clean takes options only, not also 'a'", "clean", "a");
    REFUSE("muster bootstrap takes one file, not also 'b'", "bootstrap", "a", "b");
    REFUSE("muster resume takes one run, after its options, not also 'b'", "resume", "a", "b");
    REFUSE("which run, how many nodes?", "scale", "r");
    REFUSE("which run, how many nodes?", "scale", "--nodes=2");
    REFUSE("muster scale takes one run", "scale", "r", "s", "--nodes=2");
}

static void commands_that_take_a_run(void **state)
{
    (void)state;
    ACCEPT("status");
    assert_int_equal(options.command, COMMAND_STATUS);
    assert_null(options.run);
    ACCEPT("attach", "--tail", "5", "a1b2");
    assert_int_equal(options.tail, 5);
    ACCEPT("attach");
    assert_int_equal(options.tail, -1);
    REFUSE("--tail: not an option of muster status; it belongs to attach", "status", "--tail=1");
    REFUSE("--tail: not an option of muster run; it belongs to attach", "--tail=1", "x");
    ACCEPT("status", "-v", "--json=f", "a1b2");
    assert_string_equal(options.run, "a1b2");
    ACCEPT("attach", "-q");
    assert_int_equal(options.command, COMMAND_ATTACH);
    ACCEPT("stop", "a1b2");
    assert_int_equal(options.command, COMMAND_STOP);
    ACCEPT("--detach", "./stop");
    assert_true(options.detach && options.command == COMMAND_RUN);
    ACCEPT("check", "--detach");
    REFUSE("'stop' comes before the options", "-q", "stop");
    REFUSE("muster stop takes one run", "stop", "a", "b");
    REFUSE("muster status takes one run, after its options", "status", "a", "--json=f");
    REFUSE("--json: not an option of muster attach; it belongs to run, exec, shell, check, clean, "
           "bcast, collect, bootstrap, doctor, status", "attach", "--json=f");
    REFUSE("--hosts: not an option of muster status", "status", "--hosts=a");
    REFUSE("--detach: not an option of muster exec; it belongs to run, check", "exec",
           "--detach", "x");
    REFUSE("--detach: not an option of muster clean", "clean", "--detach");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_of_a_subcommand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commands_that_take_a_run, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
