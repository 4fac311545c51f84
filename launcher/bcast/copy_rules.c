/* copy_rules.c - see copy_rules.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/copy_rules.h"

#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "hostrange.h"
#include "log.h"
#include "xalloc.h"

#define PATHS_BLOB   1
#define EXCLUDE_BLOB 2

static bool names_host(const char *pattern, const struct plan *plan);

struct tree_rules copy_rules_of(const struct options *options, enum tree_links usual)
{
    static const enum tree_links links[] = {
        [LINKS_COPY] = TREE_LINKS_COPY,
        [LINKS_FOLLOW] = TREE_LINKS_FOLLOW,
        [LINKS_SKIP] = TREE_LINKS_SKIP,
    };

    return (struct tree_rules){
        .links = options->links == LINKS_AUTO ? usual : links[options->links],
        .exclude = &options->exclude_paths,
        .name = options->as,
    };
}

int copy_rules_check(const struct options *options, const struct plan *plan)
{
    size_t i;

    if (options->push.count > 0)
        return 0; /* --push-exclude means paths only */
    for (i = 0; i < options->exclude_paths.count; i++) {
        const char *pattern = options->exclude_paths.item[i];

        if (!names_host(pattern, plan))
            continue;
        log_error("--exclude %s: this leaves out paths, and it is the name of a host: write "
                  "--exclude-host=%s, or for paths with this name **/%s",
                  pattern, pattern, pattern);
        return EXIT_USAGE;
    }
    return 0;
}

/* Does pattern begin like "te1", "te1:0", "te1@te2" or "te[1-2]"? */
static bool names_host(const char *pattern, const struct plan *plan)
{
    struct strlist names = { 0 };
    struct error   err;
    char          *word = xstrndup(pattern, strcspn(pattern, "@:"));
    size_t         i, n;
    bool           is_host = false;

    if (hostrange_expand(word, &names, &err) == 0)
        for (i = 0; i < names.count; i++)
            for (n = 0; n < plan->nodes; n++)
                is_host |= strcmp(names.item[i], plan->node[n].host) == 0;
    strlist_clear(&names);
    free(word);
    return is_host;
}

void copy_rules_give(struct node *node, const struct buffer *paths,
                     const struct tree_rules *rules)
{
    json_t *body = json_pack("{s:i, s:s}", "paths", PATHS_BLOB, "links",
                             tree_links_words[rules->links]);
    char   *exclude;
    size_t  size;

    node_send_blob(node, PATHS_BLOB, paths->bytes, paths->size);
    if (rules->exclude->count > 0) {
        exclude = strlist_pack(rules->exclude, &size);
        node_send_blob(node, EXCLUDE_BLOB, exclude, size);
        json_object_set_new(body, "exclude", json_integer(EXCLUDE_BLOB));
        free(exclude);
    }
    node_send(node, FRAME_GIVE, body);
}
