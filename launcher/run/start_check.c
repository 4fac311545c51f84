/* start_check.c - see start_check.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/start_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hostrange.h"
#include "log.h"
#include "node/body.h"
#include "outcome/receipts.h"
#include "run/pool.h"
#include "run/run.h"
#include "xalloc.h"

#define MIB            (1024.0 * 1024.0)
#define CLOCK_APART_S  1.0
#define HOLDERS_SHOWN  4 /* per node */
#define HOUR_S         3600
#define LACKING_MAX    16   /* variables, and devices named for each */

static void    check_twice(const struct run *run, struct node *node);
static bool    is_another(const struct node *other, struct node *node);
static bool    same_machine(const struct node *a, const struct node *b);
static bool    same_text(const struct node *a, const struct node *b, const char *key);
static bool    share_a_slot(const struct plan_node *a, const struct plan_node *b);
static void    tell_health(const struct node *node, const json_t *health);
static bool    is_contained(const char *words);
static bool    check_gpus(const struct run *run, struct node *node,
                          const json_t *holders);
static void    holder_words(const json_t *holder, char *text, size_t size);
static void    check_shm(const struct node *node, const json_t *shm);
static void    check_left(const struct node *node, const json_t *left);
static void    check_lacking(struct run *run, const struct node *node, const json_t *lacking);
static char   *names_in(const json_t *list);
static double  ahead_s(const struct node *node);
static int64_t hello_int(const struct node *node, const char *key);

/* --- a node has answered ---------------------------------------------------- */

/* An old copy of the agent is not hashed again at each start; this compares its size. If
 * nothing was copied, there is nothing to compare: a test may run the agent under valgrind. */
bool start_check_hello(const struct run *run, struct node *node)
{
    int64_t size = hello_int(node, "size");

    if (node->plan->is_local || size <= 0 || size == (int64_t)run->agent.size)
        return true;
    node_fail(node, "agent", EXIT_CREATE, "remove ~/.cache/muster there; muster sends it again",
              "the copy of muster-agent there is damaged: it has %" PRId64
              " bytes instead of %zu",
              size, run->agent.size);
    return false;
}

/* --- all nodes have answered ------------------------------------------------ */

void start_check_nodes(struct run *run)
{
    const json_t  **hello = xcalloc(run->plan->nodes, sizeof *hello);
    struct receipts all = { run->plan, hello };
    size_t          i;

    for (i = 0; i < run->plan->nodes; i++) {
        check_twice(run, run->node[i]);
        hello[i] = run->node[i]->hello;
    }
    receipts_compare(&all);
    free(hello);
}

/* Fails a node if the hostfile lists its machine under two names. Two logins with different
 * home directories are a test. Two containers on one host may each have their own GPUs, but
 * muster warns if both have the same slots. */
static void check_twice(const struct run *run, struct node *node)
{
    size_t i;

    for (i = 0; i < node->index; i++)
        if (!is_another(run->node[i], node))
            return;
}

/* The same for a node without a place. Of two spares on one machine one is refused, too, since
 * both may get a place. */
bool start_check_other(const struct run *run, struct node *node)
{
    struct node *other;
    size_t       i;

    for (i = 0; i < pool_nodes(run); i++) {
        other = pool_node(run, i);
        if (other != NULL && other != node && other->hello != NULL && !node_is_over(other) &&
            !is_another(other, node))
            return false;
    }
    return true;
}

/* False: node has failed. */
static bool is_another(const struct node *other, struct node *node)
{
    if ((node->plan->is_local && other->plan->is_local) || /* the user said so */
        !same_machine(node, other) || !same_text(node, other, "home") ||
        hello_int(node, "uid") != hello_int(other, "uid") ||
        !share_a_slot(node->plan, other->plan))
        return true;
    if (hello_int(node, "mntns") != hello_int(other, "mntns")) {
        if (hello_int(node, "gpus") > 0)
            log_warn("%s and %s are containers on one machine: do they share its GPUs?",
                     other->plan->host, node->plan->host);
        return true;
    }
    node_fail(
        node, "same machine", EXIT_DATA,
        "list it once, with all its slots, or give each name its own slots with --include",
        "this is the same machine as %s, and both use the same slots", other->plan->host);
    return false;
}

/* The kernel's boot id alone does not tell machines apart: containers share it, and so do
 * virtual machines made from one snapshot, which differ in their addresses. */
static bool same_machine(const struct node *a, const struct node *b)
{
    const json_t *addresses = json_object_get(a->hello, "addresses");

    return same_text(a, b, "boot_id") && hello_int(a, "netns") != 0 &&
           hello_int(a, "netns") == hello_int(b, "netns") &&
           json_equal(addresses, json_object_get(b->hello, "addresses"));
}

