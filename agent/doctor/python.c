/* python.c - the interpreter of the ranks, and the packages that it has
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "frame.h"
#include "task/command.h"

#define ASK_S    6.0
#define IMPORT_S 40.0

/* Prints a line per package, by the names of folders: to import them would take seconds. */
static const char ask[] =
    "import sys, os\n"
    "names = ('torch', 'deepspeed', 'nvidia-nccl-cu11', 'nvidia-nccl-cu12', 'nvidia-nccl-cu13',\n"
    "         'numpy', 'transformers', 'accelerate', 'flash-attn', 'triton', 'megatron-core')\n"
    "print(sys.executable)\n"
    "print('python', '%d.%d.%d' % sys.version_info[:3])\n"
    "for folder in sys.path[1:]:\n"
    "    for entry in os.listdir(folder) if os.path.isdir(folder) else ():\n"
    "        if entry.endswith(('.dist-info', '.egg-info')):\n"
    "            name, _, version = entry[:-10].partition('-')\n"
    "            name = name.lower().replace('_', '-')\n"
    "            if name in names: print(name, version.partition('-py')[0])\n";

/* Run with --full. */
static const char import_torch[] =
    "import torch\n"
    "if torch.cuda.is_available(): torch.zeros(1 << 18, device='cuda')\n";

static void find_missing(const struct checkup *checkup, const char *python);
static void from_words(const struct checkup *checkup, char *words, size_t size);
static bool take(const struct checkup *checkup, char *text);
static void shebangs_check(const struct checkup *checkup, const char *exe);
static void torch_check(const struct checkup *checkup, const char *python);

void python_check(const struct checkup *checkup)
{
    const char           *python = checkup_word(checkup, "python");
    const char *const     argv[] = { python, "-c", ask, NULL };
    struct command_result result;
    char                  why[256], from[128];

    if (python == NULL)
        return;
    if (command_run(argv, NULL, ASK_S, &result)) {
        if (take(checkup, result.out) && checkup->is_full)
            torch_check(checkup, python);
    } else if (result.error == ENOENT) {
        find_missing(checkup, python);
    } else {
        command_why(&result, ASK_S, why, sizeof why);
        from_words(checkup, from, sizeof from);
        checkup_find(checkup, CHECKUP_FAIL, "no rank can start",
                     "mend it, or name another one with --python", "%s%s: %s", python,
                     from, why);
    }
    command_clear(&result);
}

/* The launcher has chosen the path by what it sees itself; the node may have another one. */
static void find_missing(const struct checkup *checkup, const char *python)
{
    static const char *const argv[] = { "python3", "-c", "import sys; print(sys.executable)",
                                        NULL };
    struct command_result    result;
    char                     from[128], mend[PATH_MAX + 128];
    bool                     has_other = command_run(argv, NULL, ASK_S, &result);

    result.out[strcspn(result.out, "\n")] = '\0';
    has_other = has_other && result.out[0] == '/';
    from_words(checkup, from, sizeof from);
    snprintf(mend, sizeof mend, "name one that it has: --python, or python= in the hostfile: %.*s",
             PATH_MAX, result.out);
    checkup_find(checkup, CHECKUP_FAIL, "no rank can start: exit status 127",
                 has_other ? mend
                           : "install python3 there, mount the disk that has it, or copy it "
                             "there with muster bcast",
                 "no %s there%s, %s%s", python, from,
                 has_other ? "but " : "and no python3 that starts", has_other ? result.out : "");
    command_clear(&result);
}

/* Writes " (--python)": what has named the interpreter, as the launcher says. */
static void from_words(const struct checkup *checkup, char *words, size_t size)
{
    const char *from = checkup_word(checkup, "python_from");

    snprintf(words, size, "%s%.100s%s", from != NULL ? " (" : "", from != NULL ? from : "",
             from != NULL ? ")" : "");
}

/* Reports the versions. If two packages have the same name, the first is imported.
 * True if torch is installed. */
static bool take(const struct checkup *checkup, char *text)
{
    char   *rest, *exe = strtok_r(text, "\n", &rest), *line, name[64], version[64], fact[128];
    json_t *seen = json_object();
    bool    has_torch;

    while (exe != NULL && (line = strtok_r(NULL, "\n", &rest)) != NULL) {
        if (sscanf(line, "%63s %63s", name, version) != 2 || json_object_get(seen, name) != NULL)
            continue;
        json_object_set_new(seen, name, json_true());
        snprintf(fact, sizeof fact, "version of %s", name);
        checkup_fact(checkup, fact, json_text(version, strlen(version)));
    }
    has_torch = json_object_get(seen, "torch") != NULL;
    json_decref(seen);
    if (exe != NULL && exe[0] == '/')
        shebangs_check(checkup, exe);
    return has_torch;
}

/* Finds an environment that was moved: its scripts begin with a path that no longer exists. */
static void shebangs_check(const struct checkup *checkup, const char *exe)
{
    static const char *const names[] = { "deepspeed", "torchrun", "accelerate", "pip" };
    char                     path[PATH_MAX], text[512], mend[2 * PATH_MAX], *interpreter;
    size_t                   i;

    for (i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(exe, '/') - exe), exe, names[i]);
        if (fd_read_file(path, text, sizeof text) <= 0 || strncmp(text, "#!/", 3) != 0)
            continue;
        interpreter = text + strlen("#!");
        interpreter[strcspn(interpreter, " \n")] = '\0';
        if (access(interpreter, X_OK) == 0)
            continue;
        snprintf(mend, sizeof mend,
                 "mount the disk where it was made, or: %s -m pip install "
                 "--force-reinstall --no-deps %s",
                 exe, names[i]);
        checkup_find(checkup, CHECKUP_WARN, "\"bad interpreter: No such file or directory\"",
                     mend, "%s begins with #!%s, which does not exist", path, interpreter);
    }
}

static void torch_check(const struct checkup *checkup, const char *python)
{
    const char *const     argv[] = { python, "-c", import_torch, NULL };
    struct command_result result;
    char                  why[512];

    if (!command_run(argv, NULL, IMPORT_S, &result)) {
        command_why(&result, IMPORT_S, why, sizeof why);
        checkup_find(checkup, CHECKUP_FAIL,
                     "ranks fail or hang at import torch or at the first use of a GPU",
                     "see it in full: muster exec -- python -c 'import torch'",
                     "import torch: %s", why);
    }
    command_clear(&result);
}
