/* rank_hint.c - see rank_hint.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/rank_hint.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "plan/copy_command.h"
#include "xalloc.h"

static bool        refuses_local_rank(const char *line);
static bool        gets_local_rank(const struct outcome *outcome, int rank);
static const char *lacks_module(const char *line);
static const char *lacks_file(const char *line);
static char       *hint_of_file(const struct outcome *outcome, int rank, const char *file);
static bool        is_hidden(const char *path);
static char       *hint_of_module(const struct outcome *outcome, int rank, const char *python,
                                  const char *module);
static bool        lacks_horovod_server(const char *line);
static const char *python_of(const struct outcome *outcome, int rank);

char *rank_hint(const struct outcome *outcome, int rank, const struct strlist *lines)
{
    const struct rank_end *end = &outcome->rank[rank];
    const char            *python = python_of(outcome, rank);
    char                  *hint;
    size_t                 i;

    for (i = 0; i < lines->count; i++) {
        if (refuses_local_rank(lines->item[i]) && gets_local_rank(outcome, rank))
            return xstrdup("the script does not accept --local_rank: use muster "
                           "--no_local_rank, or permanently set\n        no_local_rank = yes "
                           "below [muster] in ~/.config/muster/muster.conf");
        if (lacks_horovod_server(lines->item[i]))
            return xstrdup("hvd.init() found no other rank: the script does not show that it uses "
                           "Horovod; write muster --horovod");
        if (python != NULL && lacks_module(lines->item[i]) != NULL)
            return hint_of_module(outcome, rank, python, lacks_module(lines->item[i]));
        if (lacks_file(lines->item[i]) != NULL &&
            (hint = hint_of_file(outcome, rank, lacks_file(lines->item[i]))) != NULL)
            return hint;
    }
    if (end->signal != 0 && end->signal == outcome->sent && end->oom == NULL)
        return xstrdup("muster kill has sent this signal to all ranks");
    if (end->signal == SIGKILL && end->oom == NULL)
        return xstrdup("muster did not send this signal: if the kernel ran out of memory, "
                       "dmesg on that node shows it");
    if (end->signal == SIGBUS)
        return xstrdup("is /dev/shm or the disk of that node full?");
    return NULL;
}

/* Recognizes the messages of argparse, click, absl and getopt; of dash; and of bash, of which
 * only the last lines are left. */
static bool refuses_local_rank(const char *line)
{
    static const char *const words[] = { "unrecognized arg", "unrecognized option",
                                         "invalid option",   "no such opt",
                                         "unknown command line flag" };
    size_t                   i;

    if (strstr(line, ": Illegal option --") != NULL || strcmp(line, "Shell options:") == 0)
        return true;
    if (strstr(line, "local_rank") == NULL && strstr(line, "local-rank") == NULL)
        return false;
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(line, words[i]) != NULL)
            return true;
    return false;
}

/* Does muster pass --local_rank to this rank, as deepspeed does? */
static bool gets_local_rank(const struct outcome *outcome, int rank)
{
    const struct plan_node *node = &outcome->plan->node[outcome->node_of[rank]];
    const struct strlist   *argv = &node->rank[rank - node->rank[0].rank].argv;
    size_t                  i;

    for (i = 0; i < argv->count; i++)
        if (strncmp(argv->item[i], "--local_rank=", strlen("--local_rank=")) == 0)
            return true;
    return false;
}

/* Returns what follows "No module named '", borrowed, or NULL. */
static const char *lacks_module(const char *line)
{
    static const char words[] = "ModuleNotFoundError: No module named";
    const char       *found = strstr(line, words);

    return found != NULL ? found + strlen(words) + strspn(found + strlen(words), " '") : NULL;
}

/* Returns what follows "No such file or directory: '" of Python, borrowed, or NULL. */
static const char *lacks_file(const char *line)
{
    static const char words[] = "FileNotFoundError: [Errno 2] No such file or directory: '";
    const char       *found = strstr(line, words);

    return found != NULL ? found + strlen(words) : NULL;
}

/* file: a name that "'" ends. NULL: this machine does not have it, either. */
static char *hint_of_file(const struct outcome *outcome, int rank, const char *file)
{
    const struct plan_node *node = &outcome->plan->node[outcome->node_of[rank]];
    const struct plan      *world = plan_world_of_rank(outcome->plan, rank);
    size_t                  size = strcspn(file, "'");
    char                   *name, *command, *hint = NULL;

    if (world->options == NULL || size == 0 || file[size] == '\0')
        return NULL;
    name = xstrndup(file, size);
    command = !is_hidden(name) ? copy_command(world->options, node->cwd, name) : NULL;
    if (command != NULL)
        hint = xasprintf("that node lacks a file of this machine; copy it with: %s", command);
    free(command);
    free(name);
    return hint;
}

/* A rank may write anything: no hint advises to send ~/.ssh/id_ed25519 or .netrc to its node. */
static bool is_hidden(const char *path)
{
    size_t length;

    for (; *path != '\0'; path += length + strspn(path + length, "/")) {
        length = strcspn(path, "/");
        if (path[0] == '.' && length > 1 && !(length == 2 && path[1] == '.'))
            return true;
    }
    return false;
}

static char *hint_of_module(const struct outcome *outcome, int rank, const char *python,
                            const char *module)
{
    const struct plan_node *node = &outcome->plan->node[outcome->node_of[rank]];
    const struct plan      *world = plan_world_of_rank(outcome->plan, rank);
    char                   *command = NULL, *text;

    if (world->options != NULL)
        command = copy_command_module(world->options, node->cwd, python, module);
    if (command == NULL)
        return xasprintf("%s ran the script; if that is the wrong Python, activate its "
                         "environment or give --python=FILE", python);
    text = xasprintf("%s ran the script; that module is on this machine, copy it with: %s\n"
                     "        If the node has it, compare their versions of Python: muster doctor",
                     python, command);
    free(command);
    return text;
}

/* What Horovod's Gloo says, after 30 seconds, of ranks that look for each other in a store that no
 * other process can see (memory_store.cc). */
static bool lacks_horovod_server(const char *line)
{
    return strstr(line, "memory_store.cc") != NULL && strstr(line, "Wait timeout after") != NULL;
}

/* Returns the Python that muster started for a rank, or NULL. */
static const char *python_of(const struct outcome *outcome, int rank)
{
    const struct plan_node *node = &outcome->plan->node[outcome->node_of[rank]];
    const struct strlist   *argv = &node->rank[rank - node->rank[0].rank].argv;

    return argv->count > 1 && strcmp(argv->item[1], "-u") == 0 ? argv->item[0] : NULL;
}
