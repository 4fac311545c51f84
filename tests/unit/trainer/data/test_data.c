/* test_data.c - tokens, the same for every number of ranks
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/data.h"
#include "data/mask.h"
#include "file.h"
#include "xalloc.h"

static char directory[4096];

static const char *inside(const char *name)
{
    static char path[8192];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "%s/muster-data.%ld",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", (long)getpid());
    return mkdir(directory, 0700);
}

static int remove_directory(void **state)
{
    DIR           *d = opendir(directory);
    struct dirent *entry;

    (void)state;
    while (d != NULL && (entry = readdir(d)) != NULL)
        unlink(inside(entry->d_name));
    if (d != NULL)
        closedir(d);
    return rmdir(directory);
}

static void write_text(const char *name, size_t size)
{
    FILE  *file = fopen(inside(name), "wb");
    size_t i;

    for (i = 0; i < size; i++)
        fputc((int)(i % 251), file);
    fclose(file);
}

/* Tokens count from first on. */
static void write_bin(const char *name, uint32_t magic, uint32_t version, uint32_t claimed,
                      size_t tokens, int first)
{
    const uint32_t header[256] = { magic, version, claimed };
    FILE          *file = fopen(inside(name), "wb");
    size_t         i;

    fwrite(header, sizeof header, 1, file);
    for (i = 0; i < tokens; i++) {
        fputc((first + (int)i) & 255, file);
        fputc((first + (int)i) >> 8 & 255, file);
    }
    fclose(file);
}

static struct data *opened(const char *path, int length, bool with_next, uint64_t seed)
{
    struct error err = { "" };
    struct data *data = data_open(path, length, with_next, seed, NULL, &err);

    if (data == NULL)
        fail_msg("%s", err.text);
    return data;
}

static int32_t first_token(const struct data *data, uint64_t n)
{
    struct error err = { "" };
    int32_t      tokens[64];

    if (data_sample(data, n, 65536, tokens, &err) < 0)
        fail_msg("%s", err.text);
    return tokens[0];
}

static void test_text(void **state)
{
    struct data *data;
    struct error err;
    int32_t      tokens[8];
    uint64_t     n;
    int          i;

    (void)state;
    write_text("a.txt", 200);
    data = opened(inside("a.txt"), 7, true, 1);
    assert_int_equal(data->samples, 199 / 7);
    for (n = 0; n < data->samples; n++) {
        assert_int_equal(data_sample(data, n, DATA_BYTE_WORDS, tokens, &err), 0);
        assert_int_equal(tokens[0] % 7, 0);
        for (i = 0; i <= 7; i++)
            assert_int_equal(tokens[i], tokens[0] + i);
    }
    assert_int_equal(data_sample(data, 0, 3, tokens, &err), -1);
    assert_non_null(strstr(err.text, "a.txt: token number "));
    data_close(data);
    data = opened(inside("a.txt"), 8, false, 1);
    assert_int_equal(data->samples, 25);
    data_close(data);
    unlink(inside("a.txt"));
}

/* Each epoch has every sample once; no two epochs and no two seeds have the same order. */
static void test_epochs(void **state)
{
    static const size_t sizes[] = { 1, 2, 3, 16, 17, 1000, 4097 };
    struct data        *data, *other;
    size_t              s, moved, same;
    uint64_t            n, epoch;
    unsigned char       seen[4097];

    (void)state;
    for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        write_bin("a.bin", 20240520, 1, (uint32_t)sizes[s], sizes[s], 0);
        data = opened(inside("a.bin"), 1, false, 1);
        other = opened(inside("a.bin"), 1, false, 2);
        assert_int_equal(data->samples, sizes[s]);
        for (epoch = 0; epoch < 3; epoch++) {
            memset(seen, 0, sizeof seen);
            for (moved = same = n = 0; n < sizes[s]; n++) {
                int32_t token = first_token(data, epoch * sizes[s] + n);

                assert_int_equal(seen[token]++, 0);
                moved += token != (int32_t)n;
                same += token == first_token(other, epoch * sizes[s] + n) ||
                        token == first_token(data, (epoch + 1) * sizes[s] + n);
            }
            if (sizes[s] >= 1000)
                assert_true(moved > sizes[s] * 9 / 10 && same < sizes[s] / 10);
        }
        data_close(data);
        data_close(other);
    }
    unlink(inside("a.bin"));
}

