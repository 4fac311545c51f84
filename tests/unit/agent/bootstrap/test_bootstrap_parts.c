/* test_bootstrap_parts.c - marked blocks, fstab, journal entries, disks, lists of what to read
 *
 * The disks are images that mkfs.ext4 has made, in a tree that looks like sysfs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/block.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/disk_choices.h"
#include "bootstrap/disks.h"
#include "bootstrap/fstab.h"
#include "bootstrap/peek.h"
#include "journal/journal.h"
#include "journal/mount_state.h"
#include "warm/warm_list.h"
#include "xalloc.h"

static void blocks(void **state)
{
    static const struct {
        const char *text, *lines, *result; /* NULL: refused */
    } rows[] = {
        { "", "x\n", "# BEGIN muster: B\nx\n# END muster\n" },
        { "a", "x\n", "a\n# BEGIN muster: B\nx\n# END muster\n" },
        { "a\n# BEGIN muster\nold\n# END muster\nb\n", "x\n",
          "a\n# BEGIN muster: B\nx\n# END muster\nb\n" },
        { "# BEGIN muster\n1\n# END muster\na\n# BEGIN muster\n2\n# END muster", "x\n",
          "# BEGIN muster: B\nx\n# END muster\na\n" },
        { "a\n# BEGIN muster\nold\n# END muster\nb", NULL, "a\nb" },
        { "# BEGIN musters\n", NULL, "# BEGIN musters\n" },
        { "a\n# BEGIN muster\nold\n", "x\n", NULL },
        { "# BEGIN muster", "x\n", NULL },
    };
    static const char whole[] = "# BEGIN muster: written by muster bootstrap, which replaces these "
                                "lines\n";
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = block_put(rows[i].text, rows[i].lines, &err), *at, *wanted;
        const char *mark = rows[i].result != NULL ? strstr(rows[i].result, "# BEGIN muster: B\n")
                                                  : NULL;

        if (rows[i].result == NULL) {
            assert_null(text);
            continue;
        }
        wanted = mark == NULL ? xstrdup(rows[i].result)
                              : xasprintf("%.*s%s%s", (int)(mark - rows[i].result), rows[i].result,
                                          whole, mark + strlen("# BEGIN muster: B\n"));
        assert_string_equal(text, wanted);
        at = block_put(text, rows[i].lines, &err);
        assert_string_equal(at, text); /* again is the same */
        free(at);
        free(wanted);
        free(text);
    }
}

/* One line for each place, whatever was there; what is right already stays as it is. */
static void fstab_lines(void **state)
{
#define B "# BEGIN muster: written by muster bootstrap, which replaces these lines\n"
#define E "# END muster\n"
    static const struct {
        const char *text, *place, *result; /* NULL: refused */
        bool        is_there;
    } rows[] = {
        { "", "/data", B "L\n" E, false },
        { "a / b\n", "/data", "a / b\n" B "L\n" E, false },
        { "x\t/data\text4\nx /data2 y\n#x /data y\n", "/data",
          "x /data2 y\n#x /data y\n" B "L\n" E, true },
        { "x /data", "/data", B "L\n" E, true },
        { " # tmpfs /dev/shm x\n", FSTAB_SHM, " # tmpfs /dev/shm x\n" B "L\n" E, false },
        { "tmpfs\t/dev/shm\ttmpfs\n", FSTAB_SHM, B "L\n" E, true },
        { B "old /data x\ntmpfs /dev/shm x\n" E "end\n", FSTAB_SHM,
          B "old /data x\nL\n" E "end\n", false },
        { B "tmpfs /dev/shm x\nold /was x\n" E, "/data", B "tmpfs /dev/shm x\nL\n" E, false },
        { "a\n# BEGIN muster\n", "/data", NULL, false },
    };
    struct error err;
    size_t       i;
    char        *text;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(fstab_has(rows[i].text, rows[i].place), rows[i].is_there);
        text = fstab_put(rows[i].text, rows[i].place, "L\n", &err);
        if (rows[i].result == NULL)
            assert_null(text);
        else
            assert_string_equal(text, rows[i].result);
        free(text);
    }
    assert_non_null(strstr(err.text, "/etc/fstab: a line"));
}

