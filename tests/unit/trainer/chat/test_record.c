/* test_record.c - one record of a data set: its forms, and what is wrong with it, in which words
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buffer.h"
#include "chat/record.h"

#define MESSAGES(list) "{\"messages\": [" list "]}"
#define SYSTEM(text)  "{\"role\": \"system\", \"content\": \"" text "\"}"
#define USER(text)    "{\"role\": \"user\", \"content\": \"" text "\"}"
#define ANSWER(text)  "{\"role\": \"assistant\", \"content\": \"" text "\"}"
#define FROM(who, text) "{\"from\": \"" who "\", \"value\": \"" text "\"}"

/* "S:...|u:...|A:...": a capital letter is trained on; in front of all "plain" if it is. */
static char *shown(const struct record *record)
{
    static const char letters[] = "suaSUA";
    struct buffer     text = { 0 };
    size_t            i;

    buffer_add_text(&text, record->is_plain ? "plain" : "");
    for (i = 0; i < record->turns; i++) {
        const struct turn *turn = &record->turn[i];

        buffer_add_text(&text, i > 0 || record->is_plain ? "|" : "");
        buffer_add(&text, &letters[turn->role + 3 * turn->is_trained], 1);
        buffer_add_text(&text, ":");
        if (turn->reasoning.at != NULL) {
            buffer_add_text(&text, "(");
            buffer_add(&text, turn->reasoning.at, turn->reasoning.size);
            buffer_add_text(&text, ")");
        }
        buffer_add(&text, turn->text.at, turn->text.size);
    }
    buffer_add(&text, "", 1);
    return text.bytes;
}

/* with: what a chat template makes of it; without: what there is without one, NULL: refused. */
static const struct {
    const char *json, *with, *without;
} good[] = {
    { MESSAGES(USER("Hi") ", " ANSWER("Hello")), "u:Hi|A:Hello", NULL },
    { MESSAGES(SYSTEM("") ", " USER("a") ", " ANSWER("b") ", " USER("c") ", " ANSWER("d")),
      "s:|u:a|A:b|u:c|A:d", NULL },
    { "{\"system\": \"S\", \"messages\": [" USER("a") ", " ANSWER("b") "]}", "s:S|u:a|A:b", NULL },
    { "{\"system\": \"S\", \"messages\": [" SYSTEM("T") ", " USER("a") ", " ANSWER("b") "]}",
      "s:T|u:a|A:b", NULL },
    /* Parts, thoughts, weights. */
    { MESSAGES("{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, "
               "{\"type\": \"text\", \"text\": \"b\"}]}" ", " ANSWER("c")), "u:ab|A:c", NULL },
    { MESSAGES(USER("a") ", " "{\"role\": \"assistant\", \"content\": \"b\", "
               "\"reasoning_content\": \"why\", \"tool_calls\": null}"), "u:a|A:(why)b", NULL },
    { MESSAGES(USER("a") ", " "{\"role\": \"assistant\", \"content\": \"b\", \"weight\": 0}" ", "
               USER("c") ", " "{\"role\": \"assistant\", \"content\": \"d\", \"weight\": 1}"),
      "u:a|a:b|u:c|A:d", NULL },
    { "{\"messages\": [" USER("a") ", {\"role\": \"assistant\", \"content\": \"b\", "
      "\"train\": false}, " ANSWER("c") "]}", "u:a|a:b|A:c", NULL },
    { MESSAGES("{\"role\": \"user\", \"content\": \"a\", \"train\": true}" ", " ANSWER("b")),
      "u:a|A:b", NULL },
    /* ShareGPT's, with either kind of keys. */
    { "{\"id\": 12345678901234567890123, \"conversations\": [" FROM("human", "a") ", "
      FROM("gpt", "b") "], \"system\": \"\", \"tools\": \"[]\"}", "u:a|A:b", NULL },
    { "{\"conversations\": [" FROM("system", "S") ", " USER("a") ", " ANSWER("b")
      "], \"system\": \"T\"}", "s:S|u:a|A:b", NULL },
    /* Alpaca's. tatsu-lab/alpaca has a text beside, and empty inputs. */
    { "{\"instruction\": \"Add.\", \"input\": \"1 2\", \"output\": \"3\", \"text\": \"x\"}",
      "u:Add.\n1 2|A:3",
      "plain|u:Below is an instruction that describes a task, paired with an input that provides "
      "further context. Write a response that appropriately completes the request.\n\n"
      "### Instruction:\nAdd.\n\n### Input:\n1 2\n\n### Response:|A:3" },
    { "{\"instruction\": \"Add.\", \"input\": \"\", \"output\": \"3\"}", "u:Add.|A:3",
      "plain|u:Below is an instruction that describes a task. Write a response that "
      "appropriately completes the request.\n\n### Instruction:\nAdd.\n\n### Response:|A:3" },
    { "{\"instruction\": \"c\", \"input\": null, \"output\": \"d\", \"system\": \"S\", "
      "\"history\": [[\"a\", \"b\"]]}", "s:S|u:a|A:b|u:c|A:d", NULL },
    { "{\"instruction\": \"\", \"input\": \"c\", \"output\": \"d\", \"history\": []}", "u:c|A:d",
      "plain|u:Below is an instruction that describes a task, paired with an input that provides "
      "further context. Write a response that appropriately completes the request.\n\n"
      "### Instruction:\n\n\n### Input:\nc\n\n### Response:|A:d" },
    /* Two strings, or two lists. */
    { "{\"prompt\": \"The sky is\", \"completion\": \" blue.\"}", "u:The sky is|A: blue.",
      "plain|u:The sky is|A: blue." },
    { "{\"prompt\": [" USER("a") ", " ANSWER("b") ", " USER("c") "], \"completion\": ["
      ANSWER("d") "]}", "u:a|a:b|u:c|A:d", NULL },
    { "{\"question\": \"1+1?\", \"answer\": \"2\"}", "u:1+1?|A:2", "plain|u:1+1?|A:2" },
    { "{\"system\": \"S\", \"question\": \"q\", \"answer\": \"a\"}", "s:S|u:q|A:a", NULL },
    /* UltraChat has a prompt beside its messages. */
    { "{\"prompt\": \"a\", \"prompt_id\": \"7\", \"messages\": [" USER("a") ", " ANSWER("b")
      "]}", "u:a|A:b", NULL },
    { "{\"text\": \"\\u00fc\\n\"}", "plain|A:\xC3\xBC\n", "plain|A:\xC3\xBC\n" },
    { "{\"messages\": null, \"text\": \"a\"}", "plain|A:a", "plain|A:a" },
};

