/* flight_recorder.c - PyTorch's flight recorder for the ranks of this node, if PLAN wants it
 *
 * Each rank gets variables that let PyTorch keep its last collectives, and write them below a
 * directory of ours; where the user has set one of them, the user's counts. The records are read
 * when the launcher asks where the ranks are (STACKS), and once more when the ranks have ended,
 * since PyTorch writes one before it gives up. A child reads them (task/flight_record.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "node/scratch.h"
#include "task/flight_record.h"
#include "task/task.h"
#include "xalloc.h"

#define SIZE    "2000" /* collectives that a process keeps */
#define PREFIX  "record-" /* PyTorch adds the number of the rank */
#define LIMIT_S (FLIGHT_RECORD_DUMP_S + FLIGHT_RECORD_READ_S + 1.0)

struct flight_recorder {
    struct scratch scratch;
    json_t        *request; /* for the child, without "asks"; NULL: there is no python3 here */
    struct task   *task;    /* NULL: none yet */
    bool           is_asked; /* STACKS has begun it: the end of STACKED comes after it */
    bool           is_last;  /* it has begun after the end of the ranks */
};

/* PyTorch has renamed most, and takes the first name that is set. value NULL: where files are. */
enum { SIZE_ROW, DUMP_ROW, FILE_ROW, PIPE_ROW, ROWS };
static const struct {
    const char *name[2]; /* the second may be NULL */
    const char *value;
} variables[ROWS] = {
    [SIZE_ROW] = { { "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE" }, SIZE },
    [DUMP_ROW] = { { "TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT" }, "1" },
    [FILE_ROW] = { { "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE" }, NULL },
    [PIPE_ROW] = { { "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", NULL }, NULL },
};

static void    read_records(struct agent *agent, bool asks);
static json_t *request_of(const struct agent *agent);
static char   *path_of(const struct rank *rank, size_t row, const char *suffix);
static char   *find_python(const struct rank *rank);
static void    line_cb(json_t *body, void *arg);
static void    end_cb(json_t *body, void *arg);

int flight_recorder_begin(struct agent *agent, struct failure *failure)
{
    struct flight_recorder *recorder;
    struct error            why;
    char                   *place;
    size_t                  i;

    if (!agent->plan.flight_recorder)
        return 0;
    flight_recorder_clear(agent);
    agent->flight_recorder = recorder = xcalloc(1, sizeof *recorder);
    if (scratch_make(&recorder->scratch, &why) < 0)
        return failure_set(failure, EXIT_CREATE, "", "--flight-recorder: %s", why.text);
    place = xasprintf("%s/" PREFIX, recorder->scratch.path);
    for (i = 0; i < ROWS; i++)
        ranks_set_unless(&agent->ranks, variables[i].name, variables[i].value != NULL
                                                               ? variables[i].value
                                                               : place);
    free(place);
    recorder->request = request_of(agent);
    return 0;
}

void flight_recorder_clear(struct agent *agent)
{
    struct flight_recorder *recorder = agent->flight_recorder;

    if (recorder == NULL)
        return;
    task_free(recorder->task);
    json_decref(recorder->request);
    scratch_remove(&recorder->scratch);
    free(recorder);
    agent->flight_recorder = NULL;
}

void flight_recorder_ask(struct agent *agent)
{
    struct flight_recorder *recorder = agent->flight_recorder;

    if (recorder == NULL || recorder->is_last)
        return;
    recorder->is_asked = true;
    read_records(agent, true);
}

bool flight_recorder_is_asked(const struct agent *agent)
{
    const struct flight_recorder *recorder = agent->flight_recorder;

    return recorder != NULL && recorder->is_asked && recorder->task != NULL &&
           !task_is_over(recorder->task);
}

bool flight_recorder_look_last(struct agent *agent)
{
    struct flight_recorder *recorder = agent->flight_recorder;

    if (recorder == NULL || agent->link.is_lost)
        return true;
    if (!recorder->is_last) {
        recorder->is_last = true;
        read_records(agent, false);
    }
    return recorder->task == NULL || task_is_over(recorder->task);
}

/* A task that was asked for, and has not ended when the ranks have, is replaced: what it was about
 * to read is still there. */
static void read_records(struct agent *agent, bool asks)
{
    static const struct task_ops ops = { line_cb, end_cb };
    const struct task_request    request = { &flight_record_row, 0, LIMIT_S };
    struct flight_recorder      *recorder = agent->flight_recorder;
    struct error                 err;

    task_free(recorder->task);
    recorder->task = NULL;
    if (recorder->request == NULL)
        return;
    json_object_set_new(recorder->request, "asks", json_boolean(asks));
    recorder->task = task_begin(agent->base, &request, recorder->request, &ops, agent, &err);
}

/* The environment of a rank is here until it is forked. Returns NULL if there is no python3. */
static json_t *request_of(const struct agent *agent)
{
    const struct ranks *ranks = &agent->ranks;
    json_t             *list;
    char               *python = find_python(&ranks->rank[0]), *file, *pipe;
    int                 i;

    if (python == NULL)
        return NULL;
    list = json_array();
    for (i = 0; i < ranks->count; i++) {
        file = path_of(&ranks->rank[i], FILE_ROW, "");
        pipe = path_of(&ranks->rank[i], PIPE_ROW, ".pipe");
        json_array_append_new(list, json_pack("{s:I, s:o, s:o}", "rank",
                                              (json_int_t)ranks->rank[i].plan->rank, "file",
                                              json_string_nocheck(file), "pipe",
                                              json_string_nocheck(pipe)));
        free(file);
        free(pipe);
    }
    list = json_pack("{s:o, s:o}", "python", json_string_nocheck(python), "ranks", list);
    free(python);
    return list;
}

/* Where PyTorch writes that file of the rank. */
static char *path_of(const struct rank *rank, size_t row, const char *suffix)
{
    const char *place = env_get(&rank->env, variables[row].name[0]);
    const char *name = variables[row].name[1];

    if (place == NULL && name != NULL)
        place = env_get(&rank->env, name);
    return xasprintf("%s%u%s", place != NULL ? place : "", rank->plan->rank, suffix);
}

static char *find_python(const struct rank *rank)
{
    const char    *name = rank->path != NULL ? strrchr(rank->path, '/') : NULL;
    struct failure failure;

    return name != NULL && strncmp(name, "/python3", strlen("/python3")) == 0
               ? xstrdup(rank->path)
               : prepare_program("python3", &rank->env, &failure);
}

static void line_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;
    const json_t *line = json_object_get(body, "line");
    json_int_t    rank = json_integer_value(json_object_get(line, "rank"));
    int           i;

    for (i = 0; i < agent->ranks.count; i++)
        if (agent->ranks.rank[i].plan->rank == rank && agent->state < AGENT_DONE) {
            agent_send(agent, FRAME_FLIGHT, (uint32_t)rank, json_deep_copy(line));
            link_ask_room(&agent->link);
        }
    json_decref(body);
}

/* A task must not be freed here. */
static void end_cb(json_t *body, void *arg)
{
    struct agent           *agent = arg;
    struct flight_recorder *recorder = agent->flight_recorder;

    json_decref(body);
    if (recorder->is_asked && !recorder->is_last)
        requests_end_stacks(agent);
    recorder->is_asked = false;
    if (recorder->is_last)
        ending_maybe_done(agent);
}
