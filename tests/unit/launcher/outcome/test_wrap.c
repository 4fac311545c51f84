/* test_wrap.c - a text in the last column, in terminals of any width
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "outcome/wrap.h"

static const struct {
    size_t      indent, columns;
    const char *text, *printed;
} table[] = {
    { 10, 0, "in a file it has all the room that it wants", NULL },
    { 10, 29, "here is less room than a cause needs", NULL },
    { 4, 24, "twenty columns fit ..", "twenty columns fit\n    ..\n" },
    { 4, 24, "twenty columns fit .", NULL },
    { 4, 24, "twenty columns fit \303\244", NULL },
    { 4, 24, "twenty columns are ..  and the next line",
      "twenty columns are\n    ..  and the next\n    line\n" },
    { 2, 22, "/a/word/longer/than/that and more", "/a/word/longer/than/that\n  and more\n" },
    { 2, 22, "a /word/longer/than/all/that: no", "a\n  /word/longer/than/all/that:\n  no\n" },
    { 2, 22, "/a/word/longer/than/that", NULL },
    { 2, 22, " begins with a blank, and ends so ", " begins with a\n  blank, and ends so \n" },
    { 2, 22, "\033[2Jnot to the terminal", "^[[2Jnot to the\n  terminal\n" },
    { 2, 22, "", NULL },
};

static void test_table(void **state)
{
    char   wanted[200], *seen;
    size_t i, size;
    FILE  *out;

    (void)state;
    for (i = 0; i < sizeof table / sizeof *table; i++) {
        out = open_memstream(&seen, &size);
        wrap_print(table[i].text, table[i].indent, table[i].columns, out);
        fclose(out);
        snprintf(wanted, sizeof wanted, "%s\n", table[i].text);
        assert_string_equal(seen, table[i].printed != NULL ? table[i].printed : wanted);
        free(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
