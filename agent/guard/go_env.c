/* go_env.c - see go_env.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/go_env.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

struct go_env {
    size_t size;
    char   text[GO_ENV_BYTES];
};

static int is_malformed(const char *text, size_t size, struct error *err);

struct go_env *go_env_new(struct error *err)
{
    struct go_env *env = mmap(NULL, sizeof *env, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (env != MAP_FAILED)
        return env;
    err_set(err, "cannot share memory with the ranks: %s", strerror(errno));
    return NULL;
}

int go_env_set(struct go_env *env, const void *body, size_t size, struct error *err)
{
    if (size > sizeof env->text)
        return err_set(err, "GO frame: %zu bytes of variables, more than %zu", size,
                       sizeof env->text);
    if (size > 0 && is_malformed(body, size, err))
        return -1;
    if (size > 0)
        memcpy(env->text, body, size);
    env->size = size;
    return 0;
}

static int is_malformed(const char *text, size_t size, struct error *err)
{
    const char *end = text + size, *at;
    size_t      count = 0, empty = 0;

    if (end[-1] != '\0')
        return err_set(err, "GO frame: the variables are truncated");
    for (at = text; at < end; at += strlen(at) + 1) {
        if (*at != '\0' && (*at == '=' || strchr(at, '=') == NULL))
            return err_set(err, "GO frame: an entry is not NAME=value");
        count += *at != '\0';
        empty += *at == '\0';
    }
    if (count > GO_ENV_VARIABLES || empty > 1)
        return err_set(err, "GO frame: %zu variables in %zu lists, more than %d in 2", count,
                       empty + 1, GO_ENV_VARIABLES);
    return 0;
}

void go_env_lay(struct go_env *env, char **variables)
{
    char  *end = env->text + env->size, *at;
    bool   only_absent = false;
    size_t i, length;

    for (at = env->text; at < end; at += strlen(at) + 1) {
        length = strcspn(at, "=") + 1;
        only_absent = only_absent || *at == '\0';
        for (i = 0; variables[i] != NULL && strncmp(variables[i], at, length) != 0; i++)
            ;
        if (*at == '\0' || (variables[i] != NULL && only_absent))
            continue;
        if (variables[i] == NULL)
            variables[i + 1] = NULL;
        variables[i] = at;
    }
}
