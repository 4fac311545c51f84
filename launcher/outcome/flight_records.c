/* flight_records.c - see flight_records.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/flight_records.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "frame.h"
#include "log.h"
#include "node/body.h"
#include "outcome/group.h"
#include "sanitize.h"
#include "xalloc.h"

/* A process group, and the ranks whose records have it. */
struct team {
    const char    *name, *desc, *ranks;
    int           *member;
    const json_t **calls; /* by member */
    size_t         count;
};

struct teams {
    struct team *team;
    size_t       count;
};

#define SHOWN_MAX 4 /* kinds that ranks of a group differ in, in a line */

static void          add_teams(struct teams *teams, int rank, const json_t *record);
static void          teams_clear(struct teams *teams);
static char         *team_words(const struct team *team, const struct plan *plan);
static char         *differing_words(const struct team *team, const struct plan *plan);
static char         *words_by(const struct team *team, const struct plan *plan, int64_t seq,
                              const char *key);
static bool          has_one_size(const char *op);
static char         *waiting_words(const struct team *team, const struct plan *plan);
static char         *entered_words(const struct team *team, const struct plan *plan,
                                   const struct group *in, const struct group *out,
                                   const json_t *call, int64_t seq);
static char         *ended_words(const struct team *team, const struct plan *plan,
                                 const struct group *out, const json_t *call, int64_t seq);
static char         *ranks_of(const struct team *team, const struct group *group,
                              const struct plan *plan);
static int64_t       last_of(const json_t *calls);
static const json_t *call_of(const json_t *calls, int64_t seq);
static bool          is_peer_call(const json_t *call);
static char         *call_words(const json_t *call);
static void          add_peers(const struct flight_records *records, const struct plan *plan,
                               size_t most, struct strlist *lines);
static void          add_without(const struct flight_records *records, const struct plan *plan,
                                 size_t most, struct strlist *lines);
static void          add_safe(struct strlist *lines, char *text);

void flight_records_clear(struct flight_records *records)
{
    flight_records_forget(records, 0, records->ranks);
    free(records->rank);
    free(records->bytes);
    *records = (struct flight_records){ 0 };
}

void flight_records_forget(struct flight_records *records, int first_rank, int ranks)
{
    int i;

    for (i = first_rank; i < first_rank + ranks && i < records->ranks; i++) {
        json_decref(records->rank[i]);
        records->size -= records->bytes[i];
        records->rank[i] = NULL;
        records->bytes[i] = 0;
    }
}

void flight_records_take(struct flight_records *records, int rank, const json_t *body)
{
    size_t bytes = json_dumpb(body, NULL, 0, JSON_COMPACT);
    int    i, room = rank + 1;

    if (rank < records->ranks && records->rank[rank] != NULL &&
        json_object_get(body, "error") != NULL)
        return;
    if (rank >= records->ranks) {
        records->rank = xreallocarray(records->rank, (size_t)room, sizeof *records->rank);
        records->bytes = xreallocarray(records->bytes, (size_t)room, sizeof *records->bytes);
        for (i = records->ranks; i < room; i++) {
            records->rank[i] = NULL;
            records->bytes[i] = 0;
        }
        records->ranks = room;
    }
    flight_records_forget(records, rank, 1);
    if (bytes == 0 || records->size + bytes > FLIGHT_RECORDS_MAX)
        return;
    records->rank[rank] = json_deep_copy(body);
    records->bytes[rank] = bytes;
    records->size += bytes;
}

json_t *flight_records_json(const struct flight_records *records)
{
    json_t *made;
    char    name[16];
    int     i;

    if (records->size == 0)
        return NULL;
    made = json_object();
    for (i = 0; i < records->ranks; i++) {
        if (records->rank[i] == NULL)
            continue;
        snprintf(name, sizeof name, "%d", i);
        json_object_set(made, name, records->rank[i]);
    }
    return made;
}

