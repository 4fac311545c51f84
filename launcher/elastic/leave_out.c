/* leave_out.c - see leave_out.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/leave_out.h"

#include <string.h>

#include "elastic/next_world.h"
#include "number.h"

static bool is_near(const struct leave_out_sign *a, const struct leave_out_sign *b);
static int  most_in_a_row(const struct leave_out *state);

int leave_out_parse(const char *text, int *rule, struct error *err)
{
    int64_t number;

    if (strcmp(text, "evidence") == 0)
        *rule = LEAVE_OUT_EVIDENCE;
    else if (strcmp(text, "never") == 0)
        *rule = LEAVE_OUT_NEVER;
    else if (parse_number(text, 1, LEAVE_OUT_MOST, &number, err) == 0)
        *rule = (int)number;
    else
        return err_set(err, "'%.40s' is neither evidence nor never, nor a number from 1 to %d",
                       text, LEAVE_OUT_MOST);
    return 0;
}

struct leave_out leave_out_new(int rule)
{
    return (struct leave_out){ .rule = rule, .last = LEAVE_OUT_NONE, .left = LEAVE_OUT_NONE };
}

/* A generation of which it is not known where it ended first does not end a row: a node that makes
 * ranks fail may make them hang, too. */
size_t leave_out_count(struct leave_out *state, const struct leave_out_end *end)
{
    size_t wrong = LEAVE_OUT_NONE;

    if (end->are_alike) {
        state->in_a_row = 0;
        state->last = LEAVE_OUT_NONE;
    } else if (end->node != LEAVE_OUT_NONE) {
        state->in_a_row = end->node == state->last ? state->in_a_row + 1 : 1;
        state->last = end->node;
    }
    if (state->left != LEAVE_OUT_NONE && end->place != LEAVE_OUT_NONE &&
        end->place == state->left_place) {
        wrong = state->left;
        state->is_count_over = true;
    }
    state->left = LEAVE_OUT_NONE;
    return wrong;
}

enum leave_out_why leave_out_judge(const struct leave_out *state, const struct leave_out_end *end,
                                   size_t node, size_t *sign)
{
    size_t i, best = end->signs;

    if (state->rule == LEAVE_OUT_NEVER)
        return LEAVE_OUT_STAYS;
    for (i = 0; i < end->signs && state->rule == LEAVE_OUT_EVIDENCE; i++)
        if (end->sign[i].node == node && (end->sign[i].is_broken || end->node == node) &&
            !leave_out_is_shared(end, i) &&
            (best == end->signs || (end->sign[i].is_broken && !end->sign[best].is_broken)))
            best = i;
    if (best < end->signs) {
        *sign = best;
        return LEAVE_OUT_BROKEN;
    }
    return !state->is_count_over && node == end->node && node == state->last &&
                   state->in_a_row >= most_in_a_row(state)
               ? LEAVE_OUT_COUNTED
               : LEAVE_OUT_STAYS;
}

bool leave_out_is_shared(const struct leave_out_end *end, size_t sign)
{
    size_t i;

    for (i = 0; i < end->signs; i++)
        if (end->sign[i].node != LEAVE_OUT_NONE && end->sign[i].node != end->sign[sign].node &&
            is_near(&end->sign[i], &end->sign[sign]))
            return true;
    return false;
}

static bool is_near(const struct leave_out_sign *a, const struct leave_out_sign *b)
{
    double apart_s = a->at_s - b->at_s;

    return apart_s < LEAVE_OUT_SHARED_S && apart_s > -LEAVE_OUT_SHARED_S &&
           strcmp(a->kind, b->kind) == 0;
}

static int most_in_a_row(const struct leave_out *state)
{
    return state->rule == LEAVE_OUT_EVIDENCE ? LEAVE_OUT_IN_A_ROW : state->rule;
}

/* A spare that must be connected first is enough. */
bool leave_out_node(struct leave_out *state, const struct leave_out_end *end,
                    enum leave_out_why why, struct membership *members,
                    const struct member_rules *rules, size_t node, const char *reason,
                    double now_s)
{
    membership_leave_out(members, node, reason, now_s);
    if (!rules->goes_on || (next_world_size(members, rules) == 0 &&
                            membership_candidates(members, now_s) < members->places)) {
        membership_trust(members, node);
        return false;
    }
    if (why == LEAVE_OUT_COUNTED) {
        state->left = node;
        state->left_place = end->place;
    }
    return true;
}