static void journal_entries_that_are_none(void **state)
{
    static const char *const rows[] = {
        "", "\n", "{}\n", "x", "{\"step\":\"a\"}\n",
        "{\"step\":\"a\",\"kind\":\"file\",\"path\":\"/a\"}\n",
        "{\"step\":\"a\",\"kind\":\"pipe\",\"path\":\"/a\",\"before\":{\"exists\":false},"
        "\"after\":{\"exists\":false}}\n",
        "{\"step\":\"a\",\"kind\":\"file\",\"path\":\"/a\",\"before\":{\"exists\":true,\"size\":9},"
        "\"after\":{\"exists\":false}}\n12345678",
        "{\"step\":\"a\",\"kind\":\"file\",\"path\":\"/a\",\"before\":{\"exists\":true,\"size\":1},"
        "\"after\":{\"exists\":true,\"size\":1}}\n123",
        "{\"step\":\"a\",\"kind\":\"file\",\"path\":\"/a\","
        "\"before\":{\"exists\":true,\"size\":-1},"
        "\"after\":{\"exists\":true,\"size\":1}}\n",
        "{\"step\":\"a\",\"kind\":\"file\",\"path\":\"/a\",\"before\":{\"exists\":true,"
        "\"mode\":9999},\"after\":{\"exists\":true}}\n",
    };
    struct journal_entry entry;
    struct error         err;
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(journal_parse(rows[i], strlen(rows[i]), &entry, &err), -1);
}

/* --- disks ------------------------------------------------------------------ */

static void run_shell(const char *root, const char *text)
{
    char *command = xasprintf("set -eu; PATH=$PATH:/sbin:/usr/sbin; root='%s'; %s", root, text);

    assert_int_equal(system(command), 0);
    free(command);
}

/* disk NAME MAJOR:MINOR LABEL UUID SERIAL; "-": no file system */
static const char make_disks[] =
    "disk() {\n"
    "    mkdir -p $root/sys/class/block/$1/holders $root/dev\n"
    "    echo 16384 >$root/sys/class/block/$1/size; echo $2 >$root/sys/class/block/$1/dev\n"
    "    echo \"$5  \" >$root/sys/class/block/$1/serial; truncate -s 8M $root/dev/$1\n"
    "    [ $3 = - ] || mkfs.ext4 -q -O ^has_journal -L $3 -U $4 $root/dev/$1\n"
    "}\n"
    "disk vda 253:0 root 11111111-1111-1111-1111-111111111111 s-a\n"
    "disk vdb 253:16 data 22222222-2222-2222-2222-222222222222 s-b\n"
    "disk vdc 253:32 other 33333333-3333-3333-3333-333333333333 s-c\n"
    "disk vdd 253:48 - - s-d\n";

static const char *chosen(const struct disks *disks, const char *label, const char *uuid,
                          const char *serial, struct error *err)
{
    const struct disk_wanted wanted = { label, uuid, serial };
    const struct disk       *disk = disks_choose(disks, &wanted, err);

    return disk != NULL ? disk->name : "";
}

