/* echo_args.c - prints what a rank was given, in hex, so that no byte is lost on the way
 *
 *     echo_args ARGS...         one line an argument, an empty one as "-"
 *     echo_args --environment   one line a variable
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_hex(const char *text)
{
    if (*text == '\0')
        putchar('-');
    for (; *text != '\0'; text++)
        printf("%02x", (unsigned char)*text);
    putchar('\n');
}

int main(int argc, char **argv)
{
    int i;

    if (argc == 2 && strcmp(argv[1], "--environment") == 0) {
        for (i = 0; environ[i] != NULL; i++)
            print_hex(environ[i]);
    } else {
        for (i = 1; i < argc; i++)
            print_hex(argv[i]);
    }
    return fflush(stdout) == EOF;
}
