/* record.c - see record.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "chat/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "chat/message.h"
#include "xalloc.h"

#define KEYS_SHOWN 12 /* of a record that has no known form */

struct form {
    const char *key, *second; /* both must be there; second NULL: the first is enough */
    int (*take)(struct record *record, const json_t *root, const struct form *form,
                struct error *err);
};

static const struct form *form_of(const json_t *root);
static int  take_messages(struct record *record, const json_t *root, const struct form *form,
                          struct error *err);
static int  take_alpaca(struct record *record, const json_t *root, const struct form *form,
                        struct error *err);
static int  take_pair(struct record *record, const json_t *root, const struct form *form,
                      struct error *err);
static int  take_text(struct record *record, const json_t *root, const struct form *form,
                      struct error *err);
static int  take_prompt(struct record *record, const json_t *root, const struct form *form,
                        struct error *err);
static int  take_system(struct record *record, const json_t *root, struct error *err);
static int  take_history(struct record *record, const json_t *history, struct error *err);
static void add_alpaca(struct record *record, const json_t *instruction, const json_t *input);
static int  check_turns(const struct record *record, struct error *err);
static int  refuse_media(const json_t *root, struct error *err);
static int  no_form(const json_t *root, struct error *err);
static int  needs_template(const char *what, struct error *err);

static const struct form forms[] = {
    { "messages", NULL, take_messages },       { "conversations", NULL, take_messages },
    { "instruction", "output", take_alpaca },  { "prompt", "completion", take_prompt },
    { "question", "answer", take_pair },       { "text", NULL, take_text },
};

int record_parse(struct record *record, const char *text, size_t size, bool has_template,
                 struct error *err)
{
    json_error_t       why;
    json_t            *root = json_loadb(text, size, MESSAGE_JSON_FLAGS, &why);
    const struct form *form;

    *record = (struct record){ .value = root, .is_plain = !has_template };
    if (root == NULL)
        return err_set(err, "not JSON: %s (byte %d)", why.text, why.position);
    if (!json_is_object(root)) {
        err_set(err, "the record is %s: an object was expected", json_type_words(root));
        goto failed;
    }
    form = form_of(root);
    if (form == NULL) {
        no_form(root, err);
        goto failed;
    }
    if (refuse_media(root, err) < 0 || form->take(record, root, form, err) < 0 ||
        check_turns(record, err) < 0)
        goto failed;
    return 0;
failed:
    record_clear(record);
    return -1;
}

void record_clear(struct record *record)
{
    json_decref(record->value);
    json_decref(record->made);
    free(record->turn);
    *record = (struct record){ 0 };
}

void record_add(struct record *record, enum chat_role role, const char *text, size_t size)
{
    record_push(record, role, record_keep(record, text, size));
}

