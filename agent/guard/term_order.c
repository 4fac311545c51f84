/* term_order.c - see term_order.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/term_order.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/signal_caught.h"
#include "xalloc.h"

#define DEPTH_MAX 64 /* of a tree of processes */

static void add_handlers(struct term_order *order, const struct processes *all, pid_t above,
                         int depth);
static void add_all(struct term_order *order, const struct processes *all, pid_t above, int depth);
static void add(struct term_order *order, const struct process *process);
static bool is_shell(pid_t pid);
static bool comes_first(const struct term_order *order, const struct process *process);

void term_order_choose(struct term_order *order, const pid_t *ranks, size_t count)
{
    struct processes      all;
    const struct process *rank;
    size_t                i, before;
    bool                  is_a_shell;

    processes_all(&all);
    for (i = 0; i < count; i++) {
        rank = processes_find(&all, ranks[i]);
        if (rank == NULL)
            continue;
        add(order, rank);
        is_a_shell = is_shell(rank->pid);
        if (!is_a_shell && signal_process_catches(rank->pid, SIGTERM))
            continue;
        before = order->count;
        add_handlers(order, &all, rank->pid, 0);
        if (is_a_shell && order->count == before)
            add_all(order, &all, rank->pid, 0);
    }
    processes_clear(&all);
}

void term_order_clear(struct term_order *order)
{
    free(order->first);
    *order = (struct term_order){ 0 };
}

void term_order_begin(const struct term_order *order)
{
    size_t i;

    for (i = 0; i < order->count; i++)
        process_signal(&order->first[i], SIGTERM);
}

bool term_order_waits(const struct term_order *order)
{
    struct process now;
    size_t         i;

    for (i = 0; i < order->count; i++)
        if (process_read(order->first[i].pid, &now) && now.start == order->first[i].start &&
            now.state != 'Z' && now.state != 'X')
            return true;
    return false;
}

void term_order_finish(const struct term_order *order, pid_t root)
{
    struct processes all;
    size_t           i;

    processes_below(&all, root);
    for (i = 0; i < all.count; i++)
        if (!comes_first(order, &all.item[i]))
            process_signal(&all.item[i], SIGTERM);
    processes_clear(&all);
}

/* Adds the topmost processes that handle TERM and are no shells. */
static void add_handlers(struct term_order *order, const struct processes *all, pid_t above,
                         int depth)
{
    size_t i;

    for (i = 0; i < all->count && depth < DEPTH_MAX; i++) {
        if (all->item[i].parent != above)
            continue;
        if (signal_process_catches(all->item[i].pid, SIGTERM) && !is_shell(all->item[i].pid))
            add(order, &all->item[i]);
        else
            add_handlers(order, all, all->item[i].pid, depth + 1);
    }
}

static void add_all(struct term_order *order, const struct processes *all, pid_t above, int depth)
{
    size_t i;

    for (i = 0; i < all->count && depth < DEPTH_MAX; i++)
        if (all->item[i].parent == above) {
            add(order, &all->item[i]);
            add_all(order, all, all->item[i].pid, depth + 1);
        }
}

static void add(struct term_order *order, const struct process *process)
{
    order->first = xreallocarray(order->first, order->count + 1, sizeof *order->first);
    order->first[order->count++] = *process;
}

/* A shell handles TERM only when the program that it waits for has ended. */
static bool is_shell(pid_t pid)
{
    static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "mksh", "ksh93",
                                          "busybox" };
    char        path[64], target[256];
    const char *name;
    ssize_t     size;
    size_t      i;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    size = readlink(path, target, sizeof target - 1);
    if (size <= 0)
        return false;
    target[size] = '\0';
    name = strrchr(target, '/');
    name = name != NULL ? name + 1 : target;
    for (i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

static bool comes_first(const struct term_order *order, const struct process *process)
{
    size_t i;

    for (i = 0; i < order->count; i++)
        if (order->first[i].pid == process->pid && order->first[i].start == process->start)
            return true;
    return false;
}
