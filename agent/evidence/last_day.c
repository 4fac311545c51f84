/* last_day.c - see last_day.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/last_day.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "evidence/kernel_log.h"

#define LOG_MAX (4u << 20) /* bytes of the kernel's log */
#define DAY_S 86400.0

struct reading {
    struct evidence_list *list;
    double                since_s;
};

static void take(const struct kernel_message *message, void *arg);

void last_day_read(const char *root, struct evidence_list *list)
{
    struct reading    reading = { list, clock_now_s() - DAY_S };
    struct kernel_log log;
    struct error      why;
    char              path[PATH_MAX];

    snprintf(path, sizeof path, "%s%s", root, KERNEL_LOG_PATH);
    if (kernel_log_open(&log, path, false, &why) < 0)
        return;
    kernel_log_read(&log, LOG_MAX, take, &reading);
    kernel_log_close(&log);
}

void last_day_of(const char *log, double since_s, struct evidence_list *list)
{
    struct reading    reading = { list, since_s };
    struct kernel_log reader = { .fd = -1 };

    kernel_log_feed(&reader, log, strlen(log), take, &reading);
}

static void take(const struct kernel_message *message, void *arg)
{
    struct reading *reading = arg;
    struct evidence evidence;

    if ((double)message->at_us / 1e6 >= reading->since_s &&
        evidence_read(message->text, &evidence))
        evidence_list_add(reading->list, &evidence, message->text);
}
