/* pty.c - see pty.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static int open_slave(int master);

int pty_open(int rows, int columns, int *slave, struct error *err)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    *slave = -1;
    if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
        *slave = open_slave(master);
    if (*slave >= 0) {
        pty_resize(master, rows, columns);
        return master;
    }
    err_set(err, "cannot make a terminal (is /dev/pts mounted?): %s", strerror(errno));
    if (master >= 0)
        close(master);
    return -1;
}

/* TIOCGPTPEER (Linux 4.13) also works where /dev/pts is another one than the master's. */
static int open_slave(int master)
{
    char path[64];
    int  fd = -1;

#ifdef TIOCGPTPEER
    fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
    if (fd < 0 && ptsname_r(master, path, sizeof path) == 0)
        fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd;
}

void pty_resize(int master, int rows, int columns)
{
    const struct winsize size = { .ws_row = (unsigned short)rows,
                                  .ws_col = (unsigned short)columns };

    (void)ioctl(master, TIOCSWINSZ, &size);
}
