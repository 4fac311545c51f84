/* read_shards.c - a rank that reads shards through libmuster.so; for shards.t
 *
 *     read_shards NAME RECORDS SHARD SETTINGS FILE [DIES]   a line in FILE for each shard
 *
 * It writes the line before it says that the shard is done. DIES: it kills itself with its shard
 * number DIES, and a little before makes the file near-GENERATION.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../client/muster.h"

static int failed(void)
{
    fprintf(stderr, "read_shards: %s\n", muster_error());
    return 3;
}

static int next_one(struct muster_shards *shards, struct muster_shard *shard)
{
    int rc;

    while ((rc = muster_shards_next(shards, shard)) == 0)
        if ((rc = muster_shards_wait(shards)) <= 0)
            break;
    return rc;
}

static void make_near(void)
{
    char name[64];

    snprintf(name, sizeof name, "near-%s", getenv("MUSTER_GENERATION"));
    close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

int main(int argc, char **argv)
{
    struct muster_shards *shards;
    struct muster_shard   shard;
    int                   file, rc, read = 0, dies = argc > 6 ? atoi(argv[6]) : 0;
    char                  line[64];

    if (argc < 6 || (file = open(argv[5], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) < 0)
        return 2;
    shards = muster_shards_open(argv[1], atoll(argv[2]), atoll(argv[3]), argv[4]);
    if (shards == NULL)
        return failed();
    while ((rc = next_one(shards, &shard)) > 0) {
        if (++read == dies)
            kill(getpid(), SIGKILL);
        if (read == dies - 5)
            make_near();
        snprintf(line, sizeof line, "%lld %lld\n", (long long)shard.start, (long long)shard.end);
        if (muster_shards_renew(shards, &shard) != 0 ||
            write(file, line, strlen(line)) != (ssize_t)strlen(line) ||
            muster_shards_done(shards, &shard) != 0)
            return failed();
    }
    muster_shards_close(shards);
    return rc < 0 ? failed() : 0;
}
