/* mesh_round.c - see mesh_round.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/mesh_round.h"

#include <stdlib.h>
#include <string.h>

#include "bootstrap/public_key.h"
#include "run/run.h"
#include "xalloc.h"

#define HOST_KEYS_MAX 8 /* per node */

static void        take(struct bootstrap *bootstrap, const struct run *run, size_t n,
                        const json_t *mesh);
static const char *address_of(const struct bootstrap *bootstrap, const char *name);
static void        add_known(struct bootstrap *bootstrap, const char *name, const char *address,
                             const char *key);

json_t *mesh_request(const struct run *run, const struct node *node)
{
    const struct bootstrap *bootstrap = run->job_data;
    const json_t           *login = bootstrap_login(node);

    if (!run->options->mesh || run->options->undo || run->options->record)
        return json_pack("{s:s}", "op", "look");
    return json_pack("{s:s, s:b, s:s, s:O?, s:O?}", "op", "mesh", "apply", run->options->apply,
                     "name", bootstrap_name(bootstrap, run, node->index), "user",
                     json_object_get(login, "user"), "home",
                     json_object_get(login, "home"));
}

void mesh_gather(struct bootstrap *bootstrap, const struct run *run)
{
    const json_t *line;
    size_t        n, i;

    json_object_set_new(json_object_get(bootstrap->conf, "access"), "known", json_array());
    for (n = 0; n < run->plan->nodes; n++)
        json_array_foreach(node_task_lines(bootstrap->task, n, BOOTSTRAP_ROUND_MESH), i, line)
            if (json_is_object(json_object_get(line, "mesh")))
                take(bootstrap, run, n, json_object_get(line, "mesh"));
}

/* Takes only valid public keys, since other nodes will trust them. */
static void take(struct bootstrap *bootstrap, const struct run *run, size_t n,
                 const json_t *mesh)
{
    const char   *name = bootstrap_name(bootstrap, run, n);
    const char   *key = json_string_value(json_object_get(mesh, "key"));
    const json_t *one;
    size_t        i;

    if (key != NULL && public_key_is(key))
        json_array_append_new(json_object_get(json_object_get(bootstrap->conf, "access"), "keys"),
                              json_string(key));
    json_array_foreach(json_object_get(mesh, "host_keys"), i, one)
        if (i < HOST_KEYS_MAX && json_is_string(one) && public_key_is(json_string_value(one)))
            add_known(bootstrap, name, address_of(bootstrap, name), json_string_value(one));
}

/* NULL: the address is not known. */
static const char *address_of(const struct bootstrap *bootstrap, const char *name)
{
    const json_t *host;
    const char   *text;
    size_t        i;

    json_array_foreach(bootstrap->hosts, i, host) {
        text = json_string_value(json_object_get(host, "name"));
        if (text != NULL && strcmp(text, name) == 0)
            return json_string_value(json_object_get(host, "addr"));
    }
    return NULL;
}

/* Adds "te1,10.0.0.1 TYPE KEY", without the key's comment. */
static void add_known(struct bootstrap *bootstrap, const char *name, const char *address,
                      const char *key)
{
    size_t length = strcspn(key, " ") + 1;
    char  *line;

    length += strcspn(key + length, " ");
    line = xasprintf("%s%s%s %.*s", name, address != NULL ? "," : "",
                     address != NULL ? address : "", (int)length, key);
    json_array_append_new(json_object_get(json_object_get(bootstrap->conf, "access"), "known"),
                          json_string(line));
    free(line);
}
