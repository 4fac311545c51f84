/* environment.c - the interpreter at its prefix, its imports, and the versions
 *
 * An environment of conda or venv has its prefix in the first line of its scripts. If
 * it was moved, or is mounted elsewhere, the scripts start another interpreter or
 * none. The interpreter's report goes into the receipt, since NCCL and PyTorch must
 * be the same on all nodes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "task/command.h"
#include "xalloc.h"

#define IMPORT_S  900.0 /* from a cold disk this takes minutes */
#define LINE_SIZE 512
#define BLANKS    " \t,"
#define PIP       "pip"

/* Prints one JSON object on stdout; arguments: the modules. */
static const char program[] =
    "import hashlib, importlib, importlib.metadata as metadata, json, os, sys\n"
    "out = os.dup(1); os.dup2(2, 1)\n"
    "facts = {'python': sys.version.split()[0], 'prefix': sys.prefix}\n"
    "for name in sys.argv[1:]:\n"
    "    module = importlib.import_module(name)\n"
    "    facts[name] = str(getattr(module, '__version__', 'there'))\n"
    "if 'torch' in sys.argv[1:]:\n"
    "    import torch\n"
    "    facts['cuda'] = str(torch.version.cuda)\n"
    "    try: facts['nccl'] = '.'.join(map(str, torch.cuda.nccl.version()))\n"
    "    except Exception: pass\n"
    "names = sorted({'%s==%s' % (d.metadata['Name'], d.version)\n"
    "                for d in metadata.distributions()})\n"
    "facts['packages'] = hashlib.sha256('\\n'.join(names).encode()).hexdigest()[:16]\n"
    "os.write(out, json.dumps(facts).encode())\n";

static char *prefix_of(const char *python);
static int   check_scripts(struct finding *finding, const char *prefix, struct error *err);
static int   ask(struct bootstrap *b, struct finding *finding, const char *python,
                 struct error *err);
static int   take_facts(struct bootstrap *b, struct finding *finding, const char *text,
                        const char *prefix, struct error *err);

int step_environment(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char *python = bootstrap_conf(b, "environment", "python");
    char       *whole;
    bool        is_there;

    if (python == NULL) {
        finding->is_unused = true;
        return 0;
    }
    whole = xasprintf("%s%s", b->root, python);
    is_there = access(whole, X_OK) == 0;
    free(whole);
    if (!is_there && b->is_pending) {
        finding->is_later = true;
        return 0;
    }
    if (!is_there) {
        finding_fix(finding, "is the disk with it mounted at the right place? [data] mount and "
                    "[environment] python in bootstrap.conf");
        return err_set(err, "%s does not exist, or cannot be executed", python);
    }
    return ask(b, finding, python, err);
}

/* Returns "/data/conda" for "/data/conda/bin/python". */
static char *prefix_of(const char *python)
{
    const char *bin = strstr(python, "/bin/");

    return bin != NULL ? xstrndup(python, (size_t)(bin - python)) : NULL;
}

/* Checks the interpreter in pip's first line, which all scripts that
 * pip has installed share. */
static int check_scripts(struct finding *finding, const char *prefix, struct error *err)
{
    char *path = xasprintf("%s/bin/" PIP, prefix), line[LINE_SIZE];
    int   rc = 0;

    if (fd_read_file(path, line, sizeof line) > 2 && strncmp(line, "#!/", 3) == 0) {
        line[strcspn(line, "\n ")] = '\0';
        if (strstr(line, "python") != NULL && access(line + 2, X_OK) < 0) {
            finding_fix(finding, "mount the disk where it was when the environment was made "
                                 "([data] mount), or create the environment again");
            rc = err_set(err, "%s was moved: its scripts begin with %s, which does not exist",
                         prefix, line);
        }
    }
    free(path);
    return rc;
}

static int ask(struct bootstrap *b, struct finding *finding, const char *python,
               struct error *err)
{
    const char           *names = bootstrap_conf(b, "environment", "import");
    struct strlist        argv = { 0 };
    struct command_result result;
    char                 *prefix = prefix_of(python), why[LINE_SIZE];
    int                   rc = prefix != NULL ? check_scripts(finding, prefix, err) : 0;

    strlist_add(&argv, python);
    strlist_add(&argv, "-B"); /* plan writes nothing, not even __pycache__ */
    strlist_add(&argv, "-c");
    strlist_add(&argv, program);
    while (names != NULL && *(names += strspn(names, BLANKS)) != '\0') {
        strlist_add_bytes(&argv, names, strcspn(names, BLANKS));
        names += strcspn(names, BLANKS);
    }
    if (rc == 0) {
        if (command_run((const char *const *)argv.item, NULL, IMPORT_S, &result)) {
            rc = take_facts(b, finding, result.out, prefix, err);
        } else {
            command_why(&result, IMPORT_S, why, sizeof why);
            finding_fix(finding, "try: %s -c 'import %s'", python,
                        argv.count > 4 ? argv.item[4] : "sys");
            rc = err_set(err, "%s: %s", python, why);
        }
        command_clear(&result);
    }
    strlist_clear(&argv);
    free(prefix);
    return rc;
}

static int take_facts(struct bootstrap *b, struct finding *finding, const char *text,
                      const char *prefix, struct error *err)
{
    json_t     *facts = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *own = json_string_value(json_object_get(facts, "prefix"));
    int         rc = 0;

    if (own == NULL) {
        rc = err_set(err, "cannot parse the interpreter's answer: %.200s", text);
    } else if (prefix != NULL && strcmp(own, prefix) != 0) {
        finding_fix(finding, "name the interpreter in its own environment: %s/bin/python", own);
        rc = err_set(err, "the interpreter's prefix is %s, not %s", own, prefix);
    } else {
        json_object_update(b->facts, facts);
    }
    json_decref(facts);
    return rc;
}
