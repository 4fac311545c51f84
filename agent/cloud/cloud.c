/* cloud.c - see cloud.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cloud/cloud.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "number.h"

#define LINK_LOCAL "169.254.169.254"
#define OK         200
#define NONE       404
#define EAST_S     (8 * 3600)
#define TEXT_MAX   256  /* bytes of an answer that is a time or a word */
#define EVENTS_MAX 8192

static const struct cloud clouds[] = {
    { .name = "alibaba", .title = "Alibaba Cloud", .vendor = "Alibaba Cloud",
      .address = "100.100.100.200", .port = 80, .host = "100.100.100.200",
      .path = "/latest/meta-data/instance/spot/termination-time",
      .first_path = "/latest/api/token", .first_is_put = true,
      .first_header = { "X-aliyun-ecs-metadata-token-ttl-seconds", "60" },
      .token_header = "X-aliyun-ecs-metadata-token", .form = CLOUD_TIME, .body_max = TEXT_MAX },
    { .name = "aws", .title = "EC2", .vendor = "Amazon EC2", .address = LINK_LOCAL, .port = 80,
      .host = LINK_LOCAL, .path = "/latest/meta-data/spot/instance-action",
      .first_path = "/latest/api/token", .first_is_put = true,
      .first_header = { "X-aws-ec2-metadata-token-ttl-seconds", "60" },
      .token_header = "X-aws-ec2-metadata-token",
      .class_path = "/latest/meta-data/instance-life-cycle", .class_word = "spot",
      .form = CLOUD_JSON, .body_max = TEXT_MAX },
    { .name = "gcp", .title = "Google Cloud", .vendor = "Google", .address = LINK_LOCAL,
      .port = 80, .host = "metadata.google.internal",
      .path = "/computeMetadata/v1/instance/preempted",
      .header = { "Metadata-Flavor", "Google" },
      .class_path = "/computeMetadata/v1/instance/scheduling/preemptible", .class_word = "TRUE",
      .form = CLOUD_TRUE, .body_max = TEXT_MAX, .lead_s = 30 },
    { .name = "azure", .title = "Azure", .vendor = "Microsoft Corporation",
      .asset_tag = "7783-7084-3265-9085-8269-3286-77", .address = LINK_LOCAL, .port = 80,
      .host = LINK_LOCAL, .path = "/metadata/scheduledevents?api-version=2020-07-01",
      .header = { "Metadata", "true" },
      .first_path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text",
      .class_path = "/metadata/instance/compute/priority?api-version=2021-02-01&format=text",
      .class_word = "Spot", .form = CLOUD_EVENTS, .body_max = EVENTS_MAX },
    { .name = "tencent", .title = "Tencent Cloud", .vendor = "Tencent Cloud",
      .address = "169.254.0.23", .port = 80, .host = "metadata.tencentyun.com",
      .path = "/latest/meta-data/spot/termination-time",
      .class_path = "/latest/meta-data/payment/charge-type", .class_word = "SPOTPAID",
      .form = CLOUD_TIME_EAST, .body_max = TEXT_MAX },
    { .name = "volcengine", .title = "Volcengine", .vendor = "Volcengine",
      .address = "100.96.0.96", .port = 80, .host = "100.96.0.96",
      .path = "/latest/spot_instance_termination_time", .form = CLOUD_TIME,
      .body_max = TEXT_MAX },
};

#define CLOUDS (sizeof clouds / sizeof *clouds)

static bool            is_line(const char *text, const char *wanted);
static enum cloud_says read_time(const char *body, size_t size, int east_s, int64_t now_s,
                                 struct cloud_notice *notice, struct error *err);
static enum cloud_says read_action(const char *body, size_t size, int64_t now_s,
                                   struct cloud_notice *notice, struct error *err);
static enum cloud_says read_true(const char *body, size_t size, struct error *err);
static enum cloud_says read_events(const char *body, size_t size, const char *self,
                                   int64_t now_s, struct cloud_notice *notice,
                                   struct error *err);
static bool            is_preempt(const json_t *event);
static bool            is_about(const json_t *event, const char *self);
static enum cloud_says believe(int64_t at_s, int64_t now_s, struct cloud_notice *notice,
                               struct error *err);
static int             digits(const char *text, int count);
static bool            parse_time(const char *text, size_t size, char between, const char *end,
                                  int64_t *at_s);
static bool            parse_http_date(const char *text, int64_t *at_s);
static size_t          trimmed(const char *body, size_t size);
static void            take_word(const json_t *value, char word[CLOUD_WORD_MAX + 1]);

const struct cloud *cloud_by_name(const char *name)
{
    size_t i;

    for (i = 0; i < CLOUDS; i++)
        if (strcmp(clouds[i].name, name) == 0)
            return &clouds[i];
    return NULL;
}

const struct cloud *cloud_by_firmware(const char *vendor, const char *asset_tag)
{
    size_t i;

    for (i = 0; i < CLOUDS; i++)
        if (is_line(vendor, clouds[i].vendor) &&
            (clouds[i].asset_tag == NULL || is_line(asset_tag, clouds[i].asset_tag)))
            return &clouds[i];
    return NULL;
}

