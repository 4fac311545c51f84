/* python_env.c - an environment of conf is made: by venv and pip, or by conda
 *
 * Beside DIRECTORY/venv (of conda: DIRECTORY/env) is DIRECTORY/.muster-venv with the file that the
 * launcher has sent, and, once all of it is installed, a copy of it, installed. So a second apply
 * does nothing, and a file that has changed is installed again. What somebody else has made is
 * never touched: it has no such folder. The file may have the password of an index: only root can
 * read it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/data_place.h"
#include "number.h"
#include "task/command.h"
#include "xalloc.h"

#define ASK_S       60.0
#define LIMIT_S     1800.0
#define LIMIT_MAX_S 86400.0

/* What is wanted. name: of the environment's folder; program: what makes it. */
struct env {
    const char *section, *name, *text;
    char       *directory, *prefix, *folder, *file, *installed, *program;
    double      limit_s;
    bool        is_new; /* its prefix is not there yet */
};

static int  begin(struct bootstrap *b, struct finding *finding, struct env *env,
                  struct error *err);
static void env_clear(struct env *env);
static int  look(struct bootstrap *b, struct finding *finding, struct env *env, bool *is_done,
                 struct error *err);
static bool find_program(struct env *env, const char *base, const char *name);
static int  add_files(struct finding *finding, const struct env *env, struct error *err);
static void add_installed(struct finding *finding, const struct env *env);
static void add(struct finding *finding, const struct env *env, const char *const *argv,
                const char *what, const char *why);
static void add_venv(struct bootstrap *b, struct finding *finding, const struct env *env);
static void add_conda(struct finding *finding, const struct env *env);

int step_python(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct env env = { .section = "python", .name = "venv" };
    bool       is_done = false;
    int        rc = begin(b, finding, &env, err);

    if (rc == 0)
        rc = look(b, finding, &env, &is_done, err);
    if (rc == 0 && !is_done && !find_program(&env, NULL, "python3")) {
        finding->is_later = is_done = b->is_pending;
        finding_fix(finding, "[packages] install = python3-venv");
        rc = is_done ? 0 : err_set(err, "python3 is not installed here");
    }
    if (rc == 0 && !is_done) {
        rc = add_files(finding, &env, err);
        add_venv(b, finding, &env);
        add_installed(finding, &env);
        finding_fix(finding, "if ensurepip is missing: [packages] install = python3-venv; if pip "
                    "failed: does this node reach the index of packages?");
    }
    env_clear(&env);
    return rc;
}

int step_conda(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char *base = bootstrap_conf(b, "shell", "conda");
    struct env  env = { .section = "conda", .name = "env" };
    bool        is_done = false;
    int         rc = begin(b, finding, &env, err);

    if (rc == 0)
        rc = look(b, finding, &env, &is_done, err);
    if (rc == 0 && !is_done && !(base != NULL && find_program(&env, base, "conda")) &&
        !find_program(&env, NULL, "conda") && !find_program(&env, NULL, "mamba") &&
        !find_program(&env, NULL, "micromamba")) {
        finding->is_later = is_done = b->is_pending;
        finding_fix(finding, "install Miniforge, and name its folder: [shell] conda");
        rc = is_done ? 0 : err_set(err, "neither conda nor mamba nor micromamba is in PATH");
    }
    if (rc == 0 && !is_done) {
        rc = add_files(finding, &env, err);
        add_conda(finding, &env);
        add_installed(finding, &env);
        finding_fix(finding, "does this node reach the channels of conda? If %s is broken, remove "
                    "it", env.prefix);
    }
    env_clear(&env);
    return rc;
}

/* --- looking ---------------------------------------------------------------- */

static int begin(struct bootstrap *b, struct finding *finding, struct env *env,
                 struct error *err)
{
    const char *mount = bootstrap_conf(b, "data", "mount");
    const char *directory = bootstrap_conf(b, env->section, "directory");
    const char *limit = bootstrap_conf(b, env->section, "time_limit");

    env->text = bootstrap_conf(b, env->section, "text");
    if (env->text == NULL || b->root[0] != '\0') {
        finding->is_unused = true;
        return 0;
    }
    if (directory == NULL && mount == NULL)
        return err_set(err, "[%s] has no directory, and [data] no mount", env->section);
    env->limit_s = LIMIT_S;
    if (limit != NULL && parse_seconds(limit, 1, LIMIT_MAX_S, &env->limit_s, err) < 0)
        return -1;
    env->directory = xstrdup(directory != NULL ? directory : mount);
    env->prefix = xasprintf("%s/%s", env->directory, env->name);
    env->folder = xasprintf("%s/.muster-%s", env->directory, env->name);
    env->file = xasprintf("%s/%s", env->folder,
                          strcmp(env->section, "conda") == 0 ? "environment.yml"
                                                             : "requirements.txt");
    env->installed = xasprintf("%s/installed", env->folder);
    return data_place_check(b, finding, env->directory, err);
}

static void env_clear(struct env *env)
{
    free(env->directory);
    free(env->prefix);
    free(env->folder);
    free(env->file);
    free(env->installed);
    free(env->program);
}

