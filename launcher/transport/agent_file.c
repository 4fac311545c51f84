/* agent_file.c - see agent_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/agent_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "xalloc.h"

#define AGENT_BYTES_MAX (256 << 20) /* no agent is that large: this is the wrong file */
#define PIECE_BYTES     ((size_t)1 << 20)

static char *find_agent(const char *path, struct error *err);
static int   map_file(struct agent_file *agent, struct error *err);
static int   hash_bytes(struct agent_file *agent, struct error *err);

int agent_file_open(struct agent_file *agent, const char *path, struct error *err)
{
    *agent = (struct agent_file){ 0 };
    agent->path = find_agent(path, err);
    if (agent->path == NULL)
        return -1;
    if (map_file(agent, err) < 0 || hash_bytes(agent, err) < 0) {
        agent_file_clear(agent);
        return -1;
    }
    return 0;
}

void agent_file_clear(struct agent_file *agent)
{
    if (agent->bytes != NULL)
        munmap(agent->bytes, agent->size);
    free(agent->path);
    *agent = (struct agent_file){ 0 };
}

/* The agent of the build tree takes precedence: a launcher that was just built must not push
 * the agent of an older installation. */
static char *find_agent(const char *path, struct error *err)
{
    char    self[PATH_MAX], *beside, *found;
    ssize_t size;

    if (path != NULL) {
        found = realpath(path, NULL);
        if (found == NULL)
            err_set(err, "%s: %s; --agent takes the muster-agent to push", path,
                    strerror(errno));
        return found;
    }
    size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size > 0) {
        self[size] = '\0';
        *strrchr(self, '/') = '\0';
        beside = xasprintf("%s/../agent/muster-agent", self);
        found = realpath(beside, NULL);
        free(beside);
        if (found != NULL)
            return found;
    }
    found = realpath(PKGLIBEXECDIR "/muster-agent", NULL);
    if (found == NULL)
        err_set(err, PKGLIBEXECDIR "/muster-agent: %s: muster is not completely installed "
                "(or name the agent with --agent)", strerror(errno));
    return found;
}

static int map_file(struct agent_file *agent, struct error *err)
{
    struct stat info;
    int         fd = open(agent->path, O_RDONLY | O_CLOEXEC), rc = -1;

    if (fd < 0 || fstat(fd, &info) < 0) {
        err_set(err, "%s: %s", agent->path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(info.st_mode) || info.st_size <= 0 || info.st_size > AGENT_BYTES_MAX ||
        (info.st_mode & 0111) == 0) {
        err_set(err, "%s: not an executable file of 1 byte to %d MiB", agent->path,
                AGENT_BYTES_MAX >> 20);
        goto out;
    }
    agent->size = (size_t)info.st_size;
    agent->bytes = mmap(NULL, agent->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (agent->bytes == MAP_FAILED) {
        agent->bytes = NULL;
        err_set(err, "%s: cannot map the file: %s", agent->path, strerror(errno));
        goto out;
    }
    rc = 0;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Hashes piece by piece: pages that have been read need not stay in memory, because few runs
 * push the agent. */
static int hash_bytes(struct agent_file *agent, struct error *err)
{
    unsigned char hash[EVP_MAX_MD_SIZE], *at = agent->bytes;
    size_t        left = agent->size, piece;
    unsigned int  size, i;
    EVP_MD_CTX   *context = EVP_MD_CTX_new();
    bool          is_fine = context != NULL &&
                            EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

    for (; is_fine && left > 0; left -= piece, at += piece) {
        piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        is_fine = EVP_DigestUpdate(context, at, piece) == 1;
        madvise(at, piece, MADV_DONTNEED);
    }
    is_fine = is_fine && EVP_DigestFinal_ex(context, hash, &size) == 1;
    EVP_MD_CTX_free(context);
    if (!is_fine)
        return err_set(err, "%s: cannot compute SHA-256", agent->path);
    for (i = 0; i < size; i++)
        snprintf(agent->sha256 + 2 * i, 3, "%02x", hash[i]);
    return 0;
}
