/* main.c - muster-k8s: the same run on Kubernetes; `muster k8s` executes this program
 *
 * A job (job/) becomes objects (objects/) in the cluster's API (api/). life/ decides what to do
 * next, and commands/ has the subcommands.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <jansson.h>

#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "nearby.h"
#include "xalloc.h"

static const struct subcommand subcommands[] = {
    { "submit", "[OPTIONS] [--] [MUSTER'S OPTIONS] SCRIPT [ARGS...]",
      "start a job: create its objects, or print them with --dry-run", command_submit },
    { "get", "[OPTIONS] NAME", "show a job and its Pods", command_get },
    { "list", "[OPTIONS]", "list jobs", command_list },
    { "logs", "[OPTIONS] NAME", "show a job's output; -f follows it", command_logs },
    { "attach", "[OPTIONS] NAME",
      "follow a job as submit --wait does, and exit with its status", command_attach },
    { "shell", "[OPTIONS] NAME [--] [COMMAND...]",
      "run a shell or another command in a Pod of a job", command_shell },
    { "top", "[OPTIONS] NAME",
      "show what the Pods of a job use now, if the cluster measures it", command_top },
    { "events", "[OPTIONS] NAME", "show the cluster's events about the Pods of a job",
      command_events },
    { "tensorboard", "[OPTIONS] NAME", "forward a job's TensorBoard to a port of this machine",
      command_tensorboard },
    { "dashboard", "[OPTIONS] NAME", "forward the page of a job's run to a port of this machine",
      command_dashboard },
    { "pause", "[OPTIONS] NAME", "end the run, and keep the job", command_pause },
    { "resume", "[OPTIONS] NAME", "start the run of a paused job again", command_resume },
    { "scale", "--workers=N [OPTIONS] NAME", "change a job's number of workers",
      command_scale },
    { "delete", "[OPTIONS] NAME...", "delete a job and everything it has in the cluster",
      command_delete },
    { "prune", "--since=TIME [OPTIONS]", "delete the jobs that ended some time ago",
      command_prune },
    { "check", "[OPTIONS]", "check that you have the rights that the other subcommands need",
      command_check },
    { "controller", "[OPTIONS]", "do for all jobs what submit --wait does for one",
      command_controller },
};

static void wipe_and_free(void *old);
static int  run(char *const *argv);
static void print_help(FILE *out);

int main(int argc, char **argv)
{
    int exit_code;

    (void)argc;
    prctl(PR_SET_DUMPABLE, 0); /* a core file would contain keys */
    json_set_alloc_funcs(xmalloc, wipe_and_free);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    log_init("muster k8s", LOG_WARN);
    exit_code = run(argv + 1);
    if (fflush(stdout) != 0 && exit_code == 0) {
        log_error("stdout: %s", strerror(errno));
        exit_code = EXIT_OUTPUT;
    }
    return exit_code;
}

/* JSON documents may contain private keys. */
static void wipe_and_free(void *old)
{
    if (old != NULL)
        explicit_bzero(old, malloc_usable_size(old));
    free(old);
}

static int run(char *const *argv)
{
    size_t      i, count = sizeof subcommands / sizeof subcommands[0], distance, least = SIZE_MAX;
    int         exit_code;
    const char *word = argv[0], *best = NULL;
    char        option[] = "--help", *const for_help[] = { NULL, option, NULL };

    if (word != NULL && strcmp(word, "help") == 0 && argv[1] != NULL) {
        word = argv[1];
        argv = for_help;
    }
    if (word == NULL || strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
        strcmp(word, "-h") == 0) {
        print_help(word != NULL ? stdout : stderr);
        return word != NULL ? 0 : EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        puts("muster-k8s " PACKAGE_VERSION);
        return 0;
    }
    for (i = 0; i < count; i++) {
        if (strcmp(word, subcommands[i].name) == 0) {
            exit_code = subcommands[i].run(&subcommands[i], argv + 1);
            return exit_code == SUBCOMMAND_HELP ? 0 : exit_code;
        }
        distance = nearby(word, strlen(word), subcommands[i].name);
        if (distance < least) {
            least = distance;
            best = subcommands[i].name;
        }
    }
    log_error("unknown subcommand '%.60s'%s%s%s", word, best != NULL ? "; did you mean " : "",
              best != NULL ? best : "", best != NULL ? "?" : "; muster k8s help lists them");
    return EXIT_USAGE;
}

static void print_help(FILE *out)
{
    size_t i;

    fputs("usage: muster k8s SUBCOMMAND [OPTIONS] [ARGS...]\n"
          "\n"
          "The same run on Kubernetes: its nodes are Pods with sshd. See muster-k8s(1), and\n"
          "muster k8s SUBCOMMAND --help.\n"
          "\n",
          out);
    for (i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        fprintf(out, "  %-11s %s\n", subcommands[i].name, subcommands[i].summary);
}
