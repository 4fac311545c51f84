/* prepare.c - see prepare.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_code.h"
#include "fd.h"
#include "guard/spawn.h"
#include "node/facts.h"
#include "xalloc.h"

#define LINKS_MAX 40  /* as the kernel */
#define SHOWN_MAX 160 /* bytes of a command that a hint repeats; longer ones become "..." */

static void        overlay(struct strlist *env, const struct strlist *over);
static void        set_pmi(const struct node_plan *plan, const struct node_plan_rank *rank,
                           struct strlist *env);
static void        cannot_execute(const char *name, int why, struct failure *failure);
static bool        find_target(const char *path, char target[PATH_MAX]);
static const char *find_hint(const char *name, char *hint, size_t size);
static int         executable(const char *path);
static pid_t       pid_in_file(const char *path);

int failure_set(struct failure *failure, int code, const char *hint, const char *format, ...)
{
    va_list ap;

    failure->code = code;
    failure->missing[0] = '\0';
    snprintf(failure->hint, sizeof failure->hint, "%s", hint);
    va_start(ap, format);
    vsnprintf(failure->why.text, sizeof failure->why.text, format, ap);
    va_end(ap);
    return -1;
}

int prepare_cwd(struct node_plan *plan, struct failure *failure)
{
    int why;

    if (plan->cwd == NULL || chdir(plan->cwd) == 0)
        return 0;
    why = errno;
    if (plan->cwd_optional) {
        free(plan->cwd);
        plan->cwd = NULL;
        return 0;
    }
    failure_set(failure, EXIT_CANNOT_EXECUTE,
                "the directory must exist on every node; --cwd names another one",
                "cannot enter the working directory %s: %s", plan->cwd, strerror(why));
    if (why == ENOENT)
        snprintf(failure->missing, sizeof failure->missing, "%s", plan->cwd);
    return -1;
}

int prepare_script(const char *script, struct failure *failure)
{
    struct stat about;
    int         why = stat(script, &about) < 0 || access(script, R_OK) < 0 ? errno : 0;

    if (why == 0 && S_ISDIR(about.st_mode))
        why = EISDIR;
    if (why == 0)
        return 0;
    failure_set(failure, why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE,
                "the script must be at the same path on every node",
                "cannot read the script %s: %s", script, strerror(why));
    if (why == ENOENT)
        snprintf(failure->missing, sizeof failure->missing, "%s", script);
    return -1;
}

void prepare_env(const struct node_plan *plan, const struct node_plan_rank *rank,
                 const struct strlist *base, int threads, struct strlist *env)
{
    strlist_append(env, base);
    if (plan->cwd != NULL) {
        env_set(env, "PWD", plan->cwd); /* a shell trusts it when it is correct */
        env_unset(env, "OLDPWD");
    }
    overlay(env, &plan->env);
    overlay(env, &rank->env);
    if (threads > 0 && env_get(env, "OMP_NUM_THREADS") == NULL)
        env_setf(env, "OMP_NUM_THREADS", "%d", threads);
    set_pmi(plan, rank, env);
}

char *prepare_program(const char *name, const struct strlist *env, struct failure *failure)
{
    const char *path = env_get(env, "PATH"), *at, *end;
    char       *file, hint[256];
    int         why = ENOENT, error;

    if (path == NULL)
        path = "/usr/bin:/bin";
    if (strchr(name, '/') != NULL) {
        why = executable(name);
        if (why == 0)
            return xstrdup(name);
        cannot_execute(name, why, failure);
        return NULL;
    }
    for (at = path; at != NULL; at = *end != '\0' ? end + 1 : NULL) {
        end = strchrnul(at, ':');
        file = end == at ? xasprintf("./%s", name)
                         : xasprintf("%.*s/%s", (int)(end - at), at, name);
        error = executable(file);
        if (error == 0)
            return file;
        if (error == EACCES)
            why = EACCES;
        free(file);
    }
    failure_set(failure, why == EACCES ? EXIT_CANNOT_EXECUTE : EXIT_NOT_FOUND,
                find_hint(name, hint, sizeof hint), "%s: %s along PATH=%s", name,
                why == EACCES ? "not executable" : "not found", path);
    return NULL;
}

int prepare_binding(const struct node_plan *plan, const struct strlist *base,
                    struct binding *binding, int *threads, struct failure *failure)
{
    struct error why;
    int         *slot, i, rc;

