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

/* Two nodes of two ranks each; with roles the second node is one of its own. */
static void labels_of_many(void **state)
{
    static struct plan_rank ranks[4] = { { .rank = 0 }, { .rank = 1 }, { .rank = 2 },
                                         { .rank = 3 } };
    static struct plan_node nodes[2] = { { .host = (char *)"te1", .rank = ranks, .ranks = 2 },
                                         { .host = (char *)"te2", .rank = ranks + 2, .ranks = 2 } };
    static struct plan      role[2] = { { .role_name = (char *)"act", .world_size = 2 },
                                        { .role_name = (char *)"learn", .world_size = 2,
                                          .first_rank = 2 } };
    static const struct {
        int         label;
        bool        has_roles;
        int         rank[4];
        size_t      count;
        const char *wanted;
    } rows[] = {
        { LABEL_DEFAULT, false, { 0, 1, 2, 3 }, 4, "[0-3] " },
        { LABEL_DEFAULT, false, { 0, 2, 3 }, 3, "[0,2-3] " },
        { LABEL_RANK, false, { 1, 3 }, 2, "[1,3] " },
        { LABEL_DEFAULT, true, { 2, 3 }, 2, "[learn 0-1] " },
        { LABEL_RANK, true, { 0, 1 }, 2, "[act 0-1] " },
        { LABEL_HOST, false, { 1, 3 }, 2, "te[1-2]: " },
        { LABEL_HOST, true, { 2, 3 }, 2, "te2: " },
        { LABEL_NONE, true, { 2, 3 }, 2, "" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct plan    many = { .world_size = 4, .node = nodes, .nodes = 2, .role = role,
                                      .roles = rows[i].has_roles ? 2 : 0 };
        const struct options options = { .label = rows[i].label };
        char *text = rank_labels_of_many(&many, &options, rows[i].rank, rows[i].count);

        assert_string_equal(text, rows[i].wanted);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lists_and_ranges),
        cmocka_unit_test(refuses_nonsense),
        cmocka_unit_test(labels_of_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
