/* collectives.c - see collectives.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/collectives.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "xalloc.h"

#define OPS_MAX   8
#define RANKS_MAX 8
#define TEXT_MAX  64
#define LINES_MAX 20 /* communicators that are described in words */
#define OTHERS_NAMED 2 /* most of the ranks have one count: if they are more, they have no names */
#define LOOKS_PER_LIMIT 4 /* with --hang-timeout */
#define EVERY_LEAST_S   0.2

static int  check_comm(const json_t *comm, struct error *err);
static int  check_op(const json_t *op, struct error *err);
static int  check_ranks(const json_t *ranks, struct error *err);
static bool is_known(const json_t *rank, const char *key);
static bool is_text(const json_t *value);
static bool is_print(const json_t *value);
static bool is_count(const json_t *value);
static void note_still(struct collectives *of, const json_t *list, double now_s);
static const struct still *find_still(const struct collectives *of, const json_t *comm);
static bool is_same(const json_t *one, const json_t *other, const char *key);
static bool stands(const struct still *still);
static char *op_words(const json_t *comm, const json_t *op, collectives_name_f *name,
                      const void *arg);
static char *missing_words(const json_t *comm, collectives_name_f *name, const void *arg);
static void add_line(const struct collectives *of, size_t comm, char *words, double now_s,
                     struct strlist *lines);
static char *comm_words(const json_t *comm);
static char *ranks_words(const json_t *ranks, collectives_name_f *name, const void *arg);
static void add_rank(struct buffer *text, const json_t *rank, collectives_name_f *name,
                     const void *arg);
static long long number(const json_t *object, const char *key);
static const char *text_of(const json_t *object, const char *key);

double collectives_every_s(double hang_timeout_s)
{
    double every_s = hang_timeout_s > 0 ? hang_timeout_s / LOOKS_PER_LIMIT : COLLECTIVES_EVERY_S;

    if (every_s > COLLECTIVES_EVERY_S)
        return COLLECTIVES_EVERY_S;
    return every_s < EVERY_LEAST_S ? EVERY_LEAST_S : every_s;
}

void collectives_again(struct collectives *of)
{
    json_decref(of->last);
    *of = (struct collectives){ 0 };
}

/* --- an answer ---------------------------------------------------------------- */

int collectives_take(struct collectives *of, const json_t *body, double now_s, struct error *err)
{
    const json_t *list = json_object_get(body, "list"), *comm;
    size_t        i;

    if (json_is_string(json_object_get(body, "error")))
        return 0; /* no look */
    if (!json_is_array(list) || json_array_size(list) > COLLECTIVES_COMMS_MAX ||
        !is_print(json_object_get(body, "print")) ||
        !is_count(json_object_get(body, "communicators")) ||
        !is_count(json_object_get(body, "wrong")))
        return err_set(err, "COLLECTIVES frame: it is not a list of communicators");
    json_array_foreach(list, i, comm)
        if (check_comm(comm, err) < 0)
            return -1;
    note_still(of, list, now_s);
    if (of->last == NULL || !is_same(of->last, body, "print")) {
        of->moved_s = now_s;
        of->looks = 0;
    }
    of->looks += of->looks < COLLECTIVES_LOOKS;
    of->last_s = now_s;
    json_decref(of->last);
    of->last = json_deep_copy(body);
    return 0;
}

static int check_comm(const json_t *comm, struct error *err)
{
    const json_t *ops = json_object_get(comm, "ops"), *op;
    const json_t *missing = json_object_get(comm, "missing");
    size_t        i;

    if (!is_text(json_object_get(comm, "hash")) || !is_print(json_object_get(comm, "print")) ||
        !is_count(json_object_get(comm, "size")) || !json_is_array(ops) ||
        json_array_size(ops) > OPS_MAX)
        return err_set(err, "COLLECTIVES frame: it does not describe a communicator");
    json_array_foreach(ops, i, op)
        if (check_op(op, err) < 0)
            return -1;
    return missing != NULL ? check_ranks(missing, err) : 0;
}

static int check_op(const json_t *op, struct error *err)
{
    const json_t *least = json_object_get(op, "least"), *most = json_object_get(op, "most");

    if (!is_text(json_object_get(op, "name")) || !json_is_integer(least) ||
        !json_is_integer(most) || json_integer_value(least) < 0 ||
        json_integer_value(least) >= json_integer_value(most) ||
        !is_count(json_object_get(op, "ranks")))
        return err_set(err, "COLLECTIVES frame: it does not say how often a collective was "
                            "launched");
    if (check_ranks(json_object_get(op, "late"), err) < 0)
        return -1;
    return check_ranks(json_object_get(op, "early"), err);
}

