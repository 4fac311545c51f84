/* ras_text.c - NCCL's answer as text, to VERBOSE STATUS
 *
 * It tells counts only of the communicators in which they differ, and names the ranks of all but
 * the most frequent count:
 *
 *     Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
 *         #  in group  per comm  per node  per comm  in group
 *         0         1         1         4         4         4   RUNNING  MISMATCH
 *     #0-0 (27a079b828ff1a75) MISMATCH
 *       Communicator ranks have different AllReduce operation counts
 *       3 ranks have launched up to operation 12
 *       Rank 3 has launched up to operation 11 -- GPU 3 managed by process 9 on node 10.0.0.1
 *
 * Other lines than those that are read here may come with another NCCL; they are passed over.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ras/ras_reply.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define GROUPS_MAX 4096 /* of communicators of one size; others have no size that is known */

/* What the lines that name ranks are about. */
enum about { ABOUT_NOTHING, ABOUT_COUNT, ABOUT_MISSING };

struct text {
    int             *size_of; /* by group: ranks of each of its communicators */
    int              groups;
    int              comms; /* of all groups */
    bool             is_table, is_whole;
    struct named_comm {
        uint64_t        group, number;
        struct ras_comm comm;
    } * named;
    int              count;
    struct ras_comm *comm;  /* of which the lines are; NULL: of none */
    int              more;  /* communicators that had no room */
    enum about       about;
    char             op_name[RAS_NAME_SIZE];
    struct ras_op   *op;       /* about ABOUT_COUNT */
    uint64_t         launched; /* the same */
    bool             is_silent; /* about ABOUT_MISSING */
};

/* A part of a line. */
struct words {
    const char *at, *end;
};

static void take_line(struct text *text, struct words line);
static void take_group(struct text *text, struct words line);
static void take_comm(struct text *text, struct words line);
static void take_of_comm(struct text *text, struct words line);
static void take_several(struct text *text, int count, struct words line);
static void take_rank(struct text *text, int number, struct words line);
static void take_missing_list(struct text *text, struct words line);
static void count_ranks(struct text *text, uint64_t launched, int count,
                        const struct ras_rank *rank);
static void read_process(struct ras_rank *rank, struct words line);
static bool skip(struct words *line, const char *word);
static bool read_number(struct words *line, uint64_t *value);
static bool read_int(struct words *line, int *value);
static void finish(struct text *text, struct ras_reply *reply);

int ras_text_read(struct ras_reply *reply, const char *bytes, size_t size, struct error *err)
{
    struct text  text = { 0 };
    struct words first = { bytes, bytes + size }, line;
    const char  *at, *newline, *end = bytes + size;

    if (!skip(&first, "NCCL version "))
        return err_set(err, "its answer is not NCCL's");
    text.size_of = xcalloc(GROUPS_MAX, sizeof *text.size_of);
    text.named = xcalloc(RAS_COMMS_MAX, sizeof *text.named);
    for (at = bytes; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL)
            break;
        line = (struct words){ at, newline };
        take_line(&text, line);
    }
    if (text.is_whole && at >= end)
        finish(&text, reply);
    free(text.size_of);
    free(text.named);
    return text.is_whole && at >= end ? 0 : err_set(err, "its answer is cut short");
}

static void take_line(struct text *text, struct words line)
{
    struct words word = line;

    if (line.at == line.end) {
        text->about = ABOUT_NOTHING;
        return;
    }
    if (skip(&word, "#")) {
        take_comm(text, word);
    } else if (skip(&word, "  ") && text->comm != NULL) {
        text->comm->print = ras_print_add(text->comm->print, line.at,
                                          (size_t)(line.end - line.at));
        take_of_comm(text, word);
    } else if (skip(&line, "Group ")) {
        text->is_table = true;
    } else if (skip(&line, "Errors") || skip(&line, "INCOMPLETE") || skip(&line, "DEAD")) {
        text->is_table = false;
        text->comm = NULL;
    } else if (skip(&line, "Warnings")) { /* what follows may be nothing */
        text->is_whole = true;
        text->comm = NULL;
    } else if (text->is_table) {
        take_group(text, line);
    }
}

