/* page_file.c - see page_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "page/page_file.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "buffer.h"
#include "xalloc.h"

#define HASH_SIZE 32
#define HASH_TEXT (4 * ((HASH_SIZE + 2) / 3) + 1) /* in base64, with its end */

static const char style_link[] = "<link rel=\"stylesheet\" href=\"page.css\">";
static const char script_link[] = "<script src=\"page.js\" defer></script>";

static void add_until(struct buffer *page, const char **from, const char *mark);
static void add_policy(struct buffer *page);
static void hash(const char *bytes, size_t size, char text[HASH_TEXT]);
static void add_escaped(struct buffer *page, const char *json);

/* The script stands at the end of the body, since one that is inline does not wait. */
char *page_file_make(const char *message)
{
    struct buffer page = { 0 };
    const char   *rest = page_html;

    add_until(&page, &rest, style_link);
    add_policy(&page);
    buffer_add_text(&page, "<style>");
    buffer_add(&page, page_css, page_css_size);
    buffer_add_text(&page, "</style>");
    add_until(&page, &rest, script_link);
    add_until(&page, &rest, "</body>");
    buffer_add_text(&page, "<script type=\"application/json\" id=\"data\">");
    add_escaped(&page, message);
    buffer_add_text(&page, "</script>\n<script>");
    buffer_add(&page, page_js, page_js_size);
    buffer_add_text(&page, "</script>\n</body>");
    buffer_add(&page, rest, strlen(rest) + 1);
    return page.bytes;
}

/* Adds what is before the mark, and goes behind it. */
static void add_until(struct buffer *page, const char **from, const char *mark)
{
    const char *at = strstr(*from, mark);

    if (at == NULL)
        abort(); /* not reached: a test reads page.html */
    buffer_add(page, *from, (size_t)(at - *from));
    *from = at + strlen(mark);
}

static void add_policy(struct buffer *page)
{
    char  style[HASH_TEXT], script[HASH_TEXT];
    char *text;

    hash(page_css, page_css_size, style);
    hash(page_js, page_js_size, script);
    text = xasprintf("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'sha256-%s'; script-src 'sha256-%s'; img-src data:; "
                     "base-uri 'none'; form-action 'none'\">\n",
                     style, script);
    buffer_add_text(page, text);
    free(text);
}

static void hash(const char *bytes, size_t size, char text[HASH_TEXT])
{
    unsigned char made[EVP_MAX_MD_SIZE];

    if (EVP_Digest(bytes, size, made, NULL, EVP_sha256(), NULL) != 1)
        xalloc_die();
    EVP_EncodeBlock((unsigned char *)text, made, HASH_SIZE);
}

/* In JSON a "<" is only in strings, and may be written like this. */
static void add_escaped(struct buffer *page, const char *json)
{
    size_t size;

    for (; *json != '\0'; json += size) {
        size = strcspn(json, "<");
        buffer_add(page, json, size);
        if (json[size] == '<') {
            buffer_add_text(page, "\\u003c");
            size++;
        }
    }
}
