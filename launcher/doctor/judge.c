/* judge.c - see judge.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hostrange.h"
#include "strlist.h"
#include "xalloc.h"

#define CLOCK_WARN_S 1.0
#define CLOCK_FAIL_S 30.0
#define LOGIN_SLOW_S 5.0

static int by_size(const void *left, const void *right);

void judge(const struct subjects *subjects, struct findings *findings)
{
    judge_unique(subjects, findings);
    judge_names(subjects, findings);
    judge_same(subjects, findings);
    judge_clocks(subjects, findings);
    judge_logins(subjects, findings);
    judge_peers(subjects, findings);
    judge_speed(subjects, findings);
    judge_public(subjects, findings);
}

/* Compares with the median, since this machine's clock may be the wrong one. */
void judge_clocks(const struct subjects *subjects, struct findings *findings)
{
    double *clock = xcalloc(subjects->count + 1, sizeof *clock), middle, off;
    size_t  i, count = 0;
    char    text[128];

    for (i = 0; i < subjects->count; i++)
        if (subjects->node[i].hello != NULL)
            clock[count++] = subjects->node[i].clock_s;
    qsort(clock, count, sizeof *clock, by_size);
    middle = count > 0 ? clock[(count - 1) / 2] : 0;
    free(clock);
    for (i = 0; i < subjects->count; i++) {
        off = subjects->node[i].clock_s - middle;
        if (subjects->node[i].hello == NULL ||
            fabs(off) < CLOCK_WARN_S + subjects->node[i].within_s)
            continue;
        snprintf(text, sizeof text, "its clock is %.1f s %s", fabs(off),
                 off > 0 ? "fast" : "slow");
        findings_add(findings, (int)i, fabs(off) > CLOCK_FAIL_S, "clock", text,
                     "logs cannot be compared; certificates and tokens are refused",
                     "sudo systemctl restart chrony (or systemd-timesyncd)");
    }
}

static int by_size(const void *left, const void *right)
{
    const double *one = left, *other = right;

    return (*one > *other) - (*one < *other);
}

void judge_logins(const struct subjects *subjects, struct findings *findings)
{
    size_t i;
    char   text[128];

    for (i = 0; i < subjects->count; i++) {
        snprintf(text, sizeof text, "the login shell prints %zu bytes", subjects->node[i].noise);
        if (subjects->node[i].noise > 0)
            findings_add(findings, (int)i, false, "login", text,
                         "scp, sftp and rsync fail: \"protocol error\"",
                         "in ~/.bashrc, print only if the shell is interactive: case $- in *i*)");
        if (subjects->node[i].hello == NULL || subjects->node[i].login_s < LOGIN_SLOW_S)
            continue;
        snprintf(text, sizeof text, "the login took %.0f s", subjects->node[i].login_s);
        findings_add(findings, (int)i, false, "login", text,
                     "every start and every reconnect takes this long",
                     "look for slow commands in ~/.bashrc, and set UseDNS no in sshd_config");
    }
}

const char *judge_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

char *judge_hosts(const struct subjects *subjects, const bool *wants)
{
    struct strlist names = { 0 };
    char          *folded;
    size_t         i;

    for (i = 0; i < subjects->count; i++)
        if (wants[i])
            strlist_add(&names, subjects->node[i].host);
    folded = hostrange_fold(&names);
    strlist_clear(&names);
    return folded;
}
