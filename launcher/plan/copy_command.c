/* copy_command.c - see copy_command.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/copy_command.h"

#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "options/shell_word.h"
#include "xalloc.h"

#define MODULE_MAX 100 /* bytes of its name */

static char *module_place(const char *cwd, const char *python, const char *name);
static bool  is_too_much(const char *path);
static char *environment_of(const char *path);
static bool  has(const char *dir, const char *pattern);
static char *first_of(const char *dir, const char *below, const char *name, const char *end);

char *copy_command(const struct options *options, const char *cwd, const char *path)
{
    struct buffer text = { 0 };
    char         *full, *environment;
    size_t        i;

    if (path[0] == '\0' || (path[0] != '/' && cwd == NULL))
        return NULL;
    path += path[0] == '.' && path[1] == '/' ? 2 : 0;
    full = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", cwd, path);
    environment = environment_of(full);
    if (environment != NULL) {
        free(full);
        full = environment;
    }
    if (access(full, F_OK) == 0 && !is_too_much(full)) {
        buffer_add_text(&text, "muster bcast");
        for (i = 0; i < options->host_words.count; i++)
            shell_word_add(&text, options->host_words.item[i]);
        shell_word_add(&text, full);
        buffer_add(&text, "", 1);
    }
    free(full);
    return text.bytes;
}

char *copy_command_module(const struct options *options, const char *cwd, const char *python,
                          const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    char  *name, *path, *command;

    if (length == 0 || length > MODULE_MAX || python[0] != '/')
        return NULL;
    name = xstrndup(text, length);
    path = module_place(cwd, python, name);
    command = path != NULL ? copy_command(options, cwd, path) : NULL;
    free(path);
    free(name);
    return command;
}

/* Returns what has to be copied for the module, NULL: it is not here. Caller frees. */
static char *module_place(const char *cwd, const char *python, const char *name)
{
    static const char  packages[] = "lib/python3*/site-packages/";
    const char        *home = getenv("HOME");
    char              *environment, *found = NULL, *local;

    environment = environment_of(python);
    if (environment != NULL && ((found = first_of(environment, packages, name, "")) != NULL ||
                                (found = first_of(environment, packages, name, ".*")) != NULL)) {
        free(environment);
        free(found);
        return xstrdup(python); /* the environment as a whole */
    }
    free(environment);
    if (cwd != NULL && ((found = first_of(cwd, "", name, "")) != NULL ||
                        (found = first_of(cwd, "", name, ".py")) != NULL))
        return found;
    local = home != NULL ? xasprintf("%s/.local", home) : NULL;
    if (local != NULL && ((found = first_of(local, packages, name, "")) != NULL ||
                          (found = first_of(local, packages, name, ".*")) != NULL))
        *strrchr(found, '/') = '\0'; /* all packages: it may need others */
    free(local);
    return found;
}

/* What the distribution's packages install, a whole home, and what is directly below "/". */
static bool is_too_much(const char *path)
{
    static const char *const dirs[] = { "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/" };
    const char              *home = getenv("HOME");
    size_t                   i;

    if (strchr(path + 1, '/') == NULL || (home != NULL && strcmp(path, home) == 0))
        return true;
    for (i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (strncmp(path, dirs[i], strlen(dirs[i])) == 0)
            return true;
    return false;
}

/* Returns "/home/me/venv" for "/home/me/venv/bin/python"; NULL: it is no such environment. venv and
 * virtualenv have pyvenv.cfg, conda has conda-meta, and a Python that uv, pyenv or make installed
 * has its library. */
static char *environment_of(const char *path)
{
    const char *name = strrchr(path, '/');
    char       *dir = xstrndup(path, (size_t)(name - path));
    char       *bin = strrchr(dir, '/');

    if (bin != NULL && strcmp(bin, "/bin") == 0) {
        *bin = '\0';
        if (has(dir, "pyvenv.cfg") || has(dir, "conda-meta") || has(dir, "lib/python3*/os.py"))
            return dir;
    }
    free(dir);
    return NULL;
}

static bool has(const char *dir, const char *pattern)
{
    char *found = first_of(dir, pattern, "", "");

    free(found);
    return found != NULL;
}

/* The first file of these names; NULL: there is none. Caller frees. */
static char *first_of(const char *dir, const char *below, const char *name, const char *end)
{
    char  *pattern = xasprintf("%s/%s%s%s", dir, below, name, end), *first = NULL;
    glob_t found;

    if (glob(pattern, 0, NULL, &found) == 0) {
        first = xstrdup(found.gl_pathv[0]);
        globfree(&found);
    }
    free(pattern);
    return first;
}
