/* fuzz_sanitize.c - whatever a rank writes, a terminal sees text and colours only, and the agent
 * looks for steps, and for stacks of Python, in no other bytes
 *
 * The first byte chooses where to cut, the rest is the text.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rank/fault_lines.h"
#include "sanitize.h"
#include "steps/step_watch.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ESC [ digits ; : m, or 0. */
static size_t colour_at(const char *text, size_t size)
{
    size_t n = 2;

    if (size < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (n < size && strchr("0123456789;:", text[n]) != NULL && text[n] != '\0')
        n++;
    return n < size && text[n] == 'm' ? n + 1 : 0;
}

/* Nothing is left that a terminal would act on, but colours, which are off at the
 * end; made visible again it stays the same. */
static void check(const struct buffer *out)
{
    size_t at = 0, colour;
    int    is_on = 0;

    while (at < out->size) {
        unsigned char byte = (unsigned char)out->bytes[at];

        colour = colour_at(out->bytes + at, out->size - at);
        if (colour > 0) {
            is_on = !(colour == 3 || (colour == 4 && out->bytes[at + 2] == '0'));
            at += colour;
            continue;
        }
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            abort();
        if (byte == 0xc2 && at + 1 < out->size && (unsigned char)out->bytes[at + 1] < 0xa0)
            abort();
        at++;
    }
    if (is_on)
        abort();
}

/* The bytes arrive in two reads, which nothing ends. */
static void check_steps(const char *text, size_t size, size_t cut)
{
    struct step_watch watch;
    char             *first = xmemdup(text, cut), *rest = xmemdup(text + cut, size - cut);

    step_watch_begin(&watch, NULL);
    step_watch_add(&watch, first, cut, false, 1);
    step_watch_add(&watch, rest, size - cut, cut % 2 == 1, 2);
    if ((watch.count > 0) != (watch.form != STEP_FORM_NONE) || watch.at_ns > 2 ||
        watch.part_size > sizeof watch.part || step_watch_step(&watch) < -1)
        abort();
    free(first);
    free(rest);
}

/* Where the reads are cut makes no difference. */
static void check_faults(const char *text, size_t size, size_t cut)
{
    struct fault_lines whole = { 0 }, parts = { 0 };
    char              *first = xmemdup(text, cut), *rest = xmemdup(text + cut, size - cut);

    fault_lines_add(&whole, text, size);
    fault_lines_add(&parts, first, cut);
    fault_lines_add(&parts, rest, size - cut);
    if (whole.text.size > FAULT_LINES_MAX || whole.text.size != parts.text.size ||
        (whole.text.size > 0 &&
         memcmp(whole.text.bytes, parts.text.bytes, whole.text.size) != 0))
        abort();
    fault_lines_clear(&whole);
    fault_lines_clear(&parts);
    free(first);
    free(rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer all = { 0 }, cut = { 0 }, again = { 0 };
    const char   *text = (const char *)data + 1;

    if (size == 0)
        return 0;
    sanitize_add_output(&all, text, size - 1, SANITIZE_ALL);
    check(&all);
    sanitize_add_output(&again, all.bytes, all.size, SANITIZE_ALL);
    if (again.size != all.size || (all.size > 0 && memcmp(again.bytes, all.bytes, all.size) != 0))
        abort();
    sanitize_add_output(&cut, text, size - 1, data[0]);
    check(&cut);
    buffer_clear(&again);
    sanitize_add(&again, text, size - 1, data[0]);
    if (again.size > 0 && memchr(again.bytes, '\033', again.size) != NULL)
        abort();
    check(&again);
    check_steps(text, size - 1, data[0] < size - 1 ? data[0] : size - 1);
    check_faults(text, size - 1, data[0] < size - 1 ? data[0] : size - 1);
    buffer_clear(&all);
    buffer_clear(&cut);
    buffer_clear(&again);
    return 0;
}
