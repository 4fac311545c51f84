/* test_membership.c - what each event does to the record of a host, and what follows
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/next_world.h"

#define HOSTS_MAX 5

static const char *const names[HOSTS_MAX] = { "a", "b", "c", "d", "e" };

/* Sets up members a, b ... from letters such as "iis". 'i': has a place; 's': spare; '-': away;
 * 'j': joining; 'o': on its way out; 'l': has a place and must leave now; 'p': has a place and
 * leaves later; 'u': has a place and is no longer listed; 'x': has just lost its place; 'q': a
 * silent spare. */
static void set_up(struct membership *members, const char *states,
                   const struct member_rules *rules)
{
    size_t world[HOSTS_MAX], places = 0, i;

    *members = (struct membership){ 0 };
    for (i = 0; states[i] != '\0'; i++) {
        assert_int_equal(membership_add(members, names[i], 2), i);
        if (strchr("ilpux", states[i]) != NULL)
            world[places++] = i;
        if (strchr("-jo", states[i]) == NULL)
            membership_joined(members, i);
    }
    membership_take(members, rules, world, places);
    for (i = 0; states[i] != '\0'; i++) {
        if (states[i] == 'x')
            members->item[i].state = MEMBER_AWAY;
        if (states[i] == 'j')
            members->item[i].state = MEMBER_JOINING;
        if (states[i] == 'o')
            membership_leaving(members, i);
        if (strchr("lp", states[i]) != NULL)
            membership_depart(members, i, DEPARTURE_CLOUD, "", 0, 100, 0);
        if (states[i] == 'l')
            members->item[i].departure[DEPARTURE_CLOUD].is_due = true;
        if (states[i] == 'u')
            membership_unlisted(members, i, 0, 100);
        if (states[i] == 'q')
            membership_heard(members, i, false);
    }
}

/* --- schedules -------------------------------------------------------------- */

struct play {
    struct membership     members;
    struct member_rules   rules;
    enum membership_stage stage;
    double                now_s;
    char                  letters[40]; /* the actions: T, B, E, A */
    char                  said[400];   /* the actions and answers */
};

static void say(struct play *play, const char *format, ...)
{
    const size_t used = strlen(play->said);
    va_list      args;

    va_start(args, format);
    vsnprintf(play->said + used, sizeof play->said - used, format, args);
    va_end(args);
}

/* Carries out all that follows now. A generation that must end is stopped. */
static void follow(struct play *play)
{
    static const char *const words[] = { "nothing", "tell", "back", "end", "away" };
    struct membership_action action;
    size_t                   actions = 0;

    while ((action = membership_next(&play->members, play->stage, play->now_s)).what !=
           MEMBERSHIP_DO_NOTHING) {
        assert_true(actions++ <= play->members.count + 1);
        play->letters[strlen(play->letters)] = "-TBEA"[action.what];
        say(play, "%s", words[action.what]);
        if (action.what == MEMBERSHIP_DO_TAKE_BACK)
            assert_null(action.departure);
        else
            say(play, " %s %s", names[action.which],
                strcmp(action.departure->reason, MEMBERSHIP_UNLISTED) == 0
                    ? "unlisted"
                    : action.departure->reason);
        if (action.what == MEMBERSHIP_DO_TELL)
            say(play, " %g", action.departure->gone_s);
        if (action.what == MEMBERSHIP_DO_END)
            play->stage = MEMBERSHIP_STOPPED;
        say(play, ";");
    }
}

/* Asks. False: it is no question. */
static bool ask(struct play *play, const char *word)
{
    size_t which, i;
    double seconds;

    if (strcmp(word, "usable") == 0) {
        say(play, "usable ");
        for (i = 0; i < play->members.count; i++)
            say(play, "%s", membership_is_usable(&play->members, i) ? names[i] : "");
        say(play, ";");
    } else if (strcmp(word, "dial") == 0) {
        which = membership_dial(&play->members, &play->rules, play->now_s);
        say(play, "dial %s;", which == MEMBERSHIP_NONE ? "none" : names[which]);
    } else if (strcmp(word, "due") == 0 || strcmp(word, "free") == 0) {
        seconds = word[0] == 'd' ? membership_due_s(&play->members, play->now_s)
                                 : membership_dial_s(&play->members, &play->rules, play->now_s);
        if (seconds < 0)
            say(play, "%s never;", word);
        else
            say(play, "%s in %g;", word, seconds);
    } else if (strcmp(word, "announced") == 0) {
        say(play, "%s;", membership_is_announced(&play->members) ? "yes" : "no");
    } else {
        return false;
    }
    return true;
}

