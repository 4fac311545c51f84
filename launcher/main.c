/* main.c - muster: start multi-node GPU training from a hostfile, over SSH
 *
 * How a run starts: options holds what the user wants, first_hosts chooses the machines and
 * their slots, and program finds what each rank executes. plan combines the three; launch
 * carries out the plan and returns the exit status.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "bcast/bcast_job.h"
#include "bcast/collect_job.h"
#include "bcast/push.h"
#include "bootstrap/bootstrap_job.h"
#include "bootstrap/project_push.h"
#include "commands/commands.h"
#include "commands/detach.h"
#include "commands/first_hosts.h"
#include "commands/prompt.h"
#include "commands/suspect_hosts.h"
#include "doctor/doctor.h"
#include "groups/host_group.h"
#include "history/history.h"
#include "log.h"
#include "options/options.h"
#include "outcome/outcome.h"
#include "output/json_file.h"
#include "plan/environ.h"
#include "plan/environ_kept.h"
#include "plan/plan.h"
#include "plan/plan_roles.h"
#include "plan/program.h"
#include "sanitize.h"
#include "course/launch.h"
#include "transport/login.h"
#include "xalloc.h"

static void  set_crypto_memory(void);
static void *crypto_malloc(size_t size, const char *file, int line);
static void *crypto_realloc(void *old, size_t size, const char *file, int line);
static void  crypto_free(void *old, const char *file, int line);
static void  reset_signals(void);
static void  open_standard_fds(void);
static int   allow_sudo(const struct options *options);
static int   resume(const struct options *options);
static int   exec(const struct options *options);
static int   clean(const struct options *options);
static int   push(const struct options *options, struct first_hosts *first);
static int   push_project(const struct options *options, struct first_hosts *first, int status);
static int   run(const struct options *options);
static int   run_on(const struct options *options, struct first_hosts *first);
static int   find_programs(const struct options *options, struct program *program, int *status,
                           struct error *err);
static int   make_plan(struct plan *plan, const struct options *options,
                       const struct first_hosts *first, const struct program *program,
                       struct error *err);
static int   print_plan(const struct options *options, const struct plan *plan);
static void  print_told(const struct options *options);
static void  print_place(const char *what, const char *place, const char *option);

/* What each subcommand does; a job is what run() gives the nodes to do instead of ranks. */
static const struct {
    int (*run)(const struct options *options);
    const struct node_job *job;
} commands[COMMANDS] = {
    [COMMAND_RUN] = { .run = run },
    [COMMAND_EXEC] = { .run = exec },
    [COMMAND_CHECK] = { .run = run },
    [COMMAND_CLEAN] = { .run = clean, .job = &clean_job },
    [COMMAND_BCAST] = { .run = run, .job = &bcast_job },
    [COMMAND_COLLECT] = { .run = run, .job = &collect_job },
    [COMMAND_BOOTSTRAP] = { .run = run, .job = &bootstrap_job },
    [COMMAND_DOCTOR] = { .run = run, .job = &doctor_job },
    [COMMAND_ATTACH] = { .run = command_attach },
    [COMMAND_STATUS] = { .run = command_status },
    [COMMAND_STOP] = { .run = command_stop },
    [COMMAND_KILL] = { .run = command_kill },
    [COMMAND_DRAIN] = { .run = command_drain },
    [COMMAND_SCALE] = { .run = command_scale },
    [COMMAND_STACKS] = { .run = command_stacks },
    [COMMAND_OPEN] = { .run = command_open },
    [COMMAND_RESUME] = { .run = resume },
};

/* OpenSSL crashes when memory runs out. It accepts other allocation functions only before its
 * first use, which is in a constructor of libssh. */
static void (*const first_of_all)(void)
    __attribute__((section(".preinit_array"), used)) = set_crypto_memory;

