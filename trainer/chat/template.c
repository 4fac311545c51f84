/* template.c - see template.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "chat/template.h"

#include <stdlib.h>
#include <string.h>

#include "chat/template_shape.h"
#include "utf8.h"
#include "xalloc.h"

#define DEFAULT_EOS "</s>" /* of the templates that ask the tokenizer */

static int  render_headers(const struct chat_template *template, const struct record *record,
                           struct chat_text *text);
static void add_thinking(const struct turn *turn, bool has_thought, bool is_last,
                         struct chat_text *text);
static int  render_inst(const struct chat_template *template, const struct record *record,
                        struct chat_text *text, struct error *err);
static int  check_inst(const struct template_shape *shape, const struct record *record,
                       struct error *err);
static void add_user(const struct template_shape *shape, const struct turn *system,
                     const struct turn *turn, struct chat_text *text);
static void add_end(const struct chat_template *template, bool is_trained,
                    struct chat_text *text);
static void add(struct chat_text *text, const char *words);
static void add_span(struct chat_text *text, struct span span, bool is_trained);
static struct span words_of(const char *words);
static bool   is_query(const struct turn *turn);
static size_t last_query(const struct record *record);
static struct span trimmed(struct span span);
static struct span without_newlines(struct span span, bool at_start, bool at_end);
static bool   is_white(uint32_t code);
static const char *find(struct span span, const char *words, bool is_last);

int chat_render(const struct chat_template *template, const struct record *record,
                bool wants_answer, struct chat_text *text, struct error *err)
{
    const struct template_shape *shape = template->shape;
    size_t                       i;

    text->pieces = 0;
    text->is_open = record->is_plain;
    if (record->is_plain) {
        for (i = 0; i < record->turns; i++)
            add_span(text, record->turn[i].text, record->turn[i].is_trained);
        return 0;
    }
    if (shape == NULL)
        return err_set(err, "a conversation needs a chat template: say --chat-template chatml, "
                            "for example");
    if (record->turns == 0)
        return err_set(err, "the conversation has no turns");
    if (wants_answer && record->turn[record->turns - 1].role != ROLE_USER)
        return err_set(err, "the last turn is not the user's: there is nothing to answer");
    if (shape->bos[0] != '\0')
        add(text, template->bos != NULL ? template->bos : shape->bos);
    if ((shape->style == STYLE_INST ? render_inst(template, record, text, err)
                                    : render_headers(template, record, text)) < 0)
        return -1;
    if (wants_answer && shape->style == STYLE_HEADERS) {
        add(text, shape->head);
        add(text, chat_role_name(ROLE_ASSISTANT));
        add(text, shape->neck);
    }
    return 0;
}

static int render_headers(const struct chat_template *template, const struct record *record,
                          struct chat_text *text)
{
    const struct template_shape *shape = template->shape;
    const char  *system = template->system != NULL ? template->system : shape->system;
    const bool   has_system = record->turn[0].role == ROLE_SYSTEM;
    const size_t query = last_query(record);
    size_t       i = 0;

    if (shape->preface != NULL || (system != NULL && !has_system)) {
        add(text, shape->head);
        add(text, chat_role_name(ROLE_SYSTEM));
        add(text, shape->neck);
        add(text, shape->preface != NULL ? shape->preface : "");
        if (!has_system)
            add(text, system != NULL ? system : "");
        else
            add_span(text, trimmed(record->turn[i++].text), false);
        add_end(template, false, text);
    }
    for (; i < record->turns; i++) {
        const struct turn *turn = &record->turn[i];

        add(text, shape->head);
        add(text, chat_role_name(turn->role));
        add(text, shape->neck);
        if (shape->has_reasoning && turn->role == ROLE_ASSISTANT)
            add_thinking(turn, i > query, i + 1 == record->turns, text);
        else
            add_span(text, shape->is_trimmed ? trimmed(turn->text) : turn->text,
                     turn->is_trained);
        add_end(template, turn->is_trained, text);
    }
    return 0;
}

/* Qwen3's: the thoughts before the last question are dropped. After it, the last turn has a place
 * for them, even if there are none. */
static void add_thinking(const struct turn *turn, bool has_thought, bool is_last,
                         struct chat_text *text)
{
    static const char open[] = "<think>", close[] = "</think>";
    struct span       said = turn->text, thought = turn->reasoning;
    const char       *end = thought.at == NULL ? find(said, close, false) : NULL;
    const char       *start;

    if (end != NULL) {
        thought = without_newlines((struct span){ said.at, (size_t)(end - said.at) }, false, true);
        start = find(thought, open, true);
        if (start != NULL)
            thought = (struct span){ start + strlen(open),
                                     (size_t)(thought.at + thought.size - start) - strlen(open) };
        end = find(said, close, true) + strlen(close);
        said = without_newlines((struct span){ end, (size_t)(said.at + said.size - end) }, true,
                                false);
    }
    if (end != NULL)
        thought = without_newlines(thought, true, false);
    if (has_thought && (is_last || thought.size > 0)) {
        add_span(text, words_of("<think>\n"), turn->is_trained);
        add_span(text, without_newlines(thought, true, true), turn->is_trained);
        add_span(text, words_of("\n</think>\n\n"), turn->is_trained);
        said = without_newlines(said, true, false);
    }
    add_span(text, said, turn->is_trained);
}

