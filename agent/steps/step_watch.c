/* step_watch.c - see step_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "steps/step_watch.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define NUMBER_MAX 15 /* digits of a step */

static bool counts_lines(const struct step_watch *watch);
static const char *behind_first(const char *from, const char *end);
static void keep_last_part(struct step_watch *watch);
static void add_part(struct step_watch *watch, const char *bytes, size_t size);
static void look(struct step_watch *watch, const char *line, size_t size, int64_t now_ns);
static bool match(const struct step_watch *watch, const char *line, size_t size,
                  struct step_line *found);
static bool match_part(const regex_t *pattern, const char *bytes, size_t size,
                       struct step_line *found);
static void note(struct step_watch *watch, const struct step_line *found, int64_t now_ns);

regex_t *step_pattern_new(const char *text, struct error *err)
{
    regex_t *pattern = xcalloc(1, sizeof *pattern);
    char     why[200];
    int      rc = regcomp(pattern, text, REG_EXTENDED);

    if (rc == 0)
        return pattern;
    regerror(rc, pattern, why, sizeof why);
    free(pattern);
    err_set(err, "'%.100s' is not an extended regular expression: %s", text, why);
    return NULL;
}

void step_pattern_free(regex_t *pattern)
{
    if (pattern == NULL)
        return;
    regfree(pattern);
    free(pattern);
}

void step_watch_begin(struct step_watch *watch, const regex_t *pattern)
{
    enum step_form form;

    *watch = (struct step_watch){ .pattern = pattern };
    for (form = STEP_FORM_NONE; form < STEP_FORMS; form++)
        watch->last[form] = -1;
}

/* A bar has no newline: what has come of a line counts at once. Whole lines are looked at where
 * they are, since ranks may write many. */
void step_watch_add(struct step_watch *watch, const char *bytes, size_t size, bool is_cut,
                    int64_t now_ns)
{
    const char *at = bytes, *end = bytes + size, *next;

    if (is_cut) {
        at = behind_first(at, end);
        watch->part_size = 0;
    }
    for (; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (next != NULL && watch->part_size == 0) {
            look(watch, at, (size_t)(next - at), now_ns);
            continue;
        }
        add_part(watch, at, (size_t)((next != NULL ? next : end) - at));
        if (next != NULL || !counts_lines(watch))
            look(watch, watch->part, watch->part_size, now_ns);
        if (next == NULL) {
            keep_last_part(watch);
            return;
        }
        watch->part_size = 0;
    }
}

/* A line without a number must be whole: else it would be another step with each byte. */
static bool counts_lines(const struct step_watch *watch)
{
    return watch->pattern != NULL && watch->pattern->re_nsub == 0;
}

/* Returns where a line or the next state of a bar begins, or the end. */
static const char *behind_first(const char *from, const char *end)
{
    while (from < end && *from != '\n' && *from != '\r')
        from++;
    return from < end ? from + 1 : end;
}

/* A bar is drawn again behind each carriage return. */
static void keep_last_part(struct step_watch *watch)
{
    const char *last = memrchr(watch->part, '\r', watch->part_size);

    if (last == NULL)
        return;
    watch->part_size -= (size_t)(last + 1 - watch->part);
    memmove(watch->part, last + 1, watch->part_size);
}

/* If a line is long, only its end is kept. */
static void add_part(struct step_watch *watch, const char *bytes, size_t size)
{
    size_t over;

    if (size >= sizeof watch->part) {
        bytes += size - sizeof watch->part;
        size = sizeof watch->part;
        watch->part_size = 0;
    }
    over = watch->part_size + size > sizeof watch->part
               ? watch->part_size + size - sizeof watch->part
               : 0;
    memmove(watch->part, watch->part + over, watch->part_size - over);
    watch->part_size -= over;
    if (size > 0)
        memcpy(watch->part + watch->part_size, bytes, size);
    watch->part_size += size;
}

static void look(struct step_watch *watch, const char *line, size_t size, int64_t now_ns)
{
    struct step_line found;

    if (watch->pattern != NULL ? match(watch, line, size, &found)
                               : step_line_parse(line, size, &found))
        note(watch, &found, now_ns);
}

/* The last part that matches counts, as with the known forms. */
static bool match(const struct step_watch *watch, const char *line, size_t size,
                  struct step_line *found)
{
    const char *at, *end = line + size, *next;
    bool        is_found = false;

    for (at = line; at <= end; at = next + 1) {
        next = memchr(at, '\r', (size_t)(end - at));
        next = next != NULL ? next : end;
        is_found = match_part(watch->pattern, at, (size_t)(next - at), found) || is_found;
    }
    return is_found;
}

static bool match_part(const regex_t *pattern, const char *bytes, size_t size,
                       struct step_line *found)
{
    char       part[STEP_LINE_MAX + 1];
    regmatch_t at[2] = { 0 };
    int64_t    step = 0;
    regoff_t   i;

    if (size > STEP_LINE_MAX) {
        bytes += size - STEP_LINE_MAX;
        size = STEP_LINE_MAX;
    }
    memcpy(part, bytes, size);
    part[size] = '\0';
    if (regexec(pattern, part, 2, at, 0) != 0)
        return false;
    for (i = at[1].rm_so; pattern->re_nsub > 0 && i >= 0 && i < at[1].rm_eo; i++) {
        if (part[i] < '0' || part[i] > '9' || i - at[1].rm_so == NUMBER_MAX)
            return false;
        step = step * 10 + (part[i] - '0');
    }
    *found = (struct step_line){ .form = STEP_FORM_NONE,
                                 .step = pattern->re_nsub > 0 ? step : -1,
                                 .most = -1 };
    found->has_loss = step_line_loss(part, size, &found->loss);
    return true;
}

static void note(struct step_watch *watch, const struct step_line *found, int64_t now_ns)
{
    if (found->has_loss) {
        watch->has_loss = true;
        watch->loss = found->loss;
    }
    if (watch->last[found->form] == found->step && found->step >= 0)
        return;
    watch->last[found->form] = found->step;
    if (watch->form == STEP_FORM_NONE || found->form < watch->form)
        watch->form = found->form;
    watch->is_last = found->most >= 0 && found->step >= found->most;
    watch->recent_ns[watch->count++ % STEP_WATCH_RECENT] = now_ns;
    watch->at_ns = now_ns;
}

void step_watch_call(struct step_watch *watch, int64_t step, int64_t last, int64_t now_ns)
{
    const struct step_line found = { .form = STEP_FORM_CALL, .step = step, .most = last };

    note(watch, &found, now_ns);
}

int64_t step_watch_step(const struct step_watch *watch)
{
    return watch->last[watch->form];
}

int64_t step_watch_before(const struct step_watch *watch, int64_t at_ns)
{
    uint64_t i, back = watch->count < STEP_WATCH_RECENT ? watch->count : STEP_WATCH_RECENT;

    for (i = 1; i <= back; i++)
        if (watch->recent_ns[(watch->count - i) % STEP_WATCH_RECENT] <= at_ns)
            return watch->recent_ns[(watch->count - i) % STEP_WATCH_RECENT];
    return -1;
}

const char *step_watch_form(const struct step_watch *watch)
{
    return watch->pattern != NULL && watch->form == STEP_FORM_NONE ? "--progress"
                                                                   : step_form_name(watch->form);
}

const struct step_watch *step_watch_more_exact(const struct step_watch *one,
                                               const struct step_watch *other)
{
    if (one->count == 0 || other->count == 0)
        return one->count == 0 ? other : one;
    if (one->form != other->form)
        return other->form < one->form ? other : one;
    return other->at_ns > one->at_ns ? other : one;
}
