/* membership.c - see membership.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static struct departure *first_to_tell(struct member *member);
static struct departure *due_departure(struct member *member, double now_s);
static void   set_departure(struct member *member, enum departure_kind kind, const char *reason,
                            double gone_s, double due_s);
static void   leave_now(struct member *member);
static bool   is_any_set(const struct member *member);
static bool   is_none_leaving(const struct membership *members);
static bool   may_be_dialled(const struct member *member);
static bool   is_sent_away(const struct member *member);
static double dialled_s(const struct member *member);
static size_t count_needed(const struct membership *members, const struct member_rules *rules);
static size_t count_present(const struct membership *members);

size_t membership_add(struct membership *members, const char *name, int slots)
{
    members->item = xreallocarray(members->item, members->count + 1, sizeof *members->item);
    members->item[members->count] =
        (struct member){ .name = name, .slots = slots, .is_listed = true };
    return members->count++;
}

void membership_clear(struct membership *members)
{
    free(members->item);
    free(members->place);
    free(members->ranks);
    *members = (struct membership){ 0 };
}

/* --- questions -------------------------------------------------------------- */

size_t membership_find(const struct membership *members, const char *name)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (strcmp(members->item[i].name, name) == 0)
            return i;
    return MEMBERSHIP_NONE;
}

size_t membership_place(const struct membership *members, size_t which)
{
    size_t i;

    for (i = 0; i < members->places && members->item[which].state == MEMBER_IN; i++)
        if (members->place[i] == which)
            return i;
    return MEMBERSHIP_NONE;
}

bool membership_is_usable(const struct membership *members, size_t which)
{
    const struct member *member = &members->item[which];

    return (member->state == MEMBER_IN ||
            (member->state == MEMBER_SPARE && !member->is_silent)) &&
           member->is_listed && !membership_is_due(members, which);
}

bool membership_is_due(const struct membership *members, size_t which)
{
    size_t i;

    for (i = 0; i < DEPARTURES; i++)
        if (members->item[which].departure[i].is_due)
            return true;
    return false;
}

size_t membership_candidates(const struct membership *members, double now_s)
{
    size_t i, has = 0;

    for (i = 0; i < members->count; i++)
        has += membership_is_usable(members, i) || members->item[i].state == MEMBER_JOINING ||
               (may_be_dialled(&members->item[i]) && dialled_s(&members->item[i]) <= now_s);
    return has;
}

int membership_ranks(const struct membership *members, const struct member_rules *rules,
                     size_t place, size_t which)
{
    return rules->is_elastic || place >= members->places ? members->item[which].slots
                                                         : members->ranks[place];
}

size_t membership_most_nodes(const struct member_rules *rules)
{
    if (rules->target == 0 || rules->max_nodes == 0)
        return rules->target + rules->max_nodes;
    return rules->target < rules->max_nodes ? rules->target : rules->max_nodes;
}

/* --- the world -------------------------------------------------------------- */

void membership_take(struct membership *members, const struct member_rules *rules,
                     const size_t *world, size_t places)
{
    int   *ranks = xcalloc(places, sizeof *ranks);
    size_t i;

    for (i = 0; i < places; i++)
        ranks[i] = membership_ranks(members, rules, i, world[i]);
    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_IN) {
            members->item[i].state = MEMBER_SPARE;
            members->item[i].is_silent = false; /* it was heard just now */
        }
    for (i = 0; i < places; i++)
        members->item[world[i]].state = MEMBER_IN;
    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_SPARE)
            leave_now(&members->item[i]); /* no rank there must save */
    free(members->place);
    free(members->ranks);
    members->place = xmemdup(world, places * sizeof *world);
    members->ranks = ranks;
    members->places = places;
}

void membership_restore_ranks(struct membership *members, size_t place, int ranks)
{
    members->ranks[place] = ranks;
}

/* --- reasons to leave ------------------------------------------------------- */

