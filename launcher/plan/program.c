/* program.c - see program.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/program.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_code.h"
#include "log.h"
#include "options/path_search.h"
#include "plan/environ.h"
#include "plan/horovod.h"
#include "plan/wrapper.h"
#include "xalloc.h"

/* How a file looks from this machine. It may still exist on the nodes: their agents look
 * again. */
enum sight { SIGHT_NONE, SIGHT_FOLDER, SIGHT_FILE, SIGHT_EXECUTABLE, SIGHT_UNKNOWN };

static int        find_command(const struct options *options, struct program *program,
                               int *exit_code, struct error *err);
static int        find_script(const struct options *options, char *const *here,
                              const char *cwd, struct program *program, int *exit_code,
                              struct error *err);
static void        tell_wrapper(const struct options *options, const char *cwd);
static int        add_python(const struct options *options, char *const *here,
                             struct program *program, struct error *err);
static char      *choose_python(const struct options *options, char *const *here,
                                const char **from, struct error *err);
static int        find_check(const struct options *options, char *const *here,
                             struct program *program, int *exit_code, struct error *err);
static char      *find_sent(const char *agent);
static char      *find_trainer(char *const *here);
static char      *beside_muster(const char *name);
static void       add_check_options(const struct options *options, struct program *program);
static void       add_file(const struct options *options, const char *option, const char *file,
                           struct program *program);
static bool       is_script_name(const char *name);
static enum sight look_at(const char *path, const char *cwd);

int program_find(const struct options *options, char *const *here, const char *cwd,
                 struct program *program, int *exit_code, struct error *err)
{
    int rc = 0;

    *program = (struct program){ 0 };
    *exit_code = EXIT_USAGE;
    if (options->bind_cores && environ_value(here, "KMP_AFFINITY") != NULL)
        return err_set(err, "KMP_AFFINITY is set and would override --bind_cores_to_rank; "
                            "unset it or leave out the option");
    strlist_append(&program->args, &options->args);
    switch (options->command) {
    case COMMAND_EXEC:
        rc = find_command(options, program, exit_code, err);
        break;
    case COMMAND_CHECK:
        rc = find_check(options, here, program, exit_code, err);
        if (rc == 0)
            add_check_options(options, program);
        break;
    case COMMAND_RUN:
        rc = find_script(options, here, cwd, program, exit_code, err);
        break;
    default:
        break; /* it executes nothing */
    }
    if (rc < 0)
        program_clear(program);
    return rc;
}

void program_clear(struct program *program)
{
    strlist_clear(&program->head);
    strlist_clear(&program->args);
    free(program->sent);
    *program = (struct program){ 0 };
}

/* The nodes look up the command. Commands that are part of the shell exist on no node. */
static int find_command(const struct options *options, struct program *program, int *exit_code,
                        struct error *err)
{
    static const char *const builtins[] = { "cd",     "source", ".",      "export", "alias", "set",
                                            "ulimit", "umask",  "module", "eval",   "trap" };
    const char *script = options->script;
    size_t      i;

    *exit_code = EXIT_NOT_FOUND;
    for (i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(script, builtins[i]) == 0)
            return err_set(
                err, "%s: a shell command, not a program; write sh -c '%s ...'%s", script,
                script, strcmp(script, "cd") == 0 ? ", or --cwd=DIR before the command" : "");
    strlist_add(&program->head, script);
    return 0;
}

/* A path is relative to cwd. A name without '/' is searched for on PATH, as in a shell, and
 * then in this directory; a script only in this directory. */
static int find_script(const struct options *options, char *const *here, const char *cwd,
                       struct program *program, int *exit_code, struct error *err)
{
    const char *script = options->script;
    bool        is_py = is_script_name(script);
    bool        is_word = strchr(script, '/') == NULL;
    const char *path = environ_value(here, "PATH");
    char       *found = is_word && !is_py ? path_search(script, path) : NULL;
    enum sight  sight = found != NULL ? SIGHT_EXECUTABLE : look_at(script, cwd);
    const char *command = command_nearby(script);

