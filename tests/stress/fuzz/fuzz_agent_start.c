/* fuzz_agent_start.c - any bytes from a login shell, in pieces of any size
 *
 * '@' in the input stands for the connection's nonce, which no fuzzer could
 * guess; the first byte says how large the pieces are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "transport/agent_start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum agent_start_result feed(struct agent_start *b, struct evbuffer *in,
                                    struct evbuffer *out, struct conn_failure *why)
{
    enum agent_start_result result;

    do {
        result = agent_start_feed(b, in, why);
        evbuffer_drain(out, evbuffer_get_length(out));
    } while (result == AGENT_START_PUSH);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char             bytes[] = "agent";
    struct agent_file       agent = { .bytes = bytes, .size = sizeof bytes };
    struct evbuffer        *in = evbuffer_new(), *out = evbuffer_new();
    struct agent_start      b;
    struct conn_failure     why = { .text = "" };
    enum agent_start_result result = AGENT_START_MORE;
    size_t                  piece = size > 0 ? data[0] + 1u : 1, i;
    char                    text[256];

    if (agent_start_begin(&b, &agent, PUSH_IF_MISSING, out) < 0)
        abort();
    for (i = 1; i < size && result == AGENT_START_MORE; i++) {
        if (data[i] == '@')
            evbuffer_add(in, b.nonce, strlen(b.nonce));
        else
            evbuffer_add(in, data + i, 1);
        if (i % piece == 0)
            result = feed(&b, in, out, &why);
    }
    if (result == AGENT_START_MORE)
        result = feed(&b, in, out, &why);
    if (result == AGENT_START_FAILED && why.text[0] == '\0')
        abort();
    agent_start_end(&b, in);
    agent_start_noise(&b, text, sizeof text);
    if (strpbrk(text, "\n\r\033") != NULL)
        abort();
    agent_start_clear(&b);
    evbuffer_free(in);
    evbuffer_free(out);
    return 0;
}
