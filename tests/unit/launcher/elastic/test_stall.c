/* test_stall.c - when the policy ends a run whose generations make no progress
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elastic/policy.h"

/* A rank of a whole world has failed with that code, after some time. */
static struct policy_event failed(int code)
{
    return (struct policy_event){ .kind = POLICY_EVENT_OVER, .end = POLICY_END_RANK,
                                  .is_world_whole = true, .code = code, .rank_lived_s = 100 };
}

/* Each letter is the end of a generation: p with progress, f a failure without, h a hang, n a lost
 * node, c a change of the world, 0 before a rank was started, u of a run that reports nothing, l a
 * failure whose node is left out. */
static void test_no_progress(void **state)
{
    static const struct {
        const char     *ends;
        int             most;
        enum policy_why why; /* of the last one */
    } cases[] = {
        { "pfff", 3, POLICY_WHY_NO_PROGRESS }, { "pff", 3, POLICY_WHY_RESTART },
        { "fff", 3, POLICY_WHY_NO_PROGRESS },  { "pffpff", 3, POLICY_WHY_RESTART },
        { "pffpfff", 3, POLICY_WHY_NO_PROGRESS }, { "uuuuuu", 3, POLICY_WHY_RESTART },
        { "uuuufff", 3, POLICY_WHY_NO_PROGRESS }, { "pfhf", 3, POLICY_WHY_NO_PROGRESS },
        { "pfcff", 3, POLICY_WHY_NO_PROGRESS }, { "pffccc", 3, POLICY_WHY_CHANGE },
        { "pffc000", 3, POLICY_WHY_CHANGE },   { "pfnn", 3, POLICY_WHY_NO_PROGRESS },
        { "pnnf", 3, POLICY_WHY_NO_PROGRESS }, { "pffffff", 0, POLICY_WHY_RESTART },
        { "pffl", 3, POLICY_WHY_RESTART },     { "pfflfff", 3, POLICY_WHY_NO_PROGRESS },
        { "pf", 1, POLICY_WHY_NO_PROGRESS },   { "pffffffff", 8, POLICY_WHY_NO_PROGRESS },
    };
    size_t i, n;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy        policy = { 0 };
        struct policy_rules  rules = { .max_restarts = 8, .delay_s = -1 };
        struct membership    members = { 0 };
        struct policy_action action = { 0 };
        struct error         err;

        assert_int_equal(restart_on_parse(NULL, &rules.on, &err), 0);
        membership_add(&members, "te1", 1);
        rules.max_no_progress = cases[i].most;
        rules.members.goes_on = true;
        for (n = 0; cases[i].ends[n] != '\0'; n++) {
            struct policy_event event = failed(3 + (int)n);
            const char          end = cases[i].ends[n];

            policy.phase = POLICY_RUNNING;
            event.end = end == 'h'   ? POLICY_END_HANG
                        : end == 'n' || end == '0' ? POLICY_END_NODE
                        : end == 'c' ? POLICY_END_CHANGE
                                     : POLICY_END_RANK;
            event.lived_s = end == '0' ? 0 : POLICY_LONG_S + 1;
            event.is_progress_known = end != 'u';
            event.is_cured = end == 'l';
            event.has_progressed = end == 'p';
            action = policy_next(&policy, &rules, &members, &event);
            if (cases[i].ends[n + 1] != '\0' && action.what == POLICY_DO_END)
                fail_msg("%s: ends after %zu", cases[i].ends, n + 1);
        }
        if (action.why != cases[i].why)
            fail_msg("%s: %d", cases[i].ends, action.why);
        membership_clear(&members);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
