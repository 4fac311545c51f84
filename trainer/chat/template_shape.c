/* template_shape.c - see template_shape.h
 *
 * A template is known by a hash of its text without what changes nothing: comments, white space in
 * tags and that which tags with a '-' drop, the kind of quotes, and "\n" for a newline in a string.
 * Where white space does reach the output, it counts. Tuned models differ in the system text of
 * conversations that have none, so it is cut out before the hash is taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "chat/template_shape.h"

#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "fnv.h"
#include "xalloc.h"

#define CHATML .head = "<|im_start|>", .neck = "\n", .lead = "", .bos = "", \
               .end = "<|im_end|>", .tail = "\n"
#define LLAMA  .bos = "<|begin_of_text|>", .head = "<|start_header_id|>", \
               .neck = "<|end_header_id|>\n\n", .lead = "", .end = "<|eot_id|>", .tail = "", \
               .is_trimmed = true
#define INST   .style = STYLE_INST, .bos = "<s>"

/* Reads a template without what changes nothing. */
struct plain {
    const char   *at, *end;
    struct buffer text;
    bool          drops; /* white space: the tag before it says so */
};

static const char *find_mark(const struct buffer *text);
static char *cut_system(struct buffer *text);
static char *cut(struct buffer *text, const char *bytes, size_t size);
static void add_outside(struct plain *plain);
static void add_tag(struct plain *plain);
static void add_string(struct plain *plain);
static bool begins(const struct plain *plain, const char *words);
static bool is_white(char byte);

