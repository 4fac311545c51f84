/* output_speed.c - how fast labelled lines pass from frames to a descriptor
 *
 *     output_speed [NODES [MIB_EACH]] >/dev/null     (or into a pipe, or a file)
 *
 * NODES streams of 100-byte lines in frames of 64 KiB, within a credit as the
 * launcher gives it; on stderr MB/s by the wall clock and by the CPU time of all
 * threads, and the most memory that was taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "number.h"
#include "output/output.h"
#include "xalloc.h"

#define FRAME  ((size_t)64 * 1024)
#define LINE   100
#define CREDIT ((size_t)2 << 20) /* of a node */

struct bench {
    size_t *credit; /* left, by node */
};

static void consumed_cb(size_t node, size_t bytes, void *arg)
{
    struct bench *bench = arg;

    bench->credit[node] += bytes;
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    (void)arg;
    fprintf(stderr, "output_speed: %s: %s\n", is_stderr ? "stderr" : "stdout", strerror(error));
    exit(1);
}

static long argument(int argc, char **argv, int at, long otherwise)
{
    struct error err;
    int64_t      number;

    if (at >= argc)
        return otherwise;
    if (parse_number(argv[at], 1, 4096, &number, &err) < 0) {
        fprintf(stderr, "output_speed: %s\n", err.text);
        exit(2);
    }
    return (long)number;
}

static double cpu_seconds(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* All lines of all nodes, frames taking turns; waits where the credit is spent. */
static void feed(struct output *output, struct event_base *base, struct bench *bench,
                 size_t nodes, size_t each)
{
    size_t *sent = xcalloc(nodes, sizeof *sent), node, left = nodes, i;
    char   *lines = xmalloc(FRAME + LINE);

    for (i = 0; i < FRAME + LINE; i++)
        lines[i] = i % LINE == LINE - 1 ? '\n' : (char)('a' + i % LINE % 26);
    while (left > 0) {
        bool is_fed = false;

        for (node = 0; node < nodes; node++) {
            size_t size = each - sent[node] < FRAME ? each - sent[node] : FRAME;

            if (size == 0 || bench->credit[node] < size)
                continue;
            output_bytes(output, (int)node, STREAM_STDOUT, lines + sent[node] % LINE, size);
            bench->credit[node] -= size;
            sent[node] += size;
            left -= sent[node] == each;
            is_fed = true;
        }
        event_base_loop(base, is_fed ? EVLOOP_NONBLOCK : EVLOOP_ONCE);
    }
    free(lines);
    free(sent);
}

int main(int argc, char **argv)
{
    size_t                       nodes = (size_t)argument(argc, argv, 1, 16), node;
    size_t                       each = (size_t)argument(argc, argv, 2, 20) * 1000000;
    const struct output_settings settings = { .out_fd = STDOUT_FILENO, .err_fd = STDERR_FILENO };
    const struct output_ops      ops = { .consumed = consumed_cb, .failed = failed_cb };
    struct event_base           *base = event_base_new();
    struct bench                 bench = { xcalloc(nodes, sizeof *bench.credit) };
    struct output               *output = output_new(base, &settings, &ops, &bench);
    struct rusage                usage;
    int64_t                      start_ns = clock_now_ns();
    double                       seconds, megabytes = (double)(nodes * each) / 1e6;

    for (node = 0; node < nodes; node++) {
        char *host = xasprintf("node%02zu", node + 1), *label = xasprintf("%s: ", host);

        bench.credit[node] = CREDIT;
        output_add_rank(output, (int)node, node, host, label, true, NULL);
        free(label);
        free(host);
    }
    feed(output, base, &bench, nodes, each);
    if (output_finish(output, 10) > 0)
        return 1;
    seconds = (double)(clock_now_ns() - start_ns) / 1e9;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%zu x %zu MB: %.0f MB/s, %.0f MB per CPU second, %ld MiB at most\n", nodes,
            each / 1000000, megabytes / seconds, megabytes / cpu_seconds(&usage),
            usage.ru_maxrss / 1024);
    output_free(output);
    event_base_free(base);
    free(bench.credit);
    return 0;
}