/* Files in the order of their names, samples within one file, empty files between them. */
static void test_directory(void **state)
{
    struct data  *data;
    unsigned char seen[65536] = { 0 };
    uint64_t      n;
    int           i, count = 0;

    (void)state;
    write_bin("b.bin", 20240520, 1, 25, 25, 1000);
    write_bin("a.bin", 20240520, 1, 12, 12, 0);
    write_bin("aa.bin", 20240520, 1, 0, 0, 0);
    write_bin("c.bin", 20240520, 1, 9, 9, 2000);
    write_bin("d.bin", 20240520, 1, 10, 10, 3000);
    write_text(".hidden", 100);
    data = opened(directory, 10, false, 1);
    assert_int_equal(data->files, 5);
    assert_int_equal(data->samples, 1 + 2 + 0 + 1);
    for (n = 0; n < data->samples; n++)
        seen[first_token(data, n)] = 1;
    for (i = 0; i < 65536; i++)
        count += seen[i];
    assert_int_equal(count, 4);
    assert_true(seen[0] && seen[1000] && seen[1010] && seen[3000]);
    data_close(data);
    for (i = 0; i < 5; i++)
        unlink(inside((const char *const[]){ "a.bin", "aa.bin", "b.bin", "c.bin", "d.bin" }[i]));
    unlink(inside(".hidden"));
}

