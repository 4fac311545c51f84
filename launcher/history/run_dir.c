/* run_dir.c - see run_dir.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "frame.h"
#include "history/resume_line.h"
#include "log.h"
#include "runid.h"
#include "xalloc.h"

#define RESULT_EACH   1024 /* bytes per rank */
#define LOG_END_S     5    /* time for the last lines of the log, if the disk hangs */
#define FILE_SIZE_MAX (256 << 20) /* of JSON that we read: fits a plan of many thousand nodes */

static void log_begin(struct run_dir *dir);
static void log_line(const char *line, size_t size, void *arg);
static void log_done(size_t node, size_t bytes, void *arg);
static void log_failed(bool is_stderr, int error, void *arg);
static bool home_is_there(const char *path);
static int  begin_again(struct run_dir *dir, const struct plan *plan, struct error *err);
static bool has_begun(int dir_fd, const char *name, int generation);
static json_t *cost_before(int dir_fd);
static void tell_missing(const struct run_dir *dir, const struct plan *plan);
static int  write_plan(const struct run_dir *dir, const struct plan *plan,
                       const struct options *options, struct error *err);
static json_t *json_of_launcher(const struct options *options);
static json_t *json_of_words(const struct strlist *words);
static json_t *json_or_null(const char *text);
static void reserve_result(const struct run_dir *dir, const struct plan *plan);
static int  write_json(int dir_fd, const char *name, const json_t *body,
                       struct error *err);
static int  write_all(int fd, const char *text, size_t size);

int run_dir_open(struct run_dir *dir, const struct plan *plan, const struct options *options,
                 struct error *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char        *runs = runid_directory();
    int          rc = -1;

    *dir = (struct run_dir){ .fd = -1, .log_fd = -1 };
    if (runs == NULL)
        return err_set(err, "neither HOME nor XDG_STATE_HOME is an absolute path");
    dir->path = xasprintf("%s/%s", runs, plan->run_id);
    if (run_dir_make_above(dir->path, err) < 0)
        goto out;
    if (options->resumed == NULL && mkdir(dir->path, 0700) < 0) {
        err_set(err, "%s: %s", dir->path, strerror(errno));
        goto out;
    }
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir->fd >= 0)
        dir->log_fd = openat(dir->fd, "log", O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
                             (options->resumed == NULL ? O_CREAT | O_EXCL : 0), 0600);
    if (dir->log_fd < 0) {
        err_set(err, "%s: %s", dir->path, strerror(errno));
        goto out;
    }
    if (fcntl(dir->log_fd, F_SETLK, &lock) < 0) {
        err_set(err, "%s: %s", dir->path,
                errno == EAGAIN || errno == EACCES ? "another muster is running it"
                                                   : strerror(errno));
        goto out;
    }
    rc = options->resumed != NULL ? begin_again(dir, plan, err) : 0;
    if (rc == 0)
        rc = write_plan(dir, plan, options, err);
    if (rc == 0) {
        reserve_result(dir, plan);
        log_begin(dir);
        run_dir_remove_old(runs, plan->run_id);
    }
out:
    free(runs);
    if (rc < 0)
        run_dir_close(dir);
    return rc;
}

int run_dir_result(const struct run_dir *dir, const json_t *result, struct error *err)
{
    if (dir->path == NULL)
        return 0;
    if (write_json(dir->fd, "result.json", result, err) < 0)
        return -1;
    unlinkat(dir->fd, "status.json", 0);
    return 0;
}

int run_dir_stacks(const struct run_dir *dir, const char *text, size_t size, const json_t *json,
                   struct error *err)
{
    if (run_dir_write(dir->fd, RUN_DIR_STACKS, text, size) < 0)
        return err_set(err, RUN_DIR_STACKS ": %s", strerror(errno));
    return json != NULL ? write_json(dir->fd, RUN_DIR_STACKS_JSON, json, err) : 0;
}

int run_dir_flight(const struct run_dir *dir, json_t *records, struct error *err)
{
    int rc = 0;

    if (dir->path != NULL && records != NULL)
        rc = write_json(dir->fd, RUN_DIR_FLIGHT, records, err);
    json_decref(records);
    return rc;
}

void run_dir_close(struct run_dir *dir)
{
    if (dir->path == NULL)
        return;
    log_copy(NULL, NULL);
    if (dir->log != NULL)
        writer_finish(dir->log, LOG_END_S);
    writer_free(dir->log);
    if (dir->log_fd >= 0)
        close(dir->log_fd);
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir->path);
    json_decref(dir->cost);
    *dir = (struct run_dir){ .fd = -1, .log_fd = -1 };
}

