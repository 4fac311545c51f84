/* k8s.c - muster k8s: executes muster-k8s, if this muster was built with it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

int command_k8s(char **argv)
{
    char    self[PATH_MAX], *beside;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);

    self[size > 0 ? size : 0] = '\0';
    if (strrchr(self, '/') != NULL)
        *strrchr(self, '/') = '\0';
    /* In a build tree, execute its own muster-k8s. */
    beside = xasprintf("%s/../k8s/muster-k8s", self);
    execv(beside, argv);
    free(beside);
    execv(PKGLIBEXECDIR "/muster-k8s", argv);
    if (errno != ENOENT) {
        log_error("%s/muster-k8s: %s", PKGLIBEXECDIR, strerror(errno));
        return EXIT_CANNOT_EXECUTE;
    }
    log_error("muster k8s: this muster was built without it (no " PKGLIBEXECDIR
              "/muster-k8s); configure --enable-kubernetes needs libcurl. "
              "To run a script of that name, use ./k8s");
    return EXIT_NOT_FOUND;
}
