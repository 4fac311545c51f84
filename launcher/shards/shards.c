/* shards.c - see shards.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/shards.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "shards/request.h"
#include "shards/state.h"
#include "xalloc.h"

/* A rank that waits for others asks again after this many ms, and later if there are many
 * ranks. */
#define WAIT_LEAST_MS 50
#define WAITS_A_SECOND 5000
/* How many expired leases of a dataset are reported; more are only counted. */
#define TOLD_MAX 8
/* The same for dropped shards; more are only in the log of the run. */
#define TOLD_DROPPED_MAX 100

struct answer {
    char  *text;
    size_t size;
};

static void   take_open(struct shards *shards, const struct request *request,
                        struct answer *answer);
static void   take_get(struct shards *shards, struct shard_set *set, int rank, int64_t now_ns,
                       struct answer *answer);
static void   take_said(struct shard_set *set, int rank, const struct request *request,
                        int64_t now_ns, struct answer *answer);
static void   take_state(const struct shard_set *set, struct answer *answer);
static int    wait_ms(const struct shards *shards);
static bool   is_same(const struct shard_set *set, const struct queue_rules *rules);
static bool   is_begun(const struct shard_set *set, const struct queue_rules *rules);
static int64_t last_epoch(const struct shard_set *set);
static struct shard_set *find(struct shards *shards, const char *name);
static void   refuse(struct answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void   say(struct answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void   changed_cb(enum queue_change what, const struct queue_shard *shard, void *arg);
static void   expired_cb(const struct queue_shard *shard, int rank, void *arg);
static void   dropped_cb(const struct queue_shard *shard, void *arg);

static const struct queue_ops queue_ops = { changed_cb, expired_cb, dropped_cb };

struct shards *shards_new(int world_size)
{
    struct shards *shards = xcalloc(1, sizeof *shards);

    shards->world_size = world_size;
    return shards;
}

void shards_free(struct shards *shards)
{
    size_t i;

    if (shards == NULL)
        return;
    state_close(shards);
    for (i = 0; i < shards->sets; i++)
        queue_free(shards->set[i].queue);
    free(shards);
}

struct shard_set *shards_add(struct shards *shards, const char *name,
                             const struct queue_rules *rules)
{
    struct shard_set *set = &shards->set[shards->sets];

    *set = (struct shard_set){ .shards = shards, .number = shards->sets++ };
    snprintf(set->name, sizeof set->name, "%s", name);
    set->queue = queue_new(rules, &queue_ops, set);
    return set;
}

int shards_resume(struct shards *shards, int dir_fd, struct error *err)
{
    int rc = state_read(shards, dir_fd, err);

    if (rc < 0)
        shards->refusal = *err;
    return rc;
}

int shards_keep(struct shards *shards, int dir_fd)
{
    return state_open(shards, dir_fd);
}

size_t shards_sets(const struct shards *shards)
{
    return shards->sets;
}

const char *shards_name(const struct shards *shards, size_t set)
{
    return shards->set[set].name;
}

struct queue_counts shards_counts(const struct shards *shards, size_t set)
{
    return queue_counts(shards->set[set].queue);
}

/* --- requests of ranks ------------------------------------------------------ */

size_t shards_ask(struct shards *shards, int rank, const char *line, size_t size, int64_t now_ns,
                  char text[SHARDS_ANSWER_SIZE])
{
    struct answer     answer = { text, 0 };
    struct request    request;
    struct shard_set *set;
    struct error      err;
    int               rc = request_parse(line, size, &request, &err);

    say(&answer, "cmd=shard_answer");
    if (request.tag[0] != '\0')
        say(&answer, " tag=%s", request.tag);
    set = find(shards, request.name);
    if (rc < 0)
        refuse(&answer, "%s", err.text);
    else if (shards->refusal.text[0] != '\0')
        refuse(&answer, "%s", shards->refusal.text);
    else if (request.kind == REQUEST_OPEN)
        take_open(shards, &request, &answer);
    else if (set == NULL || !set->is_open)
        refuse(&answer, "dataset %s is not open", request.name);
    else if (request.kind == REQUEST_GET)
        take_get(shards, set, rank, now_ns, &answer);
    else if (request.kind == REQUEST_STATE)
        take_state(set, &answer);
    else
        take_said(set, rank, &request, now_ns, &answer);
    say(&answer, "\n");
    return answer.size;
}

static void take_open(struct shards *shards, const struct request *request, struct answer *answer)
{
    struct shard_set *set = find(shards, request->name);

    if (set == NULL && shards->sets == SHARDS_SETS_MAX) {
        refuse(answer, "this run has %d datasets already, and cannot have more",
               SHARDS_SETS_MAX);
        return;
    }
    if (set != NULL && !is_same(set, &request->rules)) {
        refuse(answer, set->is_open ? "dataset %s is open with other values of size, shard, "
                                      "epochs, seed, shuffle, lease or retries"
                                    : "dataset %s had another size, shard, seed or shuffle in "
                                      "the run that this one resumes", request->name);
        return;
    }
    if (set != NULL && is_begun(set, &request->rules)) {
        refuse(answer,
               "dataset %s has reached epoch %lld in the run that this one resumes: epochs "
               "must be at least that",
               set->name, (long long)last_epoch(set) + 1);
        return;
    }
    if (set == NULL)
        set = shards_add(shards, request->name, &request->rules);
    else if (!set->is_open)
        queue_set_rules(set->queue, &request->rules);
    if (!set->is_open)
        state_opened(set);
    set->is_open = true;
    take_state(set, answer);
}

/* Was a shard given out in a later epoch than these rules allow? The kept state would name
 * shards that do not exist. */
static bool is_begun(const struct shard_set *set, const struct queue_rules *rules)
{
    return rules->epochs > 0 && last_epoch(set) >= rules->epochs;
}

/* Counts from 0; -1: no epoch has begun. */
static int64_t last_epoch(const struct shard_set *set)
{
    const struct queue_rules *rules = queue_rules(set->queue);
    int64_t                   given = queue_counts(set->queue).given;

    return given > 0 ? (given - 1) / ((rules->size - 1) / rules->shard + 1) : -1;
}

/* A run that resumes another may have other epochs, retries and leases. */
static bool is_same(const struct shard_set *set, const struct queue_rules *rules)
{
    const struct queue_rules *is = queue_rules(set->queue);

    return is->size == rules->size && is->shard == rules->shard && is->seed == rules->seed &&
           is->is_shuffled == rules->is_shuffled &&
           (!set->is_open || (is->epochs == rules->epochs && is->retries == rules->retries &&
                              !(is->lease_s < rules->lease_s || is->lease_s > rules->lease_s)));
}

static void take_get(struct shards *shards, struct shard_set *set, int rank, int64_t now_ns,
                     struct answer *answer)
{
    struct queue_shard shard;

    switch (queue_get(set->queue, rank, now_ns, &shard)) {
    case QUEUE_GOT:
        say(answer, " rc=0 state=shard id=%lld start=%lld end=%lld epoch=%lld tries=%d",
            (long long)shard.id, (long long)shard.start, (long long)shard.end,
            (long long)shard.epoch, shard.tries);
        break;
    case QUEUE_WAIT:
        say(answer, " rc=0 state=wait ms=%d", wait_ms(shards));
        break;
    case QUEUE_END:
        say(answer, " rc=0 state=end");
        break;
    case QUEUE_FULL:
        refuse(answer, "%d shards of %s are open: send shard_done for some", QUEUE_OPEN_MAX,
               set->name);
        break;
    }
}

static void take_said(struct shard_set *set, int rank, const struct request *request,
                      int64_t now_ns, struct answer *answer)
{
    enum queue_said said = QUEUE_TAKEN;

    if (request->kind == REQUEST_DONE)
        said = queue_done(set->queue, rank, request->id);
    else if (request->kind == REQUEST_FAIL)
        said = queue_fail(set->queue, rank, request->id);
    else if (request->id >= 0)
        said = queue_renew(set->queue, rank, request->id, now_ns);
    else
        queue_renew_all(set->queue, rank, now_ns);
    switch (said) {
    case QUEUE_TAKEN:
        say(answer, " rc=0");
        break;
    case QUEUE_LOST:
        say(answer, " rc=1 msg=this_rank_does_not_have_shard_%lld_any_more",
            (long long)request->id);
        break;
    case QUEUE_UNKNOWN:
        refuse(answer, "shard %lld of %s was given to no rank", (long long)request->id, set->name);
        break;
    }
}

static void take_state(const struct shard_set *set, struct answer *answer)
{
    struct queue_counts counts = queue_counts(set->queue);

    say(answer, " rc=0 all=%lld given=%lld doing=%lld again=%lld done=%lld dropped=%lld "
                "repeated=%lld expired=%lld twice=%lld ms=%d",
        (long long)counts.all, (long long)counts.given, (long long)counts.doing,
        (long long)counts.again, (long long)counts.done, (long long)counts.dropped,
        (long long)counts.repeated, (long long)counts.expired, (long long)counts.twice,
        wait_ms(set->shards));
}

static int wait_ms(const struct shards *shards)
{
    return WAIT_LEAST_MS + (int)(shards->world_size * 1000LL / WAITS_A_SECOND);
}

static struct shard_set *find(struct shards *shards, const char *name)
{
    size_t i;

    for (i = 0; i < shards->sets; i++)
        if (strcmp(shards->set[i].name, name) == 0)
            return &shards->set[i];
    return NULL;
}

/* A PMI value cannot have blanks. */
static void refuse(struct answer *answer, const char *format, ...)
{
    char    text[SHARDS_ANSWER_SIZE / 2], *at;
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    for (at = text; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            *at = '_';
    say(answer, " rc=-1 msg=%s", text);
}

static void say(struct answer *answer, const char *format, ...)
{
    va_list ap;
    int     size;

    va_start(ap, format);
    size = vsnprintf(answer->text + answer->size, SHARDS_ANSWER_SIZE - answer->size, format, ap);
    va_end(ap);
    answer->size += (size_t)size; /* the longest answer fits: test_shards.c */
}

/* --- ranks that exit, leases that expire ------------------------------------ */

void shards_rank_gone(struct shards *shards, int rank, bool has_failed)
{
    size_t i;

    for (i = 0; i < shards->sets; i++)
        queue_rank_gone(shards->set[i].queue, rank, has_failed);
}

void shards_all_gone(struct shards *shards)
{
    size_t i;

    for (i = 0; i < shards->sets; i++)
        queue_all_gone(shards->set[i].queue);
}

void shards_tick(struct shards *shards, int64_t now_ns)
{
    size_t i;

    for (i = 0; i < shards->sets; i++)
        queue_expire(shards->set[i].queue, now_ns);
}

int64_t shards_due_ns(const struct shards *shards)
{
    int64_t first = 0, due;
    size_t  i;

    for (i = 0; i < shards->sets; i++) {
        due = queue_due_ns(shards->set[i].queue);
        if (due != 0 && (first == 0 || due < first))
            first = due;
    }
    return first;
}

static void changed_cb(enum queue_change what, const struct queue_shard *shard, void *arg)
{
    state_changed(arg, what, shard);
}

static void expired_cb(const struct queue_shard *shard, int rank, void *arg)
{
    struct shard_set *set = arg;

    if (set->told++ < TOLD_MAX)
        log_warn("shards of %s: rank %d has not reported on records %lld to %lld for %g s: "
                 "another rank gets them%s",
                 set->name, rank, (long long)shard->start, (long long)shard->end - 1,
                 queue_rules(set->queue)->lease_s,
                 set->told == TOLD_MAX ? " (more of these are only counted)" : "");
}

static void dropped_cb(const struct queue_shard *shard, void *arg)
{
    struct shard_set *set = arg;

    (set->told_dropped++ < TOLD_DROPPED_MAX ? log_error : log_info)(
           "shards of %s: records %lld to %lld of epoch %lld have failed %d times: no rank "
           "gets them any more", set->name, (long long)shard->start, (long long)shard->end - 1,
           (long long)shard->epoch, shard->tries);
}
