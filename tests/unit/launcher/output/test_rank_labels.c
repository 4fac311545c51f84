/* test_rank_labels.c - --show-ranks as people write it, and as they mistype it
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

#include "output/rank_labels.h"

#define WORLD 8

static const struct plan plan = { .world_size = WORLD };

static void reads_lists_and_ranges(void **state)
{
    static const struct {
        const char *text, *shown; /* a digit of shown for each rank */
    } good[] = {
        { NULL, "11111111" }, { "0", "10000000" },     { "0,3-5", "10011100" },
        { "7", "00000001" },  { "0-7", "11111111" },   { "2-2,2", "00100000" },
    };
    bool  *shown;
    size_t i;
    int    rank;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(rank_labels_parse_shown(good[i].text, &plan, &shown, NULL), 0);
        for (rank = 0; rank < WORLD; rank++)
            assert_int_equal(shown[rank], good[i].shown[rank] == '1');
        free(shown);
    }
}

static void refuses_nonsense(void **state)
{
    static const char *const bad[] = { "",    ",", "8",   "0,",  "-1", "3-",
                                       "5-3", "a", "0-8", "1 2", "0x1" };
    struct error err;
    bool        *shown;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rank_labels_parse_shown(bad[i], &plan, &shown, &err), -1);
        assert_non_null(strstr(err.text, "--show-ranks"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lists_and_ranges),
        cmocka_unit_test(refuses_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
