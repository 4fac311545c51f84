/* environ.c - see environ.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/environ.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "log.h"
#include "xalloc.h"

/* As in DeepSpeed, variables that begin with one of these are passed on. */
static const char *const prefixes[] = {
    "MLFLOW",
    "MV2",
    "NCCL",
    "PYTHON",
    "UCX",
    /* jobs on Azure, with Nebula */
    "AML_RUN_ID",
    "AZUREML_BLOB_ACCOUNT_KEY",
    "AZUREML_BLOB_ACCOUNT_NAME",
    "AZUREML_EXPERIMENT_SCOPE",
    "AZUREML_PARAMETER_ITPJOB_NAME",
    "AZUREML_RUN_HISTORY_SERVICE_ENDPOINT",
    "AZUREML_RUN_ID",
    "AZUREML_RUN_TOKEN",
    "AZUREML_WORKSPACE_SCOPE",
    "DLTS_JOB_ID",
    "DLTS_NUM_WORKER",
    "FC_TASKROLE_NAME",
    "FC_TASK_INDEX",
    "LOCAL_HOST",
    "MASTER_HOST",
    "NEBULA_MEMORY_BUFFER_SIZE",
    "NEBULA_PERSISTENT_STORAGE_PATH",
    "NEBULA_PERSISTENT_TIME_INTERVAL",
    /* as horovodrun and mpirun do; accelerate's launcher sets its own */
    "HOROVOD_",
    "ACCELERATE_",
    "OMPI_MCA_",
};

/* muster adds these, so that nodes find a program and its libraries as this machine does, and
 * ranks have as many threads. */
static const char *const names[] = { "PATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS" };

/* These describe this machine, this session or this task of a batch system. On a node they would
 * be wrong, so no pattern takes them. */
static const char *const own[] = {
    "HOME", "PWD", "OLDPWD", "SHLVL", "_", "USER", "LOGNAME", "MAIL", "SHELL", "HOSTNAME", "HOST",
    "TMPDIR", "TERM", "TERM_*", "COLUMNS", "LINES", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    "XDG_RUNTIME_DIR", "XDG_S*", "XDG_VTNR", "DBUS_*", "SSH_*", "GPG_TTY", "KRB5CCNAME", "SUDO_*",
    "TMUX*", "STY", "WINDOW*", "BASH_FUNC_*", "INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_*",
    "NOTIFY_SOCKET", "MUSTER_*", "SLURM*", "PBS_*", "LSB_*", "LSF_*", "OAR_*", "FLUX_*", "SGE_*",
    "PE_HOSTFILE", "PMI_*", "PMIX_*", "PRTE_*", "OMPI_[!M]*", "OMPI_MCA_ess*", "OMPI_MCA_orte_*",
    "KUBERNETES_*",
};

/* Not passed on under AISC (AISC_JOB_NAME is set), where each node has its own. */
static const char *const held_back[] = { "NCCL_IB_HCA", "UCX_NET_DEVICES" };

static int   collect(const struct options *options, char *const *here, const char *cwd,
                     bool local_only, struct strlist *env, struct error *err);
static void  copy_here(char *const *here, bool all, struct strlist *env);
static void  copy_by_pattern(const char *pattern, char *const *here, struct strlist *env);
static void  leave_out(const char *pattern, struct strlist *env);
static bool  goes_along(const char *entry, size_t length, bool is_aisc);
static bool  is_in(const char *const *list, size_t count, const char *name,
                   size_t length);
static void  put_cwd_first(const char *cwd, char *const *here, struct strlist *env);
static int   read_deepspeed_env(char *const *here, struct strlist *env,
                                struct error *err);
static int   read_env_file(const char *path, struct strlist *env, struct error *err);
static int   parse_line(char *line, struct strlist *env, struct error *err);
static char *trim(char *text);
static int   set_from_option(const char *text, char *const *here, struct strlist *env,
                             struct error *err);

int environ_collect(const struct options *options, char *const *here, const char *cwd,
                    bool local_only, struct strlist *env, struct error *err)
{
    *env = (struct strlist){ 0 };
    if (collect(options, here, cwd, local_only, env, err) == 0)
        return 0;
    strlist_clear(env);
    return -1;
}

