/* gpu_kill.h - ends processes that have GPUs open and are not of a run that is running
 *
 * muster clean --kill-gpu asks for it. A process of a running run is only reported, and so is
 * one that has called this muster clean. TERM comes first. KILL follows, to those that still
 * have a GPU open by then: a process that has closed it and continues is none of our business.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_KILL_H
#define MUSTER_AGENT_GPU_KILL_H

#include <stdbool.h>

#include <jansson.h>

#include "cleanup/orphans.h"
#include "err.h"
#include "node/process.h"

#define GPU_KILL_MAX 512 /* processes at a time */

enum gpu_kill_whose { GPU_KILL_NONE, GPU_KILL_MINE, GPU_KILL_USER, GPU_KILL_PID };

struct gpu_kill {
    enum gpu_kill_whose whose;
    char                name[64]; /* of the user */
    pid_t               pid;
    struct gpu_target  *item;
    size_t              count;
    bool                is_full;   /* there may be more of them */
    char               *problem;   /* why not all of what was asked for is known; NULL: it is */
    bool                is_denied; /* it needs root, or somebody else */
};

/* what: "mine", the name of a user, a PID; NULL: nothing. Initializes kill in both cases; -1:
 * what is invalid. */
int  gpu_kill_init(struct gpu_kill *kill, const json_t *what, struct error *err);
void gpu_kill_clear(struct gpu_kill *kill);

/* Adds processes that were not there the last time. ends_orphans: the caller ends those of
 * orphans whose run is not running. */
void gpu_kill_look(struct gpu_kill *kill, const struct orphans *orphans, bool ends_orphans);
/* Sends TERM to those that have not had it. */
void gpu_kill_ask(struct gpu_kill *kill);
/* Sends KILL to those that still have a GPU open. */
void gpu_kill_force(struct gpu_kill *kill);
/* True: none is left that could still end. */
bool gpu_kill_is_over(struct gpu_kill *kill);

/* Returns what gpu_holders() does, those first that were asked for, even if they are gone.
 * doc/PROTOCOL has what is added to each. */
json_t *gpu_kill_list(const struct gpu_kill *kill, const struct orphans *orphans);

#endif
