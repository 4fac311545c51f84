/* data_place.c - see data_place.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/data_place.h"

#include <stdlib.h>
#include <string.h>

#include "journal/mount_state.h"

int data_place_check(struct bootstrap *b, struct finding *finding, const char *directory,
                     struct error *err)
{
    const char    *mount = bootstrap_conf(b, "data", "mount");
    size_t         length = mount != NULL ? strlen(mount) : 0;
    struct mounted mounted;
    char          *all;
    bool           is_mounted;

    if (mount == NULL || strncmp(directory, mount, length) != 0 ||
        (directory[length] != '\0' && directory[length] != '/'))
        return 0;
    all = mount_read_all();
    is_mounted = mount_find(all, mount, &mounted);
    free(all);
    finding->is_later = !is_mounted && b->is_pending;
    if (is_mounted || b->is_pending)
        return 0;
    finding_fix(finding, "mend step data first");
    return err_set(err, "nothing is mounted at %s, so %s would be on the system's disk", mount,
                   directory);
}
