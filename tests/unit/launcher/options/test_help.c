/* test_help.c - --help of muster and of each subcommand, and --list-options
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

#include "options/option_table.h"

#define TEXT_BYTES 16384 /* holds any help */

/* The help of that topic. free() it. */
static char *help_text(enum command topic)
{
    char *text = calloc(1, TEXT_BYTES);
    FILE *out = fmemopen(text, TEXT_BYTES, "w");

    assert_non_null(text);
    assert_non_null(out);
    options_help(topic, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_is_readable(const char *text, size_t lines_max)
{
    const char *line, *end;
    size_t      lines = 0;

    for (line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        lines++;
        if (end - line > 80)
            fail_msg("longer than 80 columns: %.*s", (int)(end - line), line);
        assert_true(end == line || end[-1] != ' ');
    }
    assert_int_equal(*line, '\0');
    assert_in_range(lines, 10, lines_max);
}

static bool is_shown(const struct option_row *row)
{
    return !(row->flags & (OPTION_HIDDEN | OPTION_REFUSED));
}

/* Does text name the option, as a word of its own? */
static bool names(const char *text, const char *name)
{
    const char *at = text;
    char        option[64];
    size_t      length;

    snprintf(option, sizeof option, "--%s", name);
    length = strlen(option);
    while ((at = strstr(at, option)) != NULL) {
        at += length;
        if (*at != '-' && *at != '_' && !(*at >= 'a' && *at <= 'z'))
            return true;
    }
    return false;
}

static void help_is_readable(void **state)
{
    char *text = help_text(COMMAND_HELP), word[32];
    int   command;

    (void)state;
    assert_is_readable(text, 50);
    assert_memory_equal(text, "usage: muster ", 14);
    for (command = 0; command < COMMANDS; command++) {
        snprintf(word, sizeof word, "\n  %s ", command_table[command].name);
        if (strstr(text, word) == NULL || strstr(text, word) > strstr(text, "\n  -"))
            fail_msg("--help lacks %s, or names it after the options", command_table[command].name);
    }
    free(text);
    for (command = 0; command < COMMAND_HELP; command++) {
        text = help_text(command);
        assert_is_readable(text, 40);
        snprintf(word, sizeof word,
                 command == COMMAND_RUN ? "usage: muster [%s] " : "usage: muster %s ",
                 command_table[command].name);
        assert_memory_equal(text, word, strlen(word));
        free(text);
    }
}

static void help_of_a_subcommand_has_its_options(void **state)
{
    const struct option_row *row;
    char                    *text[COMMAND_HELP];
    int                      command;

    (void)state;
    for (command = 0; command < COMMAND_HELP; command++)
        text[command] = help_text(command);
    for (row = option_table; row < option_table + option_rows; row++) {
        assert_true(row->commands != 0);
        for (command = 0; command < COMMAND_HELP; command++) {
            bool takes = is_shown(row) && (row->commands & 1u << command);

            if (takes != names(text[command], row->name))
                fail_msg("muster %s --help %s --%s", command_table[command].name,
                         takes ? "lacks" : "should not have", row->name);
        }
    }
    for (command = 0; command < COMMAND_HELP; command++)
        free(text[command]);
}

/* What completion and the manual's test read: five words a line. */
static void list_is_complete(void **state)
{
    char  *text = NULL, *line, *rest = NULL, word[5][64];
    size_t size = 0, lines = 0, i, expected = 0;
    FILE  *out = open_memstream(&text, &size);

    (void)state;
    options_list(out);
    fclose(out);
    for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        assert_int_equal(sscanf(line, "%63s %63s %63s %63s %63s", word[0], word[1], word[2],
                                word[3],
                                word[4]), 5);
        if (strcmp(word[0], "fold") == 0)
            assert_string_equal(line, "fold b - - run,exec");
        if (strcmp(word[0], "grace") == 0)
            assert_string_equal(line, "grace - TIME 30 run,exec,shell,check,clean");
        lines++;
    }
    for (i = 0; i < option_rows; i++)
        expected += (option_table[i].flags & OPTION_HIDDEN) == 0;
    assert_int_equal(lines, expected);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_readable),
        cmocka_unit_test(help_of_a_subcommand_has_its_options),
        cmocka_unit_test(list_is_complete),
    };

    return cmocka_run_group_tests_name("help", tests, NULL, NULL);
}
