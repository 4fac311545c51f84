/* test_options.c - the command line, the environment, and what comes over what
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "options/option_table.h"
#include "options/option_value.h"
#include "options/options.h"
#include "options_fixture.h"

static void defaults(void **state)
{
    (void)state;
    ACCEPT("train.py");
    assert_int_equal(options.command, COMMAND_RUN);
    assert_string_equal(options.hostfile, "/job/hostfile");
    assert_false(options.hostfile_given);
    assert_null(options.hosts);
    assert_int_equal(options.num_nodes, -1);
    assert_int_equal(options.num_gpus, -1);
    assert_int_equal(options.num_ranks, 0);
    assert_int_equal(options.node_rank, -1);
    assert_int_equal(options.fanout, 64);
    assert_int_equal(options.master_port, 0);
    assert_true(options.connect_timeout_s == 10 && options.grace_s == 30);
    assert_true(options.heartbeat_s == 2 && options.dead_after_s == 15);
    assert_true(options.timeout_s == 0 && options.reconnect_s == OPTION_AUTO);
    assert_int_equal(options.log_level, LOG_WARN);
    assert_int_equal(options.local_rank_by, LOCAL_RANK_MODULO);
    assert_string_equal(options.script, "train.py");
    assert_int_equal(options.args.count, 0);
}

/* Every flag of DeepSpeed's that has a meaning here. */
static void deepspeed_flags(void **state)
{
    (void)state;
    ACCEPT("-H", "./hosts", "-i", "te1", "--exclude=", "--num_nodes", "2", "--num_gpus=3",
           "--master_port", "1234", "--master_addr=te1", "--launcher=PDSH", "--module",
           "--no_local_rank", "--no_ssh_check", "--force_multi", "--save_pid",
           "--enable_each_rank_log", "logs", "--bind_cores_to_rank", "--bind_core_list",
           "0,2-4", "--ssh_port=2222", "--venv_script", "v.sh", "--log_level", "error",
           "--quiet", "pkg.train", "--epochs", "3");
    assert_string_equal(options.hostfile, "./hosts");
    assert_true(options.hostfile_given);
    assert_string_equal(options.include, "te1");
    assert_null(options.exclude);
    assert_int_equal(options.num_nodes, 2);
    assert_int_equal(options.num_gpus, 3);
    assert_int_equal(options.master_port, 1234);
    assert_string_equal(options.master_addr, "te1");
    assert_true(options.module && options.no_local_rank && options.no_ssh_check);
    assert_true(options.force_multi && options.save_pid && options.bind_cores);
    assert_string_equal(options.each_rank_log, "logs");
    assert_string_equal(options.bind_core_list, "0,2-4");
    assert_int_equal(options.ssh_port, 2222);
    assert_string_equal(options.venv_script, "v.sh");
    assert_int_equal(options.log_level, LOG_ERROR);
    assert_string_equal(options.script, "pkg.train");
    assert_int_equal(options.args.count, 2);

    ACCEPT("--num_accelerators", "2", "x");
    assert_int_equal(options.num_gpus, 2);
    ACCEPT("--no_ssh", "--node_rank", "1", "--no_python", "x");
    assert_true(options.no_ssh && options.no_python);
    assert_int_equal(options.node_rank, 1);
    ACCEPT("--enable_each_rank_log", "None", "x");
    assert_null(options.each_rank_log);
    ACCEPT("--num_nodes", "-1", "--node_rank", "-1", "x");
    assert_int_equal(options.num_nodes, -1);
}