/* A reason that was not due yet stays, unless it was only that the host was not listed. */
void membership_listed(struct membership *members, size_t which)
{
    struct member *member = &members->item[which];
    size_t         i;

    if (member->is_listed)
        return;
    member->is_listed = true;
    for (i = 0; i < DEPARTURES; i++)
        if (i == DEPARTURE_UNLISTED || member->departure[i].is_due)
            member->departure[i] = (struct departure){ 0 };
    if (member->is_announced && !is_any_set(member)) {
        member->is_announced = false;
        members->is_withdrawn = true;
    }
}

bool membership_unlisted(struct membership *members, size_t which, double now_s, double save_s)
{
    struct member *member = &members->item[which];

    if (!member->is_listed)
        return false;
    member->is_listed = false;
    set_departure(member, DEPARTURE_UNLISTED, MEMBERSHIP_UNLISTED, now_s + save_s,
                  now_s + save_s);
    return true;
}

bool membership_depart(struct membership *members, size_t which, enum departure_kind kind,
                       const char *reason, double now_s, double left_s, double margin_s)
{
    struct member          *member = &members->item[which];
    const struct departure *known = &member->departure[kind];
    const double            due_s = now_s + left_s - margin_s;
    size_t                  i;

    if (known->is_set && (known->is_due || known->due_s <= due_s))
        return false;
    set_departure(member, kind, reason, now_s + left_s, due_s);
    for (i = 0; i < DEPARTURES; i++)
        if (i != kind && member->departure[i].is_set && member->departure[i].due_s <= due_s)
            return false;
    return true;
}

void membership_leave_out(struct membership *members, size_t which, const char *reason,
                          double now_s)
{
    struct member *member = &members->item[which];

    set_departure(member, DEPARTURE_SUSPECT, reason, now_s, now_s);
    member->departure[DEPARTURE_SUSPECT].is_due = true;
}

void membership_trust(struct membership *members, size_t which)
{
    members->item[which].departure[DEPARTURE_SUSPECT] = (struct departure){ 0 };
}

bool membership_is_left_out(const struct membership *members, size_t which)
{
    return members->item[which].departure[DEPARTURE_SUSPECT].is_set;
}

static void set_departure(struct member *member, enum departure_kind kind, const char *reason,
                          double gone_s, double due_s)
{
    struct departure *departure = &member->departure[kind];

    *departure = (struct departure){ .is_set = true, .gone_s = gone_s, .due_s = due_s };
    snprintf(departure->reason, sizeof departure->reason, "%s", reason);
    if (member->state != MEMBER_IN)
        leave_now(member);
}

static void leave_now(struct member *member)
{
    size_t i;

    for (i = 0; i < DEPARTURES; i++)
        member->departure[i].is_due = member->departure[i].is_set;
}

void membership_saved(struct membership *members, double now_s)
{
    size_t i, j;

    for (i = 0; i < members->count; i++)
        for (j = 0; j < DEPARTURES; j++) {
            struct departure *departure = &members->item[i].departure[j];

            if (members->item[i].is_announced && departure->due_s > now_s)
                departure->due_s = now_s;
        }
}

void membership_over(struct membership *members, bool had_notice)
{
    size_t i;

    for (i = 0; i < members->count; i++) {
        if (had_notice && members->item[i].state == MEMBER_IN)
            leave_now(&members->item[i]);
        members->item[i].is_announced = false;
    }
    members->is_withdrawn = false;
}

/* --- what follows from them ------------------------------------------------- */

struct membership_action membership_next(struct membership    *members,
                                         enum membership_stage stage, double now_s)
{
    struct membership_action action = { 0 };
    struct member           *member;

