/* spot.c - will the cloud take this machine away?
 *
 * A spot machine gets its notice from half a minute (Google) to five minutes (Alibaba) before,
 * only from the metadata service. Only a machine whose firmware names a cloud that cloud.h
 * knows asks, so that no other machine waits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "cloud/cloud.h"
#include "cloud/metadata.h"
#include "xalloc.h"

#define VENDOR    "/sys/class/dmi/id/sys_vendor"
#define ASSET_TAG "/sys/class/dmi/id/chassis_asset_tag"
#define ASK_S     2.0 /* for all requests */
#define OK        200

/* The request, and what is known so far. */
struct asked {
    const struct cloud    *cloud;
    int64_t                late_ns;
    struct metadata_reply *reply;
    char                   first[CLOUD_FIRST_MAX + 1]; /* a token, or this VM's name; or "" */
};

/* -1 with err: the service does not answer. */
static int             ask(struct asked *asked, enum metadata_asked question, struct error *err);
static int             ask_first(struct asked *asked, struct error *err);
static int             ask_class(const struct checkup *checkup, struct asked *asked,
                                 struct error *err);
static enum cloud_says ask_notice(struct asked *asked, struct cloud_notice *notice,
                                  struct error *err);
static void            tell(const struct checkup *checkup, const struct cloud *cloud,
                            const struct cloud_notice *notice);

void spot_check(const struct checkup *checkup)
{
    struct asked        asked = { .late_ns = clock_now_ns() + (int64_t)(ASK_S * NS_PER_S) };
    struct cloud_notice notice;
    struct error        err;
    char                vendor[256], asset_tag[256];
    enum cloud_says     says = CLOUD_UNKNOWN;

    checkup_read(checkup, VENDOR, vendor, sizeof vendor);
    checkup_read(checkup, ASSET_TAG, asset_tag, sizeof asset_tag);
    asked.cloud = cloud_by_firmware(vendor, asset_tag);
    if (asked.cloud == NULL)
        return;
    asked.reply = xmalloc(sizeof *asked.reply);
    if (ask_first(&asked, &err) == 0 && ask_class(checkup, &asked, &err) == 0)
        says = ask_notice(&asked, &notice, &err);
    if (says == CLOUD_UNKNOWN)
        checkup_find(
            checkup, CHECKUP_WARN,
            "if this is a spot machine, muster cannot see the notice before it is taken away",
            "enable the metadata service, and let this node reach it",
            "no answer from %s's metadata service: %s", asked.cloud->title, err.text);
    else if (says == CLOUD_GOES)
        tell(checkup, asked.cloud, &notice);
    free(asked.reply);
}

static int ask(struct asked *asked, enum metadata_asked question, struct error *err)
{
    return metadata_ask(asked->cloud, question, asked->first, asked->late_ns, asked->reply, err);
}

/* Services that require a token answer nothing without one, and services without
 * tokens have none to give. */
static int ask_first(struct asked *asked, struct error *err)
{
    const struct cloud *cloud = asked->cloud;
    struct metadata_reply *reply = asked->reply;

    if (cloud->first_path == NULL)
        return 0;
    if (ask(asked, METADATA_FIRST, err) < 0)
        return -1;
    if (reply->status != OK)
        return 0;
    if (cloud_read_first(reply->body, reply->size, asked->first) < 0)
        return err_set(err, "its %s cannot be parsed", cloud->token_header ? "token" : "name");
    return 0;
}

static int ask_class(const struct checkup *checkup, struct asked *asked, struct error *err)
{
    const struct cloud *cloud = asked->cloud;

    if (cloud->class_path == NULL)
        return 0;
    if (ask(asked, METADATA_CLASS, err) < 0)
        return -1;
    if (asked->reply->status != OK)
        return err_set(err, "it does not report what kind of machine this is (status %d)",
                       asked->reply->status);
    checkup_fact(checkup, "spot", json_boolean(cloud_is_spot(cloud, asked->reply->body)));
    return 0;
}

static enum cloud_says ask_notice(struct asked *asked, struct cloud_notice *notice,
                                  struct error *err)
{
    if (ask(asked, METADATA_NOTICE, err) < 0)
        return CLOUD_UNKNOWN;
    return cloud_read(asked->cloud, asked->reply->status, asked->reply->body, asked->reply->size,
                      asked->first, time(NULL), notice, err);
}

static void tell(const struct checkup *checkup, const struct cloud *cloud,
                 const struct cloud_notice *notice)
{
    struct tm utc;
    time_t    at_s = notice->at_s;
    char      when[40] = "";

    if (at_s != 0 && gmtime_r(&at_s, &utc) != NULL)
        strftime(when, sizeof when, " at %FT%TZ", &utc);
    checkup_find(checkup, CHECKUP_FAIL, "the run ends with this machine",
                 "rent another one, and take this one out of the hostfile",
                 "%s takes this spot machine away%s%s%s%s", cloud->title, when,
                 notice->action[0] != '\0' ? " (" : "", notice->action,
                 notice->action[0] != '\0' ? ")" : "");
}
