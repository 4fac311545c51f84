/* test_kernel_log.c - reading the kernel's log: lines, patterns, and counting what they say
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "evidence/evidence_list.h"
#include "evidence/kernel_log.h"
#include "evidence/last_day.h"
#include "evidence/pattern.h"
#include "xalloc.h"

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool        fits;
        const char *device; /* NULL: none */
        long        number;
    } rows[] = {
        { "", "", true, NULL, 0 },
        { "", "a", false, NULL, 0 },
        { "a", "", false, NULL, 0 },
        { "abc", "abc", true, NULL, 0 },
        { "abc", "abd", false, NULL, 0 },
        { "*", "", true, NULL, 0 },
        { "*b", "aab", true, NULL, 0 },
        { "*b", "aabc", false, NULL, 0 },
        { "a*b*c", "aXbXbXc", true, NULL, 0 },
        { "a*b*c", "aXbX", false, NULL, 0 },
        { "@", "", false, NULL, 0 },
        { "server @ not*", "server te0 not here", true, "te0", 0 },
        { "server @ not*", "server  not here", false, NULL, 0 },
        { "server @ OK", "server a OK b OK", true, "a OK b", 0 },
        { "task @:# *", "task a:b:12 x", true, "a:b", 12 },
        { "task @:# *", "task a:b: x", false, NULL, 0 },
        { "~ %: x", "nvidia 0000:3b:00.0: x", true, "0000:3b:00.0", 0 },
        { "~ %: x", "a b 0000:3b:00.0: x", false, NULL, 0 },
        { "a % @: x", "a 0000:3b:00.0 eth0: x", true, "eth0", 0 },
        { "#", "1234567890", false, NULL, 0 },
        { "#", "123456789", true, NULL, 123456789 },
        { "# # #", "1 2 3", true, NULL, 1 },
        { "#", "-1", false, NULL, 0 },
        { "* #*", "a b 5", true, NULL, 5 },
    };
    struct pattern_match match;
    char                 device[64];
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (pattern_fits(rows[i].pattern, rows[i].text, &match) != rows[i].fits)
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
        if (!rows[i].fits)
            continue;
        snprintf(device, sizeof device, "%.*s", (int)match.device_size,
                 match.device != NULL ? match.device : "");
        assert_string_equal(device, rows[i].device != NULL ? rows[i].device : "");
        if (match.number[0] != rows[i].number)
            fail_msg("'%s': %ld", rows[i].pattern, match.number[0]);
    }
}

static void pci_addresses(void **state)
{
    static const struct {
        const char *text;
        size_t      size;
    } rows[] = {
        { "0000:3b:00.0", 12 },      { "0000:3b:00", 10 }, { "0000:3b:00.8", 10 },
        { "00000001:0a:1f.7x", 16 }, { "000:3b:00.0", 0 }, { "0000:3b", 0 },
        { "0000:3b:", 0 },           { "0000", 0 },        { "", 0 },
        { "0000:3b1:00.0", 0 },      { "0000:3b:001", 0 }, { "000000000:3b:00.0", 0 },
        { "0000-3b:00", 0 },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pattern_pci_size(rows[i].text) != rows[i].size)
            fail_msg("'%s': %zu", rows[i].text, pattern_pci_size(rows[i].text));
}

/* Counts the messages, and keeps the last one. */
struct seen {
    int     count;
    char    last[KERNEL_LINE_MAX + 1];
    int64_t at_us;
};

static void see(const struct kernel_message *message, void *arg)
{
    struct seen *seen = arg;

    seen->count++;
    snprintf(seen->last, sizeof seen->last, "%s", message->text);
    seen->at_us = message->at_us;
}

static void lines_of_a_log(void **state)
{
    static const struct {
        const char *line;
        int         count;
        const char *text;
    } rows[] = {
        { "6,1,5000000,-;hello\n", 1, "hello" },
        { "6,1,5000000,-,caller=T1;hello;you\n", 1, "hello;you" },
        { "6,1,5000000,c;part\n", 1, "part" },
        { "6,1,5000000,-;\n", 1, "" },
        { "6,1,5000000,-;hello\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n", 1, "hello" },
        { "6,1,5000000,-;torn", 0, "" },
        { "14,1,5000000,-;a program wrote it\n", 0, "" },
        { "8,1,5000000,-;a program wrote it\n", 0, "" },
        { "99999999999999999999999,1,5,-;x\n", 0, "" },
        { "-3,1,5000000,-;x\n", 0, "" },
        { "6;x\n", 0, "" },
        { "6,;x\n", 0, "" },
        { "6,1,;x\n", 0, "" },
        { "6,1,5;x\n", 0, "" },
        { "6,1,5,-\n", 0, "" },
        { "6,a,5,-;x\n", 0, "" },
        { ",,,;\n", 0, "" },
        { "\n\n\n", 0, "" },
        { "no log at all\n", 0, "" },
    };
    size_t i, at;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kernel_log log = { .fd = -1 };
        struct seen       seen = { 0 };

        for (at = 0; at < strlen(rows[i].line); at++) /* each byte apart */
            kernel_log_feed(&log, rows[i].line + at, 1, see, &seen);
        if (seen.count != rows[i].count || strcmp(seen.last, rows[i].text) != 0)
            fail_msg("%s: %d, '%s'", rows[i].line, seen.count, seen.last);
    }
}