static void own_flags(void **state)
{
    (void)state;
    ACCEPT("-np", "5", "--env", "A=1", "--env=B", "--env-file=e", "--cwd", "/w", "--grace=1.5",
           "--timeout", "2h", "--connect-timeout=3s", "--fanout=8", "--label", "rank",
           "--timestamps", "--show-ranks=0,3-5", "--log-dir=d", "--one-gpu-per-rank", "--json=-",
           "--dry-run", "--python=/p", "--transport=exec", "--agent=a", "--ssh-config=c",
           "--local-rank-by=index", "--heartbeat=1", "--dead-after=5", "--reconnect=0", "x");
    assert_int_equal(options.num_ranks, 5);
    assert_int_equal(options.env.count, 2);
    assert_string_equal(options.env.item[1], "B");
    assert_string_equal(options.env_files.item[0], "e");
    assert_string_equal(options.cwd, "/w");
    assert_true(options.grace_s == 1.5 && options.timeout_s == 7200);
    assert_true(options.connect_timeout_s == 3 && options.dead_after_s == 5);
    assert_true(options.reconnect_s == 0);
    assert_int_equal(options.label, LABEL_RANK);
    assert_string_equal(options.show_ranks, "0,3-5");
    assert_true(options.timestamps && options.one_gpu_per_rank && options.dry_run);
    assert_string_equal(options.json, "-");
    assert_int_equal(options.transport, TRANSPORT_EXEC);
    assert_int_equal(options.local_rank_by, LOCAL_RANK_INDEX);
    ACCEPT("-np=4", "x");
    assert_int_equal(options.num_ranks, 4);
    ACCEPT("-q", "x");
    assert_int_equal(options.log_level, LOG_ERROR);
    ACCEPT("-vv", "x");
    assert_int_equal(options.log_level, LOG_DEBUG);
    ACCEPT("--log_level", "critical", "-v", "x");
    assert_int_equal(options.log_level, LOG_INFO);
}

static void hosts_or_file(void **state)
{
    (void)state;
    ACCEPT("-H", "te1:4,te2:4", "x");
    assert_string_equal(options.hosts, "te1:4,te2:4");
    assert_false(options.hostfile_given);
    ACCEPT("-Hte1", "x");
    assert_string_equal(options.hosts, "te1");
    ACCEPT("-H=/no/such", "x");
    assert_string_equal(options.hostfile, "/no/such");
    ACCEPT("-H", "-", "x");
    assert_string_equal(options.hostfile, "-");
    assert_int_equal(chdir(TOP_SRCDIR), 0);
    ACCEPT("-H", "LICENSE", "x"); /* a file that exists */
    assert_string_equal(options.hostfile, "LICENSE");
    ACCEPT("--hostfile", "te1:4", "x"); /* --hostfile is always a file */
    assert_string_equal(options.hostfile, "te1:4");
    assert_null(options.hosts);
    REFUSE("twice", "--hostfile=a", "-H", "te1:4", "x");
    REFUSE("twice", "--hosts=te1", "--hostfile=a", "x");
}

static void options_end_at_the_script(void **state)
{
    (void)state;
    ACCEPT("--num_gpus", "1", "train.py", "--num_gpus", "2", "--unknown", "-h");
    assert_int_equal(options.num_gpus, 1);
    assert_int_equal(options.args.count, 4);
    ACCEPT("--", "train.py", "--", "a"); /* one "--" is eaten, not two */
    assert_string_equal(options.script, "train.py");
    assert_int_equal(options.args.count, 2);
    assert_string_equal(options.args.item[0], "--");
    ACCEPT("train.py", "--", "-x");
    assert_int_equal(options.args.count, 1);
    assert_string_equal(options.args.item[0], "-x");
    ACCEPT("train.py", "a", "--", "b");
    assert_int_equal(options.args.count, 3);
    ACCEPT("--", "-x");
    assert_string_equal(options.script, "-x");
    REFUSE("no script", "--num_gpus=1");
    REFUSE("no script", "--");
}

/* What would be ignored is refused; in settings files and the environment it may be. */
static void options_without_effect(void **state)
{
    (void)state;
    REFUSE("--timeout: not an option of muster clean; it belongs to run, exec, shell, check",
           "clean", "--timeout=5");
    REFUSE("--env: not an option of muster bcast", "bcast", "--env=A=b", "x");
    REFUSE("--grace: not an option of muster bcast; it belongs to run, exec, shell, check, clean",
           "bcast", "--grace=1", "x");
    REFUSE("-S: not an option of muster run; it belongs to exec", "-S", "x");
    REFUSE("--kill: not an option of muster check; it belongs to clean; put options of "
           "muster-train check after '--'", "check", "--kill");
    setenv("MUSTER_TIMEOUT", "5", 1);
    ACCEPT("clean", "--grace=1");
    ACCEPT("status");
    unsetenv("MUSTER_TIMEOUT");
}