static const struct template_shape shapes[] = {
    { .name = "chatml", CHATML },
    { .name = "qwen2", CHATML, .system = "You are a helpful assistant." },
    { .name = "qwen2.5", CHATML,
      .system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant." },
    { .name = "qwen3", CHATML, .has_reasoning = true },
    { .name = "llama3", LLAMA },
    { .name = "llama3.1", LLAMA,
      .preface = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n" },
    { .name = "mistral", INST, .head = "[INST] ", .neck = " [/INST]", .lead = "", .tail = "",
      .place = SYSTEM_NONE },
    { .name = "mistral-v1", INST, .head = " [INST] ", .neck = " [/INST]", .lead = " ",
      .tail = "", .place = SYSTEM_FIRST },
    { .name = "mistral-v3", INST, .head = "[INST] ", .neck = "[/INST]", .lead = " ", .tail = "",
      .place = SYSTEM_LAST, .is_trimmed = true },
    { .name = "mistral-tekken", INST, .head = "[INST]", .neck = "[/INST]", .lead = "",
      .tail = "", .place = SYSTEM_LAST },
    { .name = "zephyr", .bos = "", .head = "<|", .neck = "|>\n", .lead = "", .tail = "\n" },
};

static const struct {
    uint64_t    hash;
    const char *name;
} known[] = {
    { 0x91f23f711e68df08, "chatml" }, /* OpenHermes 2.5, TRL's setup_chat_format() */
    { 0xce066a082d5d38ff, "chatml" }, /* Dolphin, Hermes 2 */
    { 0x27fff93c25eb4759, "chatml" }, /* Qwen3 Instruct 2507 */
    { 0x2ad33db35475c85f, "qwen2" }, /* also SmolLM2 */
    { 0xb865283235185a5f, "qwen2.5" },
    { 0xc874e79f086b4f1a, "qwen3" },
    { 0x26c9807fad119c17, "qwen3" },  /* later, for content that is no string */
    { 0x768dc1687f9293a8, "llama3" },
    { 0x945826a153c5c72b, "llama3" },
    { 0x8e16ba248d35dda6, "llama3.1" },
    { 0x65e1913f924a4e4d, "llama3.1" }, /* 3.2 */
    { 0xdd39f833422aa4a9, "mistral" },
    { 0x9c64702f8d8bf5b7, "mistral-v1" },
    { 0xe0f097e59bff6bbf, "mistral-v3" },
    { 0x5ba2bb891ec2354a, "mistral-tekken" },
    { 0xcff53afa8103225b, "mistral-tekken" }, /* with null as tool_calls */
    { 0xba0ddaec3aa0ecbc, "zephyr" },
};

/* What a template writes, the rarer first. */
static const struct {
    const char *mark, *name;
} marks[] = {
    { "last_query_index", "qwen3" },
    { "created by Alibaba Cloud", "qwen2.5" },
    { "<|im_start|>", "chatml" },
    { "Cutting Knowledge Date", "llama3.1" },
    { "<|start_header_id|>", "llama3" },
    { "Only user and assistant roles are supported!", "mistral" },
    { "'[INST]'+", "mistral-tekken" },
    { "'[INST] '+", "mistral-v3" },
    { "' [INST] '+", "mistral-v1" },
};

const struct template_shape *template_shape_named(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

const struct template_shape *template_shape_of(const char *jinja, size_t size, char **system,
                                               const char **similar)
{
    struct plain plain = { .at = jinja, .end = jinja + size };
    const char  *name = NULL;
    uint64_t     hash;
    size_t       i;

    buffer_reserve(&plain.text, size + 1); /* bytes is not NULL then */
    if (size > 0 && plain.end[-1] == '\n') /* Jinja drops it */
        plain.end--;
    while (plain.at < plain.end)
        if (begins(&plain, "{{") || begins(&plain, "{%") || begins(&plain, "{#"))
            add_tag(&plain);
        else
            add_outside(&plain);
    *similar = find_mark(&plain.text);
    *system = cut_system(&plain.text);
    hash = fnv_add(FNV_START, plain.text.bytes, plain.text.size);
    for (i = 0; i < sizeof known / sizeof known[0] && name == NULL; i++)
        if (known[i].hash == hash)
            name = known[i].name;
    buffer_clear(&plain.text);
    return name != NULL ? template_shape_named(name) : NULL;
}

static const char *find_mark(const struct buffer *text)
{
    size_t i;

    for (i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (memmem(text->bytes, text->size, marks[i].mark, strlen(marks[i].mark)) != NULL)
            return marks[i].name;
    return NULL;
}

/* Qwen2.5's has the system text twice, once for conversations with tools. */
static char *cut_system(struct buffer *text)
{
    static const char before[] = "'<|im_start|>system\n", after[] = "<|im_end|>\n";
    const size_t      after_size = strlen(after);
    const char       *from = text->bytes, *end;
    size_t            size;

    for (;;) {
        from = memmem(from, (size_t)(text->bytes + text->size - from), before, strlen(before));
        if (from == NULL)
            return NULL;
        from += strlen(before);
        end = memchr(from, '\'', (size_t)(text->bytes + text->size - from));
        size = end != NULL ? (size_t)(end - from) : 0;
        if (size > after_size && memcmp(end - after_size, after, after_size) == 0)
            return cut(text, from, size - after_size);
    }
}

/* Removes all places that have the same bytes as these, and returns a copy. */
static char *cut(struct buffer *text, const char *bytes, size_t size)
{
    char       *copy = xstrndup(bytes, size), *to = text->bytes;
    const char *from = text->bytes, *end = text->bytes + text->size, *next;
    size_t      kept;

    size = strlen(copy);
    while (size > 0 && (next = memmem(from, (size_t)(end - from), copy, size)) != NULL) {
        kept = (size_t)(next - from);
        memmove(to, from, kept);
        to += kept;
        from = next + size;
    }
    memmove(to, from, (size_t)(end - from));
    text->size = (size_t)(to - text->bytes) + (size_t)(end - from);
    return copy;
}

/* Adds the text up to the next tag. */
static void add_outside(struct plain *plain)
{
    const char *from = plain->at, *to;

    while (plain->at < plain->end && !begins(plain, "{{") && !begins(plain, "{%") &&
           !begins(plain, "{#"))
        plain->at++;
    to = plain->at;
    while (plain->drops && from < to && is_white(*from))
        from++;
    if (plain->end - plain->at > 2 && plain->at[2] == '-')
        while (to > from && is_white(to[-1]))
            to--;
    buffer_add(&plain->text, from, (size_t)(to - from));
}

/* Adds a tag without its white space, or drops a comment. */
static void add_tag(struct plain *plain)
{
    const char close[] = { plain->at[1] == '{' ? '}' : plain->at[1], '}', '\0' };
    const bool is_comment = plain->at[1] == '#';

    plain->drops = false;
    while (plain->at < plain->end && !begins(plain, close)) {
        plain->drops = *plain->at == '-';
        if (!is_comment && (*plain->at == '\'' || *plain->at == '"')) {
            add_string(plain);
            continue;
        }
        if (!is_comment && !is_white(*plain->at))
            buffer_add(&plain->text, plain->at, 1);
        plain->at++;
    }
    if (!is_comment)
        buffer_add_text(&plain->text, close);
    plain->at += plain->end - plain->at < 2 ? plain->end - plain->at : 2;
}

static void add_string(struct plain *plain)
{
    const char quote = *plain->at++;

    buffer_add(&plain->text, "'", 1);
    for (; plain->at < plain->end && *plain->at != quote; plain->at++) {
        if (begins(plain, "\\n")) {
            plain->at++;
            buffer_add(&plain->text, "\n", 1);
            continue;
        }
        if (*plain->at == '\\' && plain->end - plain->at > 1)
            plain->at++;
        buffer_add(&plain->text, plain->at, 1);
    }
    buffer_add(&plain->text, "'", 1);
    if (plain->at < plain->end)
        plain->at++;
}

static bool begins(const struct plain *plain, const char *words)
{
    const size_t size = strlen(words);

    return (size_t)(plain->end - plain->at) >= size && memcmp(plain->at, words, size) == 0;
}

static bool is_white(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}
