/* strlist.h - a growing list of strings that it owns
 *
 * Used for argv and for environments ("NAME=value"). item[count] is NULL once
 * anything was added, so item can be handed to execve. Start from { 0 }.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STRLIST_H
#define MUSTER_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

struct strlist {
    char **item;
    size_t count;
    size_t room;
};

void strlist_add(struct strlist *list, const char *text); /* copies */
void strlist_addf(struct strlist *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strlist_add_bytes(struct strlist *list, const char *text, size_t size);
void strlist_append(struct strlist *list, const struct strlist *more); /* copies */
void strlist_clear(struct strlist *list);
bool strlist_has(const struct strlist *list, const char *text);

/* The list as an environment: names compare up to the '='. env_set() replaces in place or adds;
 * env_unset() removes it; env_get() returns the value (borrowed) or NULL. */
void        env_set(struct strlist *env, const char *name, const char *value);
void        env_setf(struct strlist *env, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void        env_unset(struct strlist *env, const char *name);
const char *env_get(const struct strlist *env, const char *name);

/* The list as one block of bytes, each string ended by NUL, as in a frame. strlist_pack()
 * returns a heap buffer and its size. strlist_unpack() adds every string in the bytes; it
 * returns -1 if the last one lacks its NUL.
 */
char *strlist_pack(const struct strlist *list, size_t *size);
int   strlist_unpack(struct strlist *list, const char *bytes, size_t size);

#endif