static void prefixes(void **state)
{
    (void)state;
    ACCEPT("--num_g", "2", "--host=./f", "--launcher_arg=-f 9", "--inc", "a", "x");
    assert_int_equal(options.num_gpus, 2);
    assert_string_equal(options.hostfile, "./f");
    assert_int_equal(options.fanout, 9);
    /* Unique in DeepSpeed: ours of that beginning do not change the meaning. */
    ACCEPT("--log", "debug", "--ss", "22", "--f", "--en", "d", "--q", "x");
    assert_int_equal(options.ssh_port, 22);
    assert_true(options.force_multi && options.log_level == LOG_ERROR);
    assert_string_equal(options.each_rank_log, "d");
    ACCEPT("--no-local-rank", "--ssh_config=f", "--one_gpu", "--gra", "1", "x"); /* - is _ */
    assert_true(options.no_local_rank && options.one_gpu_per_rank && options.grace_s == 1);
    assert_string_equal(options.ssh_config, "f");
    ACCEPT("--no_ssh", "--node_rank=0", "x"); /* whole, though --no_ssh_check begins so */
    assert_false(options.no_ssh_check);
    REFUSE("--no_ssh, --no_ssh_check, --no_python, --no_local_rank", "--no_", "x");
    REFUSE("--timestamps, --timeout", "--ti", "1", "x");
    REFUSE("ambiguous", "--h", "x");
}

static void values(void **state)
{
    (void)state;
    ACCEPT("--env-all=-A,-B*", "--env=-C", "x");
    assert_int_equal(options.env.count, 4);
    assert_string_equal(options.env.item[0], "*");
    assert_string_equal(options.env.item[2], "-B*");
    REFUSE("--env-all: 'A' is no list of variables to leave out; write -NAME,-PATTERN",
           "--env-all=A", "x");
    REFUSE("'' is no list", "--env-all=-A,", "x");
    REFUSE("'-,-B' is no list", "--env=-,-B", "x");
    ACCEPT("--include=-x", "--env=-A=", "x");
    assert_string_equal(options.include, "-x");
    REFUSE("--include", "--include", "-x", "y");
    ACCEPT("--launcher_args", "-f 9", "x"); /* as argparse: it contains a blank */
    ACCEPT("--hostfile", "-1", "--cwd", "-.5", "x"); /* and these are numbers */
    assert_string_equal(options.cwd, "-.5");
    REFUSE("looks like an option", "--cwd", "-1x", "y");
    REFUSE("write --master_addr=--module", "--master_addr", "--module", "y");
    REFUSE("needs a value", "--hostfile");
    REFUSE("needs a value", "-i");
    REFUSE("--fanout", "--fanout=0", "x");
    REFUSE("--fanout", "--fanout=4x", "x");
    REFUSE("--ssh_port", "--ssh_port=70000", "x");
    REFUSE("--grace", "--grace=soon", "x");
    REFUSE("host|rank|none", "--label=both", "x");
    REFUSE("--log_level", "--log_level=loud", "x");
    REFUSE("neither yes nor no", "--module=maybe", "x");
    REFUSE("NAME", "--env", "=1", "x");
    ACCEPT("--module=no", "--timestamps=yes", "x");
    assert_true(!options.module && options.timestamps);
    for (size_t i = 0; i < 6; i++) {
        static const char *const bad[] = { "0,2-6,5-9", "8,2-6", "1,6-2", "a", "1,", "0 ,1" };

        REFUSE("--show-ranks", "--show-ranks", bad[i], "x");
    }
    ACCEPT("--show-ranks=0,2-4,6,8-9", "x");
}

static void unknown(void **state)
{
    (void)state;
    REFUSE("did you mean --hostfile?", "--hotsfile=x", "y");
    REFUSE("unknown option -fanout (did you mean --fanout?)", "-fanout", "3", "y");
    REFUSE("unknown option --epochs", "--epochs", "3");
    assert_null(strstr(err.text, "did you mean"));
    REFUSE("unknown option -Z", "-Z", "y");
    REFUSE("unknown option --lr", "--epochs", "3", "--lr", "x"); /* 3 is no script */
    REFUSE("unknown option --epochs", "--epochs", "a.py", "--lr", "x"); /* the script's */
    REFUSE("unknown option --lr", "--epochs=3", "--lr", "3");
    REFUSE("unknown option --", "--=x", "y");
}

