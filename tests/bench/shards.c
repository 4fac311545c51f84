/* shards.c - how fast shards are given out, and what they take
 *
 *     bench/shards [SHARDS [RANKS [OPEN]]]   a million shards, 64 ranks, each with one at a time
 *
 * Each rank asks for a shard and says that one is done, as lines, and the state is kept in a file
 * of the working directory: all that the launcher does, but for the frames.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "shards/shards.h"
#include "xalloc.h"

static long ask(struct shards *shards, int rank, const char *line)
{
    char        answer[SHARDS_ANSWER_SIZE];
    const char *id;

    answer[shards_ask(shards, rank, line, strlen(line), clock_now_ns(), answer) - 1] = '\0';
    if (strstr(answer, "rc=0") == NULL) {
        fprintf(stderr, "bench: %s: %s\n", line, answer);
        exit(1);
    }
    id = strstr(answer, " id=");
    return id != NULL ? atol(id + 4) : -1;
}

int main(int argc, char **argv)
{
    long           count = argc > 1 ? atol(argv[1]) : 1000000, given = 0;
    int            ranks = argc > 2 ? atoi(argv[2]) : 64, rank;
    long           open_at_once = argc > 3 ? atol(argv[3]) : ranks;
    long          *held = xcalloc((size_t)open_at_once, sizeof *held);
    struct shards *shards = shards_new(ranks);
    int            dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct rusage  usage;
    struct stat    about = { 0 };
    int64_t        began_ns = clock_now_ns();
    double         took_s;
    char           line[200];

    if (dir_fd < 0 || shards_keep(shards, dir_fd) < 0)
        return 1;
    snprintf(line, sizeof line, "cmd=shard_open name=a size=%ld shard=1000 shuffle=1",
             count * 1000);
    ask(shards, 0, line);
    for (; given < count + open_at_once; given++) {
        long *mine = &held[given % open_at_once];

        rank = (int)(given % open_at_once % ranks);
        if (given >= open_at_once && *mine >= 0) {
            snprintf(line, sizeof line, "cmd=shard_done name=a id=%ld", *mine);
            ask(shards, rank, line);
        }
        *mine = given < count ? ask(shards, rank, "cmd=shard_get name=a") : -1;
    }
    took_s = (double)(clock_now_ns() - began_ns) / NS_PER_S;
    if (shards_counts(shards, 0).done != count)
        return 1;
    shards_free(shards);
    getrusage(RUSAGE_SELF, &usage);
    fstatat(dir_fd, SHARDS_FILE, &about, 0);
    printf("%ld shards, %d ranks, %ld open: %.0f assignments/s, %.1f MiB of memory, "
           "a file of %.1f MiB\n", count, ranks, open_at_once, (double)count / took_s,
           (double)usage.ru_maxrss / 1024, (double)about.st_size / (1 << 20));
    free(held);
    close(dir_fd);
    return 0;
}