int main(int argc, char **argv)
{
    struct options options;
    struct error   err;
    int            exit_code = EXIT_USAGE;

    /* A core file would contain keys and the environment of the ranks. Programs that we execute
     * can still leave one. */
    prctl(PR_SET_DUMPABLE, 0);
    reset_signals();
    open_standard_fds();
    xalloc_libraries();
    log_init("muster", LOG_WARN);
    if (argc > 1 && strcmp(argv[1], "k8s") == 0)
        return command_k8s(argv + 1);
    switch (options_parse(&options, argc, argv, &exit_code, &err)) {
    case OPTIONS_RUN:
        log_init("muster", options.log_level);
        suspect_hosts_exclude(&options);
        exit_code = allow_sudo(&options);
        if (exit_code == 0)
            exit_code = commands[options.command].run(&options);
        login_clear();
        host_group_clear();
        break;
    case OPTIONS_HELP:
        options_help(options.topic, stdout);
        exit_code = 0;
        break;
    case OPTIONS_MANUAL:
        exit_code = command_help(options.topic);
        break;
    case OPTIONS_VERSION:
        options_version(stdout);
        exit_code = 0;
        break;
    case OPTIONS_LIST:
        options_list(stdout);
        exit_code = 0;
        break;
    default:
        log_error("%s", err.text);
        break;
    }
    options_clear(&options);
    if (fflush(stdout) != 0 && exit_code == 0) {
        log_error("stdout: %s", strerror(errno));
        exit_code = EXIT_OUTPUT;
    }
    return exit_code;
}

static void set_crypto_memory(void)
{
    CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);
}

static void *crypto_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return xmalloc(size);
}

static void *crypto_realloc(void *old, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    if (size > 0)
        return xrealloc(old, size);
    free(old);
    return NULL;
}

static void crypto_free(void *old, const char *file, int line)
{
    (void)file, (void)line;
    free(old);
}

/* Our caller may have blocked signals, so that Ctrl-C would do nothing, or may ignore SIGCHLD,
 * so that we could not wait for a child. Without SIGXFSZ, a file that grows too large is a
 * write error. */
