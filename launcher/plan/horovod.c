/* horovod.c - see horovod.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/horovod.h"

#include <stdlib.h>
#include <string.h>

#include "plan/script_text.h"
#include "xalloc.h"

#define BLANKS " \t"
/* of Python's names, in ASCII */
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static const char *script_of(const struct options *options, bool *is_module);
static bool        imports(const char *line);
static bool        is_word(const char *text, const char *word);
static char       *module_path(const char *name);

bool horovod_is_imported(const char *text)
{
    const char *line, *end;

    for (line = text; line != NULL; line = end != NULL ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (imports(line))
            return true;
    }
    return false;
}

bool horovod_is_in_script(const struct options *options, const char *cwd)
{
    bool        is_module = options->module;
    const char *name = is_module ? options->script : script_of(options, &is_module);
    char       *path = is_module ? module_path(name) : xstrdup(name);
    char       *text = script_text(path, cwd);
    bool        is = text != NULL && horovod_is_imported(text);

    free(text);
    free(path);
    return is;
}

bool horovod_is_used(const struct options *options, bool is_in_script, const struct strlist *env)
{
    if (options->command != COMMAND_RUN || options->no_ssh || options->per_node)
        return false;
    is_in_script = is_in_script && !options->pmix; /* then Horovod may use MPI */
    return options->horovod ||
           (is_in_script && env_get(env, "HOROVOD_GLOO_RENDEZVOUS_ADDR") == NULL);
}

/* Returns the script or the module of "python3 -u train.py", or else the program. */
static const char *script_of(const struct options *options, bool *is_module)
{
    const struct strlist *args = &options->args;
    size_t                i;

    if (!script_is_python(options->script))
        return options->script;
    for (i = 0; i < args->count && args->item[i][0] == '-' && !*is_module; i++)
        *is_module = strcmp(args->item[i], "-m") == 0;
    return i < args->count ? args->item[i] : "";
}

/* "import horovod.torch as hvd", "from horovod import torch", "import os, horovod" */
static bool imports(const char *line)
{
    const char *at = line + strspn(line, BLANKS);
    bool        is_import = is_word(at, "import");

    if (!is_import && !is_word(at, "from"))
        return false;
    for (at += strcspn(at, BLANKS); *at != '\0' && *at != '\n' && *at != '#';
         at += strcspn(at, ",\n#")) {
        at += strspn(at, BLANKS ",");
        if (is_word(at, "horovod"))
            return true;
        if (!is_import)
            return false;
    }
    return false;
}

static bool is_word(const char *text, const char *word)
{
    size_t length = strspn(text, NAME_CHARS);

    return length == strlen(word) && strncmp(text, word, length) == 0;
}

/* Returns "a/b.py" of "a.b". */
static char *module_path(const char *name)
{
    char *path = xasprintf("%s.py", name), *dot;

    for (dot = path; (dot = strchr(dot, '.')) != NULL && dot[3] != '\0';)
        *dot = '/';
    return path;
}
