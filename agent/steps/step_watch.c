/* step_watch.c - see step_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "steps/step_watch.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define NUMBER_MAX 15 /* digits of a step */

static const char *end_of_line(const char *from, const char *end);
static void add_part(struct step_watch *watch, const char *bytes, size_t size);
static void look(struct step_watch *watch, int64_t now_ns);
static bool match(const struct step_watch *watch, struct step_line *found);
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

/* A bar has no newline: what has come of a line counts at once. */
void step_watch_add(struct step_watch *watch, const char *bytes, size_t size, bool is_cut,
                    int64_t now_ns)
{
    const char *at = bytes, *end = bytes + size, *next;

    if (is_cut) {
        at = end_of_line(at, end);
        watch->part_size = 0;
    }
    for (; at < end; at = next + 1) {
        next = end_of_line(at, end);
        add_part(watch, at, (size_t)(next - at));
        look(watch, now_ns);
        if (next == end)
            return;
        watch->part_size = 0;
    }
}

/* Returns where the line ends, or the end. */
static const char *end_of_line(const char *from, const char *end)
{
    while (from < end && *from != '\n' && *from != '\r')
        from++;
    return from;
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

static void look(struct step_watch *watch, int64_t now_ns)
{
    struct step_line found;

    if (watch->pattern != NULL ? match(watch, &found)
                               : step_line_parse(watch->part, watch->part_size, &found))
        note(watch, &found, now_ns);
}

static bool match(const struct step_watch *watch, struct step_line *found)
{
    char       line[STEP_LINE_MAX + 1];
    regmatch_t at[2] = { 0 };
    int64_t    step = 0;
    regoff_t   i;

    memcpy(line, watch->part, watch->part_size);
    line[watch->part_size] = '\0';
    if (regexec(watch->pattern, line, 2, at, 0) != 0)
        return false;
    for (i = at[1].rm_so; watch->pattern->re_nsub > 0 && i >= 0 && i < at[1].rm_eo; i++) {
        if (line[i] < '0' || line[i] > '9' || i - at[1].rm_so == NUMBER_MAX)
            return false;
        step = step * 10 + (line[i] - '0');
    }
    *found = (struct step_line){ STEP_FORM_NONE, watch->pattern->re_nsub > 0 ? step : -1, -1 };
    return true;
}

static void note(struct step_watch *watch, const struct step_line *found, int64_t now_ns)
{
    if (watch->last[found->form] == found->step && found->step >= 0)
        return;
    watch->last[found->form] = found->step;
    if (watch->form == STEP_FORM_NONE || found->form < watch->form)
        watch->form = found->form;
    watch->is_last = found->most >= 0 && found->step >= found->most;
    watch->count++;
    watch->at_ns = now_ns;
}

void step_watch_call(struct step_watch *watch, int64_t step, int64_t last, int64_t now_ns)
{
    note(watch, &(struct step_line){ STEP_FORM_CALL, step, last }, now_ns);
}

int64_t step_watch_step(const struct step_watch *watch)
{
    return watch->last[watch->form];
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