static void disks_are_found_by_what_is_on_them(void **state)
{
    char              root[] = "/tmp/muster-test-disks.XXXXXX";
    struct disks      disks;
    const struct disk *disk;
    struct error      err;

    (void)state;
    if (system("PATH=$PATH:/sbin:/usr/sbin; command -v mkfs.ext4 >/dev/null") != 0)
        skip();
    assert_non_null(mkdtemp(root));
    run_shell(root, make_disks);
    disks_read(&disks, root);
    assert_int_equal(disks.count, 4);
    disk = disks_find(&disks, "vdb");
    assert_non_null(disk);
    assert_string_equal(disk->superblock.type, "ext4");
    assert_string_equal(disk->superblock.uuid, "22222222-2222-2222-2222-222222222222");
    assert_string_equal(disk->serial, "s-b");
    assert_int_equal(disk->superblock.bytes, 8 << 20);
    assert_int_equal(disk->minor, 16);

    assert_string_equal(chosen(&disks, "data", NULL, NULL, &err), "vdb");
    assert_string_equal(chosen(&disks, NULL, "33333333-3333-3333-3333-333333333333", NULL, &err),
                        "vdc");
    assert_string_equal(chosen(&disks, NULL, NULL, "s-c", &err), "vdc");
    assert_string_equal(chosen(&disks, "gone", NULL, "s-c", &err), "vdc");
    assert_string_equal(chosen(&disks, "gone", NULL, NULL, &err), "");
    assert_non_null(strstr(err.text, "no disk here has the label 'gone'; there are: "));
    assert_string_equal(chosen(&disks, NULL, NULL, "s-d", &err), ""); /* no file system */
    disks_clear(&disks);

    /* A second clone of the snapshot. */
    run_shell(root, "cp $root/dev/vdb $root/dev/vdc");
    disks_read(&disks, root);
    assert_string_equal(chosen(&disks, "data", NULL, NULL, &err), "");
    assert_non_null(strstr(err.text, "2 disks match: "));
    assert_non_null(strstr(err.text, "all have the UUID 22222222-"));
    assert_string_equal(chosen(&disks, "data", NULL, "s-c", &err), "vdc");
    disks_clear(&disks);
    run_shell(root, "rm -r $root");
}

static void expect_line(const struct disks *disks, const char *name, const char *wanted)
{
    char *line = disk_choice_line(disks, disks_find(disks, name));

    assert_string_equal(line != NULL ? line : "", wanted);
    free(line);
}

/* The line of the settings that names a disk names no other one. */
static void the_line_for_a_disk(void **state)
{
    static const struct {
        const char *change, *line; /* line: of vdb then */
    } rows[] = {
        { "for disk in vdb vdc; do tune2fs -L '' $root/dev/$disk >/dev/null; done",
          "uuid = 22222222-2222-2222-2222-222222222222" },
        { "cp $root/dev/vdb $root/dev/vdc", "serial = s-b" },
        { "echo s-b >$root/sys/class/block/vdc/serial", "" },
    };
    char         root[] = "/tmp/muster-test-disks.XXXXXX";
    struct disks disks;
    size_t       i;

    (void)state;
    if (system("PATH=$PATH:/sbin:/usr/sbin; command -v mkfs.ext4 >/dev/null") != 0)
        skip();
    assert_non_null(mkdtemp(root));
    run_shell(root, make_disks);
    disks_read(&disks, root);
    expect_line(&disks, "vdb", "label = data");
    for (i = 0; i < disks.count; i++) /* a label that the settings cannot have */
        if (strcmp(disks.disk[i].name, "vdc") == 0)
            snprintf(disks.disk[i].superblock.label, 17, "a ;b");
    expect_line(&disks, "vdc", "uuid = 33333333-3333-3333-3333-333333333333");
    disks_clear(&disks);

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        run_shell(root, rows[i].change);
        disks_read(&disks, root);
        expect_line(&disks, "vdb", rows[i].line);
        disks_clear(&disks);
    }
    run_shell(root, "rm -r $root");
}

