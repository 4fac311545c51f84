/* test_conf.c - muster.conf: what it may say, and that example and manual say all of it
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

#include "options/conf.h"
#include "options/option_table.h"

static struct options options;
static struct error   err;

/* What a muster.conf of that text leads to. */
static int conf(const char *text)
{
    options_clear(&options);
    err.text[0] = '\0';
    return conf_parse("my.conf", text, &options, &err);
}

static void assert_conf_error(const char *text, const char *reason)
{
    assert_int_equal(conf(text), -1);
    if (strstr(err.text, reason) == NULL)
        fail_msg("'%s' is not in: %s", reason, err.text);
}

static void conf_settings(void **state)
{
    (void)state;
    assert_int_equal(conf("\xef\xbb\xbf# comment\r\n\n; another\n[muster]  ; ours\r\n"
                          "fanout = 128\r\nssh-port=22\n  one-gpu-per-rank: yes\n"
                          "env = A=b c\nenv = B=2 ; note\nmaster_addr =\ntimeout =\n"
                          "hostfile = /h"), 0);
    assert_int_equal(options.fanout, 128);
    assert_int_equal(options.ssh_port, 22);
    assert_true(options.one_gpu_per_rank); /* indented: not more of the line above */
    assert_int_equal(options.env.count, 2);
    assert_string_equal(options.env.item[0], "A=b c");
    assert_string_equal(options.env.item[1], "B=2");
    assert_null(options.master_addr);
    assert_string_equal(options.hostfile, "/h");
    assert_int_equal(conf(""), 0);
}

static void conf_errors(void **state)
{
    char long_line[600] = "[muster]\n\nenv = A=";
    char long_section[100] = "[muster-and-a-name-that-is-longer-than-fifty-bytes-in-all]\n"
                             "fanout=1\n";

    (void)state;
    assert_conf_error("[muster]\n\nfanot = 1\n", "my.conf:3: there is no setting 'fanot' "
                                                 "(did you mean --fanout?)");
    assert_conf_error("[muster]\nfanout = x\n", "my.conf:2: fanout: 'x'");
    assert_conf_error("[muster]\nfan = 1\n", "my.conf:2"); /* no prefixes here */
    assert_conf_error("[muster]\nautotuning = run\n", "my.conf:2: autotuning: is refused");
    assert_conf_error("[muster]\ndry-run = yes\n", "command line");
    assert_conf_error("fanout = 1\n", "my.conf:1: 'fanout' comes before [muster]");
    assert_conf_error("[muster]\n[other]\n", "my.conf:2: unknown section '[other]'");
    assert_conf_error("[muster] x\n", "my.conf:1");
    assert_conf_error(long_section, "my.conf:1: unknown section");
    assert_conf_error("[muster]\nfanout\n", "my.conf:2: this is neither");
    assert_conf_error("[muster\nfanout = 1\n", "my.conf:1");
    /* The first mistake is the one that is reported. */
    assert_conf_error("[muster]\nnonsense\nfanout = x\n", "my.conf:2");
    assert_conf_error("[muster]\nfanout = x\nnonsense\n", "my.conf:2");

    memset(long_line + strlen(long_line), 'x', 500);
    assert_conf_error(long_line, "my.conf:3: the line has");
    long_line[10] = '#'; /* the empty line: a long comment does no harm */
    memmove(long_line + 10, long_line + 11, sizeof long_line - 11);
    long_line[10] = '#';
    assert_int_equal(conf(long_line), 0);
}

/* The list of settings is one: what the manual and the example say is in the
 * table, and the other way round. */
static char *file_text(const char *name)
{
    char  *text = NULL, path[512];
    size_t size = 0;
    FILE  *file;

    snprintf(path, sizeof path, "%s/%s", TOP_SRCDIR, name);
    file = fopen(path, "r");
    if (file == NULL || getdelim(&text, &size, '\0', file) < 0)
        fail_msg("cannot read %s", path);
    fclose(file);
    return text;
}

static bool is_setting(const struct option_row *row)
{
    return !(row->flags & (OPTION_ARGV_ONLY | OPTION_HIDDEN | OPTION_REFUSED)) &&
           row->help != NULL;
}

static void example_is_complete(void **state)
{
    char                    *text = file_text("conf/muster.conf"), *line;
    char                     want[128];
    const struct option_row *row;

    (void)state;
    for (row = option_table; row < option_table + option_rows; row++) {
        snprintf(want, sizeof want, "\n#%s =%s%s\n", row->name,
                 row->initial != NULL || row->arg == NULL ? " " : "",
                 row->initial != NULL ? row->initial : row->arg == NULL ? "no" : "");
        if (is_setting(row) && strstr(text, want) == NULL)
            fail_msg("conf/muster.conf lacks%s", want);
    }
    assert_int_equal(conf(text), 0);
    /* Every line means something, and means the default. */
    for (line = text; (line = strstr(line, "\n#")) != NULL; line++)
        if (line[2] != ' ' && line[2] != '\n')
            line[1] = ' ';
    if (conf(text) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(options.fanout, 64);
    assert_int_equal(options.log_level, LOG_WARN);
    free(text);
}

static void manual_is_complete(void **state)
{
    char                    *text = file_text("doc/muster.conf.5");
    char                     want[128], escaped[96], *to;
    const struct option_row *row;
    const char              *from;

    (void)state;
    for (row = option_table; row < option_table + option_rows; row++) {
        for (from = row->name, to = escaped; *from != '\0'; from++) {
            if (*from == '-')
                *to++ = '\\';
            *to++ = *from;
        }
        *to = '\0';
        snprintf(want, sizeof want, "\n%s = %s%s", escaped,
                 row->initial != NULL && strcmp(row->initial, "default") == 0 ? "default|" : "",
                 row->arg != NULL ? row->arg : "yes|no");
        if (is_setting(row) && strstr(text, want) == NULL)
            fail_msg("doc/muster.conf.5 lacks%s", want);
    }
    free(text);
}

static int tear_down(void **state)
{
    (void)state;
    options_clear(&options);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(conf_settings, tear_down),
        cmocka_unit_test_teardown(conf_errors, tear_down),
        cmocka_unit_test_teardown(example_is_complete, tear_down),
        cmocka_unit_test(manual_is_complete),
    };

    return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
