/* packages.c - installs the packages of conf: by apt or dnf, in one transaction
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>

#include "packages/package_manager.h"
#include "xalloc.h"

#define BLANKS " \t,"

int step_packages(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char          *names = bootstrap_conf(b, "packages", "install");
    struct strlist       missing = { 0 };
    enum package_manager manager;
    size_t               length;
    char                *name;

    if (names == NULL || b->root[0] != '\0') {
        finding->is_unused = true;
        return 0;
    }
    if ((manager = package_manager_find()) == PACKAGES_NONE) {
        finding_fix(finding, "install them by hand, or --skip packages: %s", names);
        return err_set(err, "neither apt-get nor dnf is installed here");
    }
    for (names += strspn(names, BLANKS); *names != '\0'; names += strspn(names, BLANKS)) {
        length = strcspn(names, BLANKS);
        name = xstrndup(names, length);
        if (!package_is_installed(manager, name))
            strlist_add(&missing, name);
        free(name);
        names += length;
    }
    if (missing.count > 0) {
        packages_add_repair(manager, &finding->changes);
        packages_add_update(manager, &finding->changes, "packages are missing");
        packages_add_install(manager, &finding->changes, &missing,
                             "[packages] of bootstrap.conf");
        finding_fix(finding, "look at the names in [packages], and whether this node reaches its "
                    "mirror");
    }
    strlist_clear(&missing);
    return 0;
}