/* The disk that is mounted elsewhere is no choice; one that cannot be mounted is. */
static void the_choice_of_disks(void **state)
{
    static const char mountinfo[] = "22 1 253:0 / / rw - ext4 /dev/vda rw\n"
                                    "23 1 253:16 / /data rw - ext4 /dev/vdb rw\n";
    char             root[] = "/tmp/muster-test-disks.XXXXXX";
    struct bootstrap b = { .root = root };
    struct finding   finding = { .notes = json_array() };
    struct disks     disks;
    const char      *note;
    size_t           i;

    (void)state;
    if (system("PATH=$PATH:/sbin:/usr/sbin; command -v mkfs.ext4 >/dev/null") != 0)
        skip();
    assert_non_null(mkdtemp(root));
    run_shell(root, make_disks);
    run_shell(root, "mkdir -p $root/data/models $root/data/miniconda3 $root/data/lost+found\n"
                    ": >\"$root/data/a$(printf '\\033')[2J\"; ln -s models $root/data/link\n"
                    "for i in 1 2 3 4 5 6 7; do : >$root/data/x$i; done");
    disks_read(&disks, root);
    disk_choices_note(&b, &finding, &disks, mountinfo, "/data");
    assert_int_equal(json_array_size(finding.notes), 2);
    for (i = 0; i < 2; i++) {
        note = json_string_value(json_array_get(finding.notes, i));
        if (strncmp(note, "/dev/vdb ", 9) == 0)
            assert_string_equal(note, "/dev/vdb on /data (ext4, label 'data', UUID "
                                "22222222-2222-2222-2222-222222222222, 8 MiB) has a^[[2J, link, "
                                "miniconda3/, models/, x1, x2, x3, x4 and 3 more; the line for it: "
                                "label = data");
        else
            assert_non_null(strstr(note, ", 8 MiB) has unknown files (")); /* no block device */
    }
    disks_clear(&disks);
    json_decref(finding.notes);
    run_shell(root, "rm -r $root");
}

static void markers(void **state)
{
    static const struct {
        const char *marker, *text;
        int         found;
    } rows[] = {
        { "conda/", NULL, 1 },      { "conda", NULL, 1 },    { "conda/", "x", 0 },
        { "conda/envs/", NULL, 1 }, { "file", NULL, 1 },     { "file", "text", 1 },
        { "file", "other", 0 },     { "file/", NULL, 0 },    { "none/", NULL, 0 },
        { "none", NULL, 0 },        { "file/x/", NULL, 0 },
    };
    char         root[] = "/tmp/muster-test-markers.XXXXXX";
    struct error err;
    size_t       i;

    (void)state;
    assert_non_null(mkdtemp(root));
    run_shell(root, "mkdir -p $root/data/conda/envs; echo text >$root/data/file");
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (peek_mounted(root, "/data", rows[i].marker, rows[i].text, &err) != rows[i].found)
            fail_msg("%s", rows[i].marker);
    peek_mounted(root, "/data", "none/", NULL, &err);
    assert_string_equal(err.text, "it has no folder none/");
    run_shell(root, "rm -r $root");
}

static void bytes_that_are_no_file_system(void **state)
{
    unsigned char     bytes[SUPERBLOCK_BYTES] = { 0 };
    struct superblock superblock;

    (void)state;
    assert_false(superblock_parse(bytes, sizeof bytes, &superblock));
    bytes[1024 + 0x38] = 0x53;
    bytes[1024 + 0x39] = 0xef;
    assert_true(superblock_parse(bytes, sizeof bytes, &superblock));
    assert_string_equal(superblock.type, "ext2");
    assert_false(superblock_parse(bytes, sizeof bytes - 1, &superblock));
    bytes[1024 + 0x18] = 7; /* blocks of 128 KiB */
    assert_false(superblock_parse(bytes, sizeof bytes, &superblock));
    bytes[1024 + 0x18] = 2;
    bytes[1024 + 0x60] = 0x8; /* a journal */
    assert_false(superblock_parse(bytes, sizeof bytes, &superblock));
    memcpy(bytes, "XFSB\0\0\x10\0\0\0\0\0\0\1\0\0", 16);
    memcpy(bytes + 108, "data", 4);
    assert_true(superblock_parse(bytes, sizeof bytes, &superblock));
    assert_string_equal(superblock.type, "xfs");
    assert_string_equal(superblock.label, "data");
    assert_int_equal(superblock.bytes, (1 << 16) * 4096);
    bytes[99] = 3; /* blocks of the log; it is on another disk */
    assert_true(superblock_parse(bytes, sizeof bytes, &superblock));
    assert_int_equal(superblock.log_bytes, 0);
    bytes[55] = 1;
    assert_true(superblock_parse(bytes, sizeof bytes, &superblock));
    assert_int_equal(superblock.log_bytes, 3 * 4096);
    bytes[6] = 0; /* no block size */
    assert_false(superblock_parse(bytes, sizeof bytes, &superblock) &&
                 strcmp(superblock.type, "xfs") == 0);
}

