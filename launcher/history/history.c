/* history.c - see history.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "history/run_dir.h"
#include "runid.h"
#include "xalloc.h"

#define REFRESH_MS      1000
#define REFRESH_LOOK_MS 10
#define AWAIT_LOOK_MS   50
#define DYING_S         2.0

static int  fit_of(const struct past_run *run, const char *word);
static bool is_over(const struct past_run *run);
static void add_run(struct history *list, int runs_fd, const char *id);
static void look_at(struct past_run *run);

int history_read(struct history *list, struct error *err)
{
    char           *runs = runid_directory();
    struct dirent **entry = NULL;
    int             i, count, runs_fd, rc = 0;

    *list = (struct history){ .dir = runs };
    if (runs == NULL)
        return err_set(
            err,
            "neither HOME nor XDG_STATE_HOME is set: the directory of runs is below one of "
            "them");
    runs_fd = open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    count = runs_fd >= 0 ? scandir(runs, &entry, runid_is_entry, alphasort) : -1;
    if (count < 0 && errno != ENOENT)
        rc = err_set(err, "%s: %s", runs, strerror(errno));
    for (i = count - 1; i >= 0; i--) {
        add_run(list, runs_fd, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (runs_fd >= 0)
        close(runs_fd);
    return rc;
}

void history_clear(struct history *list)
{
    size_t i;

    for (i = 0; i < list->count; i++) {
        free(list->run[i].id);
        close(list->run[i].dir_fd);
        json_decref(list->run[i].plan);
        json_decref(list->run[i].result);
    }
    free(list->run);
    free(list->dir);
    *list = (struct history){ 0 };
}

struct past_run *history_find(const struct history *list, const char *word, struct error *err)
{
    struct past_run *found = NULL, *other = NULL;
    size_t           i;
    int              best = 1, fit;

    for (i = 0; i < list->count; i++) {
        fit = fit_of(&list->run[i], word);
        if (fit < best)
            continue;
        other = fit == best ? found : NULL;
        found = &list->run[i];
        best = fit;
    }
    if (other != NULL) {
        err_set(err, "'%.100s' may mean %s or %s", word, found->id, other->id);
        return NULL;
    }
    if (found == NULL)
        err_set(err, "no run '%.100s' in %s; muster status lists the runs", word, list->dir);
    return found;
}

/* Returns how well word fits: 0 not at all, 1 it is a part of the id, more if it is the whole
 * id or name, and more if the run is active. */
static int fit_of(const struct past_run *run, const char *word)
{
    bool is_whole = strcmp(run->id, word) == 0 || (run->id[RUNID_BARE] != '\0' &&
                                                   strcmp(run->id + RUNID_BARE + 1, word) == 0);

    return strstr(run->id, word) == NULL ? 0 : 1 + 2 * is_whole + !is_over(run);
}

static bool is_over(const struct past_run *run)
{
    return run->state == PAST_RUN_ENDED || run->state == PAST_RUN_DIED;
}

const json_t *past_run_launcher(const struct past_run *run, const char *key)
{
    return json_object_get(json_object_get(run->plan, "launcher"), key);
}

const char *past_run_host(const struct past_run *run)
{
    const char *host = json_string_value(past_run_launcher(run, "host"));

    return host != NULL ? host : "another machine";
}

int past_run_open(const char *id, struct error *err)
{
    char *runs = runid_directory(), *path = xasprintf("%s/%s", runs != NULL ? runs : "", id);
    int   fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        err_set(err, "%s: %s", path, strerror(errno));
    free(path);
    free(runs);
    return fd;
}

struct past_run *history_find_over(const struct history *list, const char *word, struct error *err)
{
    struct past_run *run = history_find(list, word, err);

    if (run != NULL && run->state == PAST_RUN_ACTIVE && past_run_await(run, DYING_S)) {
        json_decref(run->plan);
        json_decref(run->result);
        look_at(run);
    }
    return run;
}

bool past_run_await(const struct past_run *run, double seconds)
{
    const struct timespec pause = { .tv_nsec = AWAIT_LOOK_MS * 1000000 };
    int64_t               since_ns = clock_now_ns();

    while (run_dir_launcher(run->dir_fd) != 0) {
        if ((double)(clock_now_ns() - since_ns) / NS_PER_S > seconds)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* A pidfd refers to one process only. If that pid holds the lock after pidfd_open(), the
 * process is the launcher. */
int past_run_signal(const struct past_run *run, int number, struct error *err)
{
    pid_t launcher = run_dir_launcher(run->dir_fd);
    int   fd, rc = 0;

    if (launcher == 0)
        return 0;
    if (launcher < 0)
        return err_set(err,
                       "%s: its launcher is in another PID namespace: run this command there",
                       run->id);
    fd = (int)syscall(SYS_pidfd_open, launcher, 0);
    if (fd < 0 && errno == ENOSYS)
        rc = kill(launcher, number);
    else if (fd < 0)
        rc = -1;
    else if (run_dir_launcher(run->dir_fd) == launcher)
        rc = (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    if (rc < 0 && errno != ESRCH)
        err_set(err, "%s: process %d: %s", run->id, launcher, strerror(errno));
    else
        rc = 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

void past_run_refresh(const struct past_run *run)
{
    const struct timespec pause = { .tv_nsec = REFRESH_LOOK_MS * 1000000 };
    int64_t               until_ns = clock_now_ns() + REFRESH_MS * (int64_t)1000000;
    struct stat           before = { 0 }, after = { 0 };
    struct error          err;

    fstatat(run->dir_fd, "status.json", &before, 0);
    if (past_run_signal(run, SIGURG, &err) < 0)
        return;
    do {
        nanosleep(&pause, NULL);
        fstatat(run->dir_fd, "status.json", &after, 0);
    } while (after.st_ino == before.st_ino && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec &&
             clock_now_ns() < until_ns);
}

json_t *past_run_result(int dir_fd)
{
    json_t       *result = run_dir_read(dir_fd, "result.json");
    const json_t *status = json_object_get(result, "exit_status");

    if (json_is_integer(status) && json_integer_value(status) >= 0 &&
        json_integer_value(status) <= 255)
        return result;
    json_decref(result);
    return NULL;
}

/* Ignores a directory that has just been removed, and one of another user. */
static void add_run(struct history *list, int runs_fd, const char *id)
{
    struct past_run run = { .dir_fd = -1 };
    struct stat     about;

    run.dir_fd = openat(runs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (run.dir_fd < 0)
        return;
    if (fstat(run.dir_fd, &about) < 0 || about.st_uid != geteuid()) {
        close(run.dir_fd);
        return;
    }
    run.id = xstrdup(id);
    look_at(&run);
    list->run = xreallocarray(list->run, list->count + 1, sizeof *list->run);
    list->run[list->count++] = run;
}

/* Checks the lock before it reads the result: a launcher writes the result before it releases
 * the lock. */
static void look_at(struct past_run *run)
{
    char        here[RUN_DIR_HOST_SIZE];
    const char *there;

    run->launcher = run_dir_launcher(run->dir_fd);
    run->result = past_run_result(run->dir_fd);
    run->plan = run_dir_read(run->dir_fd, "plan.json");
    run_dir_host(here);
    there = json_string_value(past_run_launcher(run, "host"));
    if (there != NULL && strcmp(there, here) != 0)
        run->state = run->result != NULL ? PAST_RUN_ENDED : PAST_RUN_ELSEWHERE;
    else if (run->launcher != 0)
        run->state = PAST_RUN_ACTIVE;
    else
        run->state = run->result != NULL ? PAST_RUN_ENDED : PAST_RUN_DIED;
}
