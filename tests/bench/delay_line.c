/* delay_line.c - a line on which every packet takes a while, for kernels without netem
 *
 *     delay_line NETNS MS
 *
 * Makes two tun devices called "line", one here and one in that network namespace (by its name
 * in /run/netns), says "ready" when both are there, and from then on carries packets from each
 * to the other, MS milliseconds in each direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX  2048
#define PACKETS_MAX 16384 /* on their way in one direction */

struct way {
    int     from, to;
    size_t  first, count, lost;
    size_t  size[PACKETS_MAX];
    int64_t due_ns[PACKETS_MAX];
    char    bytes[PACKETS_MAX][PACKET_MAX];
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_tun(void)
{
    struct ifreq request = { .ifr_name = "line", .ifr_flags = IFF_TUN | IFF_NO_PI };
    int          fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
        fail("/dev/net/tun");
    return fd;
}

static int open_tun_in(const char *netns)
{
    char path[256];
    int  own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), other, fd;

    snprintf(path, sizeof path, "/run/netns/%s", netns);
    other = open(path, O_RDONLY | O_CLOEXEC);
    if (own < 0 || other < 0 || setns(other, CLONE_NEWNET) < 0)
        fail(path);
    fd = open_tun();
    if (setns(own, CLONE_NEWNET) < 0)
        fail("back");
    close(other);
    close(own);
    return fd;
}

/* A packet that finds no room, or a device that is not up yet, is lost: as on any line. */
static void take(struct way *way, int64_t delay_ns)
{
    char    lost[PACKET_MAX];
    size_t  at = (way->first + way->count) % PACKETS_MAX;
    ssize_t size;

    while ((size = read(way->from, way->count < PACKETS_MAX ? way->bytes[at] : lost,
                        PACKET_MAX)) > 0) {
        if (way->count == PACKETS_MAX)
            continue; /* lost */
        way->size[at] = (size_t)size;
        way->due_ns[at] = now_ns() + delay_ns;
        way->count++;
        at = (at + 1) % PACKETS_MAX;
    }
}

static void give(struct way *way, int64_t *next_ns)
{
    int64_t now = now_ns();

    while (way->count > 0 && way->due_ns[way->first] <= now) {
        if (write(way->to, way->bytes[way->first], way->size[way->first]) < 0)
            way->lost++;
        way->first = (way->first + 1) % PACKETS_MAX;
        way->count--;
    }
    if (way->count > 0 && way->due_ns[way->first] < *next_ns)
        *next_ns = way->due_ns[way->first];
}

int main(int argc, char **argv)
{
    static struct way way[2];
    struct pollfd     wait[2];
    struct timespec   pause;
    int64_t           delay_ns, next_ns;
    int               i;

    if (argc != 3) {
        fprintf(stderr, "usage: delay_line NETNS MS\n");
        return 2;
    }
    delay_ns = (int64_t)(strtod(argv[2], NULL) * 1e6);
    way[0].from = way[1].to = open_tun();
    way[0].to = way[1].from = open_tun_in(argv[1]);
    puts("ready");
    fflush(stdout);
    for (;;) {
        next_ns = INT64_MAX;
        for (i = 0; i < 2; i++) {
            take(&way[i], delay_ns);
            give(&way[i], &next_ns);
            wait[i] = (struct pollfd){ .fd = way[i].from, .events = POLLIN };
        }
        next_ns = next_ns == INT64_MAX ? INT64_C(1000000000) : next_ns - now_ns();
        next_ns = next_ns > 0 ? next_ns : 0;
        pause = (struct timespec){ next_ns / 1000000000, next_ns % 1000000000 };
        ppoll(wait, 2, &pause, NULL);
    }
}
