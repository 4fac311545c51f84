/* nodeset.c - groups that ClusterShell knows; see group_source.h
 *
 * Its configuration is a language: files, YAML, and shell commands to be called for a group. Only
 * its own program reads that to the letter.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "groups/group_source.h"

#include <stdlib.h>
#include <string.h>

#include "ask/answer.h"
#include "groups/host_group.h"
#include "xalloc.h"

#define NODESET_S 30 /* its commands may ask a batch system or a database */

int nodeset_hosts(const char *name, struct strlist *hosts, struct error *err)
{
    char        *group = xasprintf("@%s", name), *text, *rest, *word;
    const char  *argv[] = { "nodeset", "-e", "-S", "\\n", "--", group, NULL };
    const size_t before = hosts->count;
    size_t       size;
    int          status = answer_ask(argv, NODESET_S, GROUP_BYTES_MAX, &text, &size, err);

    free(group);
    if (status == ANSWER_CANNOT_RUN) {
        err_set(err, "nodeset, which reads ClusterShell's groups.conf, is not installed");
        return 0;
    }
    if (status != 0)
        return status == ANSWER_NONE ? -1 : 0;
    for (rest = text; (word = strsep(&rest, "\n")) != NULL;)
        if (word[0] != '\0')
            strlist_add(hosts, word);
    free(text);
    if (hosts->count > before)
        return 1;
    err_set(err, "nodeset finds no such group");
    return 0;
}
