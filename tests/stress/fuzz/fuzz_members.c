/* fuzz_members.c - any --worlds, any --nnodes and any ds_config, as the sizes of an elastic run
 *
 * The first line is --worlds, the second --nnodes, the third a letter for each host (its slots),
 * and the rest the configuration. Whatever world is chosen keeps to all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/next_world.h"
#include "options/options.h"
#include "xalloc.h"

#define HOSTS_MAX   12
#define WORLD_FIRST 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

static void read_words(struct member_rules *rules, const char *worlds, const char *nnodes)
{
    struct options options = { .num_nodes = -1 };
    struct error   err = { "" };

    if (next_world_parse_sizes(worlds, rules) < 0)
        rules->worlds_count = 0;
    if (options_set(&options, "nnodes", nnodes, "fuzz", &err) < 0) {
        expect(err.text[0] != '\0');
    } else if (options.num_nodes < 0) {
        expect(options.members.min_nodes >= 1 &&
               options.members.min_nodes < options.members.max_nodes);
        rules->min_nodes = (size_t)options.members.min_nodes;
        rules->max_nodes = (size_t)options.members.max_nodes;
    } else {
        expect(options.num_nodes >= 1);
        rules->target = (size_t)options.num_nodes;
    }
    options_clear(&options);
}

static void check_world(const struct membership *members, const struct member_rules *rules)
{
    size_t       world[HOSTS_MAX], places = next_world_choose(members, rules, world), i;
    struct batch batch;
    int          ranks = 0, is_listed = rules->worlds_count == 0;

    if (places == 0)
        return;
    for (i = 0; i < places; i++)
        ranks += members->item[world[i]].slots;
    for (i = 0; i < rules->worlds_count; i++)
        is_listed = is_listed || rules->worlds[i] == ranks;
    expect(is_listed && places >= rules->min_nodes);
    expect((rules->max_nodes == 0 || places <= rules->max_nodes) &&
           (rules->target == 0 || places <= rules->target));
    if (rules->batch == NULL)
        return;
    expect(batch_of(rules->batch, ranks, &batch) == 0);
    expect(batch.micro >= 1 && batch.steps >= 1 && batch.total >= 1);
    expect(rules->batch->first.total == 0 || batch.total == rules->batch->first.total);
    if (!rules->batch->is_elastic)
        expect(batch.total == batch.micro * batch.steps * ranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char               *text = xstrndup((const char *)data, size), *rest = text;
    char               *worlds = strsep(&rest, "\n"), *nnodes = strsep(&rest, "\n");
    char               *hosts = strsep(&rest, "\n");
    struct member_rules rules = { .goes_on = true, .is_elastic = true };
    struct membership   members = { 0 };
    struct batch_rules  batch = { 0 };
    struct error        err = { "" };
    size_t              i, nodes;

    read_words(&rules, worlds, nnodes != NULL ? nnodes : "");
    for (i = 0; hosts != NULL && hosts[i] != '\0' && i < HOSTS_MAX; i++)
        membership_joined(&members,
                          membership_add(&members, "", 1 + (unsigned char)hosts[i] % 8));
    if (rest != NULL && batch_rules_parse(&batch, "fuzz", rest, strlen(rest), &err) == 0) {
        check_world(&members, &rules);
        if (batch_of(&batch, WORLD_FIRST, &batch.first) < 0)
            batch.first = (struct batch){ 0 };
        rules.batch = &batch;
    }
    check_world(&members, &rules);
    for (nodes = 1; nodes <= HOSTS_MAX; nodes++) {
        err.text[0] = '\0';
        if (next_world_may_have(&members, &rules, nodes, &err) < 0)
            expect(err.text[0] != '\0');
        else
            expect(nodes <= members.count);
    }
    batch_rules_clear(&batch);
    membership_clear(&members);
    free(text);
    return 0;
}
