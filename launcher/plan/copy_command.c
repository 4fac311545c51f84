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

static bool  is_too_much(const char *path);
static char *environment_of(const char *path);
static bool  has(const char *dir, const char *pattern);

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
    char  *full = xasprintf("%s/%s", dir, pattern);
    glob_t found;
    bool   is_there = glob(full, GLOB_NOSORT, NULL, &found) == 0;

    if (is_there)
        globfree(&found);
    free(full);
    return is_there;
}
