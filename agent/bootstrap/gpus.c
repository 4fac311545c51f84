/* gpus.c - the driver is loaded and matches its library, and nobody holds a GPU
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "node/gpu.h"
#include "number.h"
#include "xalloc.h"

#define MODULE       "/proc/driver/nvidia/version"
#define LIBRARY      "libnvidia-ml.so."
#define TEXT_SIZE    4096
#define VERSION_SIZE 64

static int  check_count(struct bootstrap *b, struct finding *finding, struct error *err);
static int  check_driver(struct bootstrap *b, struct finding *finding, struct error *err);
static bool module_version(const struct bootstrap *b, char *version);
static bool library_version(const struct bootstrap *b, char *version);
static bool read_version(const char *text, char *version);

int step_gpus(struct bootstrap *b, struct finding *finding, struct error *err)
{
    char version[VERSION_SIZE];

    if (json_object_get(b->conf, "gpus") == NULL && !module_version(b, version)) {
        finding->is_unused = true;
        return 0;
    }
    if (check_count(b, finding, err) < 0 || check_driver(b, finding, err) < 0)
        return -1;
    if (b->root[0] == '\0')
        gpu_users_note(finding);
    return 0;
}

int step_gpus_free(struct bootstrap *b, struct finding *finding, struct error *err)
{
    (void)err;
    if (b->root[0] == '\0')
        gpu_users_end_ours(finding);
    return 0;
}

static int check_count(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char *text = bootstrap_conf(b, "gpus", "count");
    int64_t     wanted;
    int         found = b->root[0] == '\0' ? gpu_count() : 0;

    if (text == NULL)
        return 0;
    if (parse_number(text, 0, GPU_MAX, &wanted, err) < 0)
        return err_set(err, "[gpus] count: %s", err->text);
    if (found == wanted)
        return 0;
    finding_fix(finding, "lspci | grep -i nvidia shows what the machine has, dmesg | grep -i nvrm "
                "why one is missing");
    return err_set(err, "%d GPUs were found, [gpus] count says %d", found, (int)wanted);
}

static int check_driver(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char *wanted = bootstrap_conf(b, "gpus", "driver");
    char        module[VERSION_SIZE], library[VERSION_SIZE];

    if (!module_version(b, module)) {
        if (wanted == NULL && bootstrap_conf(b, "gpus", "count") == NULL)
            return 0;
        if (wanted == NULL && strcmp(bootstrap_conf(b, "gpus", "count"), "0") == 0)
            return 0;
        finding_fix(finding, "modprobe nvidia, or install the driver for this kernel (%s)",
                    "uname -r");
        return err_set(err, "the NVIDIA driver is not loaded (there is no " MODULE ")");
    }
    json_object_set_new(b->facts, "driver", json_string(module));
    if (library_version(b, library) && strcmp(library, module) != 0) {
        finding_fix(finding, "reboot this node, or: rmmod the nvidia modules and modprobe nvidia");
        return err_set(err, "the driver that is loaded is %s, its library is %s: every CUDA "
                       "program fails with 'driver/library version mismatch'", module, library);
    }
    if (wanted == NULL || strncmp(module, wanted, strlen(wanted)) == 0)
        return 0;
    return err_set(err, "the driver is %s, [gpus] driver says %s", module, wanted);
}

static bool module_version(const struct bootstrap *b, char *version)
{
    char *path = xasprintf("%s" MODULE, b->root), text[TEXT_SIZE];
    bool  is_there = fd_read_file(path, text, sizeof text) > 0 && read_version(text, version);

    free(path);
    return is_there;
}

static bool library_version(const struct bootstrap *b, char *version)
{
    static const char *const dirs[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64", "/usr/lib" };
    struct dirent           *one;
    bool                     is_found = false;
    size_t                   i;

    for (i = 0; i < sizeof dirs / sizeof *dirs && !is_found; i++) {
        char *path = xasprintf("%s%s", b->root, dirs[i]);
        DIR  *dir = opendir(path);

        if (dir == NULL) {
            free(path);
            continue;
        }
        while (!is_found && (one = readdir(dir)) != NULL)
            is_found = strncmp(one->d_name, LIBRARY, strlen(LIBRARY)) == 0 &&
                       read_version(one->d_name, version);
        closedir(dir);
        free(path);
    }
    return is_found;
}

/* The first thing like "550.54.14" in text. */
static bool read_version(const char *text, char *version)
{
    size_t length;

    for (; *text != '\0'; text += length > 0 ? length : 1) {
        length = strspn(text, "0123456789.");
        while (length > 0 && text[length - 1] == '.')
            length--;
        if (isdigit((unsigned char)*text) && length > 3 && length < VERSION_SIZE &&
            memchr(text, '.', length) != NULL) {
            snprintf(version, VERSION_SIZE, "%.*s", (int)length, text);
            return true;
        }
    }
    return false;
}