/* Changes the time, the stage or the world. False: it is no such word. */
static bool advance(struct play *play, const char *word)
{
    static const char *const stages[] = { "starting", "running", "stopped" };
    size_t                   world[HOSTS_MAX], places, i;

    if (word[0] >= '0' && word[0] <= '9') {
        play->now_s = strtod(word, NULL);
        return true;
    }
    for (i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(word, stages[i]) == 0) {
            play->stage = (enum membership_stage)i;
            return true;
        }
    if (strncmp(word, "take:", 5) != 0)
        return false;
    for (places = 0; word[5 + places] != '\0'; places++)
        world[places] = (size_t)(word[5 + places] - 'a');
    membership_take(&play->members, &play->rules, world, places);
    return true;
}

/* "EVENT:HOST:SECONDS:MARGIN" */
static void happen(struct play *play, const char *word)
{
    struct membership *members = &play->members;
    char               event[12] = "", host[12] = "";
    double             seconds = 100, margin_s = 0;
    bool               is_new = true;
    size_t             which;

    assert_true(sscanf(word, "%11[a-z]:%11[a-z]:%lf:%lf", event, host, &seconds, &margin_s) >
                0);
    which = membership_find(members, host);
    if (strcmp(event, "saved") == 0)
        membership_saved(members, play->now_s);
    else if (strcmp(event, "over") == 0)
        membership_over(members, strcmp(host, "noticed") == 0);
    else if (which == MEMBERSHIP_NONE)
        fail_msg("%s", word);
    else if (strcmp(event, "listed") == 0)
        membership_listed(members, which);
    else if (strcmp(event, "unlisted") == 0)
        is_new = membership_unlisted(members, which, play->now_s, seconds);
    else if (strcmp(event, "cloud") == 0 || strcmp(event, "drain") == 0)
        is_new = membership_depart(members, which,
                                   event[0] == 'c' ? DEPARTURE_CLOUD : DEPARTURE_DRAIN, event,
                                   play->now_s, seconds, margin_s);
    else if (strcmp(event, "joined") == 0)
        membership_joined(members, which);
    else if (strcmp(event, "lost") == 0)
        membership_lost(members, which, play->now_s, false);
    else if (strcmp(event, "leaving") == 0)
        membership_leaving(members, which);
    else if (strcmp(event, "gone") == 0)
        membership_gone(members, which);
    else
        fail_msg("%s", word);
    if (!is_new)
        say(play, "known;");
}

/* Plays "running cloud:b:100:10 90 usable": a stage, events, times in seconds, questions. A
 * '+' before an event: the next one comes before anything can follow. */
static void run(struct play *play, const char *states, enum membership_stage stage,
                const char *text)
{
    char *copy = strdup(text), *rest = NULL, *word;
    bool  is_last;

    *play = (struct play){ .rules = { .goes_on = true }, .stage = stage };
    set_up(&play->members, states, &play->rules);
    for (word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (ask(play, word))
            continue;
        is_last = word[0] != '+';
        if (!advance(play, word + !is_last))
            happen(play, word + !is_last);
        if (is_last)
            follow(play);
    }
    free(copy);
}

/* --- every event in every state --------------------------------------------- */

/* By state of b (away, joining, spare, in, leaving): what follows in each stage, as "TEi!":
 * tell, end, take back or send away; its state then; '!': it is due. One word if it is the same
 * in all stages; NULL: cannot happen. */