static const struct form *form_of(const json_t *root)
{
    size_t i;

    for (i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (json_present(root, forms[i].key) != NULL &&
            (forms[i].second == NULL || json_present(root, forms[i].second) != NULL))
            return &forms[i];
    return NULL;
}

static int take_messages(struct record *record, const json_t *root, const struct form *form,
                         struct error *err)
{
    const json_t *list = json_present(root, form->key);
    const json_t *first = json_array_get(list, 0);
    const char   *role = json_string_value(json_present(first, "role"));

    if (record->is_plain)
        return needs_template(form->key, err);
    if (role == NULL)
        role = json_string_value(json_present(first, "from"));
    if ((role == NULL || strcmp(role, "system") != 0) && take_system(record, root, err) < 0)
        return -1;
    return messages_take(record, list, form->key, true, err);
}

static int take_alpaca(struct record *record, const json_t *root, const struct form *form,
                       struct error *err)
{
    const json_t *history = json_present(root, "history");
    const json_t *instruction, *input, *output;

    if (string_take(root, form->key, &instruction, err) < 0 ||
        string_take(root, "input", &input, err) < 0 ||
        string_take(root, form->second, &output, err) < 0 || take_system(record, root, err) < 0 ||
        take_history(record, history, err) < 0)
        return -1;
    if (record->is_plain && record->turns > 0)
        return needs_template("system and history", err);
    add_alpaca(record, instruction, input);
    record_push(record, ROLE_ASSISTANT, string_span(output));
    return 0;
}

/* As a turn: the instruction, a newline, the input, as LLaMA-Factory does. As a text: the prompt
 * of Stanford's train.py. */
static void add_alpaca(struct record *record, const json_t *instruction, const json_t *input)
{
    const bool    has_input = json_string_length(input) > 0;
    struct buffer text = { 0 };

    if (record->is_plain) {
        buffer_add_text(&text, "Below is an instruction that describes a task");
        buffer_add_text(&text, has_input ? ", paired with an input that provides further context"
                                         : "");
        buffer_add_text(&text, ". Write a response that appropriately completes the request.\n\n"
                               "### Instruction:\n");
    }
    buffer_add(&text, json_string_value(instruction), json_string_length(instruction));
    if (has_input) {
        if (record->is_plain)
            buffer_add_text(&text, "\n\n### Input:\n");
        else if (text.size > 0)
            buffer_add_text(&text, "\n");
        buffer_add(&text, json_string_value(input), json_string_length(input));
    }
    if (record->is_plain)
        buffer_add_text(&text, "\n\n### Response:");
    record_add(record, ROLE_USER, text.bytes, text.size);
    buffer_clear(&text);
}

/* LLaMA-Factory's: earlier turns, each a list of what the user and the assistant said. */
static int take_history(struct record *record, const json_t *history, struct error *err)
{
    const json_t *pair, *said;
    size_t        i, j;

    if (history != NULL && !json_is_array(history))
        return err_set(err, "history is %s: a list was expected", json_type_words(history));
    for (i = 0; i < json_array_size(history); i++) {
        pair = json_array_get(history, i);
        if (json_array_size(pair) != 2)
            return err_set(err, "history[%zu] is not a list of two strings", i);
        if (record->turns + 2 > RECORD_TURNS_MAX)
            return err_set(err, "history has too many turns: %d are the most", RECORD_TURNS_MAX);
        for (j = 0; j < 2; j++) {
            said = json_array_get(pair, j);
            if (!json_is_string(said))
                return err_set(err, "history[%zu][%zu] is %s: a string was expected", i, j,
                               json_type_words(said));
            record_push(record, j == 0 ? ROLE_USER : ROLE_ASSISTANT, string_span(said));
        }
    }
    return 0;
}

static int take_prompt(struct record *record, const json_t *root, const struct form *form,
                       struct error *err)
{
    const json_t *prompt = json_present(root, form->key);
    const json_t *completion = json_present(root, form->second);

    if (!json_is_array(prompt) && !json_is_array(completion))
        return take_pair(record, root, form, err);
    if (!json_is_array(prompt) || !json_is_array(completion))
        return err_set(err, "prompt is %s, and completion %s: two strings or two lists of "
                            "messages were expected", json_type_words(prompt),
                       json_type_words(completion));
    if (record->is_plain)
        return needs_template("messages", err);
    return messages_take(record, prompt, form->key, false, err) < 0
               ? -1
               : messages_take(record, completion, form->second, true, err);
}

static int take_pair(struct record *record, const json_t *root, const struct form *form,
                     struct error *err)
{
    const json_t *first, *second;

    if (string_take(root, form->key, &first, err) < 0 ||
        string_take(root, form->second, &second, err) < 0 || take_system(record, root, err) < 0)
        return -1;
    if (record->is_plain && record->turns > 0)
        return needs_template("system", err);
    record_push(record, ROLE_USER, string_span(first));
    record_push(record, ROLE_ASSISTANT, string_span(second));
    return 0;
}

static int take_text(struct record *record, const json_t *root, const struct form *form,
                     struct error *err)
{
    const json_t *text;

    if (string_take(root, form->key, &text, err) < 0)
        return -1;
    record->is_plain = true;
    record_push(record, ROLE_ASSISTANT, string_span(text));
    return 0;
}

/* The key beside the others. Many data sets have "" in it. */
static int take_system(struct record *record, const json_t *root, struct error *err)
{
    const json_t *system;

    if (string_take(root, "system", &system, err) < 0)
        return -1;
    if (json_string_length(system) > 0)
        record_push(record, ROLE_SYSTEM, string_span(system));
    return 0;
}

static int check_turns(const struct record *record, struct error *err)
{
    bool   is_answered = false, is_trained = false;
    size_t i;

    for (i = 0; i < record->turns; i++) {
        const struct turn *turn = &record->turn[i];

        if (turn->role == ROLE_SYSTEM || (record->is_plain && turn->role == ROLE_USER))
            continue;
        if (turn->text.size == 0 && record->turns == 1)
            return err_set(err, "text is empty");
        if (turn->text.size == 0)
            return err_set(err, "turn %zu, of the %s, is empty", i + 1,
                           chat_role_name(turn->role));
        is_answered |= turn->role == ROLE_ASSISTANT;
        is_trained |= turn->is_trained;
    }
    if (!is_answered)
        return err_set(err, "no turn is the assistant's: there is nothing to train on");
    if (!is_trained)
        return err_set(err, "no turn of the assistant is trained on: each has \"weight\": 0 or "
                            "\"train\": false, or belongs to the prompt");
    return 0;
}

/* A model would learn from a text in which they are missing. */
static int refuse_media(const json_t *root, struct error *err)
{
    static const char *const keys[] = { "tools", "functions", "images", "image", "videos",
                                        "audios" };
    const json_t *value;
    size_t        i;

    for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        value = json_present(root, keys[i]);
        if (value != NULL && !json_is_bare(value))
            return err_set(err, "%s: only text is supported, no tool calls and no images",
                           keys[i]);
    }
    return 0;
}

static int no_form(const json_t *root, struct error *err)
{
    struct buffer names = { 0 };
    const char   *key;
    json_t       *value;
    size_t        shown = 0;
    int           rc;

    json_object_foreach((json_t *)root, key, value) {
        if (shown == KEYS_SHOWN) {
            buffer_add_text(&names, " ...");
            break;
        }
        buffer_add_text(&names, shown++ > 0 ? ", " : "");
        buffer_add(&names, key, strnlen(key, 40));
    }
    buffer_add(&names, "", 1);
    rc = err_set(err, "no known form, its keys are %s: messages, conversations, instruction and "
                      "output, prompt and completion, question and answer, or text were "
                      "expected", shown > 0 ? names.bytes : "none");
    buffer_clear(&names);
    return rc;
}

static int needs_template(const char *what, struct error *err)
{
    return err_set(err, "%s: a chat template is needed, and the tokenizer has none: say "
                        "--chat-template chatml, for example", what);
}
