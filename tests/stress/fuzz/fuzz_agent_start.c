/* fuzz_bootstrap.c - any bytes from a login shell, in pieces of any size
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

static enum bootstrap_result feed(struct bootstrap *b, struct evbuffer *in, struct evbuffer *out,
                                  struct conn_failure *why)
{
    enum bootstrap_result result;

    do {
        result = bootstrap_feed(b, in, why);
        evbuffer_drain(out, evbuffer_get_length(out));
    } while (result == BOOTSTRAP_PUSH);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char           bytes[] = "agent";
    struct agent_file      agent = { .bytes = bytes, .size = sizeof bytes };
    struct evbuffer      *in = evbuffer_new(), *out = evbuffer_new();
    struct bootstrap      b;
    struct conn_failure   why = { .text = "" };
    enum bootstrap_result result = BOOTSTRAP_MORE;
    size_t                piece = size > 0 ? data[0] + 1u : 1, i;
    char                  text[256];

    if (bootstrap_start(&b, &agent, false, out) < 0)
        abort();
    for (i = 1; i < size && result == BOOTSTRAP_MORE; i++) {
        if (data[i] == '@')
            evbuffer_add(in, b.nonce, strlen(b.nonce));
        else
            evbuffer_add(in, data + i, 1);
        if (i % piece == 0)
            result = feed(&b, in, out, &why);
    }
    if (result == BOOTSTRAP_MORE)
        result = feed(&b, in, out, &why);
    if (result == BOOTSTRAP_FAILED && why.text[0] == '\0')
        abort();
    bootstrap_end(&b, in);
    bootstrap_noise(&b, text, sizeof text);
    if (strpbrk(text, "\n\r\033") != NULL)
        abort();
    bootstrap_clear(&b);
    evbuffer_free(in);
    evbuffer_free(out);
    return 0;
}