static void reset_signals(void)
{
    sigset_t none;

    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* If muster is started with ">&-", the first socket would become stdout and receive the ranks'
 * output. The descriptors opened here refuse all output, as the user asked. */
static void open_standard_fds(void)
{
    int fd;

    for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            _exit(EXIT_INTERNAL);
}

/* For all that this process does, or a line of the prompt. */
static int allow_sudo(const struct options *options)
{
    struct error err;

    if (!options->sudo || options->dry_run)
        return 0;
    if (options->sudo_password_fd < 0)
        login_allow_asking(LOGIN_BY_SUDO);
    else if (login_read_password(LOGIN_BY_SUDO, options->sudo_password_fd, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_DATA;
    }
    return 0;
}

static int resume(const struct options *options)
{
    struct options again = { 0 };
    int            status = command_resume(options, &again);

    if (status < 0) {
        suspect_hosts_exclude(&again);
        status = run(&again);
    }
    options_clear(&again);
    return status;
}

/* Without a command its lines are commands. */
static int exec(const struct options *options)
{
    return options->script != NULL ? run(options) : prompt_run(options, push, run_on);
}

static int clean(const struct options *options)
{
    return options->forget_suspects ? suspect_hosts_forget(options, environ) : run(options);
}

static int push(const struct options *options, struct first_hosts *first)
{
    return push_files(options, &first->selection, environ);
}

/* A step that has failed does not keep the project from the nodes that have asked for it. */
static int push_project(const struct options *options, struct first_hosts *first, int status)
{
    int pushed = project_push_files(options, &first->selection, environ);

    return status != 0 ? status : pushed;
}

static int run(const struct options *options)
{
    struct first_hosts first = { 0 };
    int                status = first_hosts_find(options, environ, &first);

    if (status == 0)
        status = run_on(options, &first);
    first_hosts_clear(&first);
    return status;
}

/* Each step needs the result of the one before. The first step that fails determines the exit
 * status. */
static int run_on(const struct options *options, struct first_hosts *first)
{
    size_t             programs = options->has_roles ? options->roles : 1;
    struct program    *program = xcalloc(programs, sizeof *program);
    struct plan        plan = { 0 };
    struct plan_source source = { options, &first->selection, program, environ };
    struct error       err;
    int                status = EXIT_USAGE;

    if (find_programs(options, program, &status, &err) < 0)
        goto failed;
    if ((status = first_hosts_wait(options, environ, first)) != 0)
        goto out;
    status = EXIT_USAGE;
    if (make_plan(&plan, options, first, program, &err) < 0 ||
        (options->resumed == NULL && plan_check_input(&plan, options, &err) < 0))
        goto failed;
    plan.source = options->has_roles ? NULL : &source;
    plan_tell_masters(&plan, options, environ);
    environ_tell(options, environ, &plan.node[0].env);
    environ_forget(options);
    suspect_hosts_tell(options, &first->hosts, &first->selection);
    if (!options->dry_run && (status = push(options, first)) != 0)
        goto out;
    if (!options->dry_run && program->sent != NULL &&
        (status = push_beside_agents(options, &first->selection, program->sent, environ)) != 0)
        goto out;
    if (options->dry_run)
        status = print_plan(options, &plan);
    else if (options->replace && (status = stop_namesakes(options->name)) != 0)
        goto out;
    else if (options->detach)
        status = detach_run(options, &plan);
    else
        status = launch_run(options, &plan, commands[options->command].job, NULL);
    if (options->command == COMMAND_BOOTSTRAP && !options->dry_run)
        status = push_project(options, first, status);
    if (status == EXIT_UNREACHABLE && options->hosts_guessed)
        log_error("-H %s: no such file, so it was taken as a host name", options->hosts);
    goto out;
failed:
    log_error("%s", err.text);
out:
    plan_clear(&plan);
    while (programs > 0)
        program_clear(&program[--programs]);
    free(program);
    return status;
}

/* One, or one per role. */
static int find_programs(const struct options *options, struct program *program, int *status,
                         struct error *err)
{
    struct error why;
    size_t       i;

    if (!options->has_roles)
        return program_find(options, environ, options->cwd, program, status, err);
    for (i = 0; i < options->roles; i++)
        if (program_find(&options->role[i], environ, options->role[i].cwd, &program[i], status,
                         &why) < 0)
            return err_set(err, "--role %s: %s", options->role[i].role_name, why.text);
    return 0;
}

static int make_plan(struct plan *plan, const struct options *options,
                     const struct first_hosts *first, const struct program *program,
                     struct error *err)
{
    const struct selection world = { first->selection.node, first->count };
    struct selection      *share;
    size_t                 i;
    int                    rc;

    if (!options->has_roles)
        return plan_make(plan, options, &world, program, environ, err);
    share = xcalloc(options->roles, sizeof *share);
    rc = plan_roles_divide(share, options, &first->hosts, &world, err);
    if (rc == 0)
        rc = plan_roles_make(plan, options, share, program, environ, err);
    for (i = 0; i < options->roles; i++)
        selection_clear(&share[i]);
    free(share);
    return rc;
}

/* --dry-run: prints the plan for people, and writes it as JSON if --json is given. */
static int print_plan(const struct options *options, const struct plan *plan)
{
    if (options->json == NULL || strcmp(options->json, "-") != 0) {
        plan_print(plan, stdout);
        print_told(options);
    }
    if (options->json == NULL)
        return 0;
    return json_file_write(options->json, plan_json(plan, log_wants(LOG_INFO))) < 0
               ? EXIT_CREATE
               : 0;
}

/* Who hears of the run, besides the user. */
static void print_told(const struct options *options)
{
    if (options->command != COMMAND_RUN)
        return;
    print_place("events go to", options->on_event, "--on-event");
    print_place("metrics go to", options->metrics, "--metrics");
    print_place("metrics are served at", options->metrics_listen, "--metrics-listen");
}

static void print_place(const char *what, const char *place, const char *option)
{
    char *safe;

    if (place == NULL)
        return;
    safe = sanitize_text(place, strlen(place));
    printf("%s %s (%s)\n", what, safe, option);
    free(safe);
}