    *threads = 0;
    if (plan->omp_default) {
        *threads = facts_cores() / plan->ranks;
        if (*threads < 1)
            *threads = 1;
    }
    if (plan->bind_list == NULL)
        return 0;
    if (env_get(base, "KMP_AFFINITY") != NULL || env_get(&plan->env, "KMP_AFFINITY") != NULL)
        return failure_set(failure, EXIT_CANNOT_EXECUTE, "use only one of the two",
                           "KMP_AFFINITY is set and would override --bind_cores_to_rank");
    slot = xcalloc((size_t)plan->ranks, sizeof *slot);
    for (i = 0; i < plan->ranks; i++)
        slot[i] = plan->rank[i].slot;
    rc = bind_make(binding, plan->bind_list, slot, plan->ranks, &why);
    free(slot);
    if (rc < 0)
        return failure_set(failure, EXIT_CANNOT_EXECUTE, "run without --bind_cores_to_rank",
                           "%s", why.text);
    *threads = binding->each;
    return 0;
}

int prepare_pid_file(const char *path, struct failure *failure)
{
    char  text[32];
    pid_t pid = pid_in_file(path);
    int   fd, why = 0;

    if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
        unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) < strlen(text))
        why = errno;
    if (fd >= 0 && close(fd) < 0 && why == 0)
        why = errno;
    if (why != 0 && fd >= 0)
        unlink(path); /* an empty file would block the next run */
    return why == 0 ? 0 : failure_set(failure, EXIT_CREATE, "",
                                      "cannot create the pid file %s: %s", path, strerror(why));
}

static void overlay(struct strlist *env, const struct strlist *over)
{
    size_t i;
    char  *name, *equals;

    for (i = 0; i < over->count; i++) {
        equals = strchr(over->item[i], '=');
        if (equals == NULL)
            continue;
        name = xstrndup(over->item[i], (size_t)(equals - over->item[i]));
        env_set(env, name, equals + 1);
        free(name);
    }
}

/* Removes the variables of another process manager from the environment:
 * MPICH would believe them. */
static void set_pmi(const struct node_plan *plan, const struct node_plan_rank *rank,
                    struct strlist *env)
{
    static const char *const other_launchers[] = { "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_SPAWNED",
                                           "PMI_PORT", "PMI_ID" };
    size_t i;

    if (plan->kvsname == NULL)
        return;
    for (i = 0; i < sizeof other_launchers / sizeof *other_launchers; i++)
        env_unset(env, other_launchers[i]);
    env_setf(env, "PMI_FD", "%d", SPAWN_PMI_FD);
    env_setf(env, "PMI_RANK", "%u", rank->rank);
    env_setf(env, "PMI_SIZE", "%d", plan->world_size);
}

/* Names what a dangling link leads to: python of a virtual environment may be there, and not the
 * Python of which it was made. */
static void cannot_execute(const char *name, int why, struct failure *failure)
{
    int  code = why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
    char hint[256], target[PATH_MAX];

    if (find_target(name, target) && why == ENOENT)
        failure_set(failure, code, "install it on that node",
                    "cannot execute %s: it leads to %s, which is not there", name, target);
    else
        failure_set(failure, code, find_hint(name, hint, sizeof hint), "cannot execute %s: %s",
                    name, strerror(why));
    if (why == ENOENT)
        snprintf(failure->missing, sizeof failure->missing, "%s", target);
}

/* Follows links, each relative to its own directory, to the last one. Returns false if path is not
 * a link: target is then path. */
static bool find_target(const char *path, char target[PATH_MAX])
{
    char    now[PATH_MAX], next[PATH_MAX];
    ssize_t size;
    int     hops, dir;

    snprintf(now, sizeof now, "%s", path);
    for (hops = 0; hops < LINKS_MAX; hops++) {
        size = readlink(now, next, sizeof next - 1);
        if (size < 0)
            break;
        next[size] = '\0';
        dir = next[0] != '/' && strrchr(now, '/') != NULL ? (int)(strrchr(now, '/') + 1 - now) : 0;
        if ((size_t)dir + (size_t)size >= sizeof now)
            break;
        memmove(now + dir, next, (size_t)size + 1);
    }
    snprintf(target, PATH_MAX, "%s", now);
    return hops > 0;
}

/* pdsh passes its command to a shell, muster does not. */
static const char *find_hint(const char *name, char *hint, size_t size)
{
    bool fits = strlen(name) <= SHOWN_MAX && strchr(name, '\'') == NULL;

    if (name[strcspn(name, " \t\n|&;<>()$`\\\"'*?~")] == '\0')
        return strchr(name, '/') != NULL
                   ? "it must be at the same path on every node"
                   : "install it on that node, or give its path";
    snprintf(hint, size, "muster starts no shell; write: muster exec -- sh -c '%s'",
             fits ? name : "...");
    return hint;
}

/* Returns 0, or errno. */
static int executable(const char *path)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return errno;
    if (S_ISDIR(about.st_mode))
        return EISDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

static pid_t pid_in_file(const char *path)
{
    char text[32];

    return fd_read_file(path, text, sizeof text) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}