/* A thread writes the log: neither a full disk nor a hanging home may block the run. */
static void log_begin(struct run_dir *dir)
{
    static const struct writer_ops ops = { .done = log_done, .failed = log_failed };
    const int                      fd[2] = { dir->log_fd, dir->log_fd };

    dir->log = writer_new(fd, false, &ops, NULL);
    log_copy(log_line, dir->log);
}

static void log_line(const char *line, size_t size, void *arg)
{
    writer_own(arg, line, size);
}

static void log_done(size_t node, size_t bytes, void *arg)
{
    (void)node, (void)bytes, (void)arg;
}

static void log_failed(bool is_stderr, int error, void *arg)
{
    (void)is_stderr, (void)error, (void)arg;
}

/* Like mkdir -p of the directory above, with no access for other users. */
int run_dir_make_above(const char *path, struct error *err)
{
    char *copy, *slash;
    int   rc = 0;

    if (!home_is_there(path))
        return err_set(err, "HOME is %s: %s", getenv("HOME"), strerror(errno));
    copy = slash = xstrdup(path);
    while (rc == 0 && (slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            rc = err_set(err, "%s: %s", copy, strerror(errno));
        *slash = '/';
    }
    free(copy);
    return rc;
}

/* Does the home exist? We create directories below it, but not the home itself. */
static bool home_is_there(const char *path)
{
    const char *home = getenv("HOME");

    return home == NULL || strncmp(path, home, strlen(home)) != 0 || access(home, F_OK) == 0;
}

/* Begins a generation of a resumed run: removes the old result, and claims the generation
 * number. */
static int begin_again(struct run_dir *dir, const struct plan *plan, struct error *err)
{
    char *text = xasprintf("{\"state\": \"connecting\", \"generation\": %d}", plan->generation);
    int   rc = 0;

    if (has_begun(dir->fd, "status.json", plan->generation) ||
        has_begun(dir->fd, "result.json", plan->generation))
        rc = err_set(err, "%s: another muster has already resumed it", dir->path);
    if (rc < 0)
        goto out;
    tell_missing(dir, plan);
    dir->cost = cost_before(dir->fd);
    if (run_dir_write(dir->fd, "status.json", text, strlen(text)) < 0)
        rc = err_set(err, "%s/status.json: %s", dir->path, strerror(errno));
    else if (unlinkat(dir->fd, "result.json", 0) < 0 && errno != ENOENT)
        rc = err_set(err, "%s/result.json: %s", dir->path, strerror(errno));
out:
    free(text);
    return rc;
}

/* Has another muster resume already begun (or even finished) this generation? */
static bool has_begun(int dir_fd, const char *name, int generation)
{
    json_t    *file = run_dir_read(dir_fd, name);
    json_int_t last = file != NULL ? json_integer_value(json_object_get(file, "generation")) : -1;

    json_decref(file);
    return last >= generation;
}

static json_t *cost_before(int dir_fd)
{
    json_t *status = run_dir_read(dir_fd, "status.json");
    json_t *result = run_dir_read(dir_fd, "result.json");
    json_t *cost = json_incref(json_object_get(result != NULL ? result : status, "cost"));

    json_decref(status);
    json_decref(result);
    return cost;
}

/* Warns about variables that the ranks had before, but do not have now. */
static void tell_missing(const struct run_dir *dir, const struct plan *plan)
{
    json_t        *old = run_dir_read(dir->fd, "plan.json");
    json_t        *node = json_array_get(json_object_get(old, "nodes"), 0);
    struct buffer  names = { 0 };
    const char    *name;
    json_t        *value;

    json_object_foreach(json_object_get(node, "environment"), name, value) {
        if (env_get(&plan->node[0].env, name) != NULL || strncmp(name, "MUSTER_", 7) == 0)
            continue; /* our own are settings, which are kept as options */
        buffer_add_text(&names, " ");
        buffer_add_text(&names, name);
    }
    if (names.size > 0) {
        buffer_add(&names, "", 1);
        log_warn("these variables were set for the ranks before, but are not set here:%.400s",
                 names.bytes);
    }
    buffer_clear(&names);
    json_decref(old);
}

/* Writes the plan, and the launcher's data for muster stop, attach and resume. */
static int write_plan(const struct run_dir *dir, const struct plan *plan,
                      const struct options *options, struct error *err)
{
    json_t *body = plan_json(plan, false);
    int     rc;

    json_object_set_new(body, "launcher", json_of_launcher(options));
    rc = write_json(dir->fd, "plan.json", body, err);
    json_decref(body);
    return rc;
}

/* Texts that are not UTF-8 cannot be kept; such a run cannot be resumed. */
static json_t *json_of_launcher(const struct options *options)
{
    char           host[RUN_DIR_HOST_SIZE], *cwd = getcwd(NULL, 0);
    bool           is_stdin = strcmp(options->hostfile, "-") == 0;
    struct strlist variables = { 0 };
    json_t        *body;

    run_dir_host(host);
    resume_line_variables(options, &variables);
    body = json_pack("{s:o, s:I, s:b, s:f, s:o, s:o, s:o, s:o, s:o}", "host",
                     json_text(host, strlen(host)), "start", (json_int_t)time(NULL), "detached",
                     (int)options->detach, "grace_s", options->grace_s, "cwd",
                     json_or_null(cwd), "options", json_of_words(&options->given), "script",
                     json_or_null(options->script), "args", json_of_words(&options->args),
                     "variables", is_stdin ? json_null() : json_of_words(&variables));
    strlist_clear(&variables);
    free(cwd);
    if (body == NULL)
        xalloc_die();
    return body;
}

static json_t *json_of_words(const struct strlist *words)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < words->count; i++) {
        if (json_array_append_new(list, json_string(words->item[i])) == 0)
            continue;
        json_decref(list);
        return json_null();
    }
    return list;
}