void flight_records_print(const struct flight_records *records, const struct plan *plan, FILE *out)
{
    struct strlist lines = { 0 };
    size_t         i;

    flight_records_lines(records, plan, &lines);
    for (i = 0; i < lines.count; i++)
        fprintf(out, "muster: %s\n", lines.item[i]);
    strlist_clear(&lines);
}

void flight_records_tell(const struct flight_records *records, const struct plan *plan)
{
    struct strlist lines = { 0 };
    size_t         i;

    flight_records_lines(records, plan, &lines);
    for (i = 0; i < lines.count; i++)
        log_note("%s", lines.item[i]);
    strlist_clear(&lines);
}

json_t *flight_records_lines_json(const struct flight_records *records, const struct plan *plan)
{
    struct strlist lines = { 0 };
    json_t        *made = json_array();
    size_t         i;

    flight_records_lines(records, plan, &lines);
    for (i = 0; i < lines.count; i++)
        json_array_append_new(made, json_text(lines.item[i], strlen(lines.item[i])));
    strlist_clear(&lines);
    return made;
}

/* --- what they say ---------------------------------------------------------------------- */

void flight_records_lines(const struct flight_records *records, const struct plan *plan,
                          struct strlist *lines)
{
    const size_t most = lines->count + FLIGHT_RECORDS_LINES_MAX;
    struct teams teams = { 0 };
    size_t       t;
    int          i;

    if (records->size == 0)
        return;
    for (i = 0; i < records->ranks; i++)
        add_teams(&teams, i, records->rank[i]);
    for (t = 0; t < teams.count && lines->count < most; t++)
        add_safe(lines, team_words(&teams.team[t], plan));
    teams_clear(&teams);
    add_peers(records, plan, most, lines);
    add_without(records, plan, most, lines);
}

static void add_teams(struct teams *teams, int rank, const json_t *record)
{
    const json_t *group;
    const char   *name, *desc, *ranks;
    struct team  *team;
    size_t        i, t;

    json_array_foreach(json_object_get(record, "groups"), i, group) {
        name = body_text(group, "name");
        desc = body_text(group, "desc");
        ranks = body_text(group, "ranks");
        for (t = 0; t < teams->count; t++)
            if (strcmp(teams->team[t].name, name) == 0 &&
                strcmp(teams->team[t].desc, desc) == 0 &&
                strcmp(teams->team[t].ranks, ranks) == 0)
                break;
        if (t == teams->count) {
            teams->team = xreallocarray(teams->team, ++teams->count, sizeof *teams->team);
            teams->team[t] = (struct team){ .name = name, .desc = desc, .ranks = ranks };
        }
        team = &teams->team[t];
        team->member = xreallocarray(team->member, team->count + 1, sizeof *team->member);
        team->calls = xreallocarray(team->calls, team->count + 1, sizeof *team->calls);
        team->member[team->count] = rank;
        team->calls[team->count++] = json_object_get(group, "calls");
    }
}

static void teams_clear(struct teams *teams)
{
    size_t t;

    for (t = 0; t < teams->count; t++) {
        free(teams->team[t].member);
        free(teams->team[t].calls);
    }
    free(teams->team);
}

/* Returns NULL if the ranks agree, and wait for nothing. */
static char *team_words(const struct team *team, const struct plan *plan)
{
    const char *desc = team->desc[0] != '\0' ? team->desc : team->name;
    bool        has_ranks = team->ranks[0] != '\0';
    char       *words = differing_words(team, plan), *line;

    if (words == NULL)
        words = waiting_words(team, plan);
    if (words == NULL)
        return NULL;
    line = xasprintf("flight recorder: group %s%s%s%s: %s", desc, has_ranks ? " (ranks " : "",
                     team->ranks, has_ranks ? ")" : "", words);
    free(words);
    return line;
}

/* --- collectives that all ranks have entered -------------------------------------------- */