static bool same_text(const struct node *a, const struct node *b, const char *key)
{
    const json_t *one = json_object_get(a->hello, key), *other = json_object_get(b->hello, key);

    return json_is_string(one) && json_string_length(one) > 0 && json_equal(one, other);
}

static bool share_a_slot(const struct plan_node *a, const struct plan_node *b)
{
    int i, j;

    for (i = 0; i < a->slots; i++)
        for (j = 0; j < b->slots; j++)
            if (a->slot[i] == b->slot[j] && a->device.count == 0 && b->device.count == 0)
                return true;
    return false;
}

/* --- a node is ready -------------------------------------------------------- */

bool start_check_ready(struct run *run, struct node *node, const json_t *ready)
{
    const char *containment = body_text(ready, "containment");

    if (run_is_exec(run))
        return true;
    tell_health(node, json_object_get(ready, "health"));
    if (run->options->strict_containment && !is_contained(containment)) {
        node_fail(
            node, "containment", EXIT_CREATE,
            "be root there, or let users create namespaces (sysctl user.max_user_namespaces; "
            "Debian: kernel.unprivileged_userns_clone=1; Ubuntu: "
            "kernel.apparmor_restrict_unprivileged_userns=0), or omit --strict-containment",
            "neither a PID namespace nor a cgroup is available (only %s)",
            containment[0] != '\0' ? containment : "nothing");
        return false;
    }
    check_shm(node, json_object_get(ready, "shm"));
    check_left(node, json_object_get(ready, "left"));
    check_lacking(run, node, json_object_get(ready, "lacking"));
    return check_gpus(run, node, json_object_get(ready, "gpu_holders"));
}

/* "te2: fit for ranks: storage, gpus (812.3 ms)" */
static void tell_health(const struct node *node, const json_t *health)
{
    char *checks = names_in(json_object_get(health, "checks"));

    if (json_is_object(health))
        log_info("%s: fit for ranks: %s (%.1f ms)", node->plan->host,
                 checks[0] != '\0' ? checks : "nothing to check",
                 json_number_value(json_object_get(health, "s")) * 1000);
    free(checks);
}

/* "userns+pidns+lease": is there a layer in which one kill ends everything? */
static bool is_contained(const char *words)
{
    static const char *const strong[] = { "pidns", "cgroup" };
    size_t                   i, length;

    while (*words != '\0') {
        length = strcspn(words, "+");
        for (i = 0; i < sizeof strong / sizeof *strong; i++)
            if (strlen(strong[i]) == length && strncmp(words, strong[i], length) == 0)
                return true;
        words += length + (words[length] == '+');
    }
    return false;
}

static bool check_gpus(const struct run *run, struct node *node, const json_t *holders)
{
    const json_t *holder;
    char          words[400];
    size_t        i;

    json_array_foreach(holders, i, holder) {
        holder_words(holder, words, sizeof words);
        if (run->options->require_idle_gpus) {
            node_fail(
                node, "gpus", EXIT_CREATE,
                "muster clean shows whose it is, and --kill-gpu ends it; --exclude omits the GPU",
                "%s", words);
            return false;
        }
        if (i < HOLDERS_SHOWN)
            log_warn("%s: %s", node->plan->host, words);
    }
    if (i > HOLDERS_SHOWN)
        log_warn("%s: and %zu more processes use its GPUs", node->plan->host, i - HOLDERS_SHOWN);
    return true;
}

/* "GPU 0,1 is in use by pid 7 of ann, for 3 h: python3 train.py", into text. */
static void holder_words(const json_t *holder, char *text, size_t size)
{
    const char   *user = json_string_value(json_object_get(holder, "user"));
    const char   *command = json_string_value(json_object_get(holder, "command"));
    json_int_t    age_s = json_integer_value(json_object_get(holder, "age_s"));
    const json_t *gpu;
    char          gpus[64] = "";
    size_t        i, used = 0;

    json_array_foreach(json_object_get(holder, "gpus"), i, gpu)
        if (used < sizeof gpus)
            used += (size_t)snprintf(gpus + used, sizeof gpus - used, "%s%" JSON_INTEGER_FORMAT,
                                     i > 0 ? "," : "", json_integer_value(gpu));
    snprintf(text, size,
             "GPU %s is in use by pid %" JSON_INTEGER_FORMAT " of %s, for %" JSON_INTEGER_FORMAT
             " %s: %s",
             gpus, json_integer_value(json_object_get(holder, "pid")),
             user != NULL ? user : "?", age_s >= HOUR_S ? age_s / HOUR_S : age_s,
             age_s >= HOUR_S ? "h" : "s", command != NULL ? command : "?");
}