static bool is_line(const char *text, const char *wanted)
{
    return strcspn(text, "\n") == strlen(wanted) && strncmp(text, wanted, strlen(wanted)) == 0;
}

int cloud_by_url(struct cloud *cloud, const char *url, char *room, size_t size, struct error *err)
{
    static const char scheme[] = "http://";
    struct in_addr    address;
    char             *host, *path, *colon;
    int64_t           port = 80;

    if (strncmp(url, scheme, strlen(scheme)) != 0 || strlen(url) >= size ||
        url[strcspn(url, " \t\r\n")] != '\0')
        return err_set(err, "'%.200s' is not a URL such as http://127.0.0.1:8080/path", url);
    host = memcpy(room, url + strlen(scheme), strlen(url) + 1 - strlen(scheme));
    path = strchr(host, '/');
    if (path != NULL) { /* make room for a NUL between them */
        memmove(path + 1, path, strlen(path) + 1);
        *path++ = '\0';
    }
    colon = strchr(host, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (parse_number(colon + 1, 1, 65535, &port, err) < 0)
            return -1;
    }
    if (inet_pton(AF_INET, host, &address) != 1)
        return err_set(
            err, "'%.100s' is not an IPv4 address; muster-agent does not look up names", host);
    *cloud = (struct cloud){ .name = "url", .title = "the service of --spot", .vendor = "",
                             .address = host, .port = (int)port, .host = host,
                             .path = path != NULL ? path : "/",
                             .form = CLOUD_JSON, .body_max = TEXT_MAX };
    return 0;
}

/* Validates the word: the answer must not be able to add headers to our requests. */
int cloud_read_first(const char *body, size_t size, char word[CLOUD_FIRST_MAX + 1])
{
    size_t length = trimmed(body, size), i;

    if (length == 0 || length > CLOUD_FIRST_MAX)
        return -1;
    for (i = 0; i < length; i++)
        if (!isalnum((unsigned char)body[i]) && (body[i] == '\0' || !strchr("-_=+/.", body[i])))
            return -1;
    memcpy(word, body, length);
    word[length] = '\0';
    return 0;
}

enum cloud_says cloud_read(const struct cloud *cloud, int status, const char *body, size_t size,
                           const char *self, int64_t now_s, struct cloud_notice *notice,
                           struct error *err)
{
    *notice = (struct cloud_notice){ 0 };
    if (status == NONE && cloud->form != CLOUD_TRUE && cloud->form != CLOUD_EVENTS)
        return CLOUD_SAFE;
    if (status != OK)
        return err_set(err, "it refused to answer (status %d)", status);
    if (size > cloud->body_max)
        return err_set(err, "its answer is longer than %zu bytes", cloud->body_max);
    size = trimmed(body, size);
    switch (cloud->form) {
    case CLOUD_JSON:
        if (size > 0 && body[0] == '{')
            return read_action(body, size, now_s, notice, err);
        return read_time(body, size, 0, now_s, notice, err);
    case CLOUD_TIME:
        return read_time(body, size, 0, now_s, notice, err);
    case CLOUD_TIME_EAST:
        return read_time(body, size, EAST_S, now_s, notice, err);
    case CLOUD_TRUE:
        return read_true(body, size, err);
    case CLOUD_EVENTS:
        return read_events(body, size, self, now_s, notice, err);
    }
    return CLOUD_UNKNOWN;
}

static enum cloud_says read_time(const char *body, size_t size, int east_s, int64_t now_s,
                                 struct cloud_notice *notice, struct error *err)
{
    int64_t at_s;

    if (size == 0)
        return CLOUD_SAFE;
    if (east_s == 0 ? !parse_time(body, size, 'T', "Z", &at_s)
                    : !parse_time(body, size, ' ', "", &at_s))
        return err_set(err, "its answer is not a time");
    return believe(at_s - east_s, now_s, notice, err);
}

static enum cloud_says read_action(const char *body, size_t size, int64_t now_s,
                                   struct cloud_notice *notice, struct error *err)
{
    json_t         *said = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
    const char     *time = json_string_value(json_object_get(said, "time"));
    enum cloud_says says = CLOUD_UNKNOWN;
    int64_t         at_s;

    if (time == NULL || !parse_time(time, strlen(time), 'T', "Z", &at_s))
        err_set(err, "its notice cannot be parsed");
    else
        says = believe(at_s, now_s, notice, err);
    take_word(json_object_get(said, "action"), notice->action);
    json_decref(said);
    return says;
}

static enum cloud_says read_true(const char *body, size_t size, struct error *err)
{
    if (size == 4 && memcmp(body, "TRUE", 4) == 0)
        return CLOUD_GOES;
    if (size == 5 && memcmp(body, "FALSE", 5) == 0)
        return CLOUD_SAFE;
    return err_set(err, "it says neither TRUE nor FALSE");
}