static int collect(const struct options *options, char *const *here, const char *cwd,
                   bool local_only, struct strlist *env, struct error *err)
{
    size_t i;

    if (options->command != COMMAND_EXEC)
        copy_here(here, local_only, env);
    for (i = 0; i < options->env.count; i++)
        if (environ_is_pattern(options->env.item[i]))
            copy_by_pattern(options->env.item[i], here, env);
    for (i = 0; i < options->env.count; i++)
        if (environ_is_left_out(options->env.item[i]))
            leave_out(options->env.item[i] + 1, env);
    if (options->command != COMMAND_EXEC) {
        put_cwd_first(cwd, here, env);
        if (read_deepspeed_env(here, env, err) < 0)
            return -1;
    }
    for (i = 0; i < options->env_files.count; i++)
        if (read_env_file(options->env_files.item[i], env, err) < 0)
            return -1;
    for (i = 0; i < options->env.count; i++)
        if (!environ_is_pattern(options->env.item[i]) &&
            !environ_is_left_out(options->env.item[i]) &&
            set_from_option(options->env.item[i], here, env, err) < 0)
            return -1;
    return 0;
}

static void copy_here(char *const *here, bool all, struct strlist *env)
{
    bool        is_aisc = environ_value(here, "AISC_JOB_NAME") != NULL;
    const char *equals;

    for (; *here != NULL; here++) {
        equals = strchr(*here, '=');
        if (equals == NULL || equals == *here)
            continue;
        if (all || goes_along(*here, (size_t)(equals - *here), is_aisc))
            strlist_add(env, *here);
    }
}

static void copy_by_pattern(const char *pattern, char *const *here, struct strlist *env)
{
    char *name;

    for (; *here != NULL; here++) {
        if (!environ_pattern_takes(pattern, *here))
            continue;
        name = xstrndup(*here, strcspn(*here, "="));
        env_set(env, name, strchr(*here, '=') + 1);
        free(name);
    }
}

static void leave_out(const char *pattern, struct strlist *env)
{
    size_t i = 0;
    char  *name;

    while (i < env->count) {
        name = xstrndup(env->item[i], strcspn(env->item[i], "="));
        if (fnmatch(pattern, name, 0) == 0)
            env_unset(env, name);
        else
            i++;
        free(name);
    }
}

void environ_forget(const struct options *options)
{
    struct strlist mine = { 0 };
    size_t         i, k;
    char         **at, *name;

    for (at = environ; *at != NULL; at++)
        strlist_add(&mine, *at);
    for (i = 0; i < options->env.count; i++)
        for (k = 0; environ_is_left_out(options->env.item[i]) && k < mine.count; k++) {
            name = xstrndup(mine.item[k], strcspn(mine.item[k], "="));
            if (environ_pattern_takes(options->env.item[i] + 1, mine.item[k]) &&
                !is_in(names, sizeof names / sizeof *names, name, strlen(name)))
                unsetenv(name);
            free(name);
        }
    strlist_clear(&mine);
}

bool environ_is_left_out(const char *text)
{
    return text[0] == '-' && strchr(text, '=') == NULL;
}

bool environ_is_pattern(const char *text)
{
    return !environ_is_left_out(text) && strchr(text, '=') == NULL && strpbrk(text, "*?[") != NULL;
}

bool environ_pattern_takes(const char *pattern, const char *entry)
{
    char  *name = xstrndup(entry, strcspn(entry, "="));
    bool   takes = strchr(entry, '=') != NULL && name[0] != '\0' && fnmatch(pattern, name, 0) == 0;
    size_t i;

    for (i = 0; takes && i < sizeof own / sizeof *own; i++)
        takes = fnmatch(own[i], name, 0) != 0;
    free(name);
    return takes;
}

/* An mpirun around muster has OMPI_MCA_* of its own, which are for its ranks. */
static bool goes_along(const char *entry, size_t length, bool is_aisc)
{
    size_t i;

    if (is_aisc && is_in(held_back, sizeof held_back / sizeof *held_back, entry, length))
        return false;
    for (i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return environ_pattern_takes("*", entry);
    return is_in(names, sizeof names / sizeof *names, entry, length);
}

static bool is_in(const char *const *list, size_t count, const char *name, size_t length)
{
    while (count > 0)
        if (strncmp(list[--count], name, length) == 0 && list[count][length] == '\0')
            return true;
    return false;
}

/* Every node then finds the modules next to the script, as this machine does. */
static void put_cwd_first(const char *cwd, char *const *here, struct strlist *env)
{
    const char *old = environ_value(here, "PYTHONPATH");

    if (cwd == NULL)
        return;
    if (old != NULL && *old != '\0')
        env_setf(env, "PYTHONPATH", "%s:%s", cwd, old);
    else
        env_set(env, "PYTHONPATH", cwd);
}

/* Reads the file in ~ and then the one in the current directory; the later one wins. */
static int read_deepspeed_env(char *const *here, struct strlist *env, struct error *err)
{
    const char *given = environ_value(here, "DS_ENV_FILE");
    const char *file = given != NULL ? given : ".deepspeed_env";
    const char *folders[] = { environ_value(here, "HOME"), "." };
    struct stat status;
    char       *path;
    size_t      i, found = 0;
    int         rc = 0;

    for (i = 0; rc == 0 && i < 2; i++) {
        if (folders[i] == NULL || (*file == '/' && found > 0))
            continue;
        path = *file == '/' ? xstrdup(file) : xasprintf("%s/%s", folders[i], file);
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
            rc = read_env_file(path, env, err);
            found++;
        }
        free(path);
    }
    if (found == 0 && given != NULL && *given != '\0')
        log_warn("DS_ENV_FILE=%s: no such file in ~ or this directory; no variables were read",
                 given);
    return rc;
}

