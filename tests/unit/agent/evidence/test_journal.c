/* test_journal.c - what journalctl shows, and what becomes of it
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

#include "evidence/journal_watch.h"
#include "xalloc.h"

#define BOOT "3e15de9bd67048adbfb1f766ec8f32dd"
#define REST "\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"_BOOT_ID\":\"" BOOT "\","
#define AT "\"__MONOTONIC_TIMESTAMP\":\"52160148143\","
#define IN "{" REST AT

static const struct {
    const char *line, *text; /* NULL: it is no message */
} lines[] = {
    /* by the journalctl of systemd 252 */
    { "{\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"__MONOTONIC_TIMESTAMP\":"
      "\"52160148143\",\"_BOOT_ID\":\"" BOOT "\",\"__REALTIME_TIMESTAMP\":"
      "\"1796079629000000\",\"__CURSOR\":\"s=64d0d15cd3d0405ebbe071cf0bd4dc1f;i=1;b=" BOOT
      ";m=5;t=6618660465d40;x=bef192a0b3dc679\",\"MESSAGE\":\"hello\"}", "hello" },
    { IN "\"MESSAGE\":[98,105,110,27,1]}", "bin\x1b\x01" },
    { IN "\"MESSAGE\":\"\"}", "" },
    { IN "\"MESSAGE\":[]}", "" },
    { IN "\"MESSAGE\":\"a\\u0000b\\nc\"}", "a?b?c" },
    { IN "\"MESSAGE\":[97,0,10,255]}", "a??\xff" },
    { IN "\"MESSAGE\":\"caf\\u00e9\"}", "caf\xc3\xa9" },
    /* too long for it, twice in the entry, none */
    { IN "\"MESSAGE\":null}", NULL },
    { IN "\"MESSAGE\":[\"a\",\"b\"]}", NULL },
    { IN "\"PRIORITY\":\"3\"}", NULL },
    /* what it never prints */
    { IN "\"MESSAGE\":[97,256]}", NULL },
    { IN "\"MESSAGE\":[97,-1]}", NULL },
    { IN "\"MESSAGE\":[97,1.5]}", NULL },
    { IN "\"MESSAGE\":[[97]]}", NULL },
    { IN "\"MESSAGE\":7}", NULL },
    { IN "\"MESSAGE\":{\"a\":\"b\"}}", NULL },
    { IN "\"MESSAGE\":\"a\",\"MESSAGE\":\"b\"}", NULL },
    { IN "\"MESSAGE\":\"a\"", NULL },
    { IN "\"MESSAGE\":\"a\"} x", NULL },
    { IN "\"MESSAGE\":\"\xff\"}", NULL },
    { "", NULL },
    { "[]", NULL },
    { "{}", NULL },
    { "-- Journal begins at Mon 2026-11-30 --", NULL },
    /* not of the kernel, or of another boot */
    { "{" AT "\"_TRANSPORT\":\"stdout\",\"SYSLOG_FACILITY\":\"0\",\"_BOOT_ID\":\"" BOOT
      "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"_TRANSPORT\":[\"kernel\"],\"SYSLOG_FACILITY\":\"0\",\"_BOOT_ID\":\"" BOOT
      "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"_TRANSPORT\":\"kernel\\u0000\",\"SYSLOG_FACILITY\":\"0\",\"_BOOT_ID\":\"" BOOT
      "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"_BOOT_ID\":\"" BOOT
      "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"3\",\"_BOOT_ID\":\"" BOOT
      "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":0,\"_BOOT_ID\":\"" BOOT
      "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"_TRANSPORT\":\"kernel\",\"_BOOT_ID\":\"" BOOT "\",\"MESSAGE\":\"a\"}", NULL },
    { "{" AT "\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"_BOOT_ID\":"
      "\"00000000000000000000000000000001\",\"MESSAGE\":\"a\"}", NULL },
    /* without a time */
    { "{" REST "\"MESSAGE\":\"a\"}", NULL },
    { "{" REST "\"__MONOTONIC_TIMESTAMP\":\"\",\"MESSAGE\":\"a\"}", NULL },
    { "{" REST "\"__MONOTONIC_TIMESTAMP\":\"-5\",\"MESSAGE\":\"a\"}", NULL },
    { "{" REST "\"__MONOTONIC_TIMESTAMP\":\"5s\",\"MESSAGE\":\"a\"}", NULL },
    { "{" REST "\"__MONOTONIC_TIMESTAMP\":\"9999999999999999999\",\"MESSAGE\":\"a\"}", NULL },
    { "{" REST "\"__MONOTONIC_TIMESTAMP\":5,\"MESSAGE\":\"a\"}", NULL },
};