static int render_inst(const struct chat_template *template, const struct record *record,
                       struct chat_text *text, struct error *err)
{
    const struct template_shape *shape = template->shape;
    const struct turn *system = record->turn[0].role == ROLE_SYSTEM ? &record->turn[0] : NULL;
    const size_t       first = system != NULL;
    size_t             last = record->turns - 1, i;

    if (check_inst(shape, record, err) < 0)
        return -1;
    if (record->turn[last].role != ROLE_USER)
        last--;
    if (shape->place == SYSTEM_FIRST)
        last = first;
    for (i = first; i < record->turns; i++) {
        const struct turn *turn = &record->turn[i];

        if (turn->role == ROLE_USER) {
            add_user(shape, i == last ? system : NULL, turn, text);
            continue;
        }
        add_span(text, words_of(shape->lead), turn->is_trained);
        add_span(text, shape->is_trimmed ? trimmed(turn->text) : turn->text, turn->is_trained);
        add_end(template, turn->is_trained, text);
    }
    return 0;
}

static int check_inst(const struct template_shape *shape, const struct record *record,
                      struct error *err)
{
    const size_t first = record->turn[0].role == ROLE_SYSTEM;
    size_t       i;

    if (first > 0 && shape->place == SYSTEM_NONE)
        return err_set(err, "chat template %s has no system turn", shape->name);
    for (i = first; i < record->turns; i++)
        if (record->turn[i].role != ((i - first) % 2 == 0 ? ROLE_USER : ROLE_ASSISTANT))
            return err_set(err, "turn %zu is the %s's: with chat template %s the user and the "
                                "assistant take turns", i + 1,
                           chat_role_name(record->turn[i].role), shape->name);
    if (record->turns == first)
        return err_set(err, "chat template %s needs a turn of the user", shape->name);
    return 0;
}

static void add_user(const struct template_shape *shape, const struct turn *system,
                     const struct turn *turn, struct chat_text *text)
{
    add(text, shape->head);
    if (system != NULL) {
        add_span(text, system->text, false);
        add(text, "\n\n");
    }
    add_span(text, turn->text, false);
    add(text, shape->neck);
}

static void add_end(const struct chat_template *template, bool is_trained,
                    struct chat_text *text)
{
    const char *end = template->shape->end;

    if (end == NULL)
        end = template->eos != NULL ? template->eos : DEFAULT_EOS;
    add_span(text, words_of(end), is_trained);
    add(text, template->shape->tail);
}

static void add(struct chat_text *text, const char *words)
{
    add_span(text, words_of(words), false);
}

static void add_span(struct chat_text *text, struct span span, bool is_trained)
{
    if (span.size == 0)
        return;
    if (text->pieces == text->room) {
        text->room = text->room > 0 ? 2 * text->room : 32;
        text->piece = xreallocarray(text->piece, text->room, sizeof *text->piece);
    }
    text->piece[text->pieces++] = (struct chat_piece){ span.at, span.size, is_trained };
}

static struct span words_of(const char *words)
{
    return (struct span){ words, strlen(words) };
}

/* The number of the last turn in which the user asks, and does not hand over a tool's answer; the
 * last turn of all if there is none. */
static size_t last_query(const struct record *record)
{
    size_t i;

    for (i = record->turns; i > 0; i--)
        if (is_query(&record->turn[i - 1]))
            return i - 1;
    return record->turns - 1;
}

static bool is_query(const struct turn *turn)
{
    static const char open[] = "<tool_response>", close[] = "</tool_response>";
    const struct span text = turn->text;

    return turn->role == ROLE_USER &&
           !(text.size >= strlen(close) && memcmp(text.at, open, strlen(open)) == 0 &&
             memcmp(text.at + text.size - strlen(close), close, strlen(close)) == 0);
}

/* As strip() of Python's strings does. */
static struct span trimmed(struct span span)
{
    uint32_t code;
    size_t   size, last;

    while (span.size > 0 && (size = utf8_decode(span.at, span.size, &code)) > 0 &&
           is_white(code)) {
        span.at += size;
        span.size -= size;
    }
    while (span.size > 0) {
        for (last = span.size - 1; last > 0 && (span.at[last] & 0xC0) == 0x80; last--)
            ;
        if (utf8_decode(span.at + last, span.size - last, &code) == 0 || !is_white(code))
            break;
        span.size = last;
    }
    return span;
}

/* What isspace() of Python's strings says. */
static bool is_white(uint32_t code)
{
    return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
           code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
           code == 0x3000;
}

static struct span without_newlines(struct span span, bool at_start, bool at_end)
{
    for (; at_start && span.size > 0 && span.at[0] == '\n'; span.size--)
        span.at++;
    while (at_end && span.size > 0 && span.at[span.size - 1] == '\n')
        span.size--;
    return span;
}

/* Returns where the words are, for the first or the last time; NULL: nowhere. */
static const char *find(struct span span, const char *words, bool is_last)
{
    const size_t size = strlen(words);
    const char  *found = NULL, *at = span.at, *end = span.at + span.size;

    while (span.at != NULL && (at = memmem(at, (size_t)(end - at), words, size)) != NULL) {
        found = at;
        if (!is_last)
            break;
        at += size;
    }
    return found;
}

void chat_text_clear(struct chat_text *text)
{
    free(text->piece);
    *text = (struct chat_text){ 0 };
}