/* A row of the table: group, communicators, nodes, ranks per node, ranks per communicator. */
static void take_group(struct text *text, struct words line)
{
    int group, comms, nodes, size;

    if (!read_int(&line, &group) || !read_int(&line, &comms) || !read_int(&line, &nodes))
        return;
    while (line.at < line.end && *line.at == ' ')
        line.at++;
    while (line.at < line.end && *line.at != ' ') /* "4", or "2-4" */
        line.at++;
    if (!read_int(&line, &size) || group != text->groups || group >= GROUPS_MAX)
        return;
    text->size_of[text->groups++] = size;
    text->comms = comms < INT_MAX - text->comms ? text->comms + comms : INT_MAX;
}

/* "0-12 (27a079b828ff1a75) MISMATCH". The same one may come among the errors and the warnings. */
static void take_comm(struct text *text, struct words line)
{
    struct named_comm *named = text->named, *end = named + text->count;
    uint64_t           group, number;
    const char        *close;

    text->comm = NULL;
    text->about = ABOUT_NOTHING;
    if (!read_number(&line, &group) || !skip(&line, "-") || !read_number(&line, &number) ||
        !skip(&line, " (") || (close = memchr(line.at, ')', (size_t)(line.end - line.at))) == NULL)
        return;
    while (named < end && (named->group != group || named->number != number))
        named++;
    if (named == text->named + RAS_COMMS_MAX) {
        text->more += text->more < INT_MAX;
        return;
    }
    text->comm = &named->comm;
    if (named < end)
        return;
    text->count++;
    named->group = group;
    named->number = number;
    if (group < (uint64_t)text->groups)
        named->comm.size = text->size_of[group];
    while (line.at + 1 < close && *line.at == '0')
        line.at++;
    memcpy(named->comm.hash, "0x", 2);
    ras_name_copy(named->comm.hash + 2, sizeof named->comm.hash - 2, line.at,
                  (size_t)(close - line.at));
    named->comm.print = ras_print_add(0, named->comm.hash, strlen(named->comm.hash));
}

static void take_of_comm(struct text *text, struct words line)
{
    const char *end;
    int         number;

    if (skip(&line, "Communicator ranks have different ")) {
        text->about = ABOUT_NOTHING;
        text->op = NULL;
        end = memmem(line.at, (size_t)(line.end - line.at), " operation counts", 17);
        if (end == NULL)
            return;
        text->about = ABOUT_COUNT;
        ras_name_copy(text->op_name, sizeof text->op_name, line.at, (size_t)(end - line.at));
        if (strcmp(text->op_name, "collective") == 0) /* before NCCL 2.26 */
            text->op_name[0] = '\0';
    } else if (skip(&line, "Missing communicator data from ")) {
        text->about = ABOUT_NOTHING;
        if (read_int(&line, &number)) {
            ras_comm_missing(text->comm, number, NULL);
            text->about = ABOUT_MISSING;
            text->is_silent = true;
        }
    } else if (skip(&line, "The missing rank")) {
        take_missing_list(text, line);
    } else if (skip(&line, "Rank ")) {
        if (read_int(&line, &number))
            take_rank(text, number, line);
    } else if (read_int(&line, &number)) {
        take_several(text, number, line);
    }
}

/* "3 ranks have ...": behind the number. */
static void take_several(struct text *text, int count, struct words line)
{
    uint64_t launched = 0;

    if (skip(&line, " ranks have status ")) {
        text->about = skip(&line, "NOCOMM") ? ABOUT_MISSING : ABOUT_NOTHING;
        text->is_silent = false;
        if (text->about == ABOUT_MISSING)
            ras_comm_missing(text->comm, count, NULL);
    } else if (text->about == ABOUT_COUNT &&
               (skip(&line, " ranks have not launched any operations") ||
                (skip(&line, " ranks have launched up to operation ") &&
                 read_number(&line, &launched)))) {
        count_ranks(text, launched, count, NULL);
    } else {
        text->about = text->about == ABOUT_COUNT ? ABOUT_COUNT : ABOUT_NOTHING;
        text->op = NULL;
    }
}

