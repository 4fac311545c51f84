/* open_mpi_watch.c - see open_mpi_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/open_mpi_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "fd.h"
#include "plan/open_mpi.h"
#include "thread.h"
#include "xalloc.h"

/* Pauses between two looks: each is half as long again as the last. MPI_Init
 * takes longer than the first. */
#define PAUSE_FIRST_S 0.03
#define PAUSE_MOST_S  10.0
#define FAMILY_MAX    16 /* processes to look at */

/* Shared with the thread: the last of the two frees it. */
struct open_mpi_watch {
    pid_t       pid;
    atomic_int  users;
    atomic_bool is_over, is_found;
    char        library[64]; /* valid once is_found */
};

static void  *look_now_and_then(void *arg);
static size_t family_of(pid_t pid, pid_t *family);
static bool   look_at(pid_t pid, char *library, size_t size);
static bool   has_launcher(pid_t pid);
static void   let_go(struct open_mpi_watch *watch);

struct open_mpi_watch *open_mpi_watch_new(pid_t pid)
{
    struct open_mpi_watch *watch = xcalloc(1, sizeof *watch);
    pthread_t              thread;

    watch->pid = pid;
    atomic_init(&watch->users, 2);
    if (thread_start(&thread, look_now_and_then, watch) == 0) {
        pthread_detach(thread);
        return watch;
    }
    free(watch);
    return NULL;
}

void open_mpi_watch_stop(struct open_mpi_watch *watch)
{
    if (watch != NULL)
        atomic_store(&watch->is_over, true);
}

void open_mpi_watch_free(struct open_mpi_watch *watch)
{
    open_mpi_watch_stop(watch);
    if (watch != NULL)
        let_go(watch);
}

const char *open_mpi_watch_library(const struct open_mpi_watch *watch)
{
    return watch != NULL && atomic_load(&watch->is_found) ? watch->library : NULL;
}

static void *look_now_and_then(void *arg)
{
    struct open_mpi_watch *watch = arg;
    pid_t                  family[FAMILY_MAX];
    size_t                 i, count;
    struct timespec        pause;
    double                 pause_s = PAUSE_FIRST_S;

    while (!atomic_load(&watch->is_over) && !atomic_load(&watch->is_found)) {
        pause.tv_sec = (time_t)pause_s;
        pause.tv_nsec = (long)((pause_s - (double)pause.tv_sec) * NS_PER_S);
        nanosleep(&pause, NULL);
        pause_s = pause_s * 1.5 < PAUSE_MOST_S ? pause_s * 1.5 : PAUSE_MOST_S;
        count = atomic_load(&watch->is_over) ? 0 : family_of(watch->pid, family);
        for (i = 0; i < count && !atomic_load(&watch->is_found); i++)
            if (look_at(family[i], watch->library, sizeof watch->library))
                atomic_store(&watch->is_found, true);
    }
    let_go(watch);
    return NULL;
}

/* Collects a process and some of its descendants. Returns their number. */
static size_t family_of(pid_t pid, pid_t *family)
{
    char   path[64], text[1024], *at, *end;
    size_t count = 1, i;

    family[0] = pid;
    for (i = 0; i < count && count < FAMILY_MAX; i++) {
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)family[i], (int)family[i]);
        fd_read_file(path, text, sizeof text);
        for (at = text; count < FAMILY_MAX; at = end) {
            long child = strtol(at, &end, 10);

            if (end == at)
                break;
            family[count++] = (pid_t)child;
        }
    }
    return count;
}

/* Programs may load Open MPI without using it, as Debian's PyTorch does. So this looks for
 * files that MPI_Init() maps: components before version 5, its shared memory since. */
static bool look_at(pid_t pid, char *library, size_t size)
{
    static const char *const mapped[] = { "mca_ess_", "mca_pml_", "mca_btl_", "sm_segment." };
    char                     path[64], *line = NULL, *name;
    size_t                   room = 0, i;
    bool                     is_begun = false;
    FILE                    *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    library[0] = '\0';
    while (maps != NULL && getline(&line, &room, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        name = strrchr(line, '/');
        if (name == NULL)
            continue;
        name++;
        for (i = 0; i < sizeof mapped / sizeof *mapped; i++)
            is_begun = is_begun || strncmp(name, mapped[i], strlen(mapped[i])) == 0;
        if (strncmp(name, "libmpi.so.", strlen("libmpi.so.")) == 0 && open_mpi_has(name))
            snprintf(library, size, "%s", name);
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return library[0] != '\0' && is_begun && !has_launcher(pid);
}

/* Did Open MPI's own mpirun start the process? A rank is free to use it. */
static bool has_launcher(pid_t pid)
{
    static const char name[] = "PMIX_NAMESPACE=";
    char              path[64], *variable = NULL;
    size_t            room = 0;
    bool              found = false;
    FILE             *environment;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    environment = fopen(path, "re");
    while (environment != NULL && !found && getdelim(&variable, &room, '\0', environment) > 0)
        found = strncmp(variable, name, strlen(name)) == 0;
    free(variable);
    if (environment != NULL)
        fclose(environment);
    return found;
}

static void let_go(struct open_mpi_watch *watch)
{
    if (atomic_fetch_sub(&watch->users, 1) == 1)
        free(watch);
}
