/* checkup.h - checks of this node for muster doctor: problems, and
 * differences from other nodes
 *
 * A check reports an observation as a fact, which the launcher compares with those of other
 * nodes, or a problem as a finding. A finding has the measured value, what it breaks, in words
 * that users know from their logs, and the command that fixes it. If the same is wrong on
 * several nodes, their texts are the same, so that the launcher can print it once.
 *
 * Each check runs in its own process: one that hangs in a dead file system or in a driver is a
 * finding, too, and the others continue.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CHECKUP_H
#define MUSTER_AGENT_CHECKUP_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "task/task_output.h"

#define CHECKUP_CHECK_S 8.0  /* per check */
#define CHECKUP_FULL_S  45.0 /* with --full */

struct checkup {
    const json_t       *request; /* the body of TASK */
    struct task_output *out;
    const char         *root;  /* replaces / in front of /proc, /etc, /sys, /run, /dev */
    const char         *check; /* the name of the running check */
    bool                is_full;
};

enum checkup_level { CHECKUP_WARN, CHECKUP_FAIL };

/* The task: runs all checks of its round. */
int checkup_run(const json_t *request, struct task_output *out);

void checkup_fact(const struct checkup *checkup, const char *name, json_t *value);
void checkup_find(const struct checkup *checkup, enum checkup_level level, const char *breaks,
                  const char *mend, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Reads a file below root, like fd_read_file(); makes the path of one. */
ssize_t checkup_read(const struct checkup *checkup, const char *path, char *text, size_t size);
void    checkup_path(const struct checkup *checkup, const char *path, char full[PATH_MAX]);

/* Returns a text of the request, or NULL; the number in "NAME: value kB" of a text such
 * as /proc/meminfo, or -1. */
const char *checkup_word(const struct checkup *checkup, const char *key);
long long   checkup_number_in(const char *text, const char *name);

/* The checks: names.c, disks.c, login_limits.c ... */
typedef void  checkup_check(const struct checkup *checkup);
checkup_check names_check, disks_check, cold_check, login_limits_check, machine_check,
    updates_check, sshd_check, interfaces_check, leftovers_check, holders_check, driver_check,
    nvml_check, cuda_check, gpu_errors_check, kernel_log_check, python_check, files_check,
    peers_check, speed_check, spot_check;

/* checkpoint.c: for files_check, if folder has checkpoints. */
void checkpoint_check(const struct checkup *checkup, const char *folder);

#endif