    tell_wrapper(options, cwd);
    program->is_python = options->module || (is_py && !options->no_python);
    program->imports_horovod = horovod_is_in_script(options, cwd);
    program->script = program->is_python && !options->module ? script : NULL;
    program->wants_local_rank = !options->no_local_rank && !options->per_node &&
                                (program->is_python || options->no_python);
    *exit_code = EXIT_NOT_FOUND;
    if (program->is_python && add_python(options, here, program, err) < 0)
        return -1;
    if (!options->module && sight == SIGHT_NONE && strpbrk(script, " |&;<>$`") != NULL)
        return err_set(err,
                       "%.200s: not found; muster does not start a shell: write muster exec -- "
                       "sh -c '%.200s' (once per host), or muster sh -c ... (once per slot)",
                       script, script);
    if (!options->module && sight == SIGHT_NONE)
        return err_set(err, "%s: not found%s%s%s%s%s", script, is_word ? " in " : "",
                       !is_word ? "" : is_py ? "this directory" : "PATH or this directory",
                       command != NULL ? "; did you mean muster " : "",
                       command != NULL ? command : "", command != NULL ? "?" : "");
    *exit_code = EXIT_CANNOT_EXECUTE;
    if (!options->module && sight == SIGHT_FOLDER)
        return err_set(err, "%s: is a directory", script);
    if (!program->is_python && sight == SIGHT_FILE)
        return err_set(err, is_py ? "%s: not executable; chmod +x it, or leave --no_python out"
                                  : "%s: not executable; chmod +x it, or name it *.py if it is "
                                    "a Python script", script);
    /* Without "./" the name would be searched for on PATH. */
    if (!program->is_python && is_word && found == NULL)
        strlist_addf(&program->head, "./%s", script);
    else
        strlist_add(&program->head, script);
    free(found);
    return 0;
}

/* Says how a program that starts ranks itself is started here, unless the user knows. */
static void tell_wrapper(const struct options *options, const char *cwd)
{
    struct wrapper wrapper = wrapper_find(options, cwd);

    if (wrapper.words != NULL && !wrapper.is_of_node)
        log_warn("%s starts ranks itself, and would run once per %s; to let muster start them, "
                 "leave it out: muster [OPTIONS] SCRIPT", wrapper.words,
                 options->per_node ? "node" : "slot");
    else if (wrapper.words != NULL && wrapper.is_server && !options->per_node)
        log_warn("%s takes all GPUs of its node, and would run once per slot; write --per-node to "
                 "run it once per node", wrapper.words);
    else if (wrapper.words != NULL && !options->per_node)
        log_warn("%s starts ranks itself, and would run once per slot; write --per-node to run it "
                 "once per node, with all its GPUs, or leave it out: muster [OPTIONS] SCRIPT",
                 wrapper.words);
    wrapper_clear(&wrapper);
}

/* Adds PYTHON -u [-m]; the script follows. With -u, as in DeepSpeed, a rank's output appears as
 * soon as it is printed. */
static int add_python(const struct options *options, char *const *here,
                      struct program *program, struct error *err)
{
    char *python = choose_python(options, here, &program->python_from, err);

    if (python == NULL)
        return -1;
    strlist_add(&program->head, python);
    strlist_add(&program->head, "-u");
    if (options->module)
        strlist_add(&program->head, "-m");
    free(python);
    return 0;
}