static void check_shm(const struct node *node, const json_t *shm)
{
    const json_t *stale = json_object_get(shm, "stale"), *file;
    double        bytes = 0; /* a node may send numbers whose sum no integer can hold */
    size_t        i;

    if (!json_is_object(shm))
        return;
    json_array_foreach(stale, i, file)
        bytes += (double)json_integer_value(json_object_get(file, "size"));
    log_warn("%s: /dev/shm has only %.0f MiB free, which may be too little for the shared "
             "memory of the ranks",
             node->plan->host, (double)json_integer_value(json_object_get(shm, "free")) / MIB);
    if (json_array_size(stale) > 0) {
        const char *user = json_string_value(json_object_get(json_array_get(stale, 0), "user"));

        log_warn("%s: %zu stale %s (%.0f MiB) left by crashed programs, for example by %s: "
                 "muster clean --kill removes yours", node->plan->host, json_array_size(stale),
                 json_array_size(stale) == 1 ? "file" : "files", bytes / MIB,
                 user != NULL ? user : "?");
    }
}

/* Warns about processes of earlier runs whose agent and guard are gone, or that survived
 * KILL. */
static void check_left(const struct node *node, const json_t *left)
{
    const json_t *first = json_array_get(left, 0);
    const char   *run = json_string_value(json_object_get(first, "run"));
    const char   *command = json_string_value(json_object_get(first, "command"));
    size_t        count = json_array_size(left);

    if (count > 0)
        log_warn("%s: %zu %s still running, for example pid %" JSON_INTEGER_FORMAT
                 " of run %s (%s): muster clean --kill kills yours",
                 node->plan->host, count,
                 count == 1 ? "process of an earlier run is" : "processes of earlier runs are",
                 json_integer_value(json_object_get(first, "pid")), run != NULL ? run : "?",
                 command != NULL ? command : "?");
}

/* Variables of the ranks that name network devices which the node does not have. */
static void check_lacking(struct run *run, const struct node *node, const json_t *lacking)
{
    const json_t *item;
    char         *there;
    size_t        i;

    json_array_foreach(lacking, i, item) {
        const char *variable = body_text(item, "variable"), *value = body_text(item, "value");
        bool        is_hca = strcmp(variable, "NCCL_IB_HCA") == 0;

        if (i == LACKING_MAX)
            break;
        there = names_in(json_object_get(item, "there"));
        outcome_caution(&run->outcome, node->plan->host,
                        "%.40s=%.200s names an %s (there: %s): unset it, and %s", variable, value,
                        is_hca ? "InfiniBand device that is not there"
                               : "interface that is not there, or has no address",
                        there[0] != '\0' ? there : "none",
                        is_hca ? "NCCL finds the devices" : "muster sets the right one");
        free(there);
    }
}

/* "eth0, lo"; caller frees. */
static char *names_in(const json_t *list)
{
    char         *text = xstrdup(""), *longer;
    const json_t *name;
    size_t        i;

    json_array_foreach(list, i, name) {
        if (i == LACKING_MAX || !json_is_string(name))
            break;
        longer = xasprintf("%s%s%.40s", text, i > 0 ? ", " : "", json_string_value(name));
        free(text);
        text = longer;
    }
    return text;
}

/* --- all nodes are ready ---------------------------------------------------- */

/* muster itself uses monotonic clocks, but users compare the logs and checkpoints of different
 * nodes by the system time. */
void start_check_clocks(const struct run *run)
{
    struct strlist hosts = { 0 };
    double         ahead, most = 0;
    char          *names;
    size_t         i;

    for (i = 0; i < run->plan->nodes; i++) {
        ahead = ahead_s(run->node[i]);
        if (ahead <= CLOCK_APART_S && ahead >= -CLOCK_APART_S)
            continue;
        strlist_add(&hosts, run->plan->node[i].host);
        if (ahead * ahead > most * most)
            most = ahead;
    }
    if (hosts.count > 0) {
        names = hostrange_fold(&hosts);
        log_warn("%s: the clock is up to %.1f s %s this machine's; is a time service running?",
                 names, most < 0 ? -most : most, most < 0 ? "behind" : "ahead of");
        free(names);
    }
    strlist_clear(&hosts);
}

/* Returns how far the node's clock is ahead of ours; 0 if the round trip makes that
 * uncertain. */
static double ahead_s(const struct node *node)
{
    struct timespec real;
    int64_t         then_ns = hello_int(node, "time_ns"), here_ns;
    double          ahead, unsure = (double)node->trips.best_ns / NS_PER_S;

    if (then_ns <= 0 || node->trips.best_ns == INT64_MAX)
        return 0;
    clock_gettime(CLOCK_REALTIME, &real);
    here_ns = real.tv_sec * NS_PER_S + real.tv_nsec -
              (clock_now_ns() - node_local_ns(node, hello_int(node, "now_ns")));
    ahead = (double)(then_ns - here_ns) / NS_PER_S;
    return ahead > unsure || ahead < -unsure ? ahead : 0;
}

static int64_t hello_int(const struct node *node, const char *key)
{
    return json_integer_value(json_object_get(node->hello, key));
}