/* --- GPUs ------------------------------------------------------------------- */

/* What the step "gpus" says below root, a line of JSON. The caller releases it. */
static json_t *gpus_of(const char *root, const char *conf)
{
    json_t *request = json_pack("{s:s, s:[s], s:{s:o}}", "op", "plan", "steps", "gpus", "conf",
                                "gpus", json_loads(conf, 0, NULL)), *line;
    FILE              *file = tmpfile();
    struct task_output out = { fileno(file) };

    bootstrap_run(request, root, &out);
    rewind(file);
    line = json_loadf(file, 0, NULL);
    assert_non_null(line);
    fclose(file);
    json_decref(request);
    return line;
}

/* Of the versions of driver and library, and of what conf says. */
static void gpus_that_cannot_work(void **state)
{
    static const struct {
        const char *module, *library, *conf, *error;
    } rows[] = {
        { "550.54.14", "550.54.14", "{}", NULL },
        { "550.54.14", "550.54.14", "{\"driver\":\"550\"}", NULL },
        { "550.54.14", "550.90.07", "{}",
          "the driver that is loaded is 550.54.14, its library is 550.90.07" },
        { "550.54.14", "550.54.14", "{\"driver\":\"535\"}", "[gpus] driver says 535" },
        { "", "550.54.14", "{\"driver\":\"550\"}", "the NVIDIA driver is not loaded" },
        { "550.54.14", "550.54.14", "{\"count\":\"8\"}", "[gpus] count says 8" },
    };
    char        root[] = "/tmp/muster-test-gpus.XXXXXX", *command;
    const char *error;
    json_t     *line;
    size_t      i;

    (void)state;
    assert_non_null(mkdtemp(root));
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        command = xasprintf("cd $root; rm -rf usr; mkdir -p proc/driver/nvidia usr/lib64\n"
                            "echo 'NVRM: x86_64 Kernel Module  %s' >proc/driver/nvidia/version\n"
                            ": >usr/lib64/libnvidia-ml.so.%s", rows[i].module, rows[i].library);
        run_shell(root, command);
        free(command);
        line = gpus_of(root, rows[i].conf);
        error = json_string_value(json_object_get(line, "error"));
        if ((error != NULL) != (rows[i].error != NULL) ||
            (error != NULL && strstr(error, rows[i].error) == NULL))
            fail_msg("%zu: %s", i, error != NULL ? error : "no error");
        assert_int_equal(json_string_length(json_object_get(line, "fix")) > 0, error != NULL);
        json_decref(line);
    }
    run_shell(root, "rm -r $root");
}

/* What a program cannot cause; an Xid 13 it can. */
static void errors_of_gpus_are_noted(void **state)
{
    char    root[] = "/tmp/muster-test-gpus.XXXXXX", *path, *notes;
    char   *old = xstrdup(getenv("PATH"));
    json_t *line;

    (void)state;
    assert_non_null(mkdtemp(root));
    run_shell(root, "cd $root; mkdir -p proc/driver/nvidia dev bin\n"
                    "echo 'NVRM: x86_64 Kernel Module  550.54.14' >proc/driver/nvidia/version\n"
                    "for xid in 79 13; do\n"
                    "    echo \"3,1,99999999999999,-;NVRM: Xid (PCI:0000:3b:00): $xid, pid=1\"\n"
                    "done >dev/kmsg\n"
                    "printf '#!/bin/sh\\nprintf \"0\\\\n[N/A]\\\\n3\\\\n\"\\n' >bin/nvidia-smi\n"
                    "chmod +x bin/nvidia-smi\n");
    path = xasprintf("%s/bin:%s", root, old);
    setenv("PATH", path, 1);
    line = gpus_of(root, "{}");
    setenv("PATH", old, 1);
    notes = json_dumps(json_object_get(line, "notes"), 0);
    assert_non_null(strstr(notes, "Xid 79, has fallen off the bus (GPU 0000:3b:00.0) in the "
                                  "last day"));
    assert_null(strstr(notes, "Xid 13"));
    assert_non_null(strstr(notes, "3 uncorrected memory errors"));
    json_decref(line);
    free(notes);
    free(path);
    free(old);
    run_shell(root, "rm -r $root");
}

