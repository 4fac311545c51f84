/* ports.c - are the InfiniBand ports active that were active at the first gate?
 *
 * A port that never was may have no cable. The kernel asks the adapter for the state, which
 * takes long if the adapter has failed, so a child reads it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "gate/gate_check.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "fd.h"
#include "frame.h"
#include "gate/gate.h"
#include "node/test_switch.h"
#include "xalloc.h"

#define FOLDER "/sys/class/infiniband"
#define PORTS_MAX 256 /* of a node */

static const char *root(void);
static void        add_ports(json_t *ports, const char *folder, const char *adapter);
static bool        is_active(const json_t *state);

static json_t *request(const struct node_plan *plan, const struct gate_memory *memory)
{
    char *folder = xasprintf("%s" FOLDER, root());
    DIR  *adapters = opendir(folder);

    (void)plan;
    free(folder);
    if (adapters == NULL && memory->ports == NULL)
        return NULL;
    if (adapters != NULL)
        closedir(adapters);
    return json_object();
}

static const char *root(void)
{
    const char *other = test_switch(TEST_SWITCH_ROOT);

    return other != NULL ? other : "";
}

static int run(const json_t *request, struct task_output *out)
{
    (void)request;
    task_output_line(out, json_pack("{s:o}", "ports", ports_read(root())));
    return 0;
}

json_t *ports_read(const char *below)
{
    json_t        *ports = json_object();
    char          *folder = xasprintf("%s" FOLDER, below);
    DIR           *adapters = opendir(folder);
    struct dirent *entry;

    while (adapters != NULL && (entry = readdir(adapters)) != NULL)
        if (entry->d_name[0] != '.')
            add_ports(ports, folder, entry->d_name);
    if (adapters != NULL)
        closedir(adapters);
    free(folder);
    return ports;
}

static void add_ports(json_t *ports, const char *folder, const char *adapter)
{
    char          *list = xasprintf("%s/%s/ports", folder, adapter), *path, *name;
    DIR           *numbers = opendir(list);
    struct dirent *entry;
    char           state[64];

    while (numbers != NULL && (entry = readdir(numbers)) != NULL &&
           json_object_size(ports) < PORTS_MAX) {
        if (entry->d_name[0] == '.')
            continue;
        path = xasprintf("%s/%s/state", list, entry->d_name);
        name = xasprintf("%s/%s", adapter, entry->d_name);
        fd_read_file(path, state, sizeof state);
        state[strcspn(state, "\n")] = '\0';
        json_object_set_new(ports, name, json_text(state, strlen(state)));
        free(path);
        free(name);
    }
    if (numbers != NULL)
        closedir(numbers);
    free(list);
}

static enum gate_verdict judge(const json_t *request, const json_t *found,
                               struct gate_memory *memory, struct failure *failure)
{
    json_t       *ports = json_object_get(found, "ports");
    const char   *name, *now;
    const json_t *before;

    (void)request;
    if (memory->ports == NULL) {
        memory->ports = json_is_object(ports) ? json_incref(ports) : NULL;
        return GATE_WELL;
    }
    json_object_foreach(memory->ports, name, before)
    {
        if (!is_active(before) || is_active(json_object_get(ports, name)))
            continue;
        now = json_string_value(json_object_get(ports, name));
        failure_set(failure, EXIT_CREATE, "look at the cable and the switch; ibstat shows more",
                    "InfiniBand port %s is not active any more (%s)", name,
                    now != NULL && now[0] != '\0' ? now : "it is gone");
        return GATE_BAD;
    }
    return GATE_WELL;
}

/* "4: ACTIVE" */
static bool is_active(const json_t *state)
{
    const char *text = json_string_value(state);

    return text != NULL && strtol(text, NULL, 10) == 4;
}

static void late(const json_t *found, double seconds, struct failure *failure)
{
    (void)found;
    failure_set(failure, EXIT_CREATE, "sudo dmesg | grep mlx5; sudo reboot",
                "the InfiniBand ports do not answer within %g s", seconds);
}

const struct gate_check ports_check = { { "ports", run }, GATE_DEVICES_S, 0,
                                        request,          judge,          late };
