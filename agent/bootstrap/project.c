/* project.c - a checkout of git: cloned, or brought to the commit that conf wants
 *
 * The clone is made beside its place and then renamed: after a power cut there is none, or a whole
 * one. A checkout with changes, or with commits that its remote has not, stays at its commit.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>

#include "bootstrap/data_place.h"
#include "journal/checkout.h"
#include "journal/tree_state.h"
#include "number.h"
#include "task/command.h"
#include "xalloc.h"

#define ASK_S       60.0
#define LIMIT_S     1800.0
#define LIMIT_MAX_S 86400.0

/* Back to where it was, unless the checkout is gone: undo removes one of muster first. */
#define GO_BACK                                                                                   \
    "[ -d \"$1\" ] || exit 0\n"                                                                   \
    "new=$(git -C \"$1\" log -n 1 --format=%h HEAD --not --remotes --tags --) || exit\n"          \
    "[ -z \"$new\" ] || { echo \"$1 has a commit that its remote has not: $new\" >&2; exit 1; }\n" \
    "exec git -C \"$@\"\n"

/* commit: as conf has it; NULL: the last one of the branch, which is wanted. */
struct project {
    const char *url, *commit;
    char       *branch, *wanted, *directory;
    double      limit_s;
};

static int   begin(struct bootstrap *b, struct finding *finding, struct project *project,
                   struct error *err);
static char *default_directory(const char *mount, const char *url);
static int   look(struct bootstrap *b, struct finding *finding, struct project *project,
                  struct error *err);
static int   ask_remote(struct project *project, struct error *err);
static int   check_existing(struct finding *finding, const struct project *project,
                            struct error *err);
static int   add_clone(struct finding *finding, const struct project *project, struct error *err);
static int   add_update(struct finding *finding, const struct project *project,
                        struct error *err);
static void  add_checkout(struct finding *finding, const struct project *project,
                          const char *where, const struct strlist *back);
static void  add(struct finding *finding, const struct project *project,
                 const struct strlist *words, const struct strlist *back, const char *what);
static void  git(struct strlist *words, const char *const *more);
static char *ask(struct error *err, const char *const *words);

int step_project(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct project project = { .url = bootstrap_conf(b, "project", "git") };
    int            rc;

    if (project.url == NULL && b->root[0] == '\0' && bootstrap_conf(b, "project", "push") != NULL)
        return pushed_project_look(b, finding, err);
    if (project.url == NULL || b->root[0] != '\0') {
        finding->is_unused = true;
        return 0;
    }
    rc = begin(b, finding, &project, err);
    if (rc == 0 && !finding->is_later)
        rc = look(b, finding, &project, err);
    free(project.branch);
    free(project.wanted);
    free(project.directory);
    return rc;
}

/* --- looking ---------------------------------------------------------------- */

static int begin(struct bootstrap *b, struct finding *finding, struct project *project,
                 struct error *err)
{
    static const char *const version[] = { "--version", NULL };
    const char              *mount = bootstrap_conf(b, "data", "mount");
    const char              *directory = bootstrap_conf(b, "project", "directory");
    const char              *branch = bootstrap_conf(b, "project", "branch");
    const char              *limit = bootstrap_conf(b, "project", "time_limit");
    char                    *said;

    project->commit = bootstrap_conf(b, "project", "commit");
    if (project->url[0] == '-' || (branch != NULL && branch[0] == '-') ||
        (project->commit != NULL && project->commit[0] == '-'))
        return err_set(err, "[project] has a value that begins with '-'");
    project->branch = branch != NULL ? xstrdup(branch) : NULL;
    project->limit_s = LIMIT_S;
    if (limit != NULL && parse_seconds(limit, 1, LIMIT_MAX_S, &project->limit_s, err) < 0)
        return -1;
    if (directory == NULL && mount == NULL)
        return err_set(err, "[project] has no directory, and [data] no mount");
    project->directory = directory != NULL ? xstrdup(directory)
                                           : default_directory(mount, project->url);
    if (data_place_check(b, finding, project->directory, err) < 0)
        return -1;
    said = ask(err, version);
    if (said == NULL && b->is_pending)
        finding->is_later = true;
    else if (said == NULL)
        finding_fix(finding, "[packages] install = git");
    free(said);
    return said != NULL || finding->is_later ? 0 : -1;
}