/* Names that have no exact meaning here; tests/run/start/habits.t has more, and those that do. */
static void other_launchers(void **state)
{
    (void)state;
    REFUSE("muster starts all nodes", "--node_rank=0", "--master_addr=te1", "y");
    REFUSE("write --master_addr=te1 --master_port=29500", "--master_addr", "te1:29500", "y");
    ACCEPT("--master_addr", "[fe80::1]", "y");
    assert_string_equal(options.master_addr, "fe80::1");
    ACCEPT("--master_addr", "te1", "--master_addr=", "y");
    assert_null(options.master_addr);
    ACCEPT("-H", "te1:2,te2:2", "-np", "4", "y");
    ACCEPT("-host", "te1:2", "-npernode", "2", "-x", "A=1", "-x", "PATH", "-wdir", "/w", "y", "-n");
    assert_string_equal(options.hosts, "te1:2");
    assert_int_equal(options.num_gpus, 2);
    assert_int_equal(options.env.count, 2);
    assert_string_equal(options.cwd, "/w");
    assert_int_equal(options.args.count, 1);
    ACCEPT("exec", "-wte1,te2", "-w", "te3", "-x", "te1,te[2-3,5]", "-x", "te9", "-Nf", "7",
           "-lbob", "-t", "3", "-u5", "--", "-w");
    assert_string_equal(options.hosts, "te1,te2,te3");
    assert_string_equal(options.exclude, "te1@te[2-3,5]@te9");
    assert_int_equal(options.label, LABEL_NONE);
    assert_int_equal(options.fanout, 7);
    assert_string_equal(options.ssh_user, "bob");
    assert_true(options.connect_timeout_s == 3 && options.timeout_s == 5);
    ACCEPT("--elastic_training", "--min_elastic_nodes=1", "--max_elastic_nodes", "2", "x");
    ACCEPT("--nnodes", "1:4", "--worlds=16,12,8", "--recovery", "full", "--max-wait=2m", "x");
    ACCEPT("-m", "--nproc-per-node", "gpu", "--nnodes", "2:2", "--max_restarts=0", "pkg.train");
    assert_true(options.module && options.num_nodes == 2 && options.num_gpus == -1);
    ACCEPT("-np", "8", "--min-np", "4", "--max-np=9", "x");
    assert_true(options.members.start_ranks == 8 && options.num_ranks == 0);
    assert_true(options.members.min_ranks == 4 && options.members.max_ranks == 9);
    ACCEPT("-np", "8", "--max-np=9", "x");
    assert_int_equal(options.members.min_ranks, 8);
    ACCEPT("-np", "8", "--nnodes=1:4", "x");
    assert_true(options.members.start_ranks == 8 && options.members.min_ranks == 0);
    ACCEPT("--num_processes", "8", "--num_machines", "2", "x");
    assert_true(options.num_gpus == 4 && options.num_nodes == 2 && options.num_ranks == 0);
    ACCEPT("--num_processes", "8", "-np", "6", "x");
    assert_int_equal(options.num_ranks, 6);
    ACCEPT("--f", "y"); /* a prefix of deepspeed's --force_multi, not pdsh's -f */
    assert_true(options.force_multi);
}

/* Every option of a run that takes a number says its name and its range. */
static void numbers_out_of_range(void **state)
{
    static const char *const texts[] = { "-2", "99999999999999999999", "1e9999", "", " 3", "+3",
                                         "0x3", "nan", "3,5", "1e3" };
    char   word[64], reason[64];
    size_t i, k;
    int    tried = 0;

    (void)state;
    for (i = 0; i < option_rows; i++) {
        const struct option_row *row = &option_table[i];

        if ((row->set != set_integer && row->set != set_seconds) ||
            !(row->commands & FOR(RUN)))
            continue;
        snprintf(reason, sizeof reason, "--%s: '", row->name);
        for (k = 0; k < sizeof texts / sizeof *texts; k++) {
            snprintf(word, sizeof word, "--%s=%s", row->name, texts[k]);
            REFUSE(reason, word, "x");
            assert_non_null(strstr(err.text, row->set == set_integer ? " is not a number from "
                                                                     : " is not a time from "));
        }
        tried++;
    }
    assert_true(tried > 10);
    REFUSE("--np: '0' is not a number from 1 to 1048576", "-np", "0", "x");
    REFUSE("--np: '-1' is not a number", "--np=-1", "x");
    REFUSE("'1-2000000' is not a list", "--show-ranks=1-2000000", "x");
    REFUSE("'99999999999999999999' is not a list", "--show-ranks=99999999999999999999", "x");
}

