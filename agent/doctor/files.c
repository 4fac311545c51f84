/* files.c - files that the ranks get by name: the script, the working directory, paths
 *
 * The content of the script is a fact, and so is which of the paths exist.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "file.h"
#include "fnv.h"
#include "node/port.h"

#define SCRIPT_MAX (16u << 20)

static void script_check(const struct checkup *checkup, const char *script);
static void port_check(const struct checkup *checkup);

void files_check(const struct checkup *checkup)
{
    const char   *cwd = checkup_word(checkup, "cwd"), *script = checkup_word(checkup, "script");
    const json_t *paths = json_object_get(checkup->request, "paths"), *path;
    char          name[PATH_MAX + 32];
    struct stat   about;
    size_t        i;

    if (cwd != NULL && (stat(cwd, &about) < 0 || !S_ISDIR(about.st_mode)))
        checkup_find(checkup, CHECKUP_FAIL, "no rank can start there",
                     "mkdir -p it, or --cwd=DIR", "the working directory %s does not exist",
                     cwd);
    if (script != NULL)
        script_check(checkup, script);
    json_array_foreach(paths, i, path) {
        if (!json_is_string(path))
            continue;
        checkpoint_check(checkup, json_string_value(path));
        snprintf(name, sizeof name, "path %s", json_string_value(path));
        checkup_fact(checkup, name,
                     json_string(stat(json_string_value(path), &about) < 0 ? "not there"
                                 : S_ISDIR(about.st_mode)                  ? "a folder"
                                                                           : "a file"));
    }
    port_check(checkup);
}

static void script_check(const struct checkup *checkup, const char *script)
{
    struct error err;
    size_t       size;
    char        *bytes, name[PATH_MAX + 32], mend[PATH_MAX + 32];

    snprintf(mend, sizeof mend, "muster bcast %s", script);
    snprintf(name, sizeof name, "content of %s", script);
    if (access(script, R_OK) < 0) {
        checkup_find(checkup, CHECKUP_FAIL,
                     "its ranks exit at once, and the others wait for them", mend, "%s: %s",
                     script, strerror(errno));
        return;
    }
    bytes = file_read_at_once(script, SCRIPT_MAX, &size, &err);
    if (bytes != NULL)
        checkup_fact(checkup, name,
                     json_sprintf("%zu bytes, %016llx", size,
                                  (unsigned long long)fnv_add(FNV_START, bytes, size)));
    free(bytes);
}

/* Only checks a port that the user has fixed: otherwise muster chooses a free one. */
static void port_check(const struct checkup *checkup)
{
    int port = (int)json_integer_value(json_object_get(checkup->request, "master_port"));
    struct held_port held;
    struct error     err;
    char             holder[256];

    if (port <= 0 || port > 65535)
        return;
    if (port_hold(&held, port, true, holder, sizeof holder, &err) < 0)
        checkup_find(checkup, CHECKUP_FAIL, "\"Address already in use\" at init_process_group",
                     "kill it, or omit --master_port", "port %d: %s", port,
                     holder[0] != '\0' ? holder : err.text);
    else
        port_forget(&held);
}