/* Returns the first one that is not the same for all that still have it, or NULL. */
static char *differing_words(const struct team *team, const struct plan *plan)
{
    const json_t *call;
    char         *words = NULL;
    int64_t       seq;
    size_t        c;

    json_array_foreach(team->calls[0], c, call) {
        seq = body_int(call, "seq", 0);
        if (is_peer_call(call) || words != NULL)
            continue;
        words = words_by(team, plan, seq, "op");
        if (words == NULL && has_one_size(body_text(call, "op")))
            words = words_by(team, plan, seq, "in");
    }
    return words;
}

/* Returns NULL if key is the same for all ranks. */
static char *words_by(const struct team *team, const struct plan *plan, int64_t seq,
                      const char *key)
{
    const bool    is_size = strcmp(key, "in") == 0;
    struct groups groups = { 0 };
    const json_t *call;
    struct buffer text = { 0 };
    char         *ranks, *of;
    size_t        i;

    for (i = 0; i < team->count; i++)
        if ((call = call_of(team->calls[i], seq)) != NULL)
            groups_add(&groups, body_text(call, key), (int)i);
    for (i = 0; i < groups.count && groups.count > 1 && i < SHOWN_MAX; i++) {
        call = call_of(team->calls[groups.group[i].member[0]], seq);
        ranks = ranks_of(team, &groups.group[i], plan);
        of = call_words(call);
        buffer_add_text(&text, i == 0 ? "" : "; ");
        buffer_add_text(&text, ranks);
        buffer_add_text(&text, ": ");
        buffer_add_text(&text, of);
        buffer_add_text(&text, is_size ? " of sizes " : "");
        buffer_add_text(&text, is_size ? groups.group[i].key : "");
        free(ranks);
        free(of);
    }
    groups_clear(&groups);
    if (text.size == 0)
        return NULL;
    buffer_add(&text, "", 1);
    of = xasprintf("%s as number %" PRId64 ": %s",
                   is_size ? "the sizes differ" : "different collectives", seq, text.bytes);
    buffer_clear(&text);
    return of;
}

