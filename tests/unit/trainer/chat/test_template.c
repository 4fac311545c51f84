/* test_template.c - chat templates: what they write, and how they are known
 *
 * The expected texts were written by Jinja from the models' own templates, with transformers'
 * settings (trim_blocks, lstrip_blocks); see template.h for the two exceptions.
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
#include <unistd.h>

#include <cmocka.h>

#include "buffer.h"
#include "chat/template.h"
#include "xalloc.h"

#define TURN(role, text) "{\"role\": \"" role "\", \"content\": \"" text "\"}"
#define SYSTEM(text)     TURN("system", text)
#define USER(text)       TURN("user", text)
#define ANSWER(text)     TURN("assistant", text)
#define GIVEN(text)      "{\"role\": \"assistant\", \"weight\": 0, \"content\": \"" text "\"}"
#define THOUGHT(thought, text)                                                                   \
    "{\"role\": \"assistant\", \"content\": \"" text "\", \"reasoning_content\": \"" thought "\"}"
#define SHORT       USER("Hi") ", " ANSWER("Hello")
#define QUESTION    USER("\\tHi\\n") ", " ANSWER("\\nHello ") ", " USER("Who? ")
#define PLAIN       QUESTION ", " ANSWER("I.\\n")
#define LONG        SYSTEM(" Be\\n") ", " PLAIN
#define LONG_PROMPT SYSTEM(" Be\\n") ", " QUESTION

/* Between two ~ is what is trained on. A conversation that ends with a question wants an answer. */
static const struct {
    const char *name, *messages, *expected;
} cases[] = {
    { "chatml", SHORT,
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n~Hello<|im_end|>~\n" },
    { "chatml", LONG,
      "<|im_start|>system\n Be\n<|im_end|>\n<|im_start|>user\n\tHi\n<|im_end|>\n"
      "<|im_start|>assistant\n~\nHello <|im_end|>~\n<|im_start|>user\nWho? <|im_end|>\n"
      "<|im_start|>assistant\n~I.\n<|im_end|>~\n" },
    { "chatml", LONG_PROMPT,
      "<|im_start|>system\n Be\n<|im_end|>\n<|im_start|>user\n\tHi\n<|im_end|>\n"
      "<|im_start|>assistant\n~\nHello <|im_end|>~\n<|im_start|>user\nWho? <|im_end|>\n"
      "<|im_start|>assistant\n" },
    { "qwen2", SHORT,
      "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n~Hello<|im_end|>~\n" },
    { "qwen2.5", SHORT,
      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant."
      "<|im_end|>\n"
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n~Hello<|im_end|>~\n" },
    { "qwen3", SHORT,
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n~<think>\n\n</think>\n\n"
      "Hello<|im_end|>~\n" },
    { "qwen3", LONG,
      "<|im_start|>system\n Be\n<|im_end|>\n<|im_start|>user\n\tHi\n<|im_end|>\n"
      "<|im_start|>assistant\n~\nHello <|im_end|>~\n<|im_start|>user\nWho? <|im_end|>\n"
      "<|im_start|>assistant\n~<think>\n\n</think>\n\nI.\n<|im_end|>~\n" },
    { "qwen3", LONG_PROMPT,
      "<|im_start|>system\n Be\n<|im_end|>\n<|im_start|>user\n\tHi\n<|im_end|>\n"
      "<|im_start|>assistant\n~\nHello <|im_end|>~\n<|im_start|>user\nWho? <|im_end|>\n"
      "<|im_start|>assistant\n" },
    { "llama3", SHORT,
      "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~Hello<|eot_id|>~" },
    { "llama3", LONG,
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~Hello<|eot_id|>~"
      "<|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~I.<|eot_id|>~" },
    { "llama3", LONG_PROMPT,
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~Hello<|eot_id|>~"
      "<|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n" },
    { "llama3.1", SHORT,
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
      "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~Hello<|eot_id|>~" },
    { "llama3.1", LONG,
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
      "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nBe<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~Hello<|eot_id|>~"
      "<|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~I.<|eot_id|>~" },
    { "llama3.1", LONG_PROMPT,
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
      "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nBe<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n~Hello<|eot_id|>~"
      "<|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n" },
    { "mistral", SHORT,
      "<s>[INST] Hi [/INST]~Hello</s>~" },
    { "mistral", PLAIN,
      "<s>[INST] \tHi\n [/INST]~\nHello </s>~[INST] Who?  [/INST]~I.\n</s>~" },
    { "mistral-v1", SHORT,
      "<s> [INST] Hi [/INST]~ Hello</s>~" },
    { "mistral-v1", LONG,
      "<s> [INST]  Be\n\n\n\tHi\n [/INST]~ \nHello </s>~ [INST] Who?  [/INST]~ I.\n</s>~" },
    { "mistral-v1", LONG_PROMPT,
      "<s> [INST]  Be\n\n\n\tHi\n [/INST]~ \nHello </s>~ [INST] Who?  [/INST]" },
    { "mistral-v3", SHORT,
      "<s>[INST] Hi[/INST]~ Hello</s>~" },
    { "mistral-v3", LONG,
      "<s>[INST] \tHi\n[/INST]~ Hello</s>~[INST]  Be\n\n\nWho? [/INST]~ I.</s>~" },
    { "mistral-v3", LONG_PROMPT,
      "<s>[INST] \tHi\n[/INST]~ Hello</s>~[INST]  Be\n\n\nWho? [/INST]" },
    { "mistral-tekken", SHORT,
      "<s>[INST]Hi[/INST]~Hello</s>~" },
    { "mistral-tekken", LONG,
      "<s>[INST]\tHi\n[/INST]~\nHello </s>~[INST] Be\n\n\nWho? [/INST]~I.\n</s>~" },
    { "mistral-tekken", LONG_PROMPT,
      "<s>[INST]\tHi\n[/INST]~\nHello </s>~[INST] Be\n\n\nWho? [/INST]" },
    { "zephyr", SHORT,
      "<|user|>\nHi</s>\n<|assistant|>\n~Hello</s>~\n" },
    { "zephyr", LONG,
      "<|system|>\n Be\n</s>\n<|user|>\n\tHi\n</s>\n<|assistant|>\n~\nHello </s>~\n"
      "<|user|>\nWho? </s>\n<|assistant|>\n~I.\n</s>~\n" },
    { "zephyr", LONG_PROMPT,
      "<|system|>\n Be\n</s>\n<|user|>\n\tHi\n</s>\n<|assistant|>\n~\nHello </s>~\n"
      "<|user|>\nWho? </s>\n<|assistant|>\n" },
    { "qwen3", USER("a") ", " ANSWER("<think>\\nx\\n</think>\\n\\nb") ", " USER("c")
      ", " ANSWER("<think>\\n\\ny\\n</think>\\n\\nd"),
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n~b<|im_end|>~\n"
      "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n~<think>\ny\n</think>\n\n"
      "d<|im_end|>~\n" },
    { "qwen3", USER("a") ", " THOUGHT("\\nx\\n", "b") ", " USER("c")
      ", " THOUGHT("y", "\\n\\nd"),
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n~b<|im_end|>~\n"
      "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n~<think>\ny\n</think>\n\n"
      "d<|im_end|>~\n" },
    { "qwen3", USER("a") ", " ANSWER("b") ", " USER("<tool_response>r</tool_response>")
      ", " ANSWER("c"),
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n~b<|im_end|>~\n"
      "<|im_start|>user\n<tool_response>r</tool_response><|im_end|>\n"
      "<|im_start|>assistant\n~<think>\n\n</think>\n\nc<|im_end|>~\n" },
    { "qwen3", USER("a") ", " ANSWER("<think>x</think>b")
      ", " USER("<tool_response>r</tool_response>") ", " ANSWER("c"),
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n~<think>\nx\n</think>\n\n"
      "b<|im_end|>~\n<|im_start|>user\n<tool_response>r</tool_response><|im_end|>\n"
      "<|im_start|>assistant\n~<think>\n\n</think>\n\nc<|im_end|>~\n" },
    { "qwen3", ANSWER("x</think>a</think>\\nb"),
      "<|im_start|>assistant\n~b<|im_end|>~\n" },
    { "llama3", USER("\\u3000\\u00a0a\\u2028\\u200b") ", " ANSWER("\\u001c\\u0085b c\\u205f"),
      "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n"
      "a\342\200\250\342\200\213<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
      "~b c<|eot_id|>~" },
    { "chatml", USER("a") ", " GIVEN("b") ", " USER("c") ", " ANSWER("d"),
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
      "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n~d<|im_end|>~\n" },
    { "mistral-v1", USER("a") ", " GIVEN("b") ", " USER("c") ", " ANSWER("d"),
      "<s> [INST] a [/INST] b</s> [INST] c [/INST]~ d</s>~" },
    { "zephyr", USER("a") ", " ANSWER("b") ", " SYSTEM("c") ", " ANSWER("d"),
      "<|user|>\na</s>\n<|assistant|>\n~b</s>~\n<|system|>\nc</s>\n<|assistant|>\n~d</s>~\n" },
};

/* The pieces as one text, with ~ where the training begins and ends. */
static char *shown(const struct chat_text *text)
{
    struct buffer all = { 0 };
    bool          is_trained = false;
    size_t        i;

    for (i = 0; i < text->pieces; i++) {
        if (text->piece[i].is_trained != is_trained)
            buffer_add_text(&all, "~");
        is_trained = text->piece[i].is_trained;
        buffer_add(&all, text->piece[i].text, text->piece[i].size);
    }
    buffer_add(&all, is_trained ? "~" : "", is_trained ? 2 : 1);
    return all.bytes;
}

static void parse(struct record *record, const char *messages)
{
    struct error err;
    char        *json = xasprintf("{\"messages\": [%s]}", messages);

    if (record_parse(record, json, strlen(json), true, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    free(json);
}

static void test_render(void **state)
{
    struct chat_template template;
    struct chat_text     text = { 0 };
    struct record        record;
    struct error         err;
    char                *got;
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        parse(&record, cases[i].messages);
        assert_int_equal(chat_template_named(&template, cases[i].name, &err), 0);
        assert_string_equal(chat_template_name(&template), cases[i].name);
        if (chat_render(&template, &record, record.turn[record.turns - 1].role == ROLE_USER,
                        &text, &err) < 0)
            fail_msg("%s: %s: %s", cases[i].name, cases[i].messages, err.text);
        got = shown(&text);
        assert_string_equal(got, cases[i].expected);
        assert_false(text.is_open);
        free(got);
        record_clear(&record);
        chat_template_clear(&template);
    }
    chat_text_clear(&text);
}

static void test_render_bad(void **state)
{
    static const struct {
        const char *name, *messages;
        bool        wants_answer;
        const char *error;
    } bad[] = {
        { "none", SHORT, false,
          "a conversation needs a chat template: say --chat-template chatml, for example" },
        { "chatml", SHORT, true, "the last turn is not the user's: there is nothing to answer" },
        { "mistral", LONG, false, "chat template mistral has no system turn" },
        { "mistral", USER("a") ", " USER("b") ", " ANSWER("c"), false,
          "turn 2 is the user's: with chat template mistral the user and the assistant take "
          "turns" },
        { "mistral-v1", ANSWER("a"), false,
          "turn 1 is the assistant's: with chat template mistral-v1 the user and the assistant "
          "take turns" },
        { "mistral-v3", SYSTEM("a") ", " SYSTEM("b") ", " USER("c") ", " ANSWER("d"), false,
          "turn 2 is the system's: with chat template mistral-v3 the user and the assistant take "
          "turns" },
    };
    struct chat_template template;
    struct chat_text     text = { 0 };
    struct record        record = { 0 };
    struct error         err;
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        parse(&record, bad[i].messages);
        assert_int_equal(chat_template_named(&template, bad[i].name, &err), 0);
        assert_int_equal(chat_render(&template, &record, bad[i].wants_answer, &text, &err), -1);
        assert_string_equal(err.text, bad[i].error);
        record_clear(&record);
    }
    assert_int_equal(chat_template_named(&template, "mistral-v1", &err), 0);
    assert_int_equal(chat_render(&template, &record, false, &text, &err), -1);
    assert_string_equal(err.text, "the conversation has no turns");
    record_add(&record, ROLE_SYSTEM, "a", 1);
    assert_int_equal(chat_render(&template, &record, false, &text, &err), -1);
    assert_string_equal(err.text, "chat template mistral-v1 needs a turn of the user");
    record_clear(&record);
    chat_text_clear(&text);
}

/* A text is the same with each template, and without one. */
static void test_plain(void **state)
{
    static const char *const names[] = { "none", "chatml", "mistral-v1" };
    static const char        json[] = "{\"text\": \" a \"}";
    struct chat_template     template;
    struct chat_text         text = { 0 };
    struct record            record;
    struct error             err;
    char                    *got;
    size_t                   i;

    (void)state;
    for (i = 0; i < 3; i++) {
        assert_int_equal(chat_template_named(&template, names[i], &err), 0);
        assert_int_equal(record_parse(&record, json, strlen(json), i > 0, &err), 0);
        assert_int_equal(chat_render(&template, &record, false, &text, &err), 0);
        assert_true(text.is_open);
        got = shown(&text);
        assert_string_equal(got, "~ a ~");
        free(got);
        record_clear(&record);
    }
    chat_text_clear(&text);
}

static char directory[] = "/tmp/muster-test-template-XXXXXX";
static char config_path[64], jinja_path[64];

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(config_path, sizeof config_path, "%s/tokenizer_config.json", directory);
    snprintf(jinja_path, sizeof jinja_path, "%s/chat_template.jinja", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(config_path);
    unlink(jinja_path);
    return rmdir(directory);
}

/* text NULL: no such file. */
static void write_file(const char *name, const char *text)
{
    FILE *file;

    unlink(name);
    if (text == NULL)
        return;
    file = fopen(name, "w");
    assert_non_null(file);
    assert_int_not_equal(fputs(text, file), EOF);
    assert_int_equal(fclose(file), 0);
}

#define IM(rest) "{% for message in messages %}{{'<|im_start|>' + message['role'] + " rest
#define IM_END                                                                                   \
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"                            \
    "{{ '<|im_start|>assistant\n' }}{% endif %}"

static void test_jinja(void **state)
{
    static const struct {
        const char *jinja, *name; /* NULL: not known */
    } templates[] = {
        { IM("'\n' + message['content'] + ") IM_END, "chatml" },
        { IM("'\n' + message['content'] + ") IM_END "\n", "chatml" },
        { IM("\"\\n\"+message[ \"content\" ]+") IM_END, "chatml" },
        { "{# ChatML #}" IM("'\n' + message['content'] + ") IM_END, "chatml" },
        /* What changes the text is another template. */
        { IM("'\n' + message['content'] | trim + ") IM_END, NULL },
        { IM("' \n' + message['content'] + ") IM_END, NULL },
        { "\n" IM("'\n' + message['content'] + ") IM_END, NULL },
        { IM("'\n' + message['content'] + ") IM_END "\n\n", NULL },
        { "{%- for message in messages -%}\n{{ message['content'] }}\n{%- endfor %}", NULL },
        { "{% set loop_messages = messages %}{% for message in loop_messages %}"
          "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + "
          "message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
          "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
          "{% if add_generation_prompt %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}", "llama3" },
        { "", NULL }, { "{", NULL }, { "{{", NULL }, { "{%", NULL }, { "{{ 'a", NULL },
        { "{{ '\\", NULL }, { "{#", NULL }, { "{#-", NULL },
    };
    struct chat_template template;
    struct error         err;
    size_t               i;

    (void)state;
    write_file(config_path, NULL);
    for (i = 0; i < sizeof templates / sizeof templates[0]; i++) {
        write_file(jinja_path, templates[i].jinja);
        if (chat_template_read(&template, directory, NULL, &err) == 0)
            assert_string_equal(chat_template_name(&template), templates[i].name);
        else if (templates[i].name != NULL)
            fail_msg("%s: %s", templates[i].jinja, err.text);
        chat_template_clear(&template);
    }
    write_file(jinja_path, NULL);
}

#define CHATML_JSON                                                                              \
    "\"{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "                \
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"       \
    "{{ '<|im_start|>assistant\\n' }}{% endif %}\""

/* config NULL: no such file; choice: --chat-template; error without the directory. */
static const struct {
    const char *config, *jinja, *choice, *name, *error;
} files[] = {
    { NULL, NULL, NULL, "none", NULL },
    { NULL, NULL, "qwen3", "qwen3", NULL },
    { "{}", NULL, NULL, "none", NULL },
    { "{\"chat_template\": null}", NULL, NULL, "none", NULL },
    { "{\"chat_template\": " CHATML_JSON "}", NULL, NULL, "chatml", NULL },
    { "{\"chat_template\": " CHATML_JSON "}", NULL, "none", "none", NULL },
    { "{\"chat_template\": " CHATML_JSON "}", "{{ x }}", "llama3", "llama3", NULL },
    { "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"x\"}, {\"name\": "
      "\"default\", \"template\": " CHATML_JSON "}]}", NULL, NULL, "chatml", NULL },
    { "{\"chat_template\": " CHATML_JSON "}", "{{ x }}", NULL, NULL,
      "/chat_template.jinja: the chat template is not known: choose one of " TEMPLATE_NAMES
      " by --chat-template" },
    { "{\"chat_template\": \"<|im_start|>\"}", NULL, NULL, NULL,
      "/tokenizer_config.json: the chat template is not known, but looks like chatml: choose one "
      "of " TEMPLATE_NAMES " by --chat-template" },
    { "{\"chat_template\": [{\"name\": \"rag\", \"template\": \"x\"}, 7]}", NULL, NULL, NULL,
      "/tokenizer_config.json: none of its chat templates has the name default: choose one of "
      TEMPLATE_NAMES " by --chat-template" },
    { "{\"chat_template\": [{\"name\": \"default\"}]}", NULL, NULL, NULL,
      "/tokenizer_config.json: none of its chat templates has the name default: choose one of "
      TEMPLATE_NAMES " by --chat-template" },
    { "{\"chat_template\": 7}", NULL, NULL, NULL,
      "/tokenizer_config.json: chat_template is a number: a string was expected" },
    { "[]", NULL, NULL, NULL, "/tokenizer_config.json: it is not a JSON object" },
    { "{\n\"a\" 1}", NULL, NULL, NULL, "/tokenizer_config.json:2: ':' expected near '1'" },
    { "{\"eos_token\": 7}", NULL, "zephyr", NULL,
      "/tokenizer_config.json: eos_token is neither a string nor an object with content" },
    { "{\"bos_token\": {}}", NULL, NULL, NULL,
      "/tokenizer_config.json: bos_token is neither a string nor an object with content" },
};

static void test_files(void **state)
{
    struct chat_template template;
    struct error         err;
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_file(config_path, files[i].config);
        write_file(jinja_path, files[i].jinja);
        if (chat_template_read(&template, directory, files[i].choice, &err) == 0) {
            assert_non_null(files[i].name);
            assert_string_equal(chat_template_name(&template), files[i].name);
        } else {
            if (files[i].error == NULL)
                fail_msg("%s: %s", files[i].config, err.text);
            assert_memory_equal(err.text, directory, strlen(directory));
            assert_string_equal(err.text + strlen(directory), files[i].error);
        }
        chat_template_clear(&template);
    }
}

/* The tokenizer's own tokens replace those that are usual. */
static void test_tokens(void **state)
{
    struct chat_template template;
    struct chat_text     text = { 0 };
    struct record        record;
    struct error         err;
    char                *got;

    (void)state;
    write_file(jinja_path, NULL);
    write_file(config_path, "{\"bos_token\": {\"content\": \"<B>\"}, \"eos_token\": \"<E>\"}");
    assert_int_equal(chat_template_read(&template, directory, "mistral-v3", &err), 0);
    parse(&record, SHORT);
    assert_int_equal(chat_render(&template, &record, false, &text, &err), 0);
    got = shown(&text);
    assert_string_equal(got, "<B>[INST] Hi[/INST]~ Hello<E>~");
    free(got);
    record_clear(&record);
    chat_text_clear(&text);
    chat_template_clear(&template);
    assert_int_equal(chat_template_named(&template, "llama2", &err), -1);
    assert_string_equal(err.text, "chat template 'llama2' is unknown: " TEMPLATE_NAMES
                                  " was expected");
}

/* A template that differs from a known one only in the system text that it adds. */
static void test_system(void **state)
{
    static const char *const systems[] = { "You are a helpful assistant.", "Be brief, {{ 1 }}" };
    struct chat_template     template;
    struct chat_text         text = { 0 };
    struct record            record;
    struct error             err;
    char                     jinja[1024], expected[256];
    char                    *got;
    size_t                   i;

    (void)state;
    write_file(config_path, NULL);
    for (i = 0; i < 2; i++) {
        snprintf(jinja, sizeof jinja,
                 "{%% for message in messages %%}{%% if loop.first and messages[0]['role'] != "
                 "'system' %%}{{ '<|im_start|>system\\n%s<|im_end|>\\n' }}{%% endif %%}"
                 "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
                 "'<|im_end|>' + '\\n'}}{%% endfor %%}{%% if add_generation_prompt %%}"
                 "{{ '<|im_start|>assistant\\n' }}{%% endif %%}", systems[i]);
        write_file(jinja_path, jinja);
        if (chat_template_read(&template, directory, NULL, &err) < 0)
            fail_msg("%s", err.text);
        parse(&record, SHORT);
        assert_int_equal(chat_render(&template, &record, false, &text, &err), 0);
        got = shown(&text);
        snprintf(expected, sizeof expected,
                 "<|im_start|>system\n%s<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                 "<|im_start|>assistant\n~Hello<|im_end|>~\n", systems[i]);
        assert_string_equal(got, expected);
        free(got);
        record_clear(&record);
        chat_template_clear(&template);
    }
    chat_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render), cmocka_unit_test(test_render_bad),
        cmocka_unit_test(test_plain),  cmocka_unit_test(test_jinja),
        cmocka_unit_test(test_files),  cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_system),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