/* Returns its absolute path, which the caller frees. NULL with err. */
static char *choose_python(const struct options *options, char *const *here, const char **from,
                           struct error *err)
{
    static const char *const homes[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
    const char              *name = options->python, *home;
    char                    *python = NULL;
    size_t                   i;

    *from = "--python";
    if (name != NULL && name[0] == '/')
        return xstrdup(name); /* may exist only on the nodes */
    for (i = 0; i < 2 && name == NULL && python == NULL; i++) {
        home = environ_value(here, homes[i]);
        if (home == NULL || home[0] != '/')
            continue;
        python = xasprintf("%s/bin/python", home);
        *from = homes[i];
        if (look_at(python, NULL) != SIGHT_EXECUTABLE) {
            free(python);
            python = NULL;
        }
    }
    if (python == NULL && name == NULL)
        *from = "python3 on PATH of the launcher";
    if (name != NULL && strchr(name, '/') != NULL)
        python = realpath(name, NULL);
    else if (python == NULL)
        python = path_search(name != NULL ? name : "python3", environ_value(here, "PATH"));
    if (python == NULL)
        err_set(err, "%s: not found%s; name the nodes' Python with --python",
                name != NULL ? name : "python3",
                name != NULL && strchr(name, '/') != NULL ? "" : " on PATH");
    return python;
}

/* A build that has no static programs cannot send the check, and runs muster-train on the nodes. */
static int find_check(const struct options *options, char *const *here, struct program *program,
                      int *exit_code, struct error *err)
{
    bool  is_found;
    char *path;

    program->sent = find_sent(options->agent);
    if (program->sent != NULL) {
        strlist_add(&program->head, "sent/muster-check");
        path = choose_python(options, here, &program->python_from, err);
        is_found = path != NULL;
        if (is_found)
            strlist_addf(&program->head, "--python=%s", path);
        free(path);
        return is_found || options->python == NULL ? 0 : -1;
    }
    path = find_trainer(here);
    *exit_code = EXIT_NOT_FOUND;
    if (path == NULL)
        return err_set(err, "muster-train: not found next to muster or on PATH; muster check "
                            "runs it, and it is installed with muster");
    strlist_add(&program->head, path);
    strlist_add(&program->head, "check");
    free(path);
    return 0;
}

/* Returns the directory beside the agent that has the check (trainer/Makefile.am); NULL: none. */
static char *find_sent(const char *agent)
{
    char *dir = agent != NULL ? realpath(agent, NULL) : beside_muster("../agent/muster-agent");
    char *check, *found = NULL;

    if (dir == NULL && agent == NULL)
        dir = xstrdup(PKGLIBEXECDIR "/muster-agent");
    if (dir != NULL) {
        *strrchr(dir, '/') = '\0';
        found = xasprintf("%s/sent", dir);
        check = xasprintf("%s/muster-check", found);
        if (look_at(check, NULL) != SIGHT_EXECUTABLE) {
            free(found);
            found = NULL;
        }
        free(check);
    }
    free(dir);
    return found;
}

/* Returns the installed muster-train, or the one in the build tree that muster runs from. */
static char *find_trainer(char *const *here)
{
    char *path = beside_muster("../trainer/muster-train");

    if (path == NULL)
        path = beside_muster("muster-train");
    return path != NULL ? path : path_search("muster-train", environ_value(here, "PATH"));
}

/* Returns the real path of an executable file, given from the directory that muster is in. */
static char *beside_muster(const char *name)
{
    char    self[PATH_MAX], *path, *found = NULL;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);

    self[size > 0 ? size : 0] = '\0';
    if (strrchr(self, '/') != NULL)
        *strrchr(self, '/') = '\0';
    path = xasprintf("%s/%s", self, name);
    if (look_at(path, NULL) == SIGHT_EXECUTABLE)
        found = realpath(path, NULL);
    free(path);
    return found;
}

/* Adds the options that muster check has, too; the user gives the others after '--'. */
static void add_check_options(const struct options *options, struct program *program)
{
    if (options->check_quick)
        strlist_add(&program->head, "--quick");
    if (options->check_full)
        strlist_add(&program->head, "--full");
    add_file(options, "--html=", options->html, program);
    add_file(options, "--json=", options->check_json, program);
}

/* The first node writes it, and may not have the directory that we are in: it would then write the
 * file into its login directory, without a word. */
static void add_file(const struct options *options, const char *option, const char *file,
                     struct program *program)
{
    char *here;

    if (file == NULL)
        return;
    here = options->cwd == NULL && file[0] != '/' && strcmp(file, "-") != 0 ? getcwd(NULL, 0)
                                                                            : NULL;
    strlist_addf(&program->head, "%s%s%s%s", option, here != NULL ? here : "",
                 here != NULL ? "/" : "", file);
    free(here);
}

static bool is_script_name(const char *name)
{
    size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static enum sight look_at(const char *path, const char *cwd)
{
    char       *full = path[0] == '/' || cwd == NULL ? xstrdup(path)
                                                     : xasprintf("%s/%s", cwd, path);
    struct stat status;
    enum sight  sight;

    if (stat(full, &status) == 0 && S_ISDIR(status.st_mode))
        sight = SIGHT_FOLDER;
    else if (stat(full, &status) == 0)
        sight = access(full, X_OK) == 0 ? SIGHT_EXECUTABLE : SIGHT_FILE;
    else if (errno == EACCES || (path[0] != '/' && cwd != NULL && access(cwd, F_OK) < 0))
        sight = SIGHT_UNKNOWN;
    else
        sight = SIGHT_NONE;
    free(full);
    return sight;
}
