/* monitor.c - see monitor.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "report/event_file.h"
#include "xalloc.h"

#define PREFIX "Train/Samples/"

/* All tags but speed, norm and evaluation are DeepSpeed's. */
enum { LOSS, LR, SCALE, SPEED, NORM, EVALUATION, FORWARD, BACKWARD, UPDATE, SCALARS };
static const char *const tags[SCALARS] = {
    [LOSS] = PREFIX "train_loss",       [LR] = PREFIX "lr",
    [SCALE] = PREFIX "loss_scale",      [SPEED] = PREFIX "samples_per_sec",
    [NORM] = PREFIX "grad_norm",        [FORWARD] = PREFIX "elapsed_time_ms_forward",
    [BACKWARD] = PREFIX "elapsed_time_ms_backward",
    [EVALUATION] = PREFIX "eval_loss",
    [UPDATE] = PREFIX "elapsed_time_ms_step",
};

struct monitor {
    FILE              *notes;
    bool               has_scale, has_parts, evaluates; /* are these scalars written? */
    int64_t            last_ns, last_samples; /* of the previous step; 0: none */
    char              *csv_dir;               /* NULL: no CSV files */
    FILE              *csv[SCALARS];
    struct event_file *events;                /* NULL: no TensorBoard file */
};

static char  *make_dir(const struct ds_monitor *wanted, struct error *err);
static int    open_csv(struct monitor *monitor, struct error *err);
static double speed(struct monitor *monitor, int64_t samples);
static void   write_all(struct monitor *monitor, int64_t samples, const double *values);
static void   write_csv(struct monitor *monitor, int64_t samples, const double *values);
static void   write_events(struct monitor *monitor, int64_t samples, const double *values);

int monitor_open(struct monitor **opened, const struct ds_config *config, bool evaluates,
                 FILE *notes, struct error *err)
{
    struct monitor *monitor = xcalloc(1, sizeof *monitor);
    char           *dir;

    *opened = monitor;
    monitor->notes = notes;
    monitor->evaluates = evaluates;
    monitor->has_scale = config->fp16.enabled;
    monitor->has_parts = config->wall_clock_breakdown;
    if (config->csv_monitor.enabled &&
        ((monitor->csv_dir = make_dir(&config->csv_monitor, err)) == NULL ||
         open_csv(monitor, err) < 0))
        return -1;
    if (config->tensorboard.enabled && !event_file_is_built()) {
        fputs("muster-train: tensorboard: built without protobuf-c, so no file is written\n",
              notes);
    } else if (config->tensorboard.enabled) {
        dir = make_dir(&config->tensorboard, err);
        monitor->events = dir != NULL ? event_file_open(dir, err) : NULL;
        free(dir);
        if (monitor->events == NULL)
            return -1;
    }
    return 0;
}

/* Creates OUTPUT_PATH/JOB_NAME and its parent directories. */
static char *make_dir(const struct ds_monitor *wanted, struct error *err)
{
    const size_t size = strlen(wanted->output_path);
    const char  *between = size == 0 || wanted->output_path[size - 1] == '/' ? "" : "/";
    char        *path = xasprintf("%s%s%s", wanted->output_path, between, wanted->job_name);
    char        *slash = path, was;

    do {
        slash += strspn(slash, "/");
        slash += strcspn(slash, "/");
        was = *slash;
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST) {
            err_set(err, "%s: %s", path, strerror(errno));
            free(path);
            return NULL;
        }
        *slash = was;
    } while (was != '\0');
    return path;
}

/* A resumed training appends to the existing files. */
static int open_csv(struct monitor *monitor, struct error *err)
{
    char *path, *at;
    int   i, rc = 0;

    for (i = 0; i < SCALARS && rc == 0; i++) {
        if ((i == SCALE && !monitor->has_scale) || (i >= FORWARD && !monitor->has_parts) ||
            (i == EVALUATION && !monitor->evaluates))
            continue;
        path = xasprintf("%s/%s.csv", monitor->csv_dir, tags[i]);
        for (at = path + strlen(monitor->csv_dir) + 1; *at != '\0'; at++)
            if (*at == '/')
                *at = '_';
        monitor->csv[i] = fopen(path, "ae");
        if (monitor->csv[i] == NULL ||
            (ftell(monitor->csv[i]) == 0 &&
             fprintf(monitor->csv[i], "step,%s\n", tags[i] + strlen(PREFIX)) < 0))
            rc = err_set(err, "%s: %s", path, strerror(errno));
        free(path);
    }
    return rc;
}