static void test_good(void **state)
{
    struct record record;
    struct error  err;
    const char   *expected;
    char         *text;
    size_t        i;

    (void)state;
    for (i = 0; i < 2 * (sizeof good / sizeof good[0]); i++) {
        const char *json = good[i / 2].json;

        expected = i % 2 == 0 ? good[i / 2].with : good[i / 2].without;
        if (record_parse(&record, json, strlen(json), i % 2 == 0, &err) < 0) {
            if (expected != NULL || strstr(err.text, "--chat-template") == NULL)
                fail_msg("%s: %s", json, err.text);
            continue;
        }
        if (expected == NULL)
            fail_msg("%s is not refused without a template", json);
        text = shown(&record);
        assert_string_equal(text, expected);
        free(text);
        record_clear(&record);
    }
}

static const struct {
    const char *json, *error;
} bad[] = {
    { "", "not JSON: unexpected token near end of file (byte 0)" },
    { "{\"text\": \"a\"", "not JSON: '}' expected near end of file (byte 12)" },
    { "{\"text\": \"a\"} {", "not JSON: end of file expected near '{' (byte 15)" },
    { "{\"text\": \"\xFF\"}", "not JSON: unable to decode byte 0xff near '\"' (byte 10)" },
    { "[1]", "the record is a list: an object was expected" },
    { "{}", "no known form, its keys are none: messages, conversations, instruction and output, "
            "prompt and completion, question and answer, or text were expected" },
    { "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"c\"}",
      "no known form, its keys are prompt, chosen, rejected: messages, conversations, "
      "instruction and output, prompt and completion, question and answer, or text were expected" },
    { "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,"
      "\"l\":1,\"m\":1}",
      "no known form, its keys are a, b, c, d, e, f, g, h, i, j, k, l ...: messages, "
      "conversations, instruction and output, prompt and completion, question and answer, or text "
      "were expected" },
    { "{\"text\": 7}", "text is a number: a string was expected" },
    { "{\"text\": \"\"}", "text is empty" },
    { "{\"text\": \"a\", \"images\": [\"a.png\"]}",
      "images: only text is supported, no tool calls and no images" },
    { "{\"tools\": [{}], \"messages\": []}",
      "tools: only text is supported, no tool calls and no images" },
    { "{\"messages\": \"a\"}", "messages is a string: a list of messages was expected" },
    { "{\"messages\": []}",
      "no turn is the assistant's: there is nothing to train on" },
    { MESSAGES("7"), "messages[0] is a number: an object was expected" },
    { MESSAGES(USER("a")), "no turn is the assistant's: there is nothing to train on" },
    { MESSAGES(USER("a") ", " ANSWER("")), "turn 2, of the assistant, is empty" },
    { MESSAGES(USER("") ", " ANSWER("b")), "turn 1, of the user, is empty" },
    { MESSAGES(USER("a") ", " "{\"content\": \"b\"}"), "messages[1] has no role" },
    { MESSAGES("{\"role\": 1, \"content\": \"b\"}"),
      "messages[0].role is a number: a string was expected" },
    { MESSAGES("{\"role\": \"bot\", \"content\": \"b\"}"),
      "messages[0]: role 'bot' is unknown: system, user (human) or assistant (gpt) was expected" },
    { MESSAGES("{\"role\": \"user\"}"), "messages[0] has no content" },
    { MESSAGES("{\"role\": \"user\", \"content\": null}"),
      "messages[0].content is null: a string or a list of text parts was expected" },
    { MESSAGES("{\"role\": \"user\", \"content\": {\"a\": 1}}"),
      "messages[0].content is an object: a string or a list of text parts was expected" },
    { MESSAGES("{\"role\": \"user\", \"content\": [\"a\"]}"),
      "messages[0].content[0] is a string: {\"type\": \"text\", \"text\": ...} was expected" },
    { MESSAGES("{\"role\": \"user\", \"content\": [{\"type\": \"image_url\", \"url\": \"\"}]}"),
      "messages[0].content[0] is of type 'image_url': only text is supported, no tool calls and no "
      "images" },
    { MESSAGES("{\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}"),
      "messages[0].content[0] has no text" },
    { MESSAGES("{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": true}]}"),
      "messages[0].content[0].text is true: a string was expected" },
    { MESSAGES(USER("a") ", " "{\"role\": \"assistant\", \"content\": null, "
               "\"tool_calls\": [{\"id\": \"1\"}]}"),
      "messages[1].tool_calls: tool calls are not supported" },
    { MESSAGES("{\"role\": \"assistant\", \"function_call\": {\"name\": \"f\"}}"),
      "messages[0].function_call: tool calls are not supported" },
    { "{\"conversations\": [" FROM("human", "a") ", " FROM("observation", "b") "]}",
      "conversations[1]: role 'observation': tool calls are not supported" },
    { "{\"conversations\": [{\"from\": \"human\", \"value\": false}]}",
      "conversations[0].value is false: a string or a list of text parts was expected" },
    { MESSAGES("{\"role\": \"assistant\", \"content\": \"a\", \"weight\": 0.5}"),
      "messages[0].weight is 0.5: 0 or 1 was expected" },
    { MESSAGES("{\"role\": \"assistant\", \"content\": \"a\", \"weight\": \"1\"}"),
      "messages[0].weight is a string: 0 or 1 was expected" },
    { MESSAGES("{\"role\": \"assistant\", \"content\": \"a\", \"train\": 0}"),
      "messages[0].train is a number: true or false was expected" },
    { MESSAGES("{\"role\": \"assistant\", \"content\": \"a\", \"reasoning_content\": []}"),
      "messages[0].reasoning_content is a list: a string was expected" },
    { MESSAGES(USER("a") ", " "{\"role\": \"assistant\", \"content\": \"b\", \"weight\": 0}"),
      "no turn of the assistant is trained on: each has \"weight\": 0 or \"train\": false, or "
      "belongs to the prompt" },
    { "{\"system\": 1, \"messages\": [" USER("a") "]}",
      "system is a number: a string was expected" },
    { "{\"instruction\": \"a\", \"input\": 1, \"output\": \"b\"}",
      "input is a number: a string was expected" },
    { "{\"instruction\": \"a\", \"output\": [\"b\", \"c\"]}",
      "output is a list: a string was expected" },
    { "{\"instruction\": \"a\", \"output\": \"\"}", "turn 2, of the assistant, is empty" },
    { "{\"instruction\": \"a\", \"output\": \"b\", \"history\": \"c\"}",
      "history is a string: a list was expected" },
    { "{\"instruction\": \"a\", \"output\": \"b\", \"history\": [[\"c\"]]}",
      "history[0] is not a list of two strings" },
    { "{\"instruction\": \"a\", \"output\": \"b\", \"history\": [[\"c\", 1]]}",
      "history[0][1] is a number: a string was expected" },
    { "{\"prompt\": \"a\", \"completion\": [" ANSWER("b") "]}",
      "prompt is a string, and completion a list: two strings or two lists of messages were "
      "expected" },
    { "{\"prompt\": [" ANSWER("a") "], \"completion\": [" USER("b") "]}",
      "no turn of the assistant is trained on: each has \"weight\": 0 or \"train\": false, or "
      "belongs to the prompt" },
    { "{\"prompt\": 1, \"completion\": \"b\"}", "prompt is a number: a string was expected" },
};