/* If there are several events about this VM, the first one that can be believed counts. */
static enum cloud_says read_events(const char *body, size_t size, const char *self, int64_t now_s,
                                   struct cloud_notice *notice, struct error *err)
{
    json_t         *said = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
    const json_t   *events = json_object_get(said, "Events"), *event;
    enum cloud_says says = json_is_array(events) ? CLOUD_SAFE : CLOUD_UNKNOWN;
    const char     *date;
    int64_t         at_s;
    size_t          i;

    if (says == CLOUD_UNKNOWN)
        err_set(err, "its answer has no list of events");
    json_array_foreach(events, i, event) {
        if (says == CLOUD_GOES || !is_preempt(event))
            continue;
        if (self[0] == '\0')
            says = err_set(err,
                           "it will take a VM away, but has not reported the name of this VM");
        if (!is_about(event, self))
            continue;
        date = json_string_value(json_object_get(event, "NotBefore"));
        if (date == NULL || !parse_http_date(date, &at_s))
            says = err_set(err, "its event has no time");
        else
            says = believe(at_s, now_s, notice, err);
        take_word(json_object_get(event, "EventType"), notice->action);
    }
    json_decref(said);
    return says;
}

static bool is_preempt(const json_t *event)
{
    const char *type = json_string_value(json_object_get(event, "EventType"));

    return type != NULL && strcmp(type, "Preempt") == 0;
}

static bool is_about(const json_t *event, const char *self)
{
    const json_t *resource;
    const char   *name;
    size_t        i;

    json_array_foreach(json_object_get(event, "Resources"), i, resource) {
        name = json_string_value(resource);
        if (name != NULL && name[0] != '\0' && strcmp(name, self) == 0)
            return true;
    }
    return false;
}

static enum cloud_says believe(int64_t at_s, int64_t now_s, struct cloud_notice *notice,
                               struct error *err)
{
    if (at_s <= now_s)
        return err_set(err, "the time in its notice has passed");
    if (at_s > now_s + CLOUD_LATEST_S)
        return err_set(err, "the time in its notice is more than a day away");
    notice->at_s = at_s;
    return CLOUD_GOES;
}

/* Parses "2026-11-22T08:22:00Z", and nothing else. */
static bool parse_time(const char *text, size_t size, char between, const char *end, int64_t *at_s)
{
    struct tm parts = { 0 }, same;

    if (size != 19 + strlen(end) || text[4] != '-' || text[7] != '-' || text[10] != between ||
        text[13] != ':' || text[16] != ':' || memcmp(text + 19, end, strlen(end)) != 0)
        return false;
    parts.tm_year = digits(text, 4) - 1900;
    parts.tm_mon = digits(text + 5, 2) - 1;
    parts.tm_mday = digits(text + 8, 2);
    parts.tm_hour = digits(text + 11, 2);
    parts.tm_min = digits(text + 14, 2);
    parts.tm_sec = digits(text + 17, 2);
    same = parts;
    *at_s = timegm(&same); /* makes February 30th a day in March */
    return parts.tm_year >= 70 && same.tm_mon == parts.tm_mon && same.tm_mday == parts.tm_mday &&
           same.tm_hour == parts.tm_hour && same.tm_min == parts.tm_min &&
           same.tm_sec == parts.tm_sec;
}

/* Returns -10000 if they are not digits. */
static int digits(const char *text, int count)
{
    int number = 0;

    for (; count > 0; count--, text++) {
        if (!isdigit((unsigned char)*text))
            return -10000;
        number = number * 10 + (*text - '0');
    }
    return number;
}

/* Parses "Sun, 22 Nov 2026 08:22:00 GMT". */
static bool parse_http_date(const char *text, int64_t *at_s)
{
    struct tm   parts = { 0 };
    const char *end = strlen(text) == 29 ? strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts)
                                         : NULL;

    if (end == NULL || *end != '\0')
        return false;
    *at_s = timegm(&parts);
    return true;
}

static size_t trimmed(const char *body, size_t size)
{
    while (size > 0 && (body[size - 1] == '\n' || body[size - 1] == '\r' || body[size - 1] == ' '))
        size--;
    return size;
}

static void take_word(const json_t *value, char word[CLOUD_WORD_MAX + 1])
{
    const char *text = json_string_value(value);
    size_t      i;

    for (i = 0; text != NULL && i < CLOUD_WORD_MAX && isalnum((unsigned char)text[i]); i++)
        word[i] = text[i];
    word[i] = '\0';
}

bool cloud_is_spot(const struct cloud *cloud, const char *body)
{
    size_t length = strlen(cloud->class_word);

    return strncmp(body, cloud->class_word, length) == 0 &&
           body[length + strspn(body + length, "\r\n ")] == '\0';
}

bool cloud_watch_take(struct cloud_watch *watch, enum cloud_says says,
                      const struct cloud_notice *notice)
{
    bool is_same = says == CLOUD_GOES && watch->is_pending && watch->last.at_s == notice->at_s &&
                   strcmp(watch->last.action, notice->action) == 0;

    watch->is_pending = says == CLOUD_GOES;
    if (watch->is_pending)
        watch->last = *notice;
    return is_same;
}
