/* terminal.c - see terminal.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "input/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ROWS    24
#define COLUMNS 80

/* Where the user is in "Enter ~ .". */
enum { AT_LINE_START, IN_LINE, AFTER_TILDE };

/* For the exit handler, which gets no argument. */
static struct {
    struct termios before;
    int            fd;
    bool           is_taken, is_registered;
} keyboard;

bool terminal_size(int fd, int *rows, int *columns)
{
    struct winsize size = { 0 };
    bool           is_terminal = isatty(fd);

    if (is_terminal)
        (void)ioctl(fd, TIOCGWINSZ, &size);
    *rows = size.ws_row > 0 ? size.ws_row : ROWS;
    *columns = size.ws_col > 0 ? size.ws_col : COLUMNS;
    return is_terminal;
}

void terminal_take_keys(int fd)
{
    struct termios raw;

    if (keyboard.is_taken || tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, &keyboard.before) < 0)
        return;
    raw = keyboard.before;
    cfmakeraw(&raw);
    keyboard.fd = fd;
    keyboard.is_taken = tcsetattr(fd, TCSADRAIN, &raw) == 0;
    if (!keyboard.is_registered)
        atexit(terminal_give_back);
    keyboard.is_registered = true;
}

void terminal_give_back(void)
{
    if (keyboard.is_taken)
        tcsetattr(keyboard.fd, TCSADRAIN, &keyboard.before);
    keyboard.is_taken = false;
}

bool terminal_find_escape(int *state, const char *keys, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (*state == AFTER_TILDE && keys[i] == '.')
            return true;
        if (keys[i] == '\r' || keys[i] == '\n')
            *state = AT_LINE_START;
        else
            *state = *state == AT_LINE_START && keys[i] == '~' ? AFTER_TILDE : IN_LINE;
    }
    return false;
}
