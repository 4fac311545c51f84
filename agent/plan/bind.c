/* bind.c - see bind.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/bind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu.h"
#include "number.h"
#include "xalloc.h"

static int  topology_load(hwloc_topology_t *topology, struct error *err);
static hwloc_bitmap_t set_new(void);
static int  units_make(hwloc_topology_t topology, const char *list, struct bind_unit **unit,
                       struct error *err);
static int  units_of_list(hwloc_topology_t topology, const char *list, struct bind_unit **unit,
                          struct error *err);
static int  units_of_cores(hwloc_topology_t topology, struct bind_unit **unit);
static int  numa_of(hwloc_obj_t object);
static void masks_make(struct binding *binding, const struct bind_unit *unit, const int *chosen);
static bool take_near(const struct bind_unit *unit, int count, bool *taken, int near, int each,
                      int *chosen);

int bind_make(struct binding *binding, const char *list, const int *slot, int ranks,
              struct error *err)
{
    hwloc_topology_t  topology;
    struct bind_unit *unit = NULL;
    int               gpu_node[GPU_MAX], gpus = gpu_numa_nodes(gpu_node, GPU_MAX);
    int              *near = xcalloc((size_t)ranks, sizeof *near), *chosen = NULL;
    int               count, i, rc = -1;

    *binding = (struct binding){ 0 };
    if (topology_load(&topology, err) < 0)
        goto out_near;
    count = units_make(topology, list, &unit, err);
    if (count < 0)
        goto out_topology;
    for (i = 0; i < ranks; i++)
        near[i] = slot[i] < gpus ? gpu_node[slot[i]] : -1;
    chosen = xcalloc((size_t)count + 1, sizeof *chosen);
    binding->ranks = ranks;
    binding->each = bind_deal(unit, count, near, ranks, chosen);
    if (binding->each == 0) {
        err_set(err, "%d ranks cannot be bound to %d cores%s%s", ranks, count,
                list[0] != '\0' ? " of --bind_core_list " : " that this process may use", list);
    } else {
        masks_make(binding, unit, chosen);
        rc = 0;
    }
    for (i = 0; i < count; i++)
        hwloc_bitmap_free(unit[i].cpus);
    free(unit);
    free(chosen);
out_topology:
    hwloc_topology_destroy(topology);
out_near:
    free(near);
    return rc;
}

void bind_clear(struct binding *binding)
{
    int i;

    for (i = 0; i < binding->ranks && binding->mask != NULL; i++)
        free(binding->mask[i]);
    free(binding->mask);
    *binding = (struct binding){ 0 };
}

int bind_list(const char *list, hwloc_bitmap_t set, struct error *err)
{
    char        *copy = xstrdup(list), *rest = copy, *item, *dash;
    int64_t      first = 0, last = 0, before = -1;
    struct error why;
    int          rc = 0;

    hwloc_bitmap_zero(set);
    while (rc == 0 && (item = strsep(&rest, ",")) != NULL) {
        dash = strchr(item, '-');
        if (dash != NULL)
            *dash++ = '\0';
        if (parse_number(item, 0, BIND_CPU_MAX - 1, &first, &why) < 0 ||
            parse_number(dash != NULL ? dash : item, 0, BIND_CPU_MAX - 1, &last, &why) < 0)
            rc = err_set(err, "core list '%s': %s", list, why.text);
        else if (first <= before || last < first)
            rc = err_set(err, "core list '%s': the numbers must ascend and not overlap", list);
        else
            hwloc_bitmap_set_range(set, (unsigned)first, (int)last);
        before = last;
    }
    free(copy);
    return rc;
}

int bind_deal(const struct bind_unit *unit, int count, const int *near, int ranks, int *chosen)
{
    int   each = ranks > 0 ? count / ranks : 0, i, j, at = 0;
    bool *taken, *served;

    if (each == 0)
        return 0;
    taken = xcalloc((size_t)count, sizeof *taken);
    served = xcalloc((size_t)ranks, sizeof *served);
    for (i = 0; i < ranks; i++)
        served[i] = near[i] >= 0 &&
                    take_near(unit, count, taken, near[i], each, chosen + i * each);
    /* Distribute the remaining units to the other ranks in order: without GPUs that is
     * DeepSpeed's rule, rank k gets the k-th chunk. */
    for (i = 0; i < ranks; i++)
        for (j = 0; j < each && !served[i]; j++) {
            while (taken[at])
                at++;
            taken[at] = true;
            chosen[i * each + j] = at;
        }
    free(taken);
    free(served);
    return each;
}