    for (action.which = 0; action.which < members->count; action.which++) {
        member = &members->item[action.which];
        action.departure = due_departure(member, now_s);
        if (action.departure != NULL &&
            (member->state == MEMBER_SPARE || member->state == MEMBER_JOINING)) {
            member->state = MEMBER_LEAVING;
            action.what = MEMBERSHIP_DO_SEND_AWAY;
            return action;
        }
        if (member->state != MEMBER_IN || stage == MEMBERSHIP_STOPPED)
            continue;
        if (action.departure != NULL) {
            action.what = MEMBERSHIP_DO_END;
            return action;
        }
        if (stage == MEMBERSHIP_RUNNING && (action.departure = first_to_tell(member)) != NULL) {
            action.what = MEMBERSHIP_DO_TELL;
            return action;
        }
    }
    action = (struct membership_action){ .which = MEMBERSHIP_NONE };
    if (stage == MEMBERSHIP_RUNNING && members->is_withdrawn && is_none_leaving(members)) {
        members->is_withdrawn = false;
        action.what = MEMBERSHIP_DO_TAKE_BACK;
    }
    return action;
}

/* Returns why the member must leave now, after noting what has become due; NULL: it stays. */
static struct departure *due_departure(struct member *member, double now_s)
{
    struct departure *first = NULL;
    size_t            i;

    for (i = 0; i < DEPARTURES; i++) {
        struct departure *departure = &member->departure[i];

        if (departure->is_set && departure->due_s <= now_s)
            departure->is_due = true;
        if (departure->is_due && (first == NULL || departure->due_s < first->due_s))
            first = departure;
    }
    return first;
}

/* Returns the soonest reason if the ranks have no notice that is as early, and notes that they
 * have it now. */
static struct departure *first_to_tell(struct member *member)
{
    struct departure *first = NULL;
    size_t            i;

    for (i = 0; i < DEPARTURES; i++)
        if (member->departure[i].is_set &&
            (first == NULL || member->departure[i].gone_s < first->gone_s))
            first = &member->departure[i];
    if (first == NULL || (member->is_announced && member->announced_s <= first->gone_s))
        return NULL;
    member->is_announced = true;
    member->announced_s = first->gone_s;
    return first;
}

bool membership_is_announced(const struct membership *members)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_IN && members->item[i].is_announced)
            return true;
    return false;
}

static bool is_none_leaving(const struct membership *members)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_IN && is_any_set(&members->item[i]))
            return false;
    return true;
}

static bool is_any_set(const struct member *member)
{
    size_t i;

    for (i = 0; i < DEPARTURES; i++)
        if (member->departure[i].is_set)
            return true;
    return false;
}

double membership_due_s(const struct membership *members, double now_s)
{
    double due_s = -1, left_s;
    size_t i, j;

    for (i = 0; i < members->count; i++)
        for (j = 0; j < DEPARTURES; j++) {
            const struct departure *departure = &members->item[i].departure[j];

            if (!departure->is_set || departure->is_due)
                continue;
            left_s = departure->due_s > now_s ? departure->due_s - now_s : 0;
            if (due_s < 0 || left_s < due_s)
                due_s = left_s;
        }
    return due_s;
}

/* --- connections ------------------------------------------------------------ */

void membership_joined(struct membership *members, size_t which)
{
    members->item[which].state = MEMBER_SPARE;
    members->item[which].is_silent = false;
    members->item[which].refusals = 0;
}

bool membership_heard(struct membership *members, size_t which, bool is_heard)
{
    bool has_changed = members->item[which].is_silent == is_heard;

    members->item[which].is_silent = !is_heard;
    return has_changed;
}

void membership_lost(struct membership *members, size_t which, double now_s, bool ended)
{
    struct member *member = &members->item[which];
    double         cool_s = MEMBERSHIP_COOL_S;
    int            i;

    for (i = 0; i < member->failures && cool_s < MEMBERSHIP_COOL_MAX_S; i++)
        cool_s *= 2;
    member->failures++;
    member->taken_down += ended;
    member->free_s = now_s + (cool_s < MEMBERSHIP_COOL_MAX_S ? cool_s : MEMBERSHIP_COOL_MAX_S);
    member->state = member->state == MEMBER_IN ? MEMBER_AWAY : MEMBER_LEAVING;
    leave_now(member);
}

void membership_refused(struct membership *members, size_t which)
{
    members->item[which].refusals++;
}

void membership_leaving(struct membership *members, size_t which)
{
    members->item[which].state = MEMBER_LEAVING;
}

void membership_gone(struct membership *members, size_t which)
{
    members->item[which].state = MEMBER_AWAY;
}

