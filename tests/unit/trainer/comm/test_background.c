/* test_background.c - queued operations are carried out in order, and failures are told
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

#include "comm/background.h"
#include "unit/trainer/comm/thread_comm.h"

#define RANKS 3
#define MANY  3000 /* more than the queue holds */

/* Each sum depends on the one before. */
static const char *many_operations(struct comm *inner, void *arg)
{
    struct error err;
    struct comm *comm = comm_background(inner, &err);
    int32_t      value = inner->rank + 1, i;
    uint64_t     half = 0;
    uint32_t     want = 1 + 2 + 3;

    (void)arg;
    if (comm == NULL || comm->rank != inner->rank || comm->size != RANKS)
        return "it does not take after inner";
    for (i = 0; i < MANY; i++) {
        if (comm->ops->all_reduce(comm, &value, &value, 1, DTYPE_UINT32, REDOP_SUM, &err) < 0)
            return "all_reduce";
        if (i == MANY / 2)
            half = comm->ops->mark(comm);
        want *= i == 0 ? 1 : RANKS;
    }
    if (comm->ops->wait(comm, half, &err) < 0 || comm->ops->barrier(comm, &err) < 0)
        return "wait";
    if ((uint32_t)value != want)
        return "the sum is wrong";
    return comm->ops->close(comm, &err) < 0 ? "close" : NULL;
}

static void test_order(void **state)
{
    const char *wrong = thread_comm_run(RANKS, many_operations, NULL);

    (void)state;
    if (wrong != NULL)
        fail_msg("%s", wrong);
    assert_int_equal(thread_comm_counts.all_reduce, MANY);
}

static const char *one_fails(struct comm *inner, void *arg)
{
    struct error err;
    struct comm *comm = comm_background(inner, &err);
    uint64_t     mark;
    float        value = 1;
    int          i;

    (void)arg;
    for (i = 0; i < 10; i++) /* who is fast hears of it here already */
        if (comm->ops->all_reduce(comm, &value, &value, 1, DTYPE_FLOAT, REDOP_SUM, &err) < 0)
            break;
    mark = comm->ops->mark(comm);
    if (comm->ops->wait(comm, mark, &err) == 0)
        return "wait hides the failure";
    if (strcmp(err.text, "rank 1 on nowhere is gone") != 0)
        return "wait does not tell why";
    if (value != 81)
        return "what came behind the failure was begun";
    if (comm->ops->all_reduce(comm, &value, &value, 1, DTYPE_FLOAT, REDOP_SUM, &err) == 0)
        return "one more was taken";
    comm->ops->abort(comm);
    return NULL;
}

static void test_failure(void **state)
{
    const char *wrong;

    (void)state;
    thread_comm_fail_at = 4;
    wrong = thread_comm_run(RANKS, one_fails, NULL);
    thread_comm_fail_at = -1;
    if (wrong != NULL)
        fail_msg("%s", wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