/* Returns "/data/train" for "git@host:us/train.git". */
static char *default_directory(const char *mount, const char *url)
{
    size_t      end = strlen(url);
    const char *name;

    while (end > 0 && url[end - 1] == '/')
        end--;
    if (end > 4 && strncmp(url + end - 4, ".git", 4) == 0)
        end -= 4;
    for (name = url + end; name > url && name[-1] != '/' && name[-1] != ':';)
        name--;
    return xasprintf("%s/%.*s", mount, (int)(url + end - name), name);
}

static int look(struct bootstrap *b, struct finding *finding, struct project *project,
                struct error *err)
{
    const char *const head[] = { "-C", project->directory, "rev-parse", "HEAD", NULL };
    struct state      now;
    char             *at, *wanted, *spec;
    bool              is_there;

    if (state_read(b->root, STATE_TREE, project->directory, &now, err) < 0)
        return -1;
    finding_fix(finding, "does this node reach the remote, without a password? [project] git");
    if (project->commit == NULL && ask_remote(project, err) < 0)
        return -1;
    if (!now.exists)
        return add_clone(finding, project, err);
    if (check_existing(finding, project, err) < 0 || (at = ask(err, head)) == NULL)
        return -1;
    spec = xasprintf("%s^{commit}", project->commit != NULL ? project->commit : project->wanted);
    wanted = ask(NULL, (const char *const[]){ "-C", project->directory, "rev-parse", "--verify",
                                              spec, NULL });
    is_there = wanted != NULL && strcmp(wanted, at) == 0;
    free(spec);
    free(wanted);
    free(at);
    return is_there ? 0 : add_update(finding, project, err);
}

/* Which is the branch, and its last commit? git prints "ref: refs/heads/main\tHEAD\n", if it is
 * HEAD that we ask for, and then "COMMIT\tNAME\n". */
static int ask_remote(struct project *project, struct error *err)
{
    char             *ref = project->branch != NULL ? xasprintf("refs/heads/%s", project->branch)
                                                    : xstrdup("HEAD");
    const char *const words[] = { "ls-remote", "--symref", "--", project->url, ref, NULL };
    static const char head[] = "ref: refs/heads/";
    char             *said = ask(err, words), *at = said;

    if (said != NULL && project->branch == NULL && strncmp(at, head, strlen(head)) == 0) {
        at += strlen(head);
        project->branch = xstrndup(at, strcspn(at, "\t\n"));
    }
    if (said != NULL && strncmp(said, "ref: ", 5) == 0 && (at = strchr(said, '\n')) != NULL)
        at++;
    if (at != NULL && strcspn(at, "\t\n") >= 40)
        project->wanted = xstrndup(at, strcspn(at, "\t\n"));
    else if (said != NULL)
        err_set(err, "%s has no branch %s", project->url,
                project->branch != NULL ? project->branch : "that is its default");
    free(said);
    free(ref);
    return project->wanted != NULL && project->branch != NULL ? 0 : -1;
}

static int check_existing(struct finding *finding, const struct project *project,
                          struct error *err)
{
    const char *const words[] = { "-C", project->directory, "config", "--local", "--get",
                                  "remote.origin.url", NULL };
    char             *origin = ask(NULL, words);
    int               rc = 0;

    if (origin == NULL)
        rc = err_set(err, "%s exists, and is no checkout of git that this user may use",
                     project->directory);
    else if (strcmp(origin, project->url) != 0)
        rc = err_set(err, "%s is a checkout of %s", project->directory, origin);
    if (rc < 0)
        finding_fix(finding, "choose another directory in [project], or remove %s",
                    project->directory);
    free(origin);
    return rc;
}

/* --- changing --------------------------------------------------------------- */

static int add_clone(struct finding *finding, const struct project *project, struct error *err)
{
    char          *temp = xasprintf("%s" TREE_NEW, project->directory), *what;
    char          *parent = xstrndup(project->directory,
                                     (size_t)(strrchr(project->directory, '/') -
                                              project->directory));
    struct strlist words = { 0 }, none = { 0 };
    struct state   tree = { .exists = true };
    int            rc = parent[0] != '\0' ? changes_add_dirs(&finding->changes, parent, err) : 0;

    if (rc == 0)
        rc = changes_add(&finding->changes, STATE_TREE, project->directory, &tree,
                         "make this checkout", "[project] of bootstrap.conf", err);
    strlist_add(&none, "true"); /* undo has removed it */
    git(&words, (const char *const[]){ "clone", "--quiet", "--no-checkout", "--", project->url,
                                       temp, NULL });
    what = xasprintf("git clone %s", project->url);
    add(finding, project, &words, &none, what);
    strlist_clear(&words);
    add_checkout(finding, project, temp, &none);
    strlist_add(&words, "mv");
    strlist_add(&words, "-T");
    strlist_add(&words, temp);
    strlist_add(&words, project->directory);
    add(finding, project, &words, &none, "give it its name");
    strlist_clear(&words);
    strlist_clear(&none);
    free(what);
    free(parent);
    free(temp);
    return rc;
}

