/* test_prompt_line.c - what a line at the prompt of muster exec means, however odd
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/prompt_line.h"

static const struct {
    const char      *text;
    enum prompt_kind kind;
    const char      *hosts, *command;
} cases[] = {
    { "", PROMPT_NOTHING, NULL, "" },
    { " \t ", PROMPT_NOTHING, NULL, "" },
    { "\r", PROMPT_NOTHING, NULL, "" },
    { "# uptime", PROMPT_NOTHING, NULL, "" },
    { "  #", PROMPT_NOTHING, NULL, "" },
    { "uptime", PROMPT_COMMAND, NULL, "uptime" },
    { "  ps aux | grep x # all", PROMPT_COMMAND, NULL, "ps aux | grep x # all" },
    { "echo 'a  ' ", PROMPT_COMMAND, NULL, "echo 'a  ' " },
    { "echo @te1 !x", PROMPT_COMMAND, NULL, "echo @te1 !x" },
    { "exit", PROMPT_EXIT, NULL, "" },
    { " quit\t", PROMPT_EXIT, NULL, "" },
    { "exit 3", PROMPT_COMMAND, NULL, "exit 3" },
    { "exit;", PROMPT_COMMAND, NULL, "exit;" },
    { "Exit", PROMPT_COMMAND, NULL, "Exit" },
    { "ex", PROMPT_COMMAND, NULL, "ex" },
    { "help", PROMPT_HELP, NULL, "" },
    { "help x", PROMPT_COMMAND, NULL, "help x" },
    { "hosts", PROMPT_HOSTS, NULL, "" },
    { "hosts2", PROMPT_COMMAND, NULL, "hosts2" },
    { "!ls | wc", PROMPT_LOCAL, NULL, "ls | wc" },
    { " ! ls", PROMPT_LOCAL, NULL, "ls" },
    { "!", PROMPT_LOCAL, NULL, "" },
    { "!exit", PROMPT_LOCAL, NULL, "exit" },
    { "@te1 uptime", PROMPT_COMMAND, "te1", "uptime" },
    { "@te1\tuptime -p", PROMPT_COMMAND, "te1", "uptime -p" },
    { "@te1@te2:0,1 ls", PROMPT_COMMAND, "te1@te2:0,1", "ls" },
    { "@te1,te2 ls", PROMPT_COMMAND, "te1@te2", "ls" },
    { "@te[1-2,7],x ls", PROMPT_COMMAND, "te[1-2,7]@x", "ls" },
    { "@te1:0,1@te2,te3 ls", PROMPT_COMMAND, "te1:0,1@te2@te3", "ls" },
    { "@[fd00::1],te2 ls", PROMPT_COMMAND, "[fd00::1]@te2", "ls" },
    { "@[fd00::1]:0,1 ls", PROMPT_COMMAND, "[fd00::1]:0,1", "ls" },
    { "@te[1 ls", PROMPT_COMMAND, "te[1", "ls" },
    { "@,, ls", PROMPT_COMMAND, "@@", "ls" },
    { "@te1", PROMPT_CHOOSE, "te1", "" },
    { "@te1  ", PROMPT_CHOOSE, "te1", "" },
    { "@te1 # a comment", PROMPT_CHOOSE, "te1", "" },
    { "@", PROMPT_CHOOSE, "", "" },
    { " @ ", PROMPT_CHOOSE, "", "" },
    { "@ uptime", PROMPT_COMMAND, "", "uptime" },
    { "@@", PROMPT_CHOOSE, "@", "" },
    { "@te1 exit", PROMPT_COMMAND, "te1", "exit" },
    { "@te1 hosts", PROMPT_COMMAND, "te1", "hosts" },
    { "@te1 !ls", PROMPT_COMMAND, "te1", "!ls" },
    { "cd", PROMPT_CD, NULL, "cd" },
    { "cd /tmp", PROMPT_CD, NULL, "cd /tmp" },
    { " cd\t'a b' ", PROMPT_CD, NULL, "cd\t'a b' " },
    { "@te1 cd /tmp", PROMPT_CD, "te1", "cd /tmp" },
    { "cd /tmp && ls", PROMPT_COMMAND, NULL, "cd /tmp && ls" },
    { "cd /tmp; ls", PROMPT_COMMAND, NULL, "cd /tmp; ls" },
    { "cd /tmp || exit", PROMPT_COMMAND, NULL, "cd /tmp || exit" },
    { "cdrecord", PROMPT_COMMAND, NULL, "cdrecord" },
    { "cd/", PROMPT_COMMAND, NULL, "cd/" },
    { "\xff\x01", PROMPT_COMMAND, NULL, "\xff\x01" },
};

static void says_what_a_line_means(void **state)
{
    struct prompt_line line;
    size_t             i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        prompt_line_read(cases[i].text, &line);
        if (line.kind != cases[i].kind || strcmp(line.command, cases[i].command) != 0 ||
            (line.hosts == NULL) != (cases[i].hosts == NULL) ||
            (line.hosts != NULL && strcmp(line.hosts, cases[i].hosts) != 0))
            fail_msg("'%s': kind %d, hosts '%s', command '%s'", cases[i].text, (int)line.kind,
                     line.hosts != NULL ? line.hosts : "(none)", line.command);
        prompt_line_clear(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_a_line_means),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
