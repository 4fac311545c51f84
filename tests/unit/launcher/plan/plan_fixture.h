/* plan_fixture.h - a folder with programs, and the options of one script, for tests of plans
 *
 * The working directory is a new folder with train.py, tool (executable), data (not), programs in
 * bin/ and a virtual environment in venv/. PATH has bin/, and "here" is the environment. Each test
 * starts with the options of `muster train.py`.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_FIXTURE_H
#define MUSTER_PLAN_FIXTURE_H

#include <sys/types.h>

#include "plan/hostfile.h"
#include "plan/plan.h"
#include "plan/program.h"

extern char folder[sizeof "/tmp/test_plan.XXXXXX"];

extern struct options   options;
extern struct hostlist  hosts;
extern struct selection selection;
extern struct program   program;
extern struct plan      plan;
extern struct error     err;
extern int              exit_code;
extern char            *here[16];

/* For the whole group, and for each test. */
int make_folder(void **state);
int remove_folder(void **state);
int start(void **state);
int finish(void **state);

void touch(const char *name, mode_t mode);
void set(const char *name, const char *value);
void set_script(const char *script);

/* Look for the program of the options: 0, or -1 with err and exit_code. */
int find(void);

void assert_error(int rc, const char *reason);

/* "python3 -u train.py", with the folder taken off. */
void assert_words(const struct strlist *words, const char *expected);

#endif