static void test_refused(void **state)
{
    struct error err;

    (void)state;
    assert_null(data_open(inside("none"), 4, false, 1, NULL, &err));
    assert_non_null(strstr(err.text, "none: No such file"));
    assert_null(data_open(directory, 4, false, 1, NULL, &err));
    assert_non_null(strstr(err.text, ": no files"));
    write_text("short", 4);
    assert_null(data_open(inside("short"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "short: too short for a sample of 5 tokens"));
    write_text("short.bin", 4);
    assert_null(data_open(inside("short.bin"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "shorter than its header"));
    write_bin("short.bin", 20240802, 1, 9, 9, 0);
    assert_null(data_open(inside("short.bin"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "it begins with 20240802, not 20240520 or 20240801"));
    write_bin("short.bin", 20240801, 1, 9, 9, 0);
    assert_null(data_open(inside("short.bin"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "version 1 is not supported, only 7"));
    write_text("talk.jsonl", 400);
    assert_null(data_open(inside("talk.jsonl"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "talk.jsonl: records in JSON need a tokenizer"));
    unlink(inside("talk.jsonl"));
    write_bin("short.bin", 20240520, 2, 9, 9, 0);
    assert_null(data_open(inside("short.bin"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "version 2 is not supported"));
    write_bin("short.bin", 20240520, 1, 10, 9, 0);
    assert_null(data_open(inside("short.bin"), 4, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "says 10 tokens, but the file has 9"));
    unlink(inside("short.bin"));
    unlink(inside("short"));
}

static void write_wide(const char *name, const int32_t *tokens, int count)
{
    const struct token_file file = { 4, false, (uint64_t)count };
    struct error            err;
    const int               fd = open(inside(name), O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(token_file_write(fd, &file, 0, tokens, count, &err), 0);
    assert_int_equal(token_file_begin(fd, &file, &err), 0);
    close(fd);
}

/* A shard of tokens that need 32 bits; a number of which the highest bit is set is none. */
static void test_wide(void **state)
{
    int32_t      tokens[9] = { 151664, 0, 65536, 7, 8, 9, 10, 11, 1 << 20 };
    struct data *data;
    struct error err;
    int32_t      got[9];

    (void)state;
    write_wide("wide.bin", tokens, 9);
    data = opened(inside("wide.bin"), 8, true, 1);
    assert_int_equal(data_sample(data, 0, 1 << 21, got, &err), 0);
    assert_memory_equal(got, tokens, sizeof tokens);
    assert_int_equal(data_sample(data, 0, 151665, got, &err), -1);
    assert_non_null(strstr(err.text, "token number 8 is 1048576, but the model's tokens are 0 to"));
    data_close(data);
    tokens[3] = INT32_MIN;
    write_wide("wide.bin", tokens, 9);
    data = opened(inside("wide.bin"), 8, true, 1);
    assert_int_equal(data_sample(data, 0, 1 << 21, got, &err), -1);
    data_close(data);
    unlink(inside("wide.bin"));
}

/* Documents: two are in one sample, each for itself; one is cut; of one nothing is learnt. */
static void test_documents(void **state)
{
    enum { B = TOKEN_BEGINS, M = TOKEN_MUTED };
    const int32_t           tokens[] = { 1 | B | M, 2 | M, 3, 4,       11 | B | M, 12 | M, 13,
                                         5 | B | M, 6 | M, 7 | M,      21 | B,     22,     23,
                                         24,        25,    26,         27,         28,     29 };
    const struct token_file form = { 4, true, sizeof tokens / sizeof tokens[0] };
    const int               fd = open(inside("talk.bin"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    int32_t                 got[6], targets[6], begins[6];
    struct data            *data;
    struct error            err;
    uint64_t                n;
    int                     seen = 0;

    (void)state;
    assert_int_equal(token_file_write(fd, &form, 0, tokens, (int)form.tokens, &err), 0);
    assert_int_equal(token_file_begin(fd, &form, &err), 0);
    close(fd);
    data = opened(inside("talk.bin"), 6, true, 1);
    assert_true(data->has_documents);
    assert_int_equal(data->documents, 3);
    assert_int_equal(data->silent, 1);
    assert_int_equal(data->cut, 1);
    assert_int_equal(data->cut_tokens, 2);
    assert_int_equal(data->samples, 2);
    for (n = 0; n < 2; n++) {
        assert_int_equal(data_packed_sample(data, n, 100, got, targets, begins, &err), 0);
        seen += got[0];
        if (got[0] == 1) {
            assert_memory_equal(got, ((int32_t[]){ 1, 2, 3, 11, 12, 0 }), sizeof got);
            assert_memory_equal(targets, ((int32_t[]){ -1, 3, 4, -1, 13, -1 }), sizeof targets);
            assert_memory_equal(begins, ((int32_t[]){ 0, 0, 0, 3, 3, 5 }), sizeof begins);
        } else {
            assert_memory_equal(got, ((int32_t[]){ 21, 22, 23, 24, 25, 26 }), sizeof got);
            assert_memory_equal(targets, ((int32_t[]){ 22, 23, 24, 25, 26, 27 }), sizeof targets);
            assert_memory_equal(begins, ((int32_t[6]){ 0 }), sizeof begins);
        }
    }
    assert_int_equal(seen, 22);
    assert_int_equal(data_packed_sample(data, 0, 10, got, targets, begins, &err) +
                         data_packed_sample(data, 1, 10, got, targets, begins, &err), -2);
    data_close(data);
    assert_null(data_open(inside("talk.bin"), 6, false, 1, NULL, &err));
    assert_non_null(strstr(err.text, "talk.bin: a masked model is not trained on records"));
    write_text("plain", 100);
    assert_null(data_open(directory, 6, true, 1, NULL, &err));
    assert_non_null(strstr(err.text, "talk.bin has records, and "));
    unlink(inside("plain"));
    unlink(inside("talk.bin"));
}

/* Makes two tokens of each byte of a text, except of one that begins with "bytes". */
static int double_bytes(void *arg, const char *path, int fd, size_t size,
                        struct data_encoded *encoded, struct error *err)
{
    char   text[256];
    size_t i;

    assert_non_null(path);
    ++*(int *)arg;
    assert_true(size <= sizeof text);
    assert_int_equal(file_pread(fd, text, size, 0, err), 0);
    if (strncmp(text, "bytes", 5) == 0)
        return 1;
    if (text[0] == 'x')
        return err_set(err, "will not");
    encoded->tokens = xcalloc(size, 2 * sizeof *encoded->tokens);
    encoded->count = 2 * size;
    for (i = 0; i < 2 * size; i++)
        encoded->tokens[i] = 1000 + text[i / 2];
    return 0;
}

/* Text whose tokens are made when it is opened, beside a shard, which has them. */
static void test_encoded(void **state)
{
    int                    calls = 0;
    const struct data_text text = { double_bytes, &calls };
    struct error           err;
    struct data           *data;
    FILE                  *file;
    int32_t                got[3];

    (void)state;
    file = fopen(inside("a.txt"), "w");
    fputs("AB", file);
    fclose(file);
    file = fopen(inside("b.txt"), "w");
    fputs("bytes", file);
    fclose(file);
    write_bin("c.bin", 20240520, 1, 4, 4, 50000);
    data = data_open(directory, 2, false, 1, &text, &err);
    assert_non_null(data);
    assert_int_equal(calls, 2);
    assert_int_equal(data->file[0].tokens, 4);
    assert_int_equal(data->file[1].tokens, 5);
    assert_int_equal(data->samples, 2 + 2 + 2);
    for (calls = 0; calls < 6; calls++) {
        assert_int_equal(data_sample(data, (uint64_t)calls, 65536, got, &err), 0);
        assert_true(got[0] == 1000 + 'A' || got[0] == 1000 + 'B' || got[0] == 'b' ||
                    got[0] == 't' || got[0] == 50000 || got[0] == 50002);
    }
    data_close(data);
    file = fopen(inside("a.txt"), "w");
    fputs("xx", file);
    fclose(file);
    assert_null(data_open(directory, 2, false, 1, &text, &err));
    assert_non_null(strstr(err.text, "a.txt: will not"));
    unlink(inside("a.txt"));
    unlink(inside("b.txt"));
    unlink(inside("c.bin"));
}

/* A file that is cut while it is used. */
static void test_cut(void **state)
{
    struct data *data;
    struct error err = { "" };
    int32_t      tokens[16];
    uint64_t     n;
    int          failures = 0;

    (void)state;
    write_text("a.txt", 160);
    data = opened(inside("a.txt"), 16, false, 1);
    assert_int_equal(truncate(inside("a.txt"), 100), 0);
    for (n = 0; n < 10; n++)
        failures += data_sample(data, n, 256, tokens, &err) < 0;
    assert_int_equal(failures, 4);
    assert_non_null(strstr(err.text, "a.txt: the file has become shorter"));
    data_close(data);
    unlink(inside("a.txt"));
}

#define MASKED 100000

/* As many of each fate as was asked for, and the same again for whoever asks again. */
static void test_mask(void **state)
{
    const struct mask mask = { .token = 256, .vocabulary = 256, .chosen = 0.15, .random = 0.1,
                               .kept = 0.1 };
    static int32_t    tokens[MASKED], targets[MASKED], again[MASKED], others[MASKED];
    int               i, chosen = 0, masked = 0, kept = 0, same = 0;

    (void)state;
    for (i = 0; i < MASKED; i++)
        tokens[i] = again[i] = others[i] = i % 200;
    mask_sample(&mask, 1, 7, tokens, targets, MASKED);
    for (i = 0; i < MASKED; i++) {
        if (targets[i] < 0) {
            assert_int_equal(tokens[i], i % 200);
            continue;
        }
        assert_int_equal(targets[i], i % 200);
        assert_in_range(tokens[i], 0, 256);
        chosen++;
        masked += tokens[i] == 256;
        kept += tokens[i] == i % 200;
    }
    assert_true(fabs(chosen - 0.15 * MASKED) < 500);
    assert_true(fabs(masked - 0.8 * chosen) < 250);
    assert_true(fabs(kept - 0.1 * chosen) < 250); /* one in 256 of the random ones, too */

    mask_sample(&mask, 1, 7, again, targets, 50);
    assert_memory_equal(tokens, again, 50 * sizeof *tokens);
    mask_sample(&mask, 1, 8, others, targets, MASKED);
    for (i = 0; i < MASKED; i++)
        same += tokens[i] == 256 && others[i] == 256;
    assert_true(same < MASKED / 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_encoded),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_mask),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