static void bad_bytes(void **state)
{
    struct kernel_log log = { .fd = -1 };
    struct seen       seen = { 0 };
    char             *huge = xcalloc(1, 1 << 20);

    (void)state;
    memset(huge, 'x', (1 << 20) - 1);
    memcpy(huge, "6,1,5,-;", 8);
    kernel_log_feed(&log, huge, (1 << 20) - 1, see, &seen);
    assert_int_equal(seen.count, 0);
    kernel_log_feed(&log, "\n6,2,9,-;next\n", 14, see, &seen);
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.last, "next");
    assert_int_equal(seen.at_us, 9);
    kernel_log_feed(&log, "6,3,9,-;a\0b\xff\x1b\n", 14, see, &seen);
    assert_string_equal(seen.last, "a?b\xff\x1b");
    kernel_log_feed(&log, "", 0, see, &seen);
    assert_int_equal(seen.count, 3);
    free(huge);
}

static void a_log_is_followed(void **state)
{
    char              path[] = "/tmp/muster-test-kmsg.XXXXXX";
    int               fd = mkstemp(path), i;
    struct kernel_log log;
    struct seen       seen = { 0 };
    struct error      why;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "6,1,5,-;old\n", 12), 12);
    assert_int_equal(kernel_log_open(&log, path, true, &why), 0);
    assert_false(kernel_log_read(&log, 1000, see, &seen));
    assert_int_equal(seen.count, 0);
    for (i = 0; i < 2000; i++)
        assert_int_equal(write(fd, "6,2,5,-;new\n", 12), 12);
    assert_true(kernel_log_read(&log, 1000, see, &seen)); /* not all at once */
    assert_in_range(seen.count, 83, 1000);
    while (kernel_log_read(&log, 1000, see, &seen))
        ;
    assert_int_equal(seen.count, 2000);
    assert_int_equal(write(fd, "6,3,5,-;skipped\n6,4", 19), 19);
    kernel_log_skip(&log);
    assert_int_equal(write(fd, ",5,-;tail\n6,5,5,-;last\n", 23), 23);
    assert_false(kernel_log_read(&log, 1000, see, &seen));
    assert_int_equal(seen.count, 2001);
    assert_string_equal(seen.last, "last");
    kernel_log_close(&log);
    assert_false(kernel_log_read(&log, 1000, see, &seen));
    close(fd);
    unlink(path);
    assert_int_equal(kernel_log_open(&log, path, true, &why), -1);
    assert_non_null(strstr(why.text, path));
    assert_non_null(strstr(why.text, strerror(ENOENT)));
}

static void add(struct evidence_list *list, const char *text)
{
    struct evidence evidence;

    assert_true(evidence_read(text, &evidence));
    evidence_list_add(list, &evidence, text);
}

static long number_of(const json_t *list, size_t index, const char *key)
{
    return (long)json_integer_value(
        json_object_get(json_array_get(json_object_get(list, "items"), index), key));
}

static void kinds_and_devices_are_counted(void **state)
{
    struct evidence_list list = { 0 };
    json_t              *changed;
    char                 text[100];
    int                  i;

    (void)state;
    for (i = 0; i < 5; i++)
        add(&list, "nfs: server a not responding, still trying");
    add(&list, "NVRM: Xid (PCI:0000:3b:00): 79, x");
    add(&list, "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.");
    assert_true(list.is_new);
    changed = evidence_list_changed(&list);
    assert_int_equal(json_array_size(json_object_get(changed, "items")), 2);
    assert_int_equal(number_of(changed, 0, "count"), 5);
    assert_int_equal(number_of(changed, 1, "count"), 1);
    json_decref(changed);
    assert_false(list.is_changed || list.is_new);
    add(&list, "nfs: server a not responding, still trying");
    assert_true(list.is_changed && !list.is_new);
    changed = evidence_list_changed(&list);
    assert_int_equal(json_array_size(json_object_get(changed, "items")), 1);
    assert_int_equal(number_of(changed, 0, "count"), 6);
    json_decref(changed);
    for (i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "nfs: server b%d not responding, \x1b\xff", i);
        add(&list, text);
    }
    assert_int_equal(list.count, EVIDENCE_LIST_MAX - EVIDENCE_LIST_SPARE);
    for (i = 0; i < 100; i++) { /* what is broken has more room */
        snprintf(text, sizeof text, "I/O error, dev sd%d, sector 0", i);
        add(&list, text);
    }
    changed = evidence_list_changed(&list);
    assert_int_equal(list.count, EVIDENCE_LIST_MAX);
    assert_int_equal(json_integer_value(json_object_get(changed, "more")),
                     202 - EVIDENCE_LIST_MAX);
    json_decref(changed);
    evidence_list_clear(&list);
    add(&list, "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.");
    add(&list, "NVRM: Xid (PCI:0000:3b:00): 79, x");
    assert_int_equal(list.item[0].count, 1);
    evidence_list_clear(&list);
}

static void the_last_day(void **state)
{
    static const char log[] =
        "6,1,5000000,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=7\n"
        "6,2,90000000000,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=7\n"
        "6,3,90000000001,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=7\n SUBSYSTEM=pci\n"
        "6,4,90000000002,-;NVRM: Xid (PCI:0000:3b:00): 79\n"
        "14,5,90000000003,-;NVRM: Xid (PCI:0000:3b:00): 48\n"
        "NVRM: Xid (PCI): 80\n"
        "\n;,,,;";
    struct evidence_list list = { 0 };

    (void)state;
    last_day_of(log, 3600, &list);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.item[0].evidence.kind, "xid 13");
    assert_int_equal(list.item[0].count, 2);
    assert_string_equal(list.item[1].evidence.kind, "xid 79");
    evidence_list_clear(&list);
    last_day_of("", 0, &list);
    last_day_read("/nowhere", &list);
    assert_int_equal(list.count, 0);
    evidence_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),          cmocka_unit_test(pci_addresses),
        cmocka_unit_test(lines_of_a_log),    cmocka_unit_test(bad_bytes),
        cmocka_unit_test(a_log_is_followed), cmocka_unit_test(kinds_and_devices_are_counted),
        cmocka_unit_test(the_last_day),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
