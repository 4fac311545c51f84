/* spot.c - muster's restart policies, simulated on a cluster from a trace file
 *
 *     spot --trace FILE [OPTION...]     a table with the result of each policy
 *     spot --generate SEED [OPTION...]  write a trace to stdout
 *     spot --schedules COUNT [--seed N] COUNT random runs, which check all invariants
 *     spot --schedules 1 --seed N -v    one of these runs, in words
 *
 * The policy is muster's own code (launcher/elastic). README here explains the numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "sim/cluster.h"
#include "sim/trace.h"

#define HOUR_S 3600.0
#define DAY_S 86400.0

struct settings {
    const char          *trace;
    int64_t              generate, schedules, seed;
    bool                 has_generate, verbose;
    struct job           job;
    struct trace_weather weather;
    double               max_wait_s, grow_s;
    int64_t              min_nodes, restarts;
};

static int  parse(struct settings *settings, int argc, char **argv);
static int  compare(const struct settings *settings);
static void show(const char *name, const struct trace *trace, const struct job *job,
                 const struct result *result);
static int  generate(const struct settings *settings);
static int  run_schedules(const struct settings *settings);
static int  run_schedule(const struct settings *settings, uint64_t seed, int *counts);
static void draw(uint64_t seed, struct trace_weather *weather, struct job *job,
                 struct policy_rules *rules);
static int  kind_of(int status);

/* How a schedule can end. */
enum { END_WELL, END_MAX_WAIT, END_NODE, END_RANK, END_UNKNOWN, ENDS };

int main(int argc, char **argv)
{
    struct settings settings = {
        .seed = 1,
        .job = { .nodes = 4,
                 .slots = 8,
                 .every_s = 600,
                 .saving_s = 20,
                 .loading_s = 60,
                 .start_s = 1,
                 .stop_s = 2,
                 .detect_s = 15,
                 .join_s = 5,
                 .code = 1 },
        .weather = { .hosts = 8,
                     .until_s = 2 * DAY_S,
                     .up_s = 8 * HOUR_S,
                     .down_s = HOUR_S,
                     .lead_s = 200,
                     .noticed = 0.7,
                     .together = 0.1,
                     .flapping = 0.1,
                     .fail_s = DAY_S },
        .max_wait_s = 1800,
        .grow_s = 600,
        .min_nodes = 1,
        .restarts = 100,
    };

    if (parse(&settings, argc, argv) < 0)
        return 2;
    if (settings.trace != NULL)
        return compare(&settings);
    if (settings.has_generate)
        return generate(&settings);
    return run_schedules(&settings);
}

