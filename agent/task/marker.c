/* marker.c - see marker.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/marker.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "clock.h"
#include "err.h"
#include "fd.h"
#include "frame.h"

#define SAYS_MAX 64

void marker_find(const char *pattern, struct marker *found)
{
    struct stat about;
    glob_t      all;
    int64_t     at_ns;
    size_t      i;

    *found = (struct marker){ 0 };
    if (glob(pattern, GLOB_NOSORT, NULL, &all) != 0)
        return;
    for (i = 0; i < all.gl_pathc; i++) {
        if (stat(all.gl_pathv[i], &about) < 0)
            continue;
        at_ns = about.st_mtim.tv_sec * NS_PER_S + about.st_mtim.tv_nsec;
        if (at_ns <= found->file_ns)
            continue;
        found->file_ns = at_ns;
        snprintf(found->path, sizeof found->path, "%s", all.gl_pathv[i]);
    }
    globfree(&all);
}

/* A short text in the file is often the step: DeepSpeed's and muster-train's "latest"
 * contain the checkpoint's name. */
json_t *marker_line(const struct marker *found, int64_t most_ns)
{
    struct stat about;
    char        says[SAYS_MAX + 1] = "";
    int64_t     age_ns = marker_now_ns() - found->file_ns;

    if (age_ns > most_ns)
        age_ns = most_ns;
    if (stat(found->path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= SAYS_MAX)
        fd_read_file(found->path, says, sizeof says);
    says[strcspn(says, "\r\n")] = '\0';
    text_make_harmless(says);
    return json_pack("{s:o, s:o, s:I, s:I}", "path", json_text(found->path, strlen(found->path)),
                     "says", json_text(says, strlen(says)), "file_ns",
                     (json_int_t)found->file_ns, "age_ns", (json_int_t)(age_ns > 0 ? age_ns : 0));
}

int64_t marker_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}