static int check_ranks(const json_t *ranks, struct error *err)
{
    const json_t *named = json_object_get(ranks, "named"), *rank;
    size_t        i;
    bool          is_good = is_count(json_object_get(ranks, "count")) && json_is_array(named) &&
                   json_array_size(named) <= RANKS_MAX;

    json_array_foreach(named, i, rank)
        is_good = is_good && is_count(json_object_get(rank, "rank")) &&
                  is_text(json_object_get(rank, "host")) && is_known(rank, "world") &&
                  is_known(rank, "pid") && is_known(rank, "gpu");
    return is_good ? 0 : err_set(err, "COLLECTIVES frame: it does not name ranks");
}

/* -1: it is not known. */
static bool is_known(const json_t *rank, const char *key)
{
    const json_t *value = json_object_get(rank, key);

    return is_count(value) || (json_is_integer(value) && json_integer_value(value) == -1);
}

/* Agents send names of which odd characters are '?'. */
static bool is_text(const json_t *value)
{
    static const char good[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               ".:_-%[]?";
    const char       *text = json_string_value(value);

    return text != NULL && strlen(text) <= TEXT_MAX && strspn(text, good) == strlen(text);
}

static bool is_print(const json_t *value)
{
    return is_text(value) && strlen(json_string_value(value)) == COLLECTIVES_PRINT - 1;
}

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= INT_MAX;
}

/* Finds each communicator in the look before: it may have been at another place. */
static void note_still(struct collectives *of, const json_t *list, double now_s)
{
    struct still        now[COLLECTIVES_COMMS_MAX] = { { 0 } };
    const struct still *before;
    const json_t       *comm;
    size_t              i;

    json_array_foreach(list, i, comm) {
        before = find_still(of, comm);
        now[i] = before != NULL ? *before : (struct still){ now_s, 0 };
        now[i].looks += now[i].looks < COLLECTIVES_LOOKS;
    }
    memcpy(of->still, now, sizeof now);
}

static const struct still *find_still(const struct collectives *of, const json_t *comm)
{
    const json_t *other;
    size_t        i;

    json_array_foreach(json_object_get(of->last, "list"), i, other)
        if (is_same(comm, other, "hash") && is_same(comm, other, "print"))
            return &of->still[i];
    return NULL;
}

static bool is_same(const json_t *one, const json_t *other, const char *key)
{
    return strcmp(text_of(one, key), text_of(other, key)) == 0;
}

/* --- the judgement ------------------------------------------------------------ */

static bool stands(const struct still *still)
{
    return still->looks >= COLLECTIVES_LOOKS;
}

/* Ranks that are missing alone are no sign: they may have left the communicator, while another one
 * writes a checkpoint. */
double collectives_stuck_s(const struct collectives *of, double now_s)
{
    const json_t *comm;
    size_t        i;

    if (of->looks < COLLECTIVES_LOOKS)
        return -1;
    json_array_foreach(json_object_get(of->last, "list"), i, comm)
        if (json_array_size(json_object_get(comm, "ops")) > 0)
            return now_s - of->moved_s;
    return -1;
}

/* --- words -------------------------------------------------------------------- */

void collectives_words(const struct collectives *of, double now_s, collectives_name_f *name,
                       const void *arg, struct strlist *lines)
{
    const json_t *comm, *op;
    size_t        i, j, left_out = 0, first = lines->count;

    json_array_foreach(json_object_get(of->last, "list"), i, comm) {
        if (!stands(&of->still[i]))
            continue;
        if (lines->count - first >= LINES_MAX) {
            left_out++;
            continue;
        }
        json_array_foreach(json_object_get(comm, "ops"), j, op)
            add_line(of, i, op_words(comm, op, name, arg), now_s, lines);
        if (json_object_get(comm, "missing") != NULL)
            add_line(of, i, missing_words(comm, name, arg), now_s, lines);
    }
    if (left_out > 0)
        strlist_addf(lines, "NCCL: %zu more communicators whose ranks wait for each other",
                     left_out);
}

