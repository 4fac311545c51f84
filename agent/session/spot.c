/* spot.c - see spot.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/spot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cloud/cloud.h"
#include "cloud/metadata.h"
#include "fd.h"
#include "node/test_switch.h"
#include "xalloc.h"
#include "xevent.h"

#define POLL_S  5.0
#define AGAIN_S 1.0 /* after the first of two equal answers */
#define ROUND_S 1.0
#define URL_MAX 1000
#define OK      200
#define CLASSES 5 /* rounds that ask for the class, at most */
#define DMI     "/sys/class/dmi/id/"

struct spot {
    struct event_base   *base;
    const struct cloud  *cloud;
    struct cloud         by_url; /* cloud points here if it is a URL; its texts are in room */
    char                 room[URL_MAX + 2];
    const struct spot_ops *ops;
    void                *arg;
    struct event        *next;     /* starts the next round */
    int64_t              late_ns;  /* deadline of this round */
    struct metadata     *question; /* NULL: no question is pending */
    enum metadata_asked  asked;
    int                  classes;  /* how often the class was asked for */
    char                 first[CLOUD_FIRST_MAX + 1]; /* the answer to METADATA_FIRST */
    struct cloud_watch   watch;
    int64_t              seen_ns; /* when the last answer was GOES and the one before was not */
};

static const struct cloud *choose(struct spot *spot, const char *setting, struct error *err);
static const struct cloud *by_firmware(void);
static void                again(struct spot *spot, double pause_s);
static void                next_cb(evutil_socket_t fd, short what, void *arg);
static void                ask(struct spot *spot, enum metadata_asked asked);
static void                answer_cb(const struct metadata_reply *reply, const struct error *err,
                                     void *arg);
static void                take_first(struct spot *spot, const struct metadata_reply *reply);
static void                take(struct spot *spot, const struct metadata_reply *reply);
static void                take_class(struct spot *spot, const struct metadata_reply *reply);
static void                tell(struct spot *spot, const struct cloud_notice *notice);
static void                hang_up(struct spot *spot);

int spot_begin(struct spot **made, struct event_base *base, const char *setting,
               const struct spot_ops *ops, void *arg, struct error *err)
{
    struct spot *spot = xcalloc(1, sizeof *spot);

    *made = NULL;
    err->text[0] = '\0';
    spot->cloud = choose(spot, setting, err);
    if (spot->cloud == NULL) {
        free(spot);
        return err->text[0] != '\0' ? -1 : 0;
    }
    spot->base = base;
    spot->ops = ops;
    spot->arg = arg;
    spot->next = xevent_new(base, -1, next_cb, spot);
    again(spot, 0);
    *made = spot;
    return 0;
}

void spot_free(struct spot *spot)
{
    if (spot == NULL)
        return;
    hang_up(spot);
    event_free(spot->next);
    free(spot);
}

/* Returns NULL if there is no cloud to ask; with a text in err if the setting is invalid. */
static const struct cloud *choose(struct spot *spot, const char *setting, struct error *err)
{
    if (strcmp(setting, "off") == 0)
        return NULL;
    if (strcmp(setting, "auto") == 0)
        return by_firmware();
    if (cloud_by_name(setting) != NULL)
        return cloud_by_name(setting);
    return cloud_by_url(&spot->by_url, setting, spot->room, sizeof spot->room, err) == 0
               ? &spot->by_url : NULL;
}

static const struct cloud *by_firmware(void)
{
    char vendor[256], asset_tag[256];

    fd_read_file(DMI "sys_vendor", vendor, sizeof vendor);
    fd_read_file(DMI "chassis_asset_tag", asset_tag, sizeof asset_tag);
    return cloud_by_firmware(vendor, asset_tag);
}

/* --- rounds ----------------------------------------------------------------- */

static void again(struct spot *spot, double pause_s)
{
    const char          *other = test_switch(TEST_SWITCH_SPOT_S);
    const struct timeval pause = clock_interval(other != NULL ? strtod(other, NULL) : pause_s);

    hang_up(spot);
    xevent_add(spot->next, &pause);
}

static void next_cb(evutil_socket_t fd, short what, void *arg)
{
    struct spot *spot = arg;

    (void)fd, (void)what;
    spot->first[0] = '\0';
    spot->late_ns = clock_now_ns() + (int64_t)(ROUND_S * NS_PER_S);
    ask(spot, spot->cloud->first_path != NULL ? METADATA_FIRST : METADATA_NOTICE);
}

static void ask(struct spot *spot, enum metadata_asked asked)
{
    hang_up(spot);
    spot->asked = asked;
    spot->question = metadata_begin(spot->base, spot->cloud, asked, spot->first, spot->late_ns,
                                    answer_cb, spot);
}

static void hang_up(struct spot *spot)
{
    metadata_free(spot->question);
    spot->question = NULL;
}

/* --- answers ---------------------------------------------------------------- */

static void answer_cb(const struct metadata_reply *reply, const struct error *err, void *arg)
{
    struct spot *spot = arg;

    (void)err;
    if (reply == NULL) {
        cloud_watch_take(&spot->watch, CLOUD_UNKNOWN, NULL);
        again(spot, POLL_S);
    } else if (spot->asked == METADATA_FIRST) {
        take_first(spot, reply);
    } else if (spot->asked == METADATA_CLASS) {
        take_class(spot, reply);
    } else {
        take(spot, reply);
    }
}

/* The service may answer without the first answer; if it does not, it says so. */
static void take_first(struct spot *spot, const struct metadata_reply *reply)
{
    if (reply->status != OK || cloud_read_first(reply->body, reply->size, spot->first) < 0)
        spot->first[0] = '\0';
    ask(spot, METADATA_NOTICE);
}

static void take(struct spot *spot, const struct metadata_reply *reply)
{
    struct cloud_notice notice;
    struct error        err;
    enum cloud_says     says = cloud_read(spot->cloud, reply->status, reply->body, reply->size,
                                          spot->first, time(NULL), &notice, &err);

    if (says == CLOUD_GOES && !spot->watch.is_pending)
        spot->seen_ns = clock_boot_ns();
    if (!cloud_watch_take(&spot->watch, says, &notice)) {
        if (says == CLOUD_SAFE && spot->cloud->class_path != NULL && spot->classes++ < CLASSES)
            ask(spot, METADATA_CLASS);
        else
            again(spot, says == CLOUD_GOES ? AGAIN_S : POLL_S);
        return;
    }
    hang_up(spot);
    tell(spot, &notice);
}

/* A refusal may be temporary. */
static void take_class(struct spot *spot, const struct metadata_reply *reply)
{
    if (reply->status == OK) {
        spot->classes = CLASSES;
        spot->ops->class(cloud_is_spot(spot->cloud, reply->body) ? "spot" : "on-demand",
                         spot->arg);
    }
    again(spot, POLL_S);
}

static void tell(struct spot *spot, const struct cloud_notice *notice)
{
    char            reason[100];
    struct timespec now;
    double          left_s = spot->cloud->lead_s;

    left_s -= (double)(clock_boot_ns() - spot->seen_ns) / NS_PER_S;
    clock_gettime(CLOCK_REALTIME, &now);
    if (notice->at_s != 0)
        left_s = (double)(notice->at_s - now.tv_sec) - (double)now.tv_nsec / NS_PER_S;
    snprintf(reason, sizeof reason, "%s takes it away%s%s", spot->cloud->title,
             notice->action[0] != '\0' ? ": " : "", notice->action);
    spot->ops->goes(left_s > 0 ? left_s : 0, reason, spot->arg);
}
