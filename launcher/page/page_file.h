/* page_file.h - the page as files that the server gives, and as one file that needs no server
 *
 * page.html, page.css and page.js are in muster itself: the build makes a C source of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_FILE_H
#define MUSTER_PAGE_FILE_H

#include <stddef.h>

/* Each ends with a byte of 0, which its size does not count. */
extern const char   page_html[], page_css[], page_js[];
extern const size_t page_html_size, page_css_size, page_js_size;

/* Returns page.html with its style, its script and this message (page_view.h) inside, as a string
 * that the caller frees. Nothing in the message can end the element that it is in, and the page
 * allows no other script. */
char *page_file_make(const char *message);

#endif