/* Either may be the cause: who is late, or who has launched one that the others leave out. */
static char *op_words(const json_t *comm, const json_t *op, collectives_name_f *name,
                      const void *arg)
{
    const json_t *late = json_object_get(op, "late"), *early = json_object_get(op, "early");
    const char   *what = text_of(op, "name");
    const bool    are_all = number(late, "count") + number(early, "count") >= number(op, "ranks");
    const bool    is_late_few = number(late, "count") <= number(early, "count");
    const json_t *few = is_late_few ? late : early, *many = is_late_few ? early : late;
    char         *of = comm_words(comm), *few_words = ranks_words(few, name, arg);
    char         *many_words, *words;

    if (are_all && number(many, "count") > OTHERS_NAMED)
        many_words = xasprintf("the other %lld", number(many, "count"));
    else
        many_words = ranks_words(many, name, arg);
    words = xasprintf("NCCL: %s: %s launched %lld %s, %s %s%lld", of, few_words,
                      number(op, is_late_few ? "least" : "most"),
                      what[0] != '\0' ? what : "collectives", many_words,
                      are_all ? "" : is_late_few ? "up to " : "only ",
                      number(op, is_late_few ? "most" : "least"));
    free(many_words);
    free(few_words);
    free(of);
    return words;
}

static char *missing_words(const json_t *comm, collectives_name_f *name, const void *arg)
{
    const json_t *missing = json_object_get(comm, "missing");
    const json_t *first = json_array_get(json_object_get(missing, "named"), 0);
    const bool    is_silent = json_is_true(json_object_get(first, "silent"));
    char         *of = comm_words(comm), *ones = ranks_words(missing, name, arg);
    char         *words = xasprintf("NCCL: %s: %s %s", of, ones,
                                    is_silent ? "did not answer the other ranks"
                                              : "had left it, or not joined it");

    free(ones);
    free(of);
    return words;
}

static void add_line(const struct collectives *of, size_t comm, char *words, double now_s,
                     struct strlist *lines)
{
    strlist_addf(lines, "%s; the same for %.0f s", words, now_s - of->still[comm].since_s);
    free(words);
}

/* Returns "communicator 0x1c2b (16 ranks)". */
static char *comm_words(const json_t *comm)
{
    const long long size = number(comm, "size");

    if (size <= 0)
        return xasprintf("communicator %s", text_of(comm, "hash"));
    return xasprintf("communicator %s (%lld ranks)", text_of(comm, "hash"), size);
}

/* Returns "rank 3 on te2 (pid 7, GPU 3), rank 5 on ...", or "15 ranks" if not all are named. */
static char *ranks_words(const json_t *ranks, collectives_name_f *name, const void *arg)
{
    const json_t   *named = json_object_get(ranks, "named"), *rank;
    const long long count = number(ranks, "count");
    struct buffer   text = { 0 };
    size_t          i;
    char           *words;

    if (count == 0 || count > (long long)json_array_size(named))
        return xasprintf("%lld %s", count, count == 1 ? "rank" : "ranks");
    json_array_foreach(named, i, rank) {
        buffer_add_text(&text, i > 0 ? ", " : "");
        add_rank(&text, rank, name, arg);
    }
    words = xstrndup(text.bytes, text.size);
    buffer_clear(&text);
    return words;
}

/* A number of the world is what users know; one of the communicator needs the process beside it. */
static void add_rank(struct buffer *text, const json_t *rank, collectives_name_f *name,
                     const void *arg)
{
    const char     *host = text_of(rank, "host");
    const long long pid = number(rank, "pid"), gpu = number(rank, "gpu");
    const long long world = number(rank, "world");
    char            words[200];

    if (world >= 0)
        name((int)world, words, sizeof words, arg);
    else
        snprintf(words, sizeof words, "its rank %lld", number(rank, "rank"));
    buffer_add_text(text, words);
    if (pid < 0)
        return;
    snprintf(words, sizeof words, " (pid %lld, GPU %lld%s%s)", pid, gpu,
             world < 0 && host[0] != '\0' ? " at " : "", world < 0 ? host : "");
    buffer_add_text(text, words);
}

static long long number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

json_t *collectives_json(const struct collectives *of, double now_s)
{
    const json_t *comm;
    json_t       *body, *list = json_array(), *one;
    size_t        i;

    if (of->last == NULL) {
        json_decref(list);
        return json_null();
    }
    json_array_foreach(json_object_get(of->last, "list"), i, comm) {
        if (!stands(&of->still[i]))
            continue;
        one = json_deep_copy(comm);
        json_object_del(one, "print");
        json_object_set_new(one, "still_s", json_real(now_s - of->still[i].since_s));
        json_array_append_new(list, one);
    }
    body = json_pack("{s:o, s:o}", "stuck", list, "age_s", json_real(now_s - of->last_s));
    json_object_set(body, "communicators", json_object_get(of->last, "communicators"));
    return body;
}