static void refusals(void **state)
{
    (void)state;
    REFUSE("the minimum is larger than the maximum", "--nnodes", "4:2", "x");
    REFUSE("--nnodes", "--nnodes", "1:", "x");
    REFUSE("a minimum of 3 nodes is more than the maximum of 2", "--min_elastic_nodes=3",
           "--max_elastic_nodes", "2", "x");
    REFUSE("--min-np 8 is more", "--min-np", "8", "--max-np=4", "x");
    REFUSE("--min-np 9 is more than -np 8", "-np", "8", "--min-np", "9", "x");
    REFUSE("-np 8, with which the run starts, is more than --max-np 7", "-np", "8", "--max-np", "7",
           "x");
    REFUSE("--num_processes 7 is no multiple of --num_machines 2", "--num_processes", "7",
           "--num_machines=2", "x");
    REFUSE("--num_nodes and --num_gpus", "-np", "8", "--spares", "1", "x");
    REFUSE("16,12,8", "--worlds", "16,0", "x");
    REFUSE("16,12,8", "--worlds", "16,,8", "x");
    REFUSE("not one of auto|full|elastic", "--recovery=some", "x");
    REFUSE("need all nodes", "--no_ssh", "--node_rank=0", "--spares=1", "x");
    REFUSE("deepspeed", "--autotuning", "tune", "x");
    REFUSE("'openmpi' is refused", "--launcher=openmpi", "x");
    REFUSE("takes the hosts of the job", "--launcher", "SLURM", "x");
    REFUSE("~/.ssh/config", "--launcher_args=-i key", "x");
    REFUSE("'--mca'", "--launcher_args=--mca btl tcp", "x");
    REFUSE("-f needs a value", "--launcher_args=-f", "x");
    ACCEPT("--launcher_args=-f 7 -p2022 -t 9", "x");
    assert_int_equal(options.fanout, 7);
    assert_int_equal(options.ssh_port, 2022);
    assert_true(options.connect_timeout_s == 9);
    REFUSE("exclude each other", "--module", "--no_python", "x");
    REFUSE("--node_rank", "--no_ssh", "x");
    REFUSE("--no_ssh", "--node_rank=1", "x");
    REFUSE("--bind_cores_to_rank", "--bind_core_list=0", "x");
    REFUSE("exclude each other", "--log-dir=a", "--enable_each_rank_log=b", "x");
    REFUSE("--dead-after", "--dead-after=3", "--heartbeat=2", "x");
}

static void asked(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--help"), OPTIONS_HELP);
    assert_int_equal(PARSE("-h"), OPTIONS_HELP);
    assert_int_equal(PARSE("--version"), OPTIONS_VERSION);
    assert_int_equal(options.topic, COMMAND_HELP);
    assert_int_equal(PARSE("exec", "--help"), OPTIONS_HELP);
    assert_int_equal(options.topic, COMMAND_EXEC);
    assert_int_equal(PARSE("run", "--help"), OPTIONS_HELP);
    assert_int_equal(options.topic, COMMAND_RUN);
    assert_int_equal(PARSE("--list-options"), OPTIONS_LIST);
    assert_int_equal(PARSE("train.py", "--help"), OPTIONS_RUN);
    assert_int_equal(PARSE("help", "exec"), OPTIONS_MANUAL);
    assert_int_equal(options.topic, COMMAND_EXEC);
    assert_int_equal(PARSE("help"), OPTIONS_MANUAL);
    assert_int_equal(options.topic, COMMAND_HELP);
    assert_int_equal(PARSE("help", "--help"), OPTIONS_HELP);
    REFUSE("unknown subcommand 'exce'", "help", "exce");
    REFUSE("muster help takes one subcommand, not also 'run'", "help", "exec", "run");
}