void monitor_close(struct monitor *monitor)
{
    int i;

    if (monitor == NULL)
        return;
    for (i = 0; i < SCALARS; i++)
        if (monitor->csv[i] != NULL)
            fclose(monitor->csv[i]);
    event_file_close(monitor->events);
    free(monitor->csv_dir);
    free(monitor);
}

void monitor_write(struct monitor *monitor, const struct figures *figures)
{
    double values[SCALARS];

    if (monitor == NULL)
        return;
    values[LOSS] = figures->loss;
    values[LR] = figures->lr;
    values[SCALE] = monitor->has_scale ? figures->scale : NAN;
    values[SPEED] = speed(monitor, figures->samples);
    values[NORM] = figures->norm;
    values[EVALUATION] = NAN;
    values[FORWARD] = monitor->has_parts ? 1e3 * figures->seconds[STEP_FORWARD] : NAN;
    values[BACKWARD] = monitor->has_parts ? 1e3 * figures->seconds[STEP_BACKWARD] : NAN;
    values[UPDATE] = monitor->has_parts ? 1e3 * figures->seconds[STEP_UPDATE] : NAN;
    write_all(monitor, figures->samples, values);
}

void monitor_write_evaluation(struct monitor *monitor, int64_t samples, double loss)
{
    double values[SCALARS];
    int    i;

    for (i = 0; i < SCALARS; i++)
        values[i] = NAN;
    values[EVALUATION] = loss;
    if (monitor != NULL)
        write_all(monitor, samples, values);
}

static void write_all(struct monitor *monitor, int64_t samples, const double *values)
{
    if (monitor->csv_dir != NULL)
        write_csv(monitor, samples, values);
    if (monitor->events != NULL)
        write_events(monitor, samples, values);
}

/* Returns samples per second since the previous step; NAN at the first step. */
static double speed(struct monitor *monitor, int64_t samples)
{
    const int64_t now_ns = clock_now_ns();
    const double  seconds = (double)(now_ns - monitor->last_ns) / NS_PER_S;
    const double  each = (double)(samples - monitor->last_samples) / seconds;
    const bool    is_first = monitor->last_ns == 0;

    monitor->last_ns = now_ns;
    monitor->last_samples = samples;
    return is_first || seconds <= 0 ? NAN : each;
}

static void write_csv(struct monitor *monitor, int64_t samples, const double *values)
{
    int i;

    for (i = 0; i < SCALARS; i++) {
        if (isnan(values[i]))
            continue;
        if (fprintf(monitor->csv[i], "%" PRId64 ",%.9g\n", samples, values[i]) >= 0 &&
            fflush(monitor->csv[i]) == 0)
            continue;
        fprintf(monitor->notes,
                "muster-train: csv_monitor: %s: %s; no longer writing to this file\n",
                monitor->csv_dir, strerror(errno));
        free(monitor->csv_dir);
        monitor->csv_dir = NULL;
        return;
    }
}

static void write_events(struct monitor *monitor, int64_t samples, const double *values)
{
    struct scalar scalars[SCALARS];
    struct error  err;
    size_t        count = 0;
    int           i;

    for (i = 0; i < SCALARS; i++)
        if (!isnan(values[i]))
            scalars[count++] = (struct scalar){ tags[i], values[i] };
    if (event_file_write(monitor->events, samples, scalars, count, &err) == 0)
        return;
    fprintf(monitor->notes, "muster-train: tensorboard: %s; no longer writing to this file\n",
            err.text);
    event_file_close(monitor->events);
    monitor->events = NULL;
}