static json_t *json_or_null(const char *text)
{
    json_t *made = text != NULL ? json_string(text) : NULL;

    return made != NULL ? made : json_null();
}

/* Reserves disk space for the result, in case the run's output fills the disk: the size of the
 * plan, plus RESULT_EACH per rank. */
static void reserve_result(const struct run_dir *dir, const struct plan *plan)
{
    struct stat about;
    int fd = openat(dir->fd, "result.json" RUN_DIR_NEW, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return;
    if (fstatat(dir->fd, "plan.json", &about, 0) == 0)
        (void)!fallocate(fd, 0, 0, about.st_size + (off_t)RESULT_EACH * plan->world_size);
    close(fd);
}

static int write_json(int dir_fd, const char *name, const json_t *body, struct error *err)
{
    char *text = json_dumps(body, JSON_INDENT(2));
    int   rc = 0;

    if (text == NULL)
        xalloc_die();
    if (run_dir_write(dir_fd, name, text, strlen(text)) < 0)
        rc = err_set(err, "%s: %s", name, strerror(errno));
    free(text);
    return rc;
}

/* A reader sees either the old file or the new one. */
int run_dir_write(int dir_fd, const char *name, const char *text, size_t size)
{
    char new_name[NAME_MAX + 1];
    int  fd, rc, error;

    snprintf(new_name, sizeof new_name, "%s" RUN_DIR_NEW, name);
    fd = openat(dir_fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    rc = write_all(fd, text, size);
    if (close(fd) < 0)
        rc = -1;
    if (rc == 0)
        rc = renameat(dir_fd, new_name, dir_fd, name);
    if (rc == 0)
        return 0;
    error = errno;
    unlinkat(dir_fd, new_name, 0);
    errno = error;
    return -1;
}

static int write_all(int fd, const char *text, size_t size)
{
    ssize_t n;

    for (; size > 0; text += n, size -= (size_t)n) {
        n = write(fd, text, size);
        if (n < 0 && errno != EINTR)
            return -1;
        n = n < 0 ? 0 : n;
    }
    return 0;
}

json_t *run_dir_read(int dir_fd, const char *name)
{
    int         fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat about;
    json_t     *body = NULL;
    FILE       *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    /* Uses stdio, since json_loadfd() makes a system call for each byte. */
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= FILE_SIZE_MAX)
        body = json_loadf(file, 0, NULL);
    fclose(file);
    return body;
}

void run_dir_control(int dir_fd, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(name->sun_path, sizeof name->sun_path, "/proc/self/fd/%d/" RUN_DIR_CONTROL, dir_fd);
}

void run_dir_host(char name[RUN_DIR_HOST_SIZE])
{
    if (gethostname(name, RUN_DIR_HOST_SIZE) < 0)
        name[0] = '\0';
    name[RUN_DIR_HOST_SIZE - 1] = '\0';
}

pid_t run_dir_launcher(int dir_fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int          fd = openat(dir_fd, "log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    pid_t        holder = 0;

    if (fd < 0)
        return 0;
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        holder = lock.l_pid > 0 ? lock.l_pid : -1;
    close(fd);
    return holder;
}