static void test_bad(void **state)
{
    struct record record;
    struct error  err;
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (record_parse(&record, bad[i].json, strlen(bad[i].json), true, &err) == 0)
            fail_msg("%s is not refused", bad[i].json);
        assert_string_equal(err.text, bad[i].error);
        assert_null(record.turn);
        assert_null(record.value);
    }
}

/* Without a template, a conversation is refused with what to do. */
static void test_no_template(void **state)
{
    static const char json[] = MESSAGES(USER("a") ", " ANSWER("b"));
    struct record     record;
    struct error      err;

    (void)state;
    assert_int_equal(record_parse(&record, json, strlen(json), false, &err), -1);
    assert_string_equal(err.text, "messages: a chat template is needed, and the tokenizer has "
                                  "none: say --chat-template chatml, for example");
}

/* A text of many parts. */
static char *repeated(const char *begin, const char *part, size_t count, const char *end)
{
    struct buffer text = { 0 };
    size_t        i;

    buffer_add_text(&text, begin);
    for (i = 0; i < count; i++) {
        buffer_add_text(&text, i > 0 ? ", " : "");
        buffer_add_text(&text, part);
    }
    buffer_add(&text, end, strlen(end) + 1);
    return text.bytes;
}

static void test_bounds(void **state)
{
    struct record record;
    struct error  err;
    char         *json = repeated("{\"messages\": [", ANSWER("a"), RECORD_TURNS_MAX, "]}");

    (void)state;
    assert_int_equal(record_parse(&record, json, strlen(json), true, &err), 0);
    assert_int_equal(record.turns, RECORD_TURNS_MAX);
    record_clear(&record);
    free(json);
    json = repeated("{\"messages\": [", ANSWER("a"), RECORD_TURNS_MAX + 1, "]}");
    assert_int_equal(record_parse(&record, json, strlen(json), true, &err), -1);
    assert_string_equal(err.text, "messages has 10001 messages: 10000 are the most");
    free(json);
    json = repeated("{\"instruction\": \"a\", \"output\": \"b\", \"history\": [", "[\"a\", \"b\"]",
                    RECORD_TURNS_MAX / 2 + 1, "]}");
    assert_int_equal(record_parse(&record, json, strlen(json), true, &err), -1);
    assert_string_equal(err.text, "history has too many turns: 10000 are the most");
    free(json);
}

/* NUL is a character like others, and a conversation can be made without JSON. */
static void test_nul_and_add(void **state)
{
    static const char json[] = "{\"text\": \"a\\u0000b\"}";
    struct record     record;
    struct error      err;

    (void)state;
    assert_int_equal(record_parse(&record, json, strlen(json), true, &err), 0);
    assert_int_equal(record.turn[0].text.size, 3);
    assert_memory_equal(record.turn[0].text.at, "a\0b", 3);
    record_clear(&record);
    record_add(&record, ROLE_SYSTEM, "", 0);
    record_add(&record, ROLE_USER, "a\0b", 3);
    assert_int_equal(record.turns, 2);
    assert_int_equal(record.turn[0].text.size, 0);
    assert_memory_equal(record.turn[1].text.at, "a\0b", 3);
    assert_false(record.turn[1].is_trained);
    record_clear(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),   cmocka_unit_test(test_bad),
        cmocka_unit_test(test_no_template), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_nul_and_add),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