/* With NCCL; of others, such as all_to_all, ranks may pass different sizes. */
static bool has_one_size(const char *op)
{
    static const char *const ops[] = { "all_reduce", "broadcast", "reduce", "_all_gather_base",
                                       "_reduce_scatter_base" };
    size_t                   i;

    for (i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

/* --- the last ones ----------------------------------------------------------------------- */

/* Returns which ranks have not entered a collective that others have, or which have not come out
 * of the last one; NULL: none. */
static char *waiting_words(const struct team *team, const struct plan *plan)
{
    struct groups in = { 0 }, out = { 0 };
    int64_t       least = INT64_MAX, most = 0, last;
    const json_t *call, *shown = NULL;
    char         *words = NULL;
    size_t        i;

    for (i = 0; i < team->count; i++) {
        last = last_of(team->calls[i]);
        least = last < least ? last : least;
        most = last > most ? last : most;
    }
    for (i = 0; i < team->count; i++) {
        last = last_of(team->calls[i]);
        call = call_of(team->calls[i], least < most ? least + 1 : least);
        shown = shown != NULL ? shown : call;
        if (least < most)
            groups_add(last > least ? &in : &out, "", (int)i);
        else if (call != NULL && strcmp(body_text(call, "state"), "completed") != 0)
            groups_add(&out, "", (int)i);
    }
    if (out.count > 0 && least < most)
        words = entered_words(team, plan, &in.group[0], &out.group[0], shown, least + 1);
    else if (out.count > 0)
        words = ended_words(team, plan, &out.group[0], shown, least);
    groups_clear(&in);
    groups_clear(&out);
    return words;
}

static char *entered_words(const struct team *team, const struct plan *plan,
                           const struct group *in, const struct group *out, const json_t *call,
                           int64_t seq)
{
    char *entered = ranks_of(team, in, plan), *others = ranks_of(team, out, plan);
    char *of = call != NULL ? call_words(call) : xstrdup("a collective");
    char *words = xasprintf("%s %s not entered %s, number %" PRId64 ", but %s %s", others,
                            out->count == 1 ? "has" : "have", of, seq, entered,
                            in->count == 1 ? "has" : "have");

    free(entered);
    free(others);
    free(of);
    return words;
}

static char *ended_words(const struct team *team, const struct plan *plan,
                         const struct group *out, const json_t *call, int64_t seq)
{
    char *ranks = ranks_of(team, out, plan), *of = call_words(call);
    char *words = xasprintf("all have entered %s, number %" PRId64 ", but it has not ended on %s",
                            of, seq, ranks);

    free(ranks);
    free(of);
    return words;
}

/* A group here has the indexes of members. */
static char *ranks_of(const struct team *team, const struct group *group, const struct plan *plan)
{
    struct groups groups = { 0 };
    char         *words;
    size_t        i;

    for (i = 0; i < group->count; i++)
        groups_add(&groups, "", team->member[group->member[i]]);
    words = group_ranks(&groups.group[0], plan);
    groups_clear(&groups);
    return words;
}

static int64_t last_of(const json_t *calls)
{
    int64_t       last = 0;
    const json_t *call;
    size_t        c;

    json_array_foreach(calls, c, call)
        if (!is_peer_call(call) && body_int(call, "seq", 0) > last)
            last = body_int(call, "seq", 0);
    return last;
}

static const json_t *call_of(const json_t *calls, int64_t seq)
{
    const json_t *call;
    size_t        c;

    json_array_foreach(calls, c, call)
        if (!is_peer_call(call) && body_int(call, "seq", 0) == seq)
            return call;
    return NULL;
}

/* Between two ranks: these are counted apart. */
static bool is_peer_call(const json_t *call)
{
    return json_is_true(json_object_get(call, "p2p"));
}

static char *call_words(const json_t *call)
{
    const char *at = body_text(call, "at");

    return xasprintf("%s%s%s%s", body_text(call, "op"), at[0] != '\0' ? " (" : "", at,
                     at[0] != '\0' ? ")" : "");
}

/* --- what belongs to no group -------------------------------------------------------------- */

/* Adds what ranks send to or receive from each other and has not ended. */
static void add_peers(const struct flight_records *records, const struct plan *plan, size_t most,
                      struct strlist *lines)
{
    const json_t *group, *call;
    char          name[PLAN_RANK_NAME], *of;
    size_t        g, c;
    int           i;

    for (i = 0; i < records->ranks; i++)
        json_array_foreach(json_object_get(records->rank[i], "groups"), g, group)
            json_array_foreach(json_object_get(group, "calls"), c, call) {
                if (!is_peer_call(call) || lines->count >= most ||
                    strcmp(body_text(call, "state"), "completed") == 0)
                    continue;
                of = call_words(call);
                add_safe(lines, xasprintf("flight recorder: %s: %s, number %" PRId64
                                          ", has not ended",
                                          plan_rank_name(plan, i, name), of,
                                          body_int(call, "seq", 0)));
                free(of);
            }
}

/* Adds the ranks whose records could not be read, and those without one. */
static void add_without(const struct flight_records *records, const struct plan *plan, size_t most,
                        struct strlist *lines)
{
    struct groups groups = { 0 };
    char         *ranks;
    size_t        g;
    int           i;

    for (i = 0; i < plan->world_size; i++) {
        const json_t *record = i < records->ranks ? records->rank[i] : NULL;
        const char   *error = body_text(record, "error");

        if (record == NULL || error[0] != '\0')
            groups_add(&groups, record == NULL ? "none was written" : error, i);
    }
    for (g = 0; g < groups.count && lines->count < most; g++) {
        ranks = group_ranks(&groups.group[g], plan);
        add_safe(lines, xasprintf("flight recorder: no record of %s: %s", ranks,
                                  groups.group[g].key));
        free(ranks);
    }
    groups_clear(&groups);
}

/* Takes over text; NULL is fine. */
static void add_safe(struct strlist *lines, char *text)
{
    char *safe;

    if (text == NULL)
        return;
    safe = sanitize_text(text, strlen(text));
    strlist_add(lines, safe);
    free(safe);
    free(text);
}