void membership_blame(struct membership *members, int rank)
{
    size_t i;

    for (i = 0; i < members->places && rank >= members->ranks[i]; i++)
        rank -= members->ranks[i];
    if (rank >= 0 && i < members->places)
        members->item[members->place[i]].failed_first++;
}

void membership_proved(struct membership *members)
{
    size_t i;

    for (i = 0; i < members->count; i++)
        if (members->item[i].state == MEMBER_IN)
            members->item[i].failures = 0;
}

size_t membership_dial(struct membership *members, const struct member_rules *rules,
                       double now_s)
{
    const bool lacks_some = count_present(members) < count_needed(members, rules);
    size_t     i;

    for (i = 0; i < members->count && lacks_some; i++) {
        struct member *member = &members->item[i];

        if (!may_be_dialled(member) || dialled_s(member) > now_s)
            continue;
        member->state = MEMBER_JOINING;
        memset(member->departure, 0, sizeof member->departure);
        member->is_announced = false;
        return i;
    }
    return MEMBERSHIP_NONE;
}

double membership_dial_s(const struct membership *members, const struct member_rules *rules,
                         double now_s)
{
    const bool lacks_some = count_present(members) < count_needed(members, rules);
    double     due_s = -1, left_s;
    size_t     i;

    for (i = 0; i < members->count && lacks_some; i++) {
        if (!may_be_dialled(&members->item[i]))
            continue;
        left_s = dialled_s(&members->item[i]) - now_s;
        left_s = left_s > 0 ? left_s : 0;
        if (due_s < 0 || left_s < due_s)
            due_s = left_s;
    }
    return due_s;
}

/* Returns how many members the places need, or those that an elastic world might have, and the
 * spares. */
static size_t count_needed(const struct membership *members, const struct member_rules *rules)
{
    size_t wanted = members->places;

    if (!rules->goes_on)
        return 0;
    if (rules->is_elastic)
        wanted =
            membership_most_nodes(rules) > 0 ? membership_most_nodes(rules) : members->count;
    return wanted + rules->spares;
}

static size_t count_present(const struct membership *members)
{
    size_t i, has = 0;

    for (i = 0; i < members->count; i++)
        has += members->item[i].state == MEMBER_JOINING || membership_is_usable(members, i);
    return has;
}

bool membership_is_hopeless(const struct membership *members)
{
    size_t i, tried = 0;

    for (i = 0; i < members->count; i++) {
        const struct member *member = &members->item[i];

        if (member->state == MEMBER_IN || !member->is_listed || is_sent_away(member))
            continue;
        if (member->refusals < MEMBERSHIP_REFUSALS)
            return false;
        tried++;
    }
    return tried > 0;
}

static bool may_be_dialled(const struct member *member)
{
    return member->state == MEMBER_AWAY && member->is_listed && !is_sent_away(member);
}

/* For good, unless it is listed again. */
static bool is_sent_away(const struct member *member)
{
    return member->departure[DEPARTURE_DRAIN].is_set ||
           member->departure[DEPARTURE_SUSPECT].is_set;
}

/* What its cloud took away may be back, as another machine. */
static double dialled_s(const struct member *member)
{
    const struct departure *cloud = &member->departure[DEPARTURE_CLOUD];

    if (cloud->is_set && cloud->gone_s + MEMBERSHIP_COOL_S > member->free_s)
        return cloud->gone_s + MEMBERSHIP_COOL_S;
    return member->free_s;
}

/* Returns the last in the order of the hosts. A world of a fixed size needs all its
 * members. */
size_t membership_surplus(struct membership *members, const struct member_rules *rules)
{
    size_t i = members->count;

    if (!rules->is_elastic || count_present(members) <= count_needed(members, rules))
        return MEMBERSHIP_NONE;
    while (i-- > 0) {
        if (members->item[i].state != MEMBER_SPARE || !membership_is_usable(members, i))
            continue;
        members->item[i].state = MEMBER_LEAVING;
        return i;
    }
    return MEMBERSHIP_NONE;
}
