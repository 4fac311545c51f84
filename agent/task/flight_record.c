/* flight_record.c - see flight_record.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/flight_record.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "strlist.h"
#include "task/command.h"
#include "xalloc.h"

#define LOOK_MS 100 /* between two looks for a file that was asked for */
#define QUIET_LOOKS 3 /* a file of the same size for so many looks is whole */

struct record {
    const json_t *about;
    const char   *file;
    struct stat   before; /* the file when the record was asked for; st_ino 0: there was none */
    off_t         size;
    int           quiet; /* looks since its size has changed */
    bool          is_asked;
};

static int  run(const json_t *request, struct task_output *out);
static bool ask(struct record *record);
static void await_all(struct record *record, size_t count);
static bool is_whole(struct record *record);
static void read_all(const json_t *request, const struct record *record, size_t count,
                     struct task_output *out);
static void tell_failed(const struct command_result *result, const struct strlist *words,
                        struct task_output *out);

const struct task_row flight_record_row = { "flight records", run };

/* In the child. */
static int run(const json_t *request, struct task_output *out)
{
    const json_t  *ranks = json_object_get(request, "ranks");
    const size_t   count = json_array_size(ranks);
    struct record *record = xcalloc(count + 1, sizeof *record);
    size_t         i;

    for (i = 0; i < count; i++) {
        record[i].about = json_array_get(ranks, i);
        record[i].file = json_string_value(json_object_get(record[i].about, "file"));
        if (json_is_true(json_object_get(request, "asks")))
            record[i].is_asked = ask(&record[i]);
    }
    await_all(record, count);
    read_all(request, record, count, out);
    free(record);
    return 0;
}

/* False: no PyTorch listens there, as of a rank that has no group of NCCL. */
static bool ask(struct record *record)
{
    const char *pipe = json_string_value(json_object_get(record->about, "pipe"));
    int         fd = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    struct stat about;
    bool        is_told = false;

    if (fd < 0)
        return false;
    if (stat(record->file, &record->before) < 0)
        record->before = (struct stat){ 0 };
    if (fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode))
        is_told = write(fd, "1\n", 2) == 2;
    close(fd);
    return is_told;
}

static void await_all(struct record *record, size_t count)
{
    const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
    const int64_t until_ns = clock_now_ns() + (int64_t)(FLIGHT_RECORD_DUMP_S * NS_PER_S);
    size_t        i, open;

    do {
        open = 0;
        for (i = 0; i < count; i++)
            open += record[i].is_asked && !is_whole(&record[i]);
        if (open > 0)
            nanosleep(&pause, NULL);
    } while (open > 0 && clock_now_ns() < until_ns);
}

/* PyTorch writes into the file of that name, so its size tells when it has done so. */
static bool is_whole(struct record *record)
{
    struct stat now;

    if (record->quiet >= QUIET_LOOKS)
        return true;
    if (stat(record->file, &now) < 0 || now.st_size == 0 ||
        (now.st_ino == record->before.st_ino &&
         now.st_mtim.tv_sec == record->before.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == record->before.st_mtim.tv_nsec))
        return false;
    record->quiet = now.st_size == record->size ? record->quiet + 1 : 0;
    record->size = now.st_size;
    return false;
}

/* The script's lines are those of the task. */
static void read_all(const json_t *request, const struct record *record, size_t count,
                     struct task_output *out)
{
    const char          **argv = xcalloc(count + 5, sizeof *argv);
    struct strlist        words = { 0 };
    struct command_result result;
    size_t                i, next = 0;

    for (i = 0; i < count; i++)
        if (access(record[i].file, F_OK) == 0)
            strlist_addf(&words, "%lld=%s",
                         (long long)json_integer_value(json_object_get(record[i].about, "rank")),
                         record[i].file);
    if (words.count > 0) {
        argv[next++] = json_string_value(json_object_get(request, "python"));
        argv[next++] = "-I";
        argv[next++] = "-c";
        argv[next++] = flight_record_script;
        for (i = 0; i < words.count; i++)
            argv[next++] = words.item[i];
        if (!command_run_to(out->fd, argv, NULL, FLIGHT_RECORD_READ_S, &result))
            tell_failed(&result, &words, out);
        command_clear(&result);
    }
    strlist_clear(&words);
    free(argv);
}

/* If a rank has a line already, the launcher keeps that one. */
static void tell_failed(const struct command_result *result, const struct strlist *words,
                        struct task_output *out)
{
    char   why[200];
    size_t i;

    command_why(result, FLIGHT_RECORD_READ_S, why, sizeof why);
    for (i = 0; i < words->count; i++)
        task_output_line(out, json_pack("{s:I, s:o}", "rank",
                                        (json_int_t)strtoll(words->item[i], NULL, 10), "error",
                                        json_sprintf("python3: %s", why)));
}