static void entries(void **state)
{
    struct kernel_message message;
    char                  text[KERNEL_LINE_MAX + 1];
    size_t                i;
    bool                  is_message;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        is_message =
            journal_entry_read(lines[i].line, strlen(lines[i].line), BOOT, text, &message);
        if (is_message != (lines[i].text != NULL))
            fail_msg("%s", lines[i].line);
        if (!is_message)
            continue;
        assert_string_equal(message.text, lines[i].text);
        assert_int_equal(message.at_us, 52160148143);
    }
}

/* One of each form; whatever the length, the text ends. */
static void long_messages(void **state)
{
    static const char *const forms[][3] = { { "\"", "x", "\"}" }, { "[120", ",120", "]}" } };
    struct kernel_message    message;
    char                     text[KERNEL_LINE_MAX + 1], *line;
    size_t                   i, size;
    int                      j;

    (void)state;
    for (i = 0; i < 2; i++) {
        line = xmalloc(strlen(IN) + 30000);
        size = (size_t)sprintf(line, "%s\"MESSAGE\":%s", IN, forms[i][0]);
        for (j = 0; j < 4096; j++)
            size += (size_t)sprintf(line + size, "%s", forms[i][1]);
        size += (size_t)sprintf(line + size, "%s", forms[i][2]);
        assert_true(journal_entry_read(line, size, BOOT, text, &message));
        assert_int_equal(strlen(message.text), KERNEL_LINE_MAX);
        free(line);
    }
}

struct seen {
    int  count;
    char last[100];
};

static void see(const struct kernel_message *message, void *arg)
{
    struct seen *seen = arg;

    seen->count++;
    snprintf(seen->last, sizeof seen->last, "%s", message->text);
}

static void output_in_parts(void **state)
{
    static const char line[] = IN "\"MESSAGE\":\"hello\"}\n{\"x\":1}\n";
    struct journalctl one = { .out = -1, .err = -1, .boot = BOOT, .since_us = 52160148143 };
    struct seen       seen = { 0 };
    char             *huge = xcalloc(1, 1 << 20);
    size_t            i;

    (void)state;
    one.line = xmalloc(JOURNALCTL_LINE_MAX);
    for (i = 0; i < strlen(line); i++)
        journalctl_feed(&one, line + i, 1, see, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.last, "hello");
    memset(huge, ' ', 1 << 20);
    for (i = 0; i < 3; i++)
        journalctl_feed(&one, huge, 1 << 20, see, &seen);
    journalctl_feed(&one, line, strlen(line), see, &seen); /* the end of that line */
    assert_int_equal(seen.count, 1);
    journalctl_feed(&one, line, strlen(line), see, &seen);
    assert_int_equal(seen.count, 2);
    assert_int_equal(one.shown, 2);
    one.since_us++;
    journalctl_feed(&one, line, strlen(line), see, &seen); /* too old, but a sign of life */
    assert_int_equal(seen.count, 2);
    assert_int_equal(one.shown, 3);
    journalctl_close(&one);
    free(huge);
}

static void what_follows(void **state)
{
    static const struct {
        struct journal_course course;
        enum journal_next     next;
    } rows[] = {
        { { .starts = 1 }, JOURNAL_WAIT },
        { { .starts = 1, .age_s = 9.9 }, JOURNAL_WAIT },
        { { .starts = 1, .age_s = 10 }, JOURNAL_SILENT },
        { { .starts = 1, .age_s = 1.9, .has_words = true }, JOURNAL_WAIT },
        { { .starts = 1, .age_s = 2, .has_words = true }, JOURNAL_GIVE_UP },
        { { .starts = 1, .age_s = 900, .has_words = true, .is_shown = true, .has_shown = true },
          JOURNAL_WAIT },
        { { .starts = 2, .age_s = 900, .has_shown = true }, JOURNAL_SILENT },
        { { .starts = 1, .is_over = true }, JOURNAL_GIVE_UP },
        { { .starts = 1, .is_over = true, .has_shown = true, .age_s = 4.9 }, JOURNAL_WAIT },
        { { .starts = 3, .is_over = true, .has_shown = true, .age_s = 5 }, JOURNAL_START },
        { { .starts = 4, .is_over = true, .has_shown = true, .is_shown = true },
          JOURNAL_GIVE_UP },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (journal_next(&rows[i].course) != rows[i].next)
            fail_msg("row %zu: %d", i, (int)journal_next(&rows[i].course));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(output_in_parts),
        cmocka_unit_test(what_follows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
