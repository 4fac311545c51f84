/* spot.c - does the cloud take this machine away?
 *
 * A spot machine gets its notice half a minute (Google) or two minutes (EC2) before, from the
 * metadata service and from nowhere else. Only a machine whose firmware names one of these clouds
 * asks, so that no other one waits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "doctor/metadata.h"
#include "xalloc.h"

#define VENDOR    "/sys/class/dmi/id/sys_vendor"
#define ASK_S     2.0 /* for all questions */
#define TOKEN_MAX 512
#define WORD_MAX  40
#define OK        200
#define NONE      404
#define GOOGLE    "Metadata-Flavor: Google\r\n"

struct notice {
    bool is_spot, is_pending;
    char action[WORD_MAX + 1], time[WORD_MAX + 1]; /* "": not known */
};

/* -1 with err: it does not answer. */
static int  ask_ec2(int64_t late_ns, struct notice *notice, struct error *err);
static int  ask_google(int64_t late_ns, struct notice *notice, struct error *err);
static int  take_token(const struct metadata_reply *reply, char **headers, struct error *err);
static int  take_action(const struct metadata_reply *reply, struct notice *notice,
                        struct error *err);
static void take_word(const json_t *value, char *word);
static bool is_word(const struct metadata_reply *reply, const char *word);

void spot_check(const struct checkup *checkup)
{
    static const struct {
        const char *vendor, *name;
        int (*ask)(int64_t late_ns, struct notice *notice, struct error *err);
    } clouds[] = { { "Amazon EC2", "EC2", ask_ec2 }, { "Google", "Google Cloud", ask_google } };
    struct notice notice = { .is_spot = false };
    struct error  err;
    char          vendor[256];
    size_t        i;

    checkup_read(checkup, VENDOR, vendor, sizeof vendor);
    vendor[strcspn(vendor, "\n")] = '\0';
    for (i = 0; i < sizeof clouds / sizeof *clouds && strcmp(clouds[i].vendor, vendor) != 0; i++)
        ;
    if (i == sizeof clouds / sizeof *clouds)
        return;
    if (clouds[i].ask(clock_now_ns() + (int64_t)(ASK_S * NS_PER_S), &notice, &err) < 0) {
        checkup_find(checkup, CHECKUP_WARN,
                     "if this is a spot machine, nobody sees the notice that it is taken away",
                     "let this node reach 169.254.169.254, port 80; is its metadata service on?",
                     "no answer from %s's metadata service: %s", clouds[i].name, err.text);
        return;
    }
    checkup_fact(checkup, "spot", json_boolean(notice.is_spot));
    if (notice.is_pending)
        checkup_find(checkup, CHECKUP_FAIL, "the run ends with this machine",
                     "rent another one, and take this one out of the hostfile",
                     "%s takes this spot machine away%s%s%s%s%s", clouds[i].name,
                     notice.time[0] != '\0' ? " at " : "", notice.time,
                     notice.action[0] != '\0' ? " (" : "", notice.action,
                     notice.action[0] != '\0' ? ")" : "");
}

/* A token first: services that are set to version 2 answer nothing without one, and those that
 * only know version 1 have none to give. */
static int ask_ec2(int64_t late_ns, struct notice *notice, struct error *err)
{
    struct metadata_reply *reply = xmalloc(sizeof *reply);
    char                  *headers = NULL;
    int                    rc;

    rc = metadata_ask("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n",
                      late_ns, reply, err);
    if (rc == 0)
        rc = take_token(reply, &headers, err);
    if (rc == 0)
        rc = metadata_ask("GET", "/latest/meta-data/instance-life-cycle", headers, late_ns, reply,
                          err);
    if (rc == 0 && reply->status != OK)
        rc = err_set(err, "it refuses to say what kind of machine this is (%d)", reply->status);
    notice->is_spot = rc == 0 && is_word(reply, "spot");
    if (notice->is_spot)
        rc = metadata_ask("GET", "/latest/meta-data/spot/instance-action", headers, late_ns,
                          reply, err);
    if (rc == 0 && notice->is_spot && reply->status != NONE)
        rc = take_action(reply, notice, err);
    free(headers);
    free(reply);
    return rc;
}

/* Whoever answers must not write headers of ours. */
static int take_token(const struct metadata_reply *reply, char **headers, struct error *err)
{
    size_t i;

    if (reply->status != OK) {
        *headers = xstrdup("");
        return 0;
    }
    i = strspn(reply->body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+/");
    if (i == 0 || i > TOKEN_MAX || i < reply->size)
        return err_set(err, "its token is not understood");
    *headers = xasprintf("X-aws-ec2-metadata-token: %s\r\n", reply->body);
    return 0;
}

/* {"action":"terminate", "time":"2026-11-22T08:22:00Z"} */
static int take_action(const struct metadata_reply *reply, struct notice *notice,
                       struct error *err)
{
    json_t *said = reply->status == OK ? json_loadb(reply->body, reply->size, 0, NULL) : NULL;

    if (!json_is_object(said)) {
        json_decref(said);
        return err_set(err, "its notice is not understood (%d)", reply->status);
    }
    notice->is_pending = true;
    take_word(json_object_get(said, "action"), notice->action);
    take_word(json_object_get(said, "time"), notice->time);
    json_decref(said);
    return 0;
}

static void take_word(const json_t *value, char *word)
{
    const char *text = json_string_value(value);
    size_t      i;

    for (i = 0; text != NULL && i < WORD_MAX && text[i] != '\0' &&
                (isalnum((unsigned char)text[i]) || strchr(":.+-", text[i]) != NULL); i++)
        word[i] = text[i];
    word[i] = '\0';
}

static int ask_google(int64_t late_ns, struct notice *notice, struct error *err)
{
    static const char *const paths[] = { "/computeMetadata/v1/instance/scheduling/preemptible",
                                         "/computeMetadata/v1/instance/preempted" };
    struct metadata_reply *reply = xmalloc(sizeof *reply);
    bool                   is[2] = { false, false };
    int                    rc = 0, i;

    for (i = 0; rc == 0 && i < 2 && (i == 0 || is[0]); i++) {
        rc = metadata_ask("GET", paths[i], GOOGLE, late_ns, reply, err);
        is[i] = rc == 0 && is_word(reply, "TRUE");
        if (rc == 0 && !is[i] && !is_word(reply, "FALSE"))
            rc = err_set(err, "it says neither TRUE nor FALSE (%d)", reply->status);
    }
    notice->is_spot = is[0];
    notice->is_pending = is[1];
    free(reply);
    return rc;
}

static bool is_word(const struct metadata_reply *reply, const char *word)
{
    size_t length = strlen(word);

    return reply->status == OK && strncmp(reply->body, word, length) == 0 &&
           reply->body[length + strspn(reply->body + length, "\r\n ")] == '\0';
}
