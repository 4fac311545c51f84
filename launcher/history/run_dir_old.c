/* run_dir_old.c - removes the directories of old runs; see run_dir.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/run_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runid.h"

static const char *const files[] = { "plan.json", "log",    "status.json",  "result.json",
                                     "stdout",    "stderr", RUN_DIR_STACKS, "shards",
                                     "events.log", RUN_DIR_FLIGHT, RUN_DIR_STACKS_JSON,
                                     RUN_DIR_CONTROL, RUN_DIR_NEXT };

static void remove_run(int runs_fd, const char *name);
static bool is_over(int dir_fd);
static void remove_file(int dir_fd, const char *name);

void run_dir_remove_old(const char *runs, const char *but)
{
    struct dirent **entry = NULL;
    int             i, count = scandir(runs, &entry, runid_is_entry, alphasort);
    int             surplus = count - RUN_DIR_MOST;
    int             runs_fd = open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (i = 0; i < count; i++) {
        if (surplus > 0 && runs_fd >= 0 && strcmp(entry[i]->d_name, but) != 0) {
            remove_run(runs_fd, entry[i]->d_name);
            surplus--;
        }
        free(entry[i]);
    }
    free(entry);
    if (runs_fd >= 0)
        close(runs_fd);
}

/* Removes only files that muster wrote. If there are other files, they and the directory
 * stay. */
static void remove_run(int runs_fd, const char *name)
{
    int    dir_fd = openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    size_t i;

    if (dir_fd < 0)
        return;
    if (is_over(dir_fd)) {
        for (i = 0; i < sizeof files / sizeof *files; i++)
            remove_file(dir_fd, files[i]);
        unlinkat(runs_fd, name, AT_REMOVEDIR);
    }
    close(dir_fd);
}

/* Is the run over? If machines share a home, another machine's lock may be invisible here, so
 * only a result shows that its run has ended. */
static bool is_over(int dir_fd)
{
    json_t     *plan = run_dir_read(dir_fd, "plan.json");
    const char *there =
        json_string_value(json_object_get(json_object_get(plan, "launcher"), "host"));
    char        here[RUN_DIR_HOST_SIZE];
    bool        is_ours;

    run_dir_host(here);
    is_ours = there == NULL || strcmp(there, here) == 0;
    json_decref(plan);
    return run_dir_launcher(dir_fd) == 0 &&
           (is_ours || faccessat(dir_fd, "result.json", F_OK, 0) == 0);
}

static void remove_file(int dir_fd, const char *name)
{
    char new_name[RUN_DIR_NAME_SIZE];

    unlinkat(dir_fd, name, 0);
    snprintf(new_name, sizeof new_name, "%s" RUN_DIR_NEW, name);
    unlinkat(dir_fd, new_name, 0);
}
