/* journal_watch.c - see journal_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/journal_watch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "exit_code.h"
#include "xalloc.h"

#define NS_PER_US 1000

static void    start(struct journal_watch *watch, int64_t since_us);
static void    settle(struct journal_watch *watch);
static int64_t next_us(const struct journalctl *one);
static void    give_up(struct journal_watch *watch);
static double  since_s(int64_t at_ns);
static void    explain(const struct journalctl *journalctl, struct error *why);

void journal_watch_begin(struct journal_watch *watch, const char *directory)
{
    *watch = (struct journal_watch){ 0 };
    if (directory != NULL)
        watch->directory = xstrdup(directory);
    start(watch, clock_now_ns() / NS_PER_US);
}

static void start(struct journal_watch *watch, int64_t since_us)
{
    watch->starts++;
    watch->begun_ns = clock_now_ns();
    watch->ended_ns = 0;
    if (journalctl_open(&watch->journalctl, watch->directory, true, since_us, &watch->why) < 0)
        watch->is_given_up = true;
}

void journal_watch_skip(struct journal_watch *watch)
{
    watch->journalctl.since_us = clock_now_ns() / NS_PER_US;
}

bool journal_watch_read(struct journal_watch *watch, size_t most, kernel_log_f *take, void *arg)
{
    bool is_more;

    if (watch->is_given_up)
        return false;
    is_more = journalctl_read(&watch->journalctl, most, take, arg);
    settle(watch);
    return is_more;
}

static void settle(struct journal_watch *watch)
{
    struct journalctl    *one = &watch->journalctl;
    struct journal_course course = { .is_over = journalctl_is_over(one),
                                     .is_shown = one->shown > 0,
                                     .has_words = one->word_size > 0,
                                     .starts = watch->starts };

    watch->has_shown |= course.is_shown;
    course.has_shown = watch->has_shown;
    if (course.is_shown)
        watch->why.text[0] = '\0';
    if (course.is_over && watch->ended_ns == 0)
        watch->ended_ns = clock_now_ns();
    course.age_s = since_s(course.is_over ? watch->ended_ns : watch->begun_ns);
    switch (journal_next(&course)) {
    case JOURNAL_WAIT:
        break;
    case JOURNAL_START:
        journalctl_close(one);
        start(watch, next_us(one));
        break;
    case JOURNAL_SILENT:
        err_set(&watch->why, "journalctl has shown no message of the kernel in %g s",
                JOURNAL_SHOW_S);
        break;
    case JOURNAL_GIVE_UP:
        give_up(watch);
        break;
    }
}

/* What it has shown is not shown again. A time that is yet to come would skip too much. */
static int64_t next_us(const struct journalctl *one)
{
    const bool is_past = one->last_us < clock_now_ns() / NS_PER_US;

    return is_past && one->last_us >= one->since_us ? one->last_us + 1 : one->since_us;
}

static void give_up(struct journal_watch *watch)
{
    explain(&watch->journalctl, &watch->why);
    journalctl_close(&watch->journalctl);
    watch->is_given_up = true;
}

/* Its own words come last but for what would help: they may be cut. */
static void explain(const struct journalctl *journalctl, struct error *why)
{
    const char *words = journalctl->words;
    const bool  may_not = strcasestr(words, "permission") != NULL ||
                         strstr(words, "not seeing") != NULL;

    if (!journalctl_is_over(journalctl))
        err_set(why, "journalctl shows no message of the kernel");
    else if (WIFSIGNALED(journalctl->status))
        err_set(why, "journalctl was killed by %s",
                signal_name(WTERMSIG(journalctl->status)).text);
    else
        err_set(why, "journalctl has ended with exit status %d",
                WEXITSTATUS(journalctl->status));
    if (words[0] != '\0')
        err_set(why, "%s: %s", why->text, words);
    if (may_not)
        err_set(why, "%s; members of the groups systemd-journal and adm may read it", why->text);
}

enum journal_next journal_next(const struct journal_course *course)
{
    if (course->is_over && (!course->has_shown || course->starts >= JOURNAL_STARTS_MAX))
        return JOURNAL_GIVE_UP;
    if (course->is_over)
        return course->age_s >= JOURNAL_AGAIN_S ? JOURNAL_START : JOURNAL_WAIT;
    if (course->is_shown)
        return JOURNAL_WAIT;
    if (course->has_words && course->age_s >= JOURNAL_WORDS_S)
        return JOURNAL_GIVE_UP;
    return course->age_s >= JOURNAL_SHOW_S ? JOURNAL_SILENT : JOURNAL_WAIT;
}

static double since_s(int64_t at_ns)
{
    return (double)(clock_now_ns() - at_ns) / NS_PER_S;
}

const char *journal_watch_why(const struct journal_watch *watch, bool is_last)
{
    if (watch->why.text[0] != '\0')
        return watch->why.text;
    return is_last && !watch->has_shown ? "journalctl has shown no message of the kernel yet"
                                        : NULL;
}

void journal_watch_close(struct journal_watch *watch)
{
    journalctl_close(&watch->journalctl);
    free(watch->directory);
    watch->directory = NULL;
}
