/* rank_labels.c - see rank_labels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/rank_labels.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "hostrange.h"
#include "number.h"
#include "xalloc.h"

static int   largest(const struct plan *plan);
static int   parse_range(char *word, int world_size, int64_t *first, int64_t *last,
                         struct error *err);
static char *label_of(const struct plan *plan, const struct options *options,
                      const struct plan_node *node, int rank);
static char *hosts_of(const struct plan *plan, const int *rank, size_t count);
static int   by_number(const void *a, const void *b);
static char *file_of(const struct plan *plan, const struct options *options, int rank);

int rank_labels_parse_shown(const char *text, const struct plan *plan, bool **shown,
                            struct error *err)
{
    bool   *made = xcalloc((size_t)plan->world_size, sizeof *made);
    char   *copy = xstrdup(text != NULL ? text : ""), *rest = copy, *word;
    int64_t first, last, rank, own;
    int     rc = -1;

    for (rank = 0; text == NULL && rank < plan->world_size; rank++)
        made[rank] = true;
    while (text != NULL && (word = strsep(&rest, ",")) != NULL) {
        if (parse_range(word, largest(plan), &first, &last, err) < 0) {
            err_set(err, "--show-ranks %s: %s", text, err->text);
            goto out;
        }
        for (rank = 0; rank < plan->world_size; rank++) {
            own = rank - plan_world_of_rank(plan, (int)rank)->first_rank;
            made[rank] = made[rank] || (own >= first && own <= last);
        }
    }
    *shown = made;
    made = NULL;
    rc = 0;
out:
    free(copy);
    free(made);
    return rc;
}

/* Returns the ranks of the largest world. */
static int largest(const struct plan *plan)
{
    int    most = plan->roles > 0 ? 0 : plan->world_size;
    size_t i;

    for (i = 0; i < plan->roles; i++)
        most = plan->role[i].world_size > most ? plan->role[i].world_size : most;
    return most;
}

/* Parses "3" or "3-5" into [first, last]. */
static int parse_range(char *word, int world_size, int64_t *first, int64_t *last, struct error *err)
{
    char *dash = strchr(word, '-');

    if (dash != NULL)
        *dash++ = '\0';
    if (parse_number(word, 0, world_size - 1, first, err) < 0)
        return -1;
    if (dash == NULL) {
        *last = *first;
        return 0;
    }
    return parse_number(dash, *first, world_size - 1, last, err);
}

void rank_labels_add(struct output *output, const struct plan *plan,
                     const struct options *options, const bool *shown, size_t shown_count)
{
    size_t n;
    int    i;

    for (n = 0; n < plan->nodes; n++) {
        const struct plan_node *node = &plan->node[n];

        for (i = 0; i < node->ranks; i++) {
            int   rank = node->rank[i].rank;
            char *label = label_of(plan, options, node, rank);
            char *file = file_of(plan, options, rank);

            output_add_rank(output, rank, n, plan_label(node), label,
                            (size_t)rank < shown_count ? shown[rank]
                                                       : options->show_ranks == NULL, file);
            if (plan->input_to == rank)
                output_set_input(output, rank, plan->has_terminal);
            free(label);
            free(file);
        }
    }
}

void rank_labels_again(struct output *output, const struct plan *plan, const struct plan *world,
                       const struct options *options)
{
    size_t n;
    int    i;

    for (n = world->first_node; n < world->first_node + world->nodes; n++) {
        for (i = 0; i < plan->node[n].ranks; i++) {
            int   rank = plan->node[n].rank[i].rank;
            char *file = file_of(plan, options, rank);

            output_again(output, rank, file);
            free(file);
        }
    }
}

static char *label_of(const struct plan *plan, const struct options *options,
                      const struct plan_node *node, int rank)
{
    const struct plan *world = plan_world_of_rank(plan, rank);
    int                own = rank - world->first_rank;

    if (plan->has_terminal && plan_rank_has_input(plan, rank))
        return xstrdup("");
    switch (options->label) {
    case LABEL_NONE:
        return xstrdup("");
    case LABEL_HOST:
        return xasprintf("%s: ", plan_label(node));
    case LABEL_RANK:
        return world->role_name != NULL ? xasprintf("[%s %d] ", world->role_name, own)
                                        : xasprintf("[%d] ", own);
    case LABEL_DEFAULT:
        break;
    }
    if (plan->command == COMMAND_EXEC)
        return xasprintf("%s: ", plan_label(node));
    if (plan->world_size == 1 || plan->command == COMMAND_CHECK) /* rank 0 reports for all */
        return xstrdup("");
    if (world->role_name != NULL)
        return xasprintf("%s %s:%d: ", world->role_name, plan_label(node), own);
    return xasprintf("%s:%d: ", plan_label(node), own);
}

char *rank_labels_of_many(const struct plan *plan, const struct options *options, const int *rank,
                          size_t count)
{
    const struct plan *world = plan_world_of_rank(plan, rank[0]);
    struct buffer      text = { 0 };
    char              *hosts;

    if (options->label == LABEL_HOST) {
        hosts = hosts_of(plan, rank, count);
        buffer_add_text(&text, hosts);
        buffer_add_text(&text, ": ");
        free(hosts);
    } else if (options->label != LABEL_NONE) {
        buffer_add_text(&text, "[");
        buffer_add_text(&text, world->role_name != NULL ? world->role_name : "");
        buffer_add_text(&text, world->role_name != NULL ? " " : "");
        number_add_ranges(&text, rank, count, world->first_rank);
        buffer_add_text(&text, "] ");
    }
    buffer_add(&text, "", 1);
    return text.bytes;
}

static char *hosts_of(const struct plan *plan, const int *rank, size_t count)
{
    struct strlist names = { 0 };
    char          *folded;
    size_t         n;
    int            i;

    for (n = 0; n < plan->nodes; n++)
        for (i = 0; i < plan->node[n].ranks; i++)
            if (bsearch(&plan->node[n].rank[i].rank, rank, count, sizeof *rank, by_number)) {
                strlist_add(&names, plan_label(&plan->node[n]));
                break;
            }
    folded = hostrange_fold(&names);
    strlist_clear(&names);
    return folded;
}

static int by_number(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

/* Returns the file that the agent writes for a rank, for "... bytes skipped, see FILE". */
static char *file_of(const struct plan *plan, const struct options *options, int rank)
{
    const struct plan *world = plan_world_of_rank(plan, rank);

    if (options->log_dir == NULL)
        return NULL;
    return xasprintf("%s/%s_rank%d.log", options->log_dir, world->stamp, rank - world->first_rank);
}