static int parse(struct settings *settings, int argc, char **argv)
{
    struct job           *job = &settings->job;
    struct trace_weather *weather = &settings->weather;
    int64_t               nodes = job->nodes, hosts = weather->hosts, slots = job->slots;
    const struct {
        const char *name;
        int64_t    *number, min, max;
        double     *seconds;
    } rows[] = {
        { "generate", &settings->generate, 0, INT64_MAX, NULL },
        { "schedules", &settings->schedules, 1, 1000000, NULL },
        { "seed", &settings->seed, 0, INT64_MAX, NULL },
        { "nodes", &nodes, 1, TRACE_HOSTS_MAX, NULL },
        { "slots", &slots, 1, 1024, NULL },
        { "min-nodes", &settings->min_nodes, 1, TRACE_HOSTS_MAX, NULL },
        { "max-restarts", &settings->restarts, 0, 1000000, NULL },
        { "hosts", &hosts, 1, TRACE_HOSTS_MAX, NULL },
        { "max-wait", NULL, 0, 0, &settings->max_wait_s },
        { "grow-interval", NULL, 0, 0, &settings->grow_s },
        { "every", NULL, 0, 0, &job->every_s },
        { "saving", NULL, 0, 0, &job->saving_s },
        { "loading", NULL, 0, 0, &job->loading_s },
        { "join", NULL, 0, 0, &job->join_s },
        { "until", NULL, 0, 0, &weather->until_s },
        { "up", NULL, 0, 0, &weather->up_s },
        { "down", NULL, 0, 0, &weather->down_s },
        { "lead", NULL, 0, 0, &weather->lead_s },
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct option longs[ROWS + 2] = { [ROWS] = { .name = "trace", .has_arg = 1 } };
    struct error  err = { "" };
    int           got, at = 0, i, rc = 0;

    for (i = 0; i < ROWS; i++)
        longs[i] = (struct option){ .name = rows[i].name, .has_arg = 1 };
    while (rc == 0 && (got = getopt_long(argc, argv, "v", longs, &at)) != -1) {
        if (got == 'v')
            settings->verbose = true;
        else if (got != 0)
            rc = -1;
        else if (at == ROWS)
            settings->trace = optarg;
        else if (rows[at].seconds != NULL)
            rc = parse_seconds(optarg, 0, TRACE_UNTIL_MAX, rows[at].seconds, &err);
        else
            rc = parse_number(optarg, rows[at].min, rows[at].max, rows[at].number, &err);
        settings->has_generate |= got == 0 && at == 0;
    }
    job->nodes = (int)nodes, job->slots = (int)slots, weather->hosts = (int)hosts;
    if (rc == 0 && optind == argc &&
        (settings->trace != NULL) + settings->has_generate + (settings->schedules > 0) == 1)
        return 0;
    fprintf(stderr,
            "spot: %s\nusage: spot --trace FILE | --generate SEED | --schedules COUNT "
            "[OPTION...]; see tests/sim/README\n",
            rc < 0 ? err.text : "one of --trace, --generate and --schedules is needed");
    return -1;
}

/* ---- one trace, all policies ---- */

static int compare(const struct settings *settings)
{
    const struct job *job = &settings->job;
    const size_t      min = (size_t)settings->min_nodes, nodes = (size_t)job->nodes;
    const struct {
        const char         *name;
        int                 restarts;
        struct member_rules members;
    } policies[] = {
        { "no restart", 0, { 0 } },
        { "restart", (int)settings->restarts, { 0 } },
        { "full", (int)settings->restarts, { .goes_on = true } },
        { "full, 1 spare", (int)settings->restarts, { .goes_on = true, .spares = 1 } },
        { "full, 2 spares", (int)settings->restarts, { .goes_on = true, .spares = 2 } },
        { "elastic",
          (int)settings->restarts,
          { .goes_on = true, .is_elastic = true, .min_nodes = min, .max_nodes = nodes } },
        { "elastic, 1 spare",
          (int)settings->restarts,
          { .goes_on = true,
            .is_elastic = true,
            .min_nodes = min,
            .max_nodes = nodes,
            .spares = 1 } },
    };
    struct trace  trace;
    struct error  err;
    struct result result;
    size_t        i;
    int           status = 0;

    if (trace_read(&trace, settings->trace, &err) < 0 ||
        (trace.hosts < job->nodes && err_set(&err, "%s: %d hosts, but --nodes %d",
                                             settings->trace, trace.hosts, job->nodes) < 0)) {
        fprintf(stderr, "spot: %s\n", err.text);
        trace_clear(&trace);
        return 1;
    }
    printf("%-18s %7s %11s %6s %6s %8s %8s %9s %6s %11s\n", "policy", "goodput", "generations",
           "hours", "lost", "waiting", "cost", "on demand", "ratio", "exit status");
    for (i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct policy_rules rules = { .max_restarts = policies[i].restarts,
                                      .delay_s = -1,
                                      .members = policies[i].members,
                                      .max_wait_s = settings->max_wait_s,
                                      .grow_s = settings->grow_s };

        restart_on_parse(NULL, &rules.on, &err);
        cluster_run(&trace, job, &rules, &result);
        show(policies[i].name, &trace, job, &result);
        status |= result.wrong[0] != '\0';
    }
    trace_clear(&trace);
    return status;
}

/* Goodput: the share of the work that the world could have done in the time of the trace. */
static void show(const char *name, const struct trace *trace, const struct job *job,
                 const struct result *result)
{
    const double cost = result->paid * trace->spot_price;
    const double on_demand = result->useful * trace->price;
    char         status[20] = "goes on";

    if (result->status >= 0)
        snprintf(status, sizeof status, "%d", result->status);
    printf("%-18s %6.1f%% %11d %6.1f %6.1f %8.1f %8.1f %9.1f %6.2f %11s\n", name,
           100 * result->useful / (trace->until_s / HOUR_S * job->nodes), result->generations,
           result->wall, result->lost, result->waiting, cost, on_demand,
           on_demand > 0 ? cost / on_demand : 0, status);
    if (result->wrong[0] != '\0')
        printf("%-18s WRONG: %s\n", name, result->wrong);
}

static int generate(const struct settings *settings)
{
    const struct trace_weather *weather = &settings->weather;
    struct trace                trace;

    trace_generate(&trace, weather, (uint64_t)settings->generate);
    printf(
        "# Generated, not recorded in any cloud:\n# tests/sim/spot --generate %lld --hosts %d "
        "--until %.0f --up %.0f --down %.0f --lead %.0f\n",
        (long long)settings->generate, weather->hosts, weather->until_s, weather->up_s,
        weather->down_s, weather->lead_s);
    trace_write(&trace, stdout);
    trace_clear(&trace);
    return ferror(stdout) ? 1 : 0;
}

/* ---- many random traces ---- */

static int run_schedules(const struct settings *settings)
{
    int     counts[ENDS] = { 0 }, bad = 0;
    int64_t i;

    for (i = 0; i < settings->schedules; i++)
        bad += run_schedule(settings, (uint64_t)(settings->seed + i), counts);
    printf(
        "spot: %d of %lld schedules went wrong (seed %lld); %d ended well, %d waited too long, "
        "%d ended because of a node, %d because of a rank\n",
        bad, (long long)settings->schedules, (long long)settings->seed, counts[END_WELL],
        counts[END_MAX_WAIT], counts[END_NODE], counts[END_RANK]);
    return bad > 0;
}

static int run_schedule(const struct settings *settings, uint64_t seed, int *counts)
{
    struct trace_weather weather;
    struct policy_rules  rules;
    struct trace         trace;
    struct job           job;
    struct result        result;

    draw(seed, &weather, &job, &rules);
    trace_generate(&trace, &weather, seed);
    cluster_run(&trace, &job, &rules, &result);
    if (settings->verbose)
        trace_write(&trace, stdout);
    if (settings->verbose || result.wrong[0] != '\0')
        printf(
            "spot: seed %llu: %s, %d of %d hosts, %zu to %zu nodes, %zu spares: exit status %d "
            "after %.2f h, %d generations, %.2f h done, %.2f lost: %s\n",
            (unsigned long long)seed,
            !rules.members.goes_on     ? "fixed"
            : rules.members.is_elastic ? "elastic"
                                       : "full",
            job.nodes, weather.hosts, rules.members.min_nodes, rules.members.max_nodes,
            rules.members.spares, result.status, result.wall, result.generations, result.useful,
            result.lost, result.wrong[0] != '\0' ? result.wrong : "as promised");
    counts[kind_of(result.status)]++;
    trace_clear(&trace);
    return result.wrong[0] != '\0' || kind_of(result.status) == END_UNKNOWN;
}

static int kind_of(int status)
{
    return status == 0                    ? END_WELL
           : status == 75                 ? END_MAX_WAIT
           : status == 69                 ? END_NODE
           : status == 1 || status == 137 ? END_RANK
                                          : END_UNKNOWN;
}

/* Draws bad weather, so that each run has many events. */
static void draw(uint64_t seed, struct trace_weather *weather, struct job *job,
                 struct policy_rules *rules)
{
    struct error err;
    unsigned     state = (unsigned)seed * 2654435761u + 1;
    const int    hosts = 2 + rand_r(&state) % 10, nodes = 1 + rand_r(&state) % hosts;

    *weather =
        (struct trace_weather){ .hosts = hosts,
                                .until_s = 6 * HOUR_S,
                                .up_s = 600 + rand_r(&state) % 7200,
                                .down_s = 30 + rand_r(&state) % 1800,
                                .lead_s = 10 + rand_r(&state) % 300,
                                .noticed = (rand_r(&state) % 5) / 4.0,
                                .together = (rand_r(&state) % 3) / 4.0,
                                .flapping = (rand_r(&state) % 3) / 4.0,
                                .fail_s = 900 + rand_r(&state) % 7200,
                                .whim_s =
                                    rand_r(&state) % 2 == 0 ? 0 : 600 + rand_r(&state) % 7200 };
    *job = (struct job){ .nodes = nodes,
                         .slots = 1 + rand_r(&state) % 8,
                         .work = (1 + rand_r(&state) % 4) * nodes,
                         .every_s = 60 + rand_r(&state) % 900,
                         .saving_s = 1 + rand_r(&state) % 60,
                         .loading_s = rand_r(&state) % 90,
                         .start_s = 1,
                         .stop_s = rand_r(&state) % 30,
                         .detect_s = 15,
                         .join_s = 1 + rand_r(&state) % 20,
                         .code = rand_r(&state) % 2 == 0 ? 1 : 137 };
    *rules = (struct policy_rules){ .max_restarts = rand_r(&state) % 20,
                                    .delay_s = rand_r(&state) % 2 == 0 ? -1 : 5,
                                    .max_wait_s = 60 + rand_r(&state) % 3600,
                                    .grow_s = 60 + rand_r(&state) % 1200,
                                    .members = { .goes_on = rand_r(&state) % 5 != 0,
                                                 .spares = (size_t)(rand_r(&state) % 3) } };
    restart_on_parse(NULL, &rules->on, &err);
    if (rules->members.goes_on && rand_r(&state) % 2 == 0) {
        rules->members.is_elastic = true;
        rules->members.min_nodes = (size_t)(1 + rand_r(&state) % nodes);
        rules->members.max_nodes = (size_t)nodes;
        if (rand_r(&state) % 3 == 0) {
            rules->members.worlds[0] = nodes * job->slots;
            rules->members.worlds[1] = (nodes + 1) / 2 * job->slots;
            rules->members.worlds_count = 2;
        }
    }
}