static void environment(void **state)
{
    (void)state;
    setenv("MUSTER_FANOUT", "7", 1);
    setenv("MUSTER_SSH_PORT", "2022", 1);
    setenv("MUSTER_ONE_GPU_PER_RANK", "yes", 1);
    setenv("MUSTER_LABEL", "", 1); /* as if it were not there */
    setenv("PDSH_SSH_ARGS_APPEND", "-p 99", 1);
    ACCEPT("x");
    assert_int_equal(options.fanout, 7);
    assert_int_equal(options.ssh_port, 2022);
    assert_true(options.one_gpu_per_rank);
    unsetenv("MUSTER_SSH_PORT");
    ACCEPT("--fanout=8", "x");
    assert_int_equal(options.fanout, 8);
    assert_int_equal(options.ssh_port, 99);
    setenv("PDSH_SSH_ARGS_APPEND", "-p", 1);
    REFUSE("PDSH_SSH_ARGS_APPEND", "x");
    unsetenv("PDSH_SSH_ARGS_APPEND");
    setenv("MUSTER_FANOUT", "x", 1);
    REFUSE("MUSTER_FANOUT", "x");
    unsetenv("MUSTER_FANOUT");
    setenv("MUSTER_AUTOTUNING", "run", 1);
    REFUSE("MUSTER_AUTOTUNING", "x");
}

static size_t warned;

static void count_warning(const char *line, size_t size, void *arg)
{
    (void)arg;
    warned += memmem(line, size, "MUSTER_FANOTU", 13) != NULL;
    warned += memmem(line, size, "'-oX=1'", 7) != NULL;
    assert_null(memmem(line, size, "MUSTER_RUN_ID", 13));
    assert_null(memmem(line, size, "MUSTER_TEST", 11));
}

static void oddities_are_warned_about(void **state)
{
    (void)state;
    setenv("MUSTER_FANOTU", "7", 1);
    setenv("MUSTER_RUN_ID", "a run inside a run", 1);
    setenv("MUSTER_TEST_X", "1", 1);
    setenv("PDSH_SSH_ARGS_APPEND", "-oX=1 -p22", 1);
    log_sink(count_warning, NULL);
    ACCEPT("x");
    assert_int_equal(warned, 2);
    assert_int_equal(options.ssh_port, 22);
    ACCEPT("-q", "x");
    assert_int_equal(warned, 2);
    log_sink(NULL, NULL);
}

static void files_in_order(void **state)
{
    char folder[] = "/tmp/test_options.XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(system("mkdir muster && printf '[muster]\\nfanout = 4\\n' >other.conf && "
                            "printf '[muster]\\nfanout=2\\ngrace=3\\nlargest-status=yes\\n' "
                            ">muster/muster.conf"), 0);

    setenv("XDG_CONFIG_HOME", folder, 1);
    ACCEPT("x");
    assert_int_equal(options.fanout, 2);
    assert_false(options.largest_status); /* for exec only, so no error here */
    ACCEPT("exec", "x");
    assert_true(options.largest_status);
    ACCEPT("exec", "--largest-status=no", "x");
    assert_false(options.largest_status);
    ACCEPT("--config", "other.conf", "x");
    assert_int_equal(options.fanout, 4);
    assert_true(options.grace_s == 3);
    setenv("MUSTER_CONFIG", "other.conf", 1);
    ACCEPT("x");
    assert_int_equal(options.fanout, 4);
    setenv("MUSTER_FANOUT", "5", 1);
    ACCEPT("x");
    assert_int_equal(options.fanout, 5);
    ACCEPT("--fanout=6", "x");
    assert_int_equal(options.fanout, 6);

    assert_int_equal(PARSE("--config=none.conf", "x"), -1);
    assert_int_equal(exit_code, 65);
    assert_non_null(strstr(err.text, "none.conf"));
    remove("muster/muster.conf");
    remove("muster");
    remove("other.conf");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(deepspeed_flags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_flags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hosts_or_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_end_at_the_script, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_without_effect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prefixes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_out_of_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_launchers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(oddities_are_warned_about, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_in_order, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
