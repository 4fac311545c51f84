/* test_fault_lines.c - faulthandler's stacks, among what others write to the same stream
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

#include "rank/fault_lines.h"
#include "xalloc.h"

#define HEAD  "Current thread 0x00007f2f222192c0 (most recent call first):\n"
#define OTHER "Thread 0x00007f2f21f5e6c0 (most recent call first):\n"
#define FRAME "  File \"/home/me/train.py\", line 12 in wait\n"

/* bytes, else a text; wanted: what is kept. */
static const struct {
    const char *bytes;
    size_t      size; /* 0: its length */
    const char *wanted;
} rows[] = {
    { HEAD FRAME, 0, HEAD FRAME },
    { OTHER FRAME "\n" HEAD FRAME FRAME, 0, OTHER FRAME HEAD FRAME FRAME },
    { "Stack (most recent call first):\n" FRAME, 0, "Stack (most recent call first):\n" FRAME },
    { HEAD "  File \"<string>\", line ??? in ???\n", 0,
      HEAD "  File \"<string>\", line ??? in ???\n" },
    { HEAD "  <no Python frame>\n", 0, HEAD "  <no Python frame>\n" },
    { HEAD FRAME "  ...\n", 0, HEAD FRAME "  ...\n" },
    { "Thread 0x1f [Thread-1 (work)] (most recent call first):\n" FRAME, 0,
      "Thread 0x1f [Thread-1 (work)] (most recent call first):\n" FRAME },
    { "Current thread's C stack trace (most recent call first):\n"
      "  Binary file \"python3\", at f+0x1 [0x5]\n", 0,
      "Current thread's C stack trace (most recent call first):\n"
      "  Binary file \"python3\", at f+0x1 [0x5]\n" },

    /* What others write. */
    { "step 1\n" HEAD "loss 2\n" FRAME "step 2\n", 0, HEAD FRAME },
    { "\r 50%|#####     | 5/10" HEAD FRAME, 0, HEAD FRAME },
    { HEAD "  File \"train.py\", line 12, in wait\n" FRAME, 0, HEAD FRAME }, /* a traceback */
    { HEAD "  File \"a, line 1 in b.py\", line 7 in f\n", 0,
      HEAD "  File \"a, line 1 in b.py\", line 7 in f\n" },
    { HEAD "  File \"a.py\", line x in f\n  File \"a.py\"\n File \"a.py\", line 1 in f\n", 0,
      HEAD },
    { HEAD FRAME "File \"a.py\", line 1 in f\n", 0, HEAD FRAME },

    /* Neither begun nor ended. */
    { FRAME, 0, "" },
    { FRAME HEAD FRAME, 0, HEAD FRAME },
    { HEAD FRAME "  File \"train.py\", line 1", 0, HEAD FRAME },
    { "Thread 0x12 (most recent call last):\n" FRAME, 0, "" },
    { "Thread 12 (most recent call first):\n" FRAME, 0, "" },
    { "(most recent call first):\n" FRAME, 0, "" },
    { "", 0, "" },
    { "\n\n\n", 0, "" },

    /* A terminal; a file that was emptied. */
    { "Thread 0x12 (most recent call first):\r\n  File \"a\", line 1 in f\r\n", 0,
      "Thread 0x12 (most recent call first):\n  File \"a\", line 1 in f\n" },
    { "\0\0\0" "Thread 0x12 (most recent call first):\n", 3 + 38,
      "Thread 0x12 (most recent call first):\n" },
    { "Thread 0x12 (most\0 recent call first):\n", 39, "" },
    { "\xff\x80\n" HEAD "  File \"\xff\", line 1 in f\n", 0,
      HEAD "  File \"\xff\", line 1 in f\n" },
};

static void expect(const struct fault_lines *lines, const char *wanted, size_t row)
{
    if (lines->text.size != strlen(wanted) ||
        (wanted[0] != '\0' && memcmp(lines->text.bytes, wanted, lines->text.size) != 0))
        fail_msg("row %zu: '%.*s'", row, (int)lines->text.size,
                 lines->text.size > 0 ? lines->text.bytes : "");
}

/* All at once, and byte by byte as faulthandler writes. */
static void test_rows(void **state)
{
    size_t i, size, at;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fault_lines lines = { 0 };

        size = rows[i].size > 0 ? rows[i].size : strlen(rows[i].bytes);
        fault_lines_add(&lines, rows[i].bytes, size);
        expect(&lines, rows[i].wanted, i);
        fault_lines_clear(&lines);
        for (at = 0; at < size; at++)
            fault_lines_add(&lines, rows[i].bytes + at, 1);
        expect(&lines, rows[i].wanted, i);
        fault_lines_clear(&lines);
    }
}

/* A flood of such lines, and lines without an end. */
static void test_bounds(void **state)
{
    struct fault_lines lines = { 0 };
    char              *x = xmalloc(100000);
    int                i;

    (void)state;
    memset(x, 'x', 100000);
    for (i = 0; i < 10000; i++)
        fault_lines_add(&lines, OTHER, strlen(OTHER));
    assert_true(lines.is_full);
    assert_true(lines.text.size <= FAULT_LINES_MAX && lines.text.size > FAULT_LINES_MAX - 100);
    fault_lines_clear(&lines);

    for (i = 1; i < 100000; i += 777) { /* before the first line, in pieces of any size */
        fault_lines_add(&lines, x, (size_t)i);
        fault_lines_add(&lines, x, 10);
        fault_lines_add(&lines, HEAD FRAME, strlen(HEAD FRAME));
        expect(&lines, HEAD FRAME, (size_t)i);
        fault_lines_add(&lines, x, (size_t)i);
        fault_lines_add(&lines, FRAME, strlen(FRAME)); /* is not the beginning of a line */
        expect(&lines, HEAD FRAME, (size_t)i);
        fault_lines_clear(&lines);
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