static void mounts_are_read(void **state)
{
    static const char text[] =
        "22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "30 22 253:16 / /data\\040disk rw,noatime - xfs /dev/vdb rw,attr2\n"
        "31 22 0:40 / /data rw - tmpfs tmpfs rw\n"
        "32 22 253:32 / /data rw shared:2 master:1 - ext4 /dev/vdc rw\n"
        "33 22 253:48 / /cut rw\n"
        "nonsense\n\n";
    struct mounted mounted;
    char          *place;

    (void)state;
    assert_true(mount_find(text, "/data", &mounted));
    assert_string_equal(mounted.source, "/dev/vdc"); /* the last one covers the others */
    assert_true(mount_find(text, "/data disk", &mounted));
    assert_int_equal(mounted.minor, 16);
    assert_string_equal(mounted.type, "xfs");
    assert_false(mount_find(text, "/cut", &mounted));
    assert_false(mount_find(text, "/dat", &mounted));
    place = mount_of_device(text, 253, 16);
    assert_string_equal(place, "/data disk");
    free(place);
    assert_null(mount_of_device(text, 8, 0));
}

/* --- lists of what to read -------------------------------------------------- */

static void warm_lists(void **state)
{
    static const char *const bad[] = {
        "", "# muster warm 2\n", "# muster warm 1\n\n", "# muster warm 1\n0 1\n",
        "# muster warm 1\n0 1 relative\n", "# muster warm 1\n-1 1 /a\n",
        "# muster warm 1\n0 0 /a\n",
        "# muster warm 1\n0 x /a\n", "# muster warm 1\n 0 1 /a\n",
        "# muster warm 1\n9223372036854775807 1 /a\n0 9223372036854775807 /b\n",
        "# muster warm 1\n99999999999999999999 1 /a\n", "# muster warm 1\n0 1 \n",
    };
    struct warm_list list = { 0 };
    struct error     err;
    char            *text;
    size_t           i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (warm_list_parse(bad[i], &list, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
    warm_list_add(&list, 4096, 10, "/b c");
    warm_list_add(&list, 0, 10, "/b c");
    warm_list_add(&list, 0, 5, "/z/libx.so.1");
    warm_list_add(&list, 0, 5, "/a\nb");
    warm_list_sort(&list);
    text = warm_list_text(&list);
    assert_string_equal(text, "# muster warm 1\n0 5 /z/libx.so.1\n0 10 /b c\n4096 10 /b c\n");
    warm_list_clear(&list);
    assert_int_equal(warm_list_parse(text, &list, &err), 0);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.bytes, 25);
    assert_string_equal(list.range[2].path, "/b c");
    warm_list_clear(&list);
    free(text);
}

/* What was just written is in memory. */
static void what_is_in_memory_is_recorded(void **state)
{
    char             root[] = "/tmp/muster-test-warm.XXXXXX";
    struct warm_list list = { 0 };

    (void)state;
    assert_non_null(mkdtemp(root));
    run_shell(root, "head -c 3000000 /dev/zero >$root/model; : >$root/empty; ln -s model $root/l");
    warm_list_look(&list, root);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.bytes, 3000000);
    assert_non_null(strstr(list.range[0].path, "/model"));
    warm_list_clear(&list);
    run_shell(root, "rm -r $root");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(fstab_lines),
        cmocka_unit_test(journal_entries_that_are_none),
        cmocka_unit_test(disks_are_found_by_what_is_on_them),
        cmocka_unit_test(the_line_for_a_disk),
        cmocka_unit_test(the_choice_of_disks),
        cmocka_unit_test(markers),
        cmocka_unit_test(bytes_that_are_no_file_system),
        cmocka_unit_test(gpus_that_cannot_work),
        cmocka_unit_test(errors_of_gpus_are_noted),
        cmocka_unit_test(mounts_are_read),
        cmocka_unit_test(warm_lists),
        cmocka_unit_test(what_is_in_memory_is_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