static const struct {
    const char *events, *wanted[MEMBER_LEAVING + 1];
} in_states[] = {
    { "listed:b", { "-", "j", "s", "i", "o" } },
    { "unlisted:b:30", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "unlisted:b:30 unlisted:b:0", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "unlisted:b:30 30", { "-!", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "unlisted:b:0", { "-!", "Ao!", "Ao!", "Ei! Ei! i!", "o!" } },
    { "+unlisted:b:30 listed:b", { "-", "j", "s", "i", "o" } },
    { "unlisted:b:30 listed:b", { "-", "Ao", "Ao", "i TBi i", "o" } },
    { "unlisted:b:30 30 listed:b", { "-", "Ao", "Ao", "Ei TEi i", "o" } },
    { "cloud:b:100:10", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "cloud:b:100:10 89", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "cloud:b:100:10 90", { "-!", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "cloud:b:10:10", { "-!", "Ao!", "Ao!", "Ei! Ei! i!", "o!" } },
    { "cloud:b:100 listed:b", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "cloud:b:100 cloud:b:50", { "-!", "Ao!", "Ao!", "i TTi i", "o!" } },
    { "cloud:b:100 cloud:b:100", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "cloud:b:100 drain:b:50", { "-!", "Ao!", "Ao!", "i TTi i", "o!" } },
    { "cloud:b:100 unlisted:b:30 listed:b", { "-", "Ao", "Ao", "i TTi i", "o" } },
    { "cloud:b:100 over", { "-!", "Ao!", "Ao!", "i TTi i", "o!" } },
    { "cloud:b:100 over:noticed", { "-!", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "cloud:b:100 saved", { "-!", "Ao!", "Ao!", "i TEi! i", "o!" } },
    { "cloud:b:100 take:a", { "-!", "Ao!", "Ao!", "Ao! TAo! Ao!", "o!" } },
    { "cloud:b:100 lost:b", { NULL, "Ao!", "Ao!", "-! T-! -!", "o!" } },
    { "cloud:b:100 gone:b", { NULL, "A-!", "A-!", NULL, "-!" } },
    { "drain:b:100:10", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "drain:b:100 drain:b:50", { "-!", "Ao!", "Ao!", "i TTi i", "o!" } },
    { "drain:b:50 cloud:b:100", { "-!", "Ao!", "Ao!", "i Ti i", "o!" } },
    { "drain:b:50 saved", { "-!", "Ao!", "Ao!", "i TEi! i", "o!" } },
    { "drain:b:50 over:noticed", { "-!", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "drain:b:50 lost:b", { NULL, "Ao!", "Ao!", "-! T-! -!", "o!" } },
    { "saved", { "-", "j", "s", "i", "o" } },
    { "over", { "-", "j", "s", "i", "o" } },
    { "over:noticed", { "-", "j", "s", "i", "o" } },
    { "take:a", { "-", "j", "s", "s", "o" } },
    { "take:ab", { NULL, NULL, "i", "i", NULL } },
    { "take:ab cloud:b:100 take:ab", { NULL, NULL, "i Ti i", "i Ti i", NULL } },
    { "lost:b", { NULL, "o", "o", "-", "o" } },
    { "lost:b gone:b", { NULL, "-", "-", NULL, "-" } },
    { "lost:b cloud:b:100", { NULL, "o!", "o!", "-!", "o!" } },
    { "joined:b", { NULL, "s", NULL, NULL, NULL } },
    { "leaving:b", { NULL, "o", "o", NULL, "o" } },
    { "lost:a dial", { "j", "j", "s", "i", "o" } },
    { "cloud:b:100 129 lost:a dial", { "-!", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "cloud:b:100 130 lost:a dial", { "j", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "drain:b:100 130 lost:a dial", { "-!", "Ao!", "Ao!", "Ei! TEi! i!", "o!" } },
    { "unlisted:b:0 130 lost:a dial", { "-!", "Ao!", "Ao!", "Ei! Ei! i!", "o!" } },
};

static void play_in_state(const char *events, char state, const char *wanted)
{
    const char  states[] = { 'i', state, '\0' };
    char        words[3][10], got[60];
    struct play play;
    int         count = sscanf(wanted, "%9s %9s %9s", words[0], words[1], words[2]), stage;

    assert_true(count == 1 || count == 3);
    for (stage = MEMBERSHIP_STARTING; stage <= MEMBERSHIP_STOPPED; stage++) {
        run(&play, states, (enum membership_stage)stage, events);
        snprintf(got, sizeof got, "%s%c%s", play.letters, "-jsio"[play.members.item[1].state],
                 membership_is_due(&play.members, 1) ? "!" : "");
        if (strcmp(got, words[count == 3 ? stage : 0]) != 0)
            fail_msg("%s, %c, stage %d: %s, not %s", events, state, stage, got, wanted);
        membership_clear(&play.members);
    }
}

static void test_every_event_in_every_state(void **state)
{
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof in_states / sizeof *in_states; i++)
        for (k = MEMBER_AWAY; k <= MEMBER_LEAVING; k++)
            if (in_states[i].wanted[k] != NULL)
                play_in_state(in_states[i].events, "-jsio"[k], in_states[i].wanted[k]);
}

/* --- what follows, in longer schedules -------------------------------------- */

/* While the ranks run, unless another stage is named. */
static const struct {
    const char *states, *events, *said;
} schedules[] = {
    /* notices to the ranks */
    { "ii", "cloud:b:100 10 cloud:b:95 cloud:b:50", "tell b cloud 100;known;tell b cloud 60;" },
    { "ii", "cloud:b:100:10 10 cloud:b:95:20 drain:b:95", "tell b cloud 100;known;" },
    { "ii", "cloud:b:30 unlisted:b:30", "tell b cloud 30;" },
    { "ii", "cloud:b:100 +cloud:b:50 saved", "tell b cloud 100;end b cloud;" },
    { "ii", "unlisted:b:30 10 unlisted:b:5", "tell b unlisted 30;known;" },
    { "ii", "+cloud:b:100 +drain:b:60 unlisted:b:80", "tell b drain 60;" },
    { "ii", "+cloud:b:100 cloud:b:60", "tell b cloud 60;" },
    { "ii", "drain:b:60 cloud:b:100 unlisted:b:80", "tell b drain 60;known;" },
    { "ii", "unlisted:b:30 cloud:b:20 drain:b:10",
      "tell b unlisted 30;tell b cloud 20;tell b drain 10;" },
    { "ii", "starting cloud:b:100 running cloud:b:100", "tell b cloud 100;known;" },
    { "ii", "cloud:b:100 stopped over starting 50 running",
      "tell b cloud 100;tell b cloud 100;" },
    { "ii", "unlisted:b:30 listed:b 10 unlisted:b:30",
      "tell b unlisted 30;back;tell b unlisted 40;" },
    { "ii", "unlisted:b:30 +cloud:b:100 listed:b",
      "tell b unlisted 30;known;" }, /* they know an earlier time */
    { "ii", "announced unlisted:b:30 announced listed:b announced",
      "no;tell b unlisted 30;yes;back;no;" },
    { "ii", "starting cloud:b:30 announced running stopped announced over announced",
      "no;tell b cloud 30;yes;no;" },
    { "ii", "cloud:b:30 lost:b announced", "tell b cloud 30;no;" },
    /* what is due */
    { "ii", "due cloud:b:100:30 due 60 due 70 due",
      "due never;tell b cloud 100;due in 70;due in 10;end b cloud;due never;" },
    { "ii", "+cloud:b:10 +30 due running due", "due in 0;end b cloud;due never;" },
    { "ii", "cloud:a:100 unlisted:b:30 drain:a:60 due",
      "tell a cloud 100;tell b unlisted 30;tell a drain 60;due in 30;" },
    { "ii", "cloud:b:30 drain:b:20 +50 saved", "tell b cloud 30;tell b drain 20;end b drain;" },
    { "iii", "cloud:b:100 drain:c:100 100 usable due",
      "tell b cloud 100;tell c drain 100;end b cloud;usable a;due never;" },
    { "iii", "starting cloud:b:9 drain:c:8 8 9 usable", "end c drain;usable a;" },
    { "ii", "unlisted:b:30 drain:b:50 60", "tell b unlisted 30;known;end b unlisted;" },
    { "ii", "drain:b:50:10 cloud:b:60:30 30 due", "tell b drain 50;end b cloud;due in 10;" },
    { "ii", "stopped cloud:b:10 usable 10 usable due over starting",
      "usable ab;usable a;due never;end b cloud;" },
    { "iii", "cloud:b:90 saved cloud:c:70 saved usable",
      "tell b cloud 90;end b cloud;usable ac;" },
    { "iii", "cloud:b:90 cloud:c:70 saved usable",
      "tell b cloud 90;tell c cloud 70;end b cloud;usable a;" },
    { "ii", "cloud:b:90 stopped over starting saved running saved",
      "tell b cloud 90;tell b cloud 90;end b cloud;" },
    { "iii", "cloud:b:90 stopped drain:c:40 over:noticed usable", "tell b cloud 90;usable a;" },
    { "iii", "cloud:b:90 stopped drain:c:40 over usable", "tell b cloud 90;usable abc;" },
    /* on the list again */
    { "ii", "cloud:b:90 unlisted:b:30 usable listed:b usable 30 due 90",
      "tell b cloud 90;tell b unlisted 30;usable a;usable ab;due in 60;end b cloud;" },
    { "ii", "drain:b:90 unlisted:b:30 30 listed:b usable due",
      "tell b drain 90;tell b unlisted 30;end b unlisted;usable ab;due in 60;" },
    { "ii", "unlisted:b:30 cloud:b:20 20 listed:b usable due",
      "tell b unlisted 30;tell b cloud 20;end b cloud;usable ab;due never;" },
    { "ii", "drain:b:10 10 listed:b usable", "tell b drain 10;end b drain;usable a;" },
    { "ii", "drain:b:10 10 unlisted:b:30 listed:b usable due",
      "tell b drain 10;end b drain;usable ab;due never;" },
    { "ij", "unlisted:b:30 listed:b joined:b usable", "away b unlisted;usable ab;" },
    /* the notice does not hold */
    { "iii", "unlisted:b:30 unlisted:c:30 listed:b listed:c",
      "tell b unlisted 30;tell c unlisted 30;back;" },
    { "iii", "unlisted:b:30 cloud:c:30 listed:b 30",
      "tell b unlisted 30;tell c cloud 30;end c cloud;" },
    { "iii", "unlisted:b:30 +listed:b cloud:c:50 unlisted:c:40 +lost:c running",
      "tell b unlisted 30;tell c cloud 50;tell c unlisted 40;back;" },
    { "iis", "unlisted:b:30 cloud:c:9 listed:b", "tell b unlisted 30;away c cloud;back;" },
    { "ii", "unlisted:b:30 stopped listed:b running", "tell b unlisted 30;back;" },
    { "ii", "unlisted:b:30 stopped listed:b over starting running", "tell b unlisted 30;" },
    { "ii", "starting unlisted:b:30 listed:b running", "" },
    { "iii", "unlisted:b:30 +listed:b +unlisted:c:30 listed:c", "tell b unlisted 30;back;" },
    /* without a place */
    { "iis", "drain:c:10 drain:c:5 cloud:c:5 20 unlisted:c:0", "away c drain;known;" },
    { "iij", "drain:c:10 cloud:c:5 20 unlisted:c:0", "away c drain;" },
    { "iis", "+drain:c:10 cloud:c:5", "away c cloud;" },
    { "iis", "drain:b:90 stopped over take:ac", "tell b drain 90;away b drain;" },
    { "iisj", "+drain:c:10 +drain:d:5 +cloud:b:5 9", "end b cloud;away c drain;away d drain;" },
    /* who may come back */
    { "ii", "cloud:b:100 50 lost:b free 129 dial 130 dial joined:b usable",
      "tell b cloud 100;free in 80;dial none;dial b;usable ab;" },
    { "ii", "cloud:b:100:40 90 lost:b free", "tell b cloud 100;end b cloud;free in 40;" },
    { "ii", "cloud:b:100 lost:b 130 dial lost:b gone:b free",
      "tell b cloud 100;dial b;free in 60;" },
    { "ii", "cloud:b:100 drain:b:50 lost:b free 5000 dial",
      "tell b cloud 100;tell b drain 50;free never;dial none;" },
    { "ii", "drain:b:100 10 lost:b free 5000 dial", "tell b drain 100;free never;dial none;" },
    { "ii", "drain:b:50 cloud:b:100 50 lost:b free 5000 dial",
      "tell b drain 50;known;end b drain;free never;dial none;" },
    { "ii", "drain:b:50 lost:b over unlisted:b:9 free listed:b free 30 dial joined:b due",
      "tell b drain 50;free never;free in 30;dial b;due never;" },
    { "ii", "lost:b 40 free dial free", "free in 0;dial b;free never;" },
    { "ii", "lost:b cloud:b:50 free", "free in 80;" },
    { "ii", "unlisted:b:30 10 lost:b over 5000 dial listed:b dial dial",
      "tell b unlisted 30;dial none;dial b;dial none;" },
    { "ii", "lost:b 29 dial 30 dial joined:b 31 cloud:b:50", "dial none;dial b;away b cloud;" },
};

static void test_schedules(void **state)
{
    struct play play;
    size_t      i;

    (void)state;
    for (i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        run(&play, schedules[i].states, MEMBERSHIP_RUNNING, schedules[i].events);
        if (strcmp(play.said, schedules[i].said) != 0)
            fail_msg("%s: %s\nnot %s", schedules[i].events, play.said, schedules[i].said);
        membership_clear(&play.members);
    }
}

/* --- connections ------------------------------------------------------------ */

static void test_cool_down(void **state)
{
    static const double seconds[] = { 30, 60, 120, 240, 480, 960, 1800, 1800, 1800 };
    struct member_rules rules = { .goes_on = true };
    struct membership   members;
    double              now_s = 1000;
    size_t              i;

    (void)state;
    set_up(&members, "ii", &rules);
    for (i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        membership_lost(&members, 1, now_s, true);
        if (i > 0) /* it was joining */
            assert_int_equal(membership_dial(&members, &rules, now_s + 9999), MEMBERSHIP_NONE);
        membership_gone(&members, 1);
        assert_int_equal(membership_dial(&members, &rules, now_s + seconds[i] - 1),
                         MEMBERSHIP_NONE);
        assert_true(membership_dial_s(&members, &rules, now_s) == seconds[i]);
        now_s += seconds[i];
        assert_int_equal(membership_dial(&members, &rules, now_s), 1);
        assert_int_equal(membership_dial(&members, &rules, now_s), MEMBERSHIP_NONE);
    }
    assert_int_equal(members.item[1].taken_down, i);
    membership_proved(&members); /* it was not in that generation */
    assert_int_equal(members.item[1].failures, i);
    members.item[1].state = MEMBER_IN;
    membership_proved(&members);
    membership_lost(&members, 1, now_s, false);
    assert_int_equal(members.item[1].taken_down, i);
    assert_true(membership_dial_s(&members, &rules, now_s) == MEMBERSHIP_COOL_S);
    membership_clear(&members);
}

/* Ranks are counted over the places, whichever members have them. */
static void test_blame(void **state)
{
    static const size_t world[] = { 2, 0, 1 };
    struct member_rules rules = { .goes_on = true };
    struct membership   members;

    (void)state;
    set_up(&members, "iii", &rules);
    membership_take(&members, &rules, world, 3);
    membership_restore_ranks(&members, 1, 5);
    assert_int_equal(membership_ranks(&members, &rules, 1, 2), 5);
    assert_int_equal(membership_ranks(&members, &rules, 3, 2), 2);
    membership_blame(&members, -1);
    membership_blame(&members, 0);
    membership_blame(&members, members.ranks[0]);
    membership_blame(&members, members.ranks[0] + 5 - 1);
    membership_blame(&members, members.ranks[0] + 5 + members.ranks[2]);
    assert_int_equal(members.item[members.place[0]].failed_first, 1);
    assert_int_equal(members.item[members.place[1]].failed_first, 2);
    assert_int_equal(members.item[members.place[2]].failed_first, 0);
    rules.is_elastic = true;
    assert_int_equal(membership_ranks(&members, &rules, 1, 2), 2);
    membership_clear(&members);
}

static void test_who_is_dialled(void **state)
{
    static const struct {
        const char *states;
        bool        is_elastic;
        size_t      max, spares, wanted;
    } cases[] = {
        { "ii-", false, 0, 0, 0 },  { "ii--", false, 0, 1, 1 }, { "iis-", false, 0, 1, 0 },
        { "iij-", false, 0, 1, 0 }, { "ix-", false, 0, 0, 1 },  { "ix--", false, 0, 1, 2 },
        { "ii--", true, 0, 0, 2 },  { "ii--", true, 3, 0, 1 },  { "ii--", true, 3, 1, 2 },
        { "il--", false, 0, 0, 1 }, { "ip--", false, 0, 0, 0 }, { "iu--", false, 0, 0, 1 },
        { "ixo-", false, 0, 0, 1 }, { "ixo", false, 0, 0, 1 },  { "ilo", false, 0, 0, 0 },
    };
    size_t i, dialled, which;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true,
                                      .is_elastic = cases[i].is_elastic,
                                      .max_nodes = cases[i].max,
                                      .spares = cases[i].spares };
        struct membership   members;

        set_up(&members, cases[i].states, &rules);
        for (dialled = 0; (which = membership_dial(&members, &rules, 0)) != MEMBERSHIP_NONE;) {
            assert_int_equal(members.item[which].state, MEMBER_JOINING);
            dialled++;
        }
        if (dialled != cases[i].wanted)
            fail_msg("case %zu: %zu are dialled", i, dialled);
        rules.goes_on = false;
        membership_lost(&members, 0, 0, false);
        assert_int_equal(membership_dial(&members, &rules, 9999), MEMBERSHIP_NONE);
        membership_clear(&members);
    }
}

/* muster connects only hosts that it needs, and the last spares that it does not need leave. A
 * world of a fixed size needs all its members. */
static void test_surplus(void **state)
{
    static const struct {
        const char *states;
        size_t      target, spares;
        int         dialled;
        const char *surplus;
    } cases[] = {
        { "iiii", 2, 0, 0, "" },  { "iiss", 2, 0, 0, "dc" }, { "iiss", 2, 1, 0, "d" },
        { "iis-", 4, 0, 1, "" },  { "ii--", 3, 0, 1, "" },   { "ii--", 3, 1, 2, "" },
        { "ixs-", 2, 0, 0, "" },  { "ii--", 2, 0, 0, "" },   { "i--ss", 1, 0, 0, "ed" },
        { "ilss", 2, 0, 0, "d" }, { "iiss", 0, 0, 0, "" },   { "iiqs", 2, 0, 0, "d" },
        { "iiqs", 3, 0, 0, "" },  { "iisq", 2, 0, 0, "c" },
    };
    size_t i, which;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true,
                                      .target = cases[i].target,
                                      .spares = cases[i].spares };
        struct membership   members;
        char                surplus[HOSTS_MAX + 1] = "";
        int                 dialled = 0, count = 0;

        set_up(&members, cases[i].states, &rules);
        assert_int_equal(membership_surplus(&members, &rules), MEMBERSHIP_NONE);
        rules.is_elastic = true;
        while (membership_dial(&members, &rules, 0) != MEMBERSHIP_NONE)
            dialled++;
        while ((which = membership_surplus(&members, &rules)) != MEMBERSHIP_NONE) {
            assert_true(count < HOSTS_MAX);
            surplus[count++] = names[which][0];
            assert_int_equal(members.item[which].state, MEMBER_LEAVING);
        }
        if (strcmp(surplus, cases[i].surplus) != 0 || dialled != cases[i].dialled)
            fail_msg("case %zu: %d dialled, '%s' not needed", i, dialled, surplus);
        membership_clear(&members);
    }
}

/* A node whose place is gone was heard just now, and so was one that has joined. */
static void test_lost_places(void **state)
{
    static const size_t world[] = { 2, 1 };
    struct member_rules rules = { .goes_on = true };
    struct membership   members;

    (void)state;
    set_up(&members, "iis", &rules);
    assert_int_equal(membership_find(&members, "bb"), MEMBERSHIP_NONE);
    assert_int_equal(membership_place(&members, 0), 0);
    assert_false(membership_heard(&members, 0, true));
    assert_true(membership_heard(&members, 0, false));
    assert_false(membership_heard(&members, 0, false));
    assert_true(membership_is_usable(&members, 0));
    membership_take(&members, &rules, world, 2);
    assert_true(membership_is_usable(&members, 0));
    assert_int_equal(membership_place(&members, 0), MEMBERSHIP_NONE);
    assert_int_equal(membership_place(&members, 2), 0);
    membership_lost(&members, 2, 0, true);
    assert_int_equal(membership_place(&members, 2), MEMBERSHIP_NONE);
    membership_heard(&members, 0, false);
    assert_false(membership_is_usable(&members, 0));
    membership_joined(&members, 0);
    assert_true(membership_is_usable(&members, 0));
    membership_clear(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_event_in_every_state),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_cool_down),
        cmocka_unit_test(test_blame),
        cmocka_unit_test(test_who_is_dialled),
        cmocka_unit_test(test_surplus),
        cmocka_unit_test(test_lost_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
