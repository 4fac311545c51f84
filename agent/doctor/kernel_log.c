/* kernel_log.c - what the kernel's log of the last day says of GPUs and other hardware
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <string.h>

#include "evidence/last_day.h"

static void report_gpu(const struct checkup *checkup, const struct evidence *evidence,
                       long count);
static bool was_before(const struct evidence_list *list, size_t index);
static long count_all(const struct evidence_list *list, const char *what);

/* A finding for each number, not for each GPU: nodes with the same share it. */
void gpu_errors_check(const struct checkup *checkup)
{
    struct evidence_list list = { 0 };
    size_t               i;

    last_day_read(checkup->root, &list);
    for (i = 0; i < list.count; i++)
        if (list.item[i].evidence.is_gpu && !was_before(&list, i))
            report_gpu(checkup, &list.item[i].evidence,
                       count_all(&list, list.item[i].evidence.what));
    evidence_list_clear(&list);
}

/* What has passed may have been repaired, so only what stays broken is a finding. */
void kernel_log_check(const struct checkup *checkup)
{
    struct evidence_list list = { 0 };
    size_t               i;

    last_day_read(checkup->root, &list);
    for (i = 0; i < list.count; i++) {
        const struct evidence *evidence = &list.item[i].evidence;

        if (!evidence->is_gpu && evidence->severity == EVIDENCE_BROKEN && !was_before(&list, i))
            checkup_find(checkup, CHECKUP_FAIL, "ranks fail at random, or hang",
                         evidence->action, "the kernel has reported in the last day: %s",
                         evidence->what);
    }
    evidence_list_clear(&list);
}

static void report_gpu(const struct checkup *checkup, const struct evidence *evidence,
                       long count)
{
    bool is_of_hardware = evidence->severity >= EVIDENCE_ERROR;

    if (evidence->action[0] == '\0')
        return;
    checkup_find(checkup, is_of_hardware ? CHECKUP_FAIL : CHECKUP_WARN,
                 is_of_hardware ? "NCCL and CUDA errors at random, or a GPU is gone"
                 : evidence->severity == EVIDENCE_PROGRAM ? "the driver killed a program"
                                                          : "nothing yet",
                 evidence->action, "the driver has reported %s, %s in the last day",
                 evidence->what, count > 1 ? "several times" : "once");
}

static bool was_before(const struct evidence_list *list, size_t index)
{
    size_t i;

    for (i = 0; i < index; i++)
        if (strcmp(list->item[i].evidence.what, list->item[index].evidence.what) == 0)
            return true;
    return false;
}

static long count_all(const struct evidence_list *list, const char *what)
{
    long   count = 0;
    size_t i;

    for (i = 0; i < list->count; i++)
        if (strcmp(list->item[i].evidence.what, what) == 0)
            count += list->item[i].count;
    return count;
}
