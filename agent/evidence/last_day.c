/* last_day.c - see last_day.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/last_day.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "evidence/journalctl.h"
#include "evidence/kernel_log.h"
#include "node/test_switch.h"

#define LOG_MAX   (4u << 20) /* bytes of the kernel's log */
#define DAY_S     86400.0
#define JOURNAL_S 5.0        /* limit for all that journalctl shows */
#define WAIT_MS   50         /* between two looks */

struct reading {
    struct evidence_list *list;
    double                since_s;
};

static void read_journal(const char *directory, struct reading *reading);
static void take(const struct kernel_message *message, void *arg);

void last_day_read(const char *root, struct evidence_list *list)
{
    struct reading    reading = { list, clock_now_s() - DAY_S };
    const char       *directory = test_switch(TEST_SWITCH_JOURNAL);
    struct kernel_log log;
    struct error      why;
    char              path[PATH_MAX];

    snprintf(path, sizeof path, "%s%s", root, KERNEL_LOG_PATH);
    if (kernel_log_open(&log, path, false, &why) == 0) {
        kernel_log_read(&log, LOG_MAX, take, &reading);
        kernel_log_close(&log);
    } else if (root[0] == '\0' || directory != NULL) {
        read_journal(directory, &reading);
    }
}

/* Ends with what journalctl has shown when its time is over. */
static void read_journal(const char *directory, struct reading *reading)
{
    const int64_t     late_ns = clock_now_ns() + (int64_t)(JOURNAL_S * NS_PER_S);
    struct journalctl journalctl;
    struct pollfd     readable = { .events = POLLIN };
    struct error      why;

    if (journalctl_open(&journalctl, directory, false, 0, &why) == 0)
        while (!journalctl_is_over(&journalctl) && clock_now_ns() < late_ns) {
            readable.fd = journalctl.out;
            poll(&readable, 1, WAIT_MS);
            journalctl_read(&journalctl, LOG_MAX, take, reading);
        }
    journalctl_close(&journalctl);
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