/* Takes the first free units of a NUMA node, if it has enough. */
static bool take_near(const struct bind_unit *unit, int count, bool *taken, int near, int each,
                      int *chosen)
{
    int i, found = 0;

    for (i = 0; i < count && found < each; i++)
        if (!taken[i] && unit[i].numa == near)
            chosen[found++] = i;
    if (found < each)
        return false;
    for (i = 0; i < each; i++)
        taken[chosen[i]] = true;
    return true;
}

/* hwloc leaves out CPUs that the cgroup forbids; this removes CPUs that taskset forbids.
 * hwloc's plugins are shared objects, which a static program must not load. */
static int topology_load(hwloc_topology_t *topology, struct error *err)
{
    hwloc_bitmap_t allowed = set_new();
    int            rc;

    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    rc = hwloc_topology_init(topology);
    if (rc == 0 && hwloc_topology_load(*topology) < 0) {
        hwloc_topology_destroy(*topology);
        rc = -1;
    }
    if (rc == 0 && hwloc_topology_is_thissystem(*topology) &&
        hwloc_get_cpubind(*topology, allowed, HWLOC_CPUBIND_PROCESS) == 0 &&
        !hwloc_bitmap_iszero(allowed))
        hwloc_topology_restrict(*topology, allowed, 0);
    hwloc_bitmap_free(allowed);
    unsetenv("HWLOC_PLUGINS_PATH");
    return rc < 0 ? err_set(err, "cannot read this machine's topology: %s", strerror(errno)) : 0;
}

static int units_make(hwloc_topology_t topology, const char *list, struct bind_unit **unit,
                      struct error *err)
{
    return list[0] != '\0' ? units_of_list(topology, list, unit, err)
                           : units_of_cores(topology, unit);
}

static int units_of_list(hwloc_topology_t topology, const char *list, struct bind_unit **unit,
                         struct error *err)
{
    hwloc_bitmap_t set = set_new();
    int            cpu, count = 0;
    char          *may = NULL;

    if (bind_list(list, set, err) < 0)
        count = -1;
    else if (!hwloc_bitmap_isincluded(set, hwloc_topology_get_topology_cpuset(topology))) {
        hwloc_bitmap_list_asprintf(&may, hwloc_topology_get_topology_cpuset(topology));
        count = err_set(err, "core list '%s': this process may only use %s", list, may);
        free(may);
    }
    if (count < 0) {
        hwloc_bitmap_free(set);
        return -1;
    }
    *unit = xcalloc((size_t)hwloc_bitmap_weight(set) + 1, sizeof **unit);
    for (cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu), count++) {
        (*unit)[count].numa = numa_of(hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu));
        (*unit)[count].cpus = set_new();
        hwloc_bitmap_only((*unit)[count].cpus, (unsigned)cpu);
    }
    hwloc_bitmap_free(set);
    return count;
}

/* Lists units in logical order: neighbours share caches. A machine that reports no
 * cores reports at least CPUs. */
static int units_of_cores(hwloc_topology_t topology, struct bind_unit **unit)
{
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE
                                                                                   : HWLOC_OBJ_PU;
    hwloc_obj_t      object = NULL;
    int              count = 0;

    *unit = xcalloc((size_t)hwloc_get_nbobjs_by_type(topology, type) + 1, sizeof **unit);
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != NULL) {
        (*unit)[count].numa = numa_of(object);
        (*unit)[count].cpus = set_new();
        hwloc_bitmap_copy((*unit)[count++].cpus, object->cpuset);
    }
    return count;
}

static hwloc_bitmap_t set_new(void)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (set == NULL)
        xalloc_die();
    return set;
}

static int numa_of(hwloc_obj_t object)
{
    if (object == NULL || hwloc_bitmap_iszero(object->nodeset))
        return -1;
    return hwloc_bitmap_first(object->nodeset);
}

static void masks_make(struct binding *binding, const struct bind_unit *unit, const int *chosen)
{
    int i, j, cpu;

    binding->mask_size = CPU_ALLOC_SIZE(BIND_CPU_MAX);
    binding->mask = xcalloc((size_t)binding->ranks, sizeof *binding->mask);
    for (i = 0; i < binding->ranks; i++) {
        binding->mask[i] = xcalloc(1, binding->mask_size);
        for (j = 0; j < binding->each; j++) {
            hwloc_const_bitmap_t cpus = unit[chosen[i * binding->each + j]].cpus;

            for (cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu))
                if (cpu < BIND_CPU_MAX)
                    CPU_SET_S((size_t)cpu, binding->mask_size, binding->mask[i]);
        }
    }
}
