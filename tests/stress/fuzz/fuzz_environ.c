/* fuzz_environ.c - any bytes as an env file, and as a script that may import horovod
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/environ.h"
#include "plan/horovod.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strlist env = { 0 };
    struct error   err;
    size_t         i;
    char          *name;

    if (environ_parse_file("fuzz", (const char *)data, size, &env, &err) < 0 &&
        strncmp(err.text, "fuzz:", 5) != 0)
        abort();
    for (i = 0; i < env.count; i++) {
        name = xstrndup(env.item[i], strcspn(env.item[i], "="));
        if (!environ_is_name(name) || env_get(&env, name) != env.item[i] + strlen(name) + 1)
            abort();
        free(name);
    }
    strlist_clear(&env);
    name = xstrndup((const char *)data, size);
    if (horovod_is_imported(name) && strstr(name, "horovod") == NULL)
        abort();
    free(name);
    return 0;
}