static int read_env_file(const char *path, struct strlist *env, struct error *err)
{
    size_t size;
    char  *text = file_read(path, ENVIRON_FILE_MAX, &size, err);
    int    rc;

    if (text == NULL)
        return -1;
    rc = environ_parse_file(path, text, size, env, err);
    free(text);
    return rc;
}

int environ_parse_file(const char *name, const char *text, size_t size, struct strlist *env,
                       struct error *err)
{
    const char  *end = text + size, *next;
    struct error why;
    char        *line;
    int          number = 0, rc = 0;

    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* a byte order mark */
    for (; rc == 0 && text < end; text = next < end ? next + 1 : end) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        line = xstrndup(text, (size_t)(next - text));
        number++;
        if (text + strlen(line) < next)
            rc = err_set(&why, "contains a NUL byte, which no variable can hold");
        else
            rc = parse_line(line, env, &why);
        free(line);
    }
    return rc == 0 ? 0 : err_set(err, "%s:%d: %s", name, number, why.text);
}

/* Parses "NAME=value" or "export NAME=value". With DeepSpeed a remote shell removes quotes
 * around the value, so one pair is removed here; no other character is special. */
static int parse_line(char *line, struct strlist *env, struct error *err)
{
    char  *name = trim(line), *value = strchr(name, '=');
    size_t size;

    if (*name == '\0' || *name == '#')
        return 0;
    if (strncmp(name, "export", 6) == 0 && (name[6] == ' ' || name[6] == '\t'))
        name = trim(name + 6);
    if (value == NULL)
        return err_set(err, "'%.64s' has no '=' (NAME=value)", name);
    *value = '\0';
    value = trim(value + 1);
    size = strlen(value);
    if (size >= 2 && value[0] == '"' && value[size - 1] == '"') {
        value[size - 1] = '\0';
        value++;
    }
    if (!environ_is_name(name))
        return err_set(err, "'%.64s' is not the name of a variable (letters, digits, '_')",
                       name);
    if (env->count >= ENVIRON_NAMES_MAX && env_get(env, name) == NULL)
        return err_set(err, "more than %d variables", ENVIRON_NAMES_MAX);
    env_set(env, name, value);
    return 0;
}

static char *trim(char *text)
{
    size_t size;

    text += strspn(text, " \t\v\f\r");
    for (size = strlen(text); size > 0 && strchr(" \t\v\f\r", text[size - 1]) != NULL; size--)
        text[size - 1] = '\0';
    return text;
}

/* Sets "NAME=value", or "NAME" to the value that it has here. */
static int set_from_option(const char *text, char *const *here, struct strlist *env,
                           struct error *err)
{
    const char *equals = strchr(text, '='), *value;
    char       *name;
    int         rc = 0;

    if (equals == NULL) {
        value = environ_value(here, text);
        if (value == NULL)
            return err_set(err, "--env %s: not set in this environment; write --env %s=VALUE",
                           text, text);
        env_set(env, text, value);
        return 0;
    }
    name = xstrndup(text, (size_t)(equals - text));
    if (environ_is_name(name))
        env_set(env, name, equals + 1);
    else
        rc = err_set(err,
                     "--env %.64s: '%.64s' is not the name of a variable (letters, "
                     "digits, '_')",
                     name, name);
    free(name);
    return rc;
}

/* Not isalpha(): the set of letters must not depend on the locale. */
bool environ_is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

    if (*name == '\0' || strchr(letters, *name) == NULL)
        return false;
    while (*name != '\0' && (strchr(letters, *name) != NULL || (*name >= '0' && *name <= '9')))
        name++;
    return *name == '\0';
}

const char *environ_value(char *const *here, const char *name)
{
    size_t length = strlen(name);

    for (; *here != NULL; here++)
        if (strncmp(*here, name, length) == 0 && (*here)[length] == '=')
            return *here + length + 1;
    return NULL;
}