static int add_update(struct finding *finding, const struct project *project, struct error *err)
{
    const char *const head[] = { "-C", project->directory, "rev-parse", "HEAD", NULL };
    const char *const name[] = { "-C", project->directory, "symbolic-ref", "--short", "-q",
                                 "HEAD", NULL };
    struct strlist    words = { 0 }, back = { 0 };
    char             *at, *on;

    if (checkout_check(project->directory, false, err) < 0) {
        finding_fix(finding, "commit and push that, or remove it, then run it again");
        return -1;
    }
    if ((at = ask(err, head)) == NULL)
        return -1;
    on = ask(NULL, name);
    git(&words, (const char *const[]){ "-C", project->directory, "fetch", "--quiet", "--tags",
                                       "origin", NULL });
    add(finding, project, &words, NULL, "git fetch");
    strlist_clear(&words);
    strlist_add(&back, "sh");
    strlist_add(&back, "-c");
    strlist_add(&back, GO_BACK);
    strlist_add(&back, "sh");
    strlist_add(&back, project->directory);
    strlist_add(&back, "checkout");
    strlist_add(&back, "--quiet");
    strlist_add(&back, on != NULL ? "-B" : "--detach");
    if (on != NULL)
        strlist_add(&back, on);
    strlist_add(&back, at);
    add_checkout(finding, project, project->directory, &back);
    strlist_clear(&back);
    free(on);
    free(at);
    return 0;
}

static void add_checkout(struct finding *finding, const struct project *project,
                         const char *where, const struct strlist *back)
{
    struct strlist words = { 0 };
    char          *branch = project->branch != NULL ? project->branch : (char *)"";
    char          *remote = xasprintf("origin/%s", branch), *what;

    if (project->commit != NULL)
        git(&words, (const char *const[]){ "-C", where, "checkout", "--quiet", "--detach",
                                           project->commit, NULL });
    else
        git(&words, (const char *const[]){ "-C", where, "checkout", "--quiet", "-B", branch,
                                           "--track", remote, NULL });
    what = project->commit != NULL ? xasprintf("git checkout %s", project->commit)
                                   : xasprintf("git checkout %s, which is at %.10s", branch,
                                               project->wanted);
    add(finding, project, &words, back, what);
    free(what);
    free(remote);
    strlist_clear(&words);
}

static void add(struct finding *finding, const struct project *project,
                const struct strlist *words, const struct strlist *back, const char *what)
{
    char *whole = xasprintf("%s: %s", project->directory, what);

    changes_add_command(&finding->changes, project->directory, words, back, whole,
                        "[project] of bootstrap.conf");
    finding->changes.item[finding->changes.count - 1].want.limit_s = project->limit_s;
    free(whole);
}

/* --- git -------------------------------------------------------------------- */

/* git fails where it would ask for a password. */
static void git(struct strlist *words, const char *const *more)
{
    static const char *const first[] = { "env", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=",
                                         "SSH_ASKPASS=", "GIT_SSH_COMMAND=ssh -oBatchMode=yes",
                                         "git" };
    size_t                   i;

    for (i = 0; i < sizeof first / sizeof *first; i++)
        strlist_add(words, first[i]);
    for (; *more != NULL; more++)
        strlist_add(words, *more);
}

/* Returns what git prints, without the last newline; the caller frees it. NULL with err. */
static char *ask(struct error *err, const char *const *more)
{
    struct strlist        words = { 0 };
    struct command_result result;
    char                  why[512], *said = NULL;

    git(&words, more);
    if (command_run((const char *const *)words.item, NULL, ASK_S, &result)) {
        said = xstrdup(result.out);
        if (result.out_size > 0 && said[result.out_size - 1] == '\n')
            said[result.out_size - 1] = '\0';
    } else {
        command_why_lines(&result, ASK_S, 3, why, sizeof why);
        err_set(err, "git: %s", why);
    }
    command_clear(&result);
    strlist_clear(&words);
    return said;
}