/* "Rank 3 ...": behind the number. */
static void take_rank(struct text *text, int number, struct words line)
{
    struct ras_rank rank = { .rank = number, .world = -1, .pid = -1, .gpu = -1 };
    uint64_t        launched = 0;

    read_process(&rank, line);
    if (skip(&line, " has status ")) {
        if (skip(&line, "NOCOMM"))
            ras_comm_missing(text->comm, 1, &rank);
    } else if (skip(&line, " -- ")) {
        rank.is_silent = text->is_silent;
        if (text->about == ABOUT_MISSING)
            ras_comm_missing(text->comm, 0, &rank);
        else if (text->about == ABOUT_COUNT && text->op != NULL)
            ras_op_name(text->op, text->launched, &rank);
    } else if (text->about == ABOUT_COUNT &&
               (skip(&line, " has not launched any operations") ||
                (skip(&line, " has launched up to operation ") &&
                 read_number(&line, &launched)))) {
        count_ranks(text, launched, 1, &rank);
    }
}

/* ": 3" or "s: 3,5", of NCCL 2.24: behind "The missing rank". */
static void take_missing_list(struct text *text, struct words line)
{
    struct ras_rank rank = { .world = -1, .pid = -1, .gpu = -1,
                             .is_silent = text->is_silent };

    skip(&line, "s");
    if (text->about != ABOUT_MISSING || !skip(&line, ": "))
        return;
    while (read_int(&line, &rank.rank)) {
        ras_comm_missing(text->comm, 0, &rank);
        if (!skip(&line, ","))
            break;
    }
}

static void count_ranks(struct text *text, uint64_t launched, int count,
                        const struct ras_rank *rank)
{
    text->op = ras_comm_count(text->comm, text->op_name, launched, count, rank);
    text->launched = launched;
}

/* "... GPU 3 (NVML 7) managed by process 9 on node 10.0.0.1", anywhere in the line. */
static void read_process(struct ras_rank *rank, struct words line)
{
    struct words at = line;
    const char  *found;

    found = memmem(at.at, (size_t)(at.end - at.at), "-- GPU ", 7);
    if (found == NULL)
        return;
    at.at = found + 7;
    read_int(&at, &rank->gpu);
    found = memmem(at.at, (size_t)(at.end - at.at), " managed by process ", 20);
    if (found == NULL)
        return;
    at.at = found + 20;
    if (read_int(&at, &rank->pid) && skip(&at, " on node "))
        ras_name_copy(rank->host, sizeof rank->host, at.at, (size_t)(at.end - at.at));
}

static bool skip(struct words *line, const char *word)
{
    const size_t length = strlen(word);

    if ((size_t)(line->end - line->at) < length || memcmp(line->at, word, length) != 0)
        return false;
    line->at += length;
    return true;
}

/* Also behind blanks. */
static bool read_number(struct words *line, uint64_t *value)
{
    const char *at = line->at;
    uint64_t    number = 0;

    while (at < line->end && *at == ' ')
        at++;
    if (at == line->end || !isdigit((unsigned char)*at))
        return false;
    for (; at < line->end && isdigit((unsigned char)*at); at++) {
        if (number > ((uint64_t)INT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    line->at = at;
    *value = number;
    return true;
}

static bool read_int(struct words *line, int *value)
{
    uint64_t number;

    if (!read_number(line, &number) || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

static void finish(struct text *text, struct ras_reply *reply)
{
    int i;

    for (i = 0; i < text->count; i++)
        ras_reply_add(reply, &text->named[i].comm);
    reply->wrong += text->more;
    if (reply->comms < text->comms)
        reply->comms = text->comms;
}
