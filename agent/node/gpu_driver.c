/* gpu_driver.c - see gpu_driver.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/gpu_driver.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fd.h"

#define MODULE "/proc/driver/nvidia/version"

void gpu_driver_find(const char *root, struct gpu_driver *driver)
{
    static const char *const places[] = { "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib" };
    char                     text[1024], path[PATH_MAX];
    const char              *at;
    glob_t                   found;
    size_t                   i;

    *driver = (struct gpu_driver){ 0 };
    snprintf(path, sizeof path, "%s" MODULE, root);
    fd_read_file(path, text, sizeof text);
    at = strstr(text, "Module");
    /* The first version number after that word, which may follow "for x86_64". */
    for (at = at != NULL ? at + 1 : text + strlen(text); *at != '\0' && *at != '\n'; at++)
        if (at[-1] == ' ' && strspn(at, "0123456789.") >= 5 && strchr(at, '.') != NULL &&
            sscanf(at, "%31[0-9.]", driver->module) == 1)
            break;
    if (driver->module[0] == '\0')
        return; /* else glob() would look at thousands of names */
    for (i = 0; i < sizeof places / sizeof *places && driver->library[0] == '\0'; i++) {
        snprintf(path, sizeof path, "%s%s/libnvidia-ml.so.[0-9]*.*", root, places[i]);
        if (glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1)
            snprintf(driver->library, sizeof driver->library, "%.31s",
                     strstr(found.gl_pathv[0], ".so.") + strlen(".so."));
        if (found.gl_pathc > 0)
            globfree(&found);
    }
}

bool gpu_driver_differs(const struct gpu_driver *driver)
{
    return driver->module[0] != '\0' && driver->library[0] != '\0' &&
           strcmp(driver->module, driver->library) != 0;
}