static int look(struct bootstrap *b, struct finding *finding, struct env *env, bool *is_done,
                struct error *err)
{
    struct state prefix, folder, installed;

    *is_done = finding->is_unused || finding->is_later;
    if (*is_done)
        return 0;
    if (state_read(b->root, STATE_TREE, env->prefix, &prefix, err) < 0 ||
        state_read(b->root, STATE_DIR, env->folder, &folder, err) < 0 ||
        state_read(b->root, STATE_FILE, env->installed, &installed, err) < 0)
        return -1;
    *is_done = prefix.exists && installed.exists && strcmp(installed.bytes, env->text) == 0;
    env->is_new = !prefix.exists;
    state_clear(&installed);
    if (prefix.exists && !folder.exists) {
        finding_fix(finding, "choose another directory in [%s], or remove %s", env->section,
                    env->prefix);
        return err_set(err, "%s exists, and is not of muster", env->prefix);
    }
    return 0;
}

static bool find_program(struct env *env, const char *base, const char *name)
{
    char                 *path = base != NULL ? xasprintf("%s/bin/%s", base, name) : xstrdup(name);
    const char *const     argv[] = { path, "--version", NULL };
    struct command_result result;
    bool                  has = command_run(argv, NULL, ASK_S, &result);

    command_clear(&result);
    if (has)
        env->program = path;
    else
        free(path);
    return has;
}

/* --- changing --------------------------------------------------------------- */

/* The record of an older file goes before its packages do: if the power goes in between, the next
 * apply installs again. */
static int add_files(struct finding *finding, const struct env *env, struct error *err)
{
    const char *const forget[] = { "rm", "-f", env->installed, NULL };
    struct state      tree = { .exists = true };
    char             *why = xasprintf("[%s] of bootstrap.conf", env->section);
    int               rc = changes_add_dirs(&finding->changes, env->folder, err);

    if (rc == 0 && access(env->installed, F_OK) == 0)
        add(finding, env, forget, "forget what is installed", "the file has changed");
    if (rc == 0)
        rc = changes_add_file(&finding->changes, env->file, env->text, 0600, why, err);
    if (rc == 0)
        rc = changes_add(&finding->changes, STATE_TREE, env->prefix, &tree,
                         "make this environment", why, err);
    free(why);
    return rc;
}

static void add_installed(struct finding *finding, const struct env *env)
{
    struct state want = { .exists = true, .mode = 0600, .uid = geteuid(), .gid = getegid(),
                          .bytes = (char *)env->text, .size = strlen(env->text) };

    changes_add_again(&finding->changes, STATE_FILE, env->installed, &want, "create it",
                      "the next apply sees that this is done");
}

/* With a new environment its packages go, too; else they stay. */
static void add(struct finding *finding, const struct env *env, const char *const *argv,
                const char *what, const char *why)
{
    struct strlist list = { 0 }, none = { 0 };
    char          *whole = xasprintf("%s: %s", env->prefix, what);

    for (; *argv != NULL; argv++)
        strlist_add(&list, *argv);
    strlist_add(&none, "true");
    changes_add_command(&finding->changes, env->prefix, &list, env->is_new ? &none : NULL, whole,
                        why);
    finding->changes.item[finding->changes.count - 1].want.limit_s = env->limit_s;
    free(whole);
    strlist_clear(&list);
    strlist_clear(&none);
}

/* Without pip the environment was cut off, or ensurepip was missing: venv makes it again. */
static void add_venv(struct bootstrap *b, struct finding *finding, const struct env *env)
{
    char             *pip = xasprintf("%s/bin/pip", env->prefix);
    const char *const venv[] = { env->program, "-m", "venv", "--clear", env->prefix, NULL };
    const char *const install[] = { pip, "install", "--no-input", "--disable-pip-version-check",
                                    "--requirement", env->file, NULL };
    const char       *file = bootstrap_conf(b, env->section, "requirements");
    char *what = xasprintf("pip install -r %s", file != NULL ? file : "requirements.txt");

    if (env->is_new || access(pip, X_OK) < 0)
        add(finding, env, venv, "python3 -m venv", "[python] of bootstrap.conf");
    add(finding, env, install, what, "its packages");
    free(what);
    free(pip);
}

static void add_conda(struct finding *finding, const struct env *env)
{
    bool              is_micro = strcmp(env->program, "micromamba") == 0; /* its own words */
    const char       *verb = env->is_new ? "create" : "update";
    const char *const conda[] = { "env", "CONDA_ALWAYS_YES=yes", "MAMBA_ALWAYS_YES=yes",
                                  env->program, "env", verb, "-p", env->prefix, "-f", env->file,
                                  env->is_new ? NULL : "--prune", NULL };
    const char *const micro[] = { env->program, env->is_new ? "create" : "install", "--yes", "-p",
                                  env->prefix, "-f", env->file, NULL };
    char             *what = xasprintf("%s env %s", env->program, verb);

    add(finding, env, is_micro ? micro : conda, what, "[conda] of bootstrap.conf");
    free(what);
}
