/* test_hostfile.c - the grammar of doc/hostfile.5, line by line
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "plan/hostfile.h"
#include "xalloc.h"

static char warnings[8192];

static void keep_warning(const char *line, size_t size, void *arg)
{
    (void)arg;
    strncat(warnings, line, size < 200 ? size : 200);
}

static int parse(const char *text, struct hostlist *hosts, struct error *err)
{
    warnings[0] = '\0';
    return hostfile_parse("hosts", text, strlen(text), hosts, err);
}

/* "te1:4 te2:4 ", and for each host what else is set. Caller frees. */
static char *listed(const struct hostlist *hosts)
{
    const struct host *host;
    char              *text = NULL;
    size_t             i, j, size;
    FILE              *out = open_memstream(&text, &size);

    for (i = 0; i < hosts->count; i++) {
        host = &hosts->host[i];
        fprintf(out, "%s%s:%d", i > 0 ? " " : "", host->name, host->slots);
        if (host->user != NULL)
            fprintf(out, " user=%s", host->user);
        if (host->port != 0)
            fprintf(out, " port=%d", host->port);
        if (host->addr != NULL)
            fprintf(out, " addr=%s", host->addr);
        if (host->iface != NULL)
            fprintf(out, " iface=%s", host->iface);
        if (host->python != NULL)
            fprintf(out, " python=%s", host->python);
        if (host->cwd != NULL)
            fprintf(out, " cwd=%s", host->cwd);
        if (host->class != NULL)
            fprintf(out, " class=%s", host->class);
        if (host->price > 0 || host->on_demand_price > 0)
            fprintf(out, " price=%g/%g", host->price, host->on_demand_price);
        for (j = 0; j < host->env.count; j++)
            fprintf(out, " env:%s", host->env.item[j]);
    }
    fclose(out);
    return text;
}

static void check_accepted(const char *text, const char *expected, const char *warning)
{
    struct hostlist hosts;
    struct error    err = { "" };
    char           *got;

    if (parse(text, &hosts, &err) < 0)
        fail_msg("\"%s\" was refused: %s", text, err.text);
    got = listed(&hosts);
    assert_string_equal(got, expected);
    assert_string_equal(warnings, warning);
    free(got);
    hostlist_clear(&hosts);
}

static void check_refused(const char *text, const char *why)
{
    struct hostlist hosts;
    struct error    err = { "" };

    if (parse(text, &hosts, &err) == 0)
        fail_msg("\"%s\" was accepted", text);
    assert_string_equal(err.text, why);
    assert_int_equal(hosts.count, 0);
    assert_null(hosts.host);
}

/* What DeepSpeed accepts has the same meaning here. */
static void deepspeed_lines(void **state)
{
    static const struct {
        const char *text, *hosts, *warning;
    } row[] = {
        { "te1 slots=4", "te1:4", "" },
        { "te1\tslots=4\n", "te1:4", "" },
        { "te1 slots=04\n", "te1:4", "" },
        { "  \t te1   slots=4\n", "te1:4", "" },
        { "te1 slots=4\r\nte2 slots=2\r\n", "te1:4 te2:2", "" },
        { "te1 slots=4\rte2 slots=2", "te1:4 te2:2", "" },
        { "# a comment\n\n  # another\nte1 slots=4\n   \n", "te1:4", "" },
        { "te1 slots=4 # note", "te1:4", "" },
        { "te1 slots=4#note", "te1:4", "" },
        { "te1 slots=4 max_slots=8", "te1:4", "" },
        { "te1 slots=4 max-slots=8 user=me", "te1:4 user=me", "" },
        { "te1 slots=4x", "te1:4",
          "muster: warning: hosts:1:12: 'x' is not a hostfile word and is ignored\n" },
        { "te1 slots=4port=22", "te1:4",
          "muster: warning: hosts:1:12: 'port=22' is not a hostfile word and is "
          "ignored\n" },
        { "\n te1 slots=4 usr=me too port=22", "te1:4 port=22",
          "muster: warning: hosts:2:14: 'usr=me' is not a hostfile word and is "
          "ignored\n" },
        { "te1 slots=4 \x1b[2J", "te1:4",
          "muster: warning: hosts:1:13: '?[2J' is not a hostfile word and is ignored\n" },
        { "te1#x slots=4", "te1#x:4",
          "muster: warning: hosts:1:1: 'te1#x' is read as a name: put a blank before '#' "
          "to begin a comment\n" },
        { "te1 slots=4\nte1.lan slots=4\nTE1 slots=4", "te1:4 te1.lan:4 TE1:4",
          "muster: warning: hosts:3:1: TE1 and te1 differ only in case: are they the "
          "same machine?\n" },
        { "\xef\xbb\xbfte1 slots=4", "te1:4",
          "muster: warning: hosts: begins with a byte order mark, which is skipped\n" },
        { "te9 slots=1\nte1 slots=2\nte5 slots=3", "te9:1 te1:2 te5:3", "" },
        { "te1 slots=4096", "te1:4096", "" },
        { "te1\nte2 # two\n", "te1:1 te2:1", "" },
        { "te1:22 user=me\nte2 port=23 slots=4", "te1:1 user=me port=22 te2:4 port=23", "" },
        { "te1\nte1\nte2\nte1\nte2", "te1:3 te2:2", "" }, /* of PBS and mpirun */
        { "te[1-2]\nte[1-2]", "te1:2 te2:2", "" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check_accepted(row[i].text, row[i].hosts, row[i].warning);
}

static void deepspeed_refusals(void **state)
{
    static const struct {
        const char *text, *why;
    } row[] = {
        { "te1 slots=-1", "hosts:1:11: slots= needs a number" },
        { "te1 slots =4", "hosts:1:5: slots=N must come after the name, not 'slots'" },
        { "te1 slots= 4", "hosts:1:11: slots= needs a number" },
        { "te1 Slots=4", "hosts:1:5: slots=N must come after the name, not 'Slots=4'" },
        { "te1 slots=2\nte1", "hosts:2:1: te1 is already on line 1 (to use one machine twice, "
                              "give it two names and addr=)" },
        { "te1\nte1 slots=2", "hosts:2:1: te1 is already on line 1 (to use one machine twice, "
                              "give it two names and addr=)" },
        { "te1:4", "hosts:1:5: 4 would be a port here; for 4 slots write \"te1 slots=4\"" },
        { "te1 foo slots=4", "hosts:1:5: slots=N must come after the name, not 'foo'" },
        { "this is bad slots=1", "hosts:1:6: slots=N must come after the name, not 'is'" },
        { "te1 slots=\xd9\xa4", "hosts:1:11: slots= needs a number" },
        { "", "hosts: contains no host; a line looks like \"te1 slots=4\"" },
        { "# only\n\n#comments", "hosts: contains no host; a line looks like \"te1 slots=4\"" },
        { "te1 slots=4\n\nte1 slots=2", "hosts:3:1: te1 is already on line 1 (to use one "
                                        "machine twice, give it two names and addr=)" },
        { "te1 slots=4\nTE1 slots=4\n TE1 slots=2",
          "hosts:3:2: TE1 is already on line 2 (to use one machine twice, give it two names "
          "and addr=)" },
        { "te1 slots=4\nslots=4", "hosts:2:6: '=' is not allowed in a host name" },
        { "te1 slots=0", "hosts:1:11: slots=0 leaves nothing to run on; to leave this host "
                         "out, put '#' before the line" },
        { "te1 slots=4097", "hosts:1:11: slots: '4097' is not a number from 1 to 4096" },
        { "te1 slots=99999999999999999999",
          "hosts:1:11: slots: '99999999999999999999' is not a number from 1 to 4096" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check_refused(row[i].text, row[i].why);
}

static void users_and_addresses(void **state)
{
    static const struct {
        const char *text, *hosts;
    } row[] = {
        { "user@te1 slots=4", "te1:4 user=user" },
        { "dom\\me@x.org@te1 slots=4", "te1:4 user=dom\\me@x.org" },
        { "te1:2222 slots=4", "te1:4 port=2222" },
        { "me@te1:2222 slots=4", "te1:4 user=me port=2222" },
        { "10.0.0.1:22 slots=4", "10.0.0.1:4 port=22" },
        { "::1 slots=4", "::1:4" },
        { "fe80::1 slots=2", "fe80::1:2" },
        { "[::1] slots=2", "::1:2" },
        { "[fe80::1%eth0]:22 slots=2", "fe80::1%eth0:2 port=22" },
        { "me@fe80::1%eth0 slots=2", "fe80::1%eth0:2 user=me" },
        { "te1 slots=1 addr=10.0.0.1 port=2222 user=me",
          "te1:1 user=me port=2222 addr=10.0.0.1" },
        { "te1 slots=1 addr=[fe80::1%eth0]", "te1:1 addr=fe80::1%eth0" },
        { "a slots=1 addr=te1 port=22\nb slots=1 addr=te1 port=23",
          "a:1 port=22 addr=te1 b:1 port=23 addr=te1" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check_accepted(row[i].text, row[i].hosts, "");
    check_refused("te1:0 slots=4", "hosts:1:5: port: '0' is not a number from 1 to 65535");
    check_refused("te1: slots=4", "hosts:1:5: port: '' is not a number from 1 to 65535");
    check_refused("te1 slots=4 port=99999",
                  "hosts:1:18: port: '99999' is not a number from 1 to 65535");
    check_refused("te1:2 slots=4 port=3", "hosts:1:20: the port is given twice in this line");
    check_refused("me@te1 slots=4 user=me", "hosts:1:21: the user is given twice in this line");
    check_refused("@te1 slots=4", "hosts:1:1: the user name is empty");
    check_refused("me@ slots=4", "hosts:1:4: the host name is empty");
    check_refused("te1:2:3 slots=4",
                  "hosts:1:1: 'te1:2:3' is neither an IPv6 address nor NAME:NUMBER");
    check_refused("[::1 slots=4", "hosts:1:1: '[' without ']'");
    check_refused("[::1]22 slots=4", "hosts:1:6: only ':' and a number can follow ']'");
    check_refused("fe80::1% slots=4", "hosts:1:9: the zone of an IPv6 address is empty");
    check_refused("te1 slots=4 addr=me@te2", "hosts:1:18: addr= takes only an address; "
                                             "write user= and port= for the rest");
    check_refused("te1 slots=4 addr=te2:22", "hosts:1:18: addr= takes only an address; "
                                             "write user= and port= for the rest");
}

static void words(void **state)
{
    static const struct {
        const char *text, *hosts;
    } row[] = {
        { "te1 slots=1 iface=bond0.100 python=python3.11 cwd=/data",
          "te1:1 iface=bond0.100 python=python3.11 cwd=/data" },
        { "te1 slots=1 cwd=\"/my data\" python=\"/opt/a b/python\"\tuser=me # cwd=/other",
          "te1:1 user=me python=/opt/a b/python cwd=/my data" },
        { "te1 slots=1 env:A=1 env:B= env:C=\"\" env:D=\"x y\" env:_E9=a=b#c",
          "te1:1 env:A=1 env:B= env:C= env:D=x y env:_E9=a=b#c" },
        { "te1 slots=1 env:J={\"a\":1} env:S='x env:D=$HOME`id`\\n",
          "te1:1 env:J={\"a\":1} env:S='x env:D=$HOME`id`\\n" },
        { "te1 slots=1 env:X=\xff\xfe", "te1:1 env:X=\xff\xfe" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check_accepted(row[i].text, row[i].hosts, "");
    check_refused("te1 slots=4 user=", "hosts:1:18: user= needs a value");
    check_refused("te1 slots=4 cwd=\"\"", "hosts:1:18: cwd= needs a value");
    check_refused("te1 slots=4 cwd=data", "hosts:1:17: cwd= needs a path that begins with '/'");
    check_refused("te1 slots=4 cwd=\"/data", "hosts:1:17: no closing '\"'");
    check_refused("te1 slots=4 cwd=\"/a\"b",
                  "hosts:1:21: a blank must follow the closing '\"'");
    check_refused("te1 slots=4 iface=eth0,eth1",
                  "hosts:1:23: an interface name cannot contain ','");
    check_refused("te1 slots=4 iface=abcdefghijklmnop",
                  "hosts:1:34: an interface name has at most 15 characters");
    check_refused("te1 slots=4 env:1A=x",
                  "hosts:1:17: '1A' is not the name of a variable (letters, digits, '_')");
    check_refused("te1 slots=4 env:=x",
                  "hosts:1:17: '' is not the name of a variable (letters, digits, '_')");
    check_refused("te1 slots=4 env:A=1 env:A=2", "hosts:1:25: A is given twice in this line");
}

static void ranges(void **state)
{
    (void)state;
    check_accepted("node[08-10,20] slots=8 user=me env:A=1",
                   "node08:8 user=me env:A=1 node09:8 user=me env:A=1 "
                   "node10:8 user=me env:A=1 node20:8 user=me env:A=1",
                   "");
    check_accepted("me@r[1-2]n[1-2]:22 slots=1",
                   "r1n1:1 user=me port=22 r1n2:1 user=me port=22 "
                   "r2n1:1 user=me port=22 r2n2:1 user=me port=22",
                   "");
    check_accepted("te[1-2] slots=1 addr=10.0.0.[11-12]",
                   "te1:1 addr=10.0.0.11 te2:1 addr=10.0.0.12", "");
    check_refused("te[1-2] slots=1 addr=10.0.0.1",
                  "hosts:1:22: addr= names 1 addresses for 2 hosts");
    check_refused("te2 slots=1\nte[1-3] slots=1",
                  "hosts:2:1: te2 is already on line 1 (to use one machine twice, give it two "
                  "names and addr=)");
    check_refused("te[1,1] slots=1", "hosts:1:1: te1 is already on line 1 (to use one machine "
                                     "twice, give it two names and addr=)");
    check_refused("te[3-1] slots=1", "hosts:1:1: 'te[3-1]': '3-1' counts down");
    check_refused("te[1, 2] slots=1", "hosts:1:7: slots=N must come after the name, not '2]'");
    check_refused("te[1;2] slots=1", "hosts:1:5: ';' is not allowed in a host name");
    check_refused("te1,te2 slots=1", "hosts:1:4: ',' is not allowed in a host name");
}

/* A name must never turn into an option, a command or an escape sequence. */
static void hostile_names(void **state)
{
    static const struct {
        const char *text, *why;
    } row[] = {
        { "-oProxyCommand=touch X slots=1", "hosts:1:1: a host name cannot begin with '-'" },
        { "me@-oProxyCommand=x slots=1", "hosts:1:4: a host name cannot begin with '-'" },
        { "-oProxyCommand=x@te1 slots=1", "hosts:1:1: a user name cannot begin with '-'" },
        { "te1 slots=1 user=-oProxyCommand=x",
          "hosts:1:18: a user name cannot begin with '-'" },
        { "te1 slots=1 user=a;b", "hosts:1:19: ';' is not allowed in a user's name" },
        { "te1 slots=1 addr=-x", "hosts:1:18: addr: a host name cannot begin with '-'" },
        { "te1 slots=1 addr=$(x)", "hosts:1:18: addr: '$' is not allowed in a host name" },
        { "te1 slots=1\n  a;touch X slots=1", "hosts:2:4: ';' is not allowed in a host name" },
        { "$(touch X) slots=1", "hosts:1:1: '$' is not allowed in a host name" },
        { "a`x` slots=1", "hosts:1:2: '`' is not allowed in a host name" },
        { "../../x slots=1", "hosts:1:1: a host name cannot begin with '.'" },
        { "a/x slots=1", "hosts:1:2: '/' is not allowed in a host name" },
        { "a\x1b[2J slots=1", "hosts:1:2: byte 0x1b is not allowed in a host name" },
        { "t\xc3\xa9 slots=1", "hosts:1:2: byte 0xc3 is not allowed in a host name" },
        { "fe80::1%$(x) slots=1",
          "hosts:1:9: '$' is not allowed in the zone of an IPv6 address" },
        { "te1 slots=1 port=\x1b[2J",
          "hosts:1:18: port: '?[2J' is not a number from 1 to 65535" },
    };
    struct hostlist hosts;
    struct error    err;
    size_t          i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check_refused(row[i].text, row[i].why);
    assert_int_equal(hostfile_parse("hosts", "te1\0 slots=1", 12, &hosts, &err), -1);
    assert_string_equal(err.text, "hosts:1:4: contains a NUL byte; is this a text file?");
}

static void bounds(void **state)
{
    struct hostlist hosts;
    struct error    err;
    char           *text = xmalloc(HOSTFILE_LINE_MAX + 2), *more;
    int             i;

    (void)state;
    memset(text, 'x', HOSTFILE_LINE_MAX + 1);
    memcpy(text, "te1 slots=4 # ", 14);
    text[HOSTFILE_LINE_MAX] = '\0';
    check_accepted(text, "te1:4", "");
    text[HOSTFILE_LINE_MAX] = 'x';
    text[HOSTFILE_LINE_MAX + 1] = '\0';
    check_refused(text, "hosts:1:1: more than 65536 bytes in a line");

    assert_int_equal(parse("n[1-65536] slots=1", &hosts, &err), 0);
    assert_int_equal(hosts.count, HOSTFILE_HOSTS_MAX);
    hostlist_clear(&hosts);
    check_refused("n[1-65536] slots=1\nm slots=1", "hosts:2:1: more than 65536 hosts");

    memcpy(text, "n[1-65536] slots=1 env:A=", 25);
    check_refused(text, "hosts:1:1: more than 65536 bytes in a line");
    text[2000] = '\0';
    check_refused(text, "hosts:1:1: the lines up to here expand to more than 64 MiB");

    text[0] = '\0';
    for (i = 0; i < 20; i++, text = more) {
        more = xasprintf("%ste%d slots=1 junk\n", text, i);
        free(text);
    }
    assert_int_equal(parse(text, &hosts, &err), 0);
    assert_non_null(strstr(warnings, "hosts:10:"));
    assert_null(strstr(warnings, "hosts:11:"));
    assert_non_null(strstr(warnings, "hosts: 10 more warnings not shown\n"));
    hostlist_clear(&hosts);
    free(text);
}

static void arguments(void **state)
{
    static const struct {
        const char *text, *hosts;
    } row[] = {
        { "te1:4,te2", "te1:4 te2:3" },
        { "me@node[1-2,4]:8,x", "node1:8 user=me node2:8 user=me node4:8 user=me x:3" },
        { "[::1]:2,[fe80::1%eth0]", "::1:2 fe80::1%eth0:3" },
        { " te1:4,\t te[1-9/4]x ,y", "te1:4 te1x:3 te5x:3 te9x:3 y:3" },
        { "te1,te2:2,te1,te2", "te1:6 te2:5" }, /* as mpirun's */
    };
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "-H:1: the host name is empty" },
        { "te1:1023,te1", "-H:10: te1 is named twice; write the sum of its slots once: te1:N" },
        { "te1,,te2", "-H:5: the host name is empty" },
        { "te1,", "-H:5: the host name is empty" },
        { "te1:4,te2:x", "-H:11: slots: 'x' is not a number from 1 to 1024" },
        { "te1:0", "-H:5: slots: '0' is not a number from 1 to 1024" },
        { "te1:4,te1:2", "-H:7: te1 is named twice; write the sum of its slots once: te1:N" },
        { "te1,::1", "-H:5: an IPv6 address needs brackets here: [::1]:4" },
        { "te1:22:4", "-H:1: 'te1:22:4' is neither an IPv6 address nor NAME:NUMBER" },
        { "te1 te2", "-H:4: a blank is not allowed in a host name; write a comma between hosts" },
        { "te1:2222", "-H:5: slots: '2222' is not a number from 1 to 1024; for a port write "
                      "--ssh_port, or port= in a hostfile" },
        { "te1,^/nonexistent/hosts", "/nonexistent/hosts: No such file or directory" },
        { "te1,-oX",
          "-H:5: a host name cannot begin with '-'; to leave a host out write --exclude=HOST" },
        { "te[1,2", "-H:1: 'te[1,2': '[' without ']'" },
    };
    struct hostlist hosts;
    struct error    err;
    size_t          i;
    char           *got;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(hostlist_from_argument(row[i].text, 3, &hosts, &err), 0);
        got = listed(&hosts);
        assert_string_equal(got, row[i].hosts);
        assert_int_equal(hosts.host[0].line, 0);
        free(got);
        hostlist_clear(&hosts);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hostlist_from_argument(bad[i].text, 3, &hosts, &err), -1);
        assert_string_equal(err.text, bad[i].why);
        assert_int_equal(hosts.count, 0);
    }
    hostlist_add(&hosts, "localhost", 2);
    got = listed(&hosts);
    assert_string_equal(got, "localhost:2");
    free(got);
    hostlist_clear(&hosts);
}

static void prices(void **state)
{
    static const struct {
        const char *text, *hosts; /* or the error */
    } row[] = {
        { "te1 slots=4 class=spot price=0.9 on-demand-price=3.20",
          "te1:4 class=spot price=0.9/3.2" },
        { "te[1-2] slots=4 class=on-demand price=3",
          "te1:4 class=on-demand price=3/0 te2:4 class=on-demand price=3/0" },
        { "te1 class=spot", "te1:1 class=spot" },
        { "te1 slots=4 class=Spot",
          "hosts:1:19: class= must be spot or on-demand, not 'Spot'" },
        { "te1 slots=4 class=", "hosts:1:19: class= needs a value" },
        { "te1 slots=4 price=0", "hosts:1:19: '0' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=-1", "hosts:1:19: '-1' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=1e3", "hosts:1:19: '1e3' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=1.", "hosts:1:19: '1.' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=.5", "hosts:1:19: '.5' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=nan", "hosts:1:19: 'nan' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=9999999999999",
          "hosts:1:19: '9999999999999' is not an hourly price, such as 2.40" },
        { "te1 slots=4 price=1 price=2", "hosts:1:27: the price is given twice in this line" },
    };
    struct hostlist hosts;
    struct error    err;
    size_t          i;
    char           *text;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        if (parse(row[i].text, &hosts, &err) < 0) {
            assert_string_equal(err.text, row[i].hosts);
            continue;
        }
        text = listed(&hosts);
        assert_string_equal(text, row[i].hosts);
        free(text);
        hostlist_clear(&hosts);
    }
}

static void discovery(void **state)
{
    static const struct {
        const char *text;
        int         slots;
        const char *hosts; /* or the error */
    } row[] = {
        { "te1:4\nte2:2\n", 0, "te1:4 te2:2" },
        { "te1\nte2:2", 3, "te1:3 te2:2" },
        { "te1\r\n\n te2 \n", 0, "te1:1 te2:1" },
        { "te1:4\nte1:4\nte2:4\nte1:4\n", 0, "te1:4 te2:4" },
        { "# all\nnode[1-2]:8 # two\n", 0, "node1:8 node2:8" },
        { "bob@te1:4 addr=10.0.0.1\n", 0, "te1:4 user=bob addr=10.0.0.1" },
        { "te1 slots=4 port=2222\nte2 slots=2\n", 7, "te1:4 port=2222 te2:2" },
        { "te1:22\n", 0, "te1:22" },
        { "[fe80::1]:4\nfe80::2\n", 2, "fe80::1:4 fe80::2:2" },
        { "", 0, "find: prints no host; a line looks like \"te1:4\"" },
        { "\n# none\n", 0, "find: prints no host; a line looks like \"te1:4\"" },
        { "te1:0\n", 0, "find:1:5: slots: '0' is not a number from 1 to 4096" },
        { "te1:99999\n", 0, "find:1:5: slots: '99999' is not a number from 1 to 4096" },
        { "te1:4x\n", 0, "find:1:5: slots: '4x' is not a number from 1 to 4096" },
        { "te1:\n", 0, "find:1:5: slots: '' is not a number from 1 to 4096" },
        { "te1:4\nte1:8\n", 0, "find:2:1: te1 is already on line 1 (to use one machine twice, "
          "give it two names and addr=)" },
        { "-oProxyCommand=x\n", 0, "find:1:1: a host name cannot begin with '-'" },
        { "te1;reboot:4\n", 0, NULL },
        { "Traceback (most recent call last):\n  File \"x.py\"\n", 0, NULL },
        { "<html><body>503</body></html>\n", 0, NULL },
        { "{\"te1\": 4}\n", 0, NULL },
        { "te1:4:4\n", 0, NULL },
    };
    struct hostlist hosts;
    struct error    err;
    size_t          i;
    char           *text;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        err.text[0] = '\0';
        if (hostlist_from_discovery("find", row[i].text, strlen(row[i].text), row[i].slots,
                                    &hosts, &err) < 0) {
            assert_int_equal(hosts.count, 0);
            if (row[i].hosts != NULL)
                assert_string_equal(err.text, row[i].hosts);
            assert_memory_equal(err.text, "find:", 5);
            continue;
        }
        text = listed(&hosts);
        assert_non_null(row[i].hosts);
        assert_string_equal(text, row[i].hosts);
        free(text);
        hostlist_clear(&hosts);
    }
    assert_int_equal(hostlist_from_discovery("find", "te1\0te2", 7, 0, &hosts, &err), -1);
}

static void files(void **state)
{
    char            path[] = "/tmp/test_hostfile.XXXXXX", *expected;
    int             fd = mkstemp(path);
    struct hostlist hosts;
    struct error    err;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "te1 slots=2\nte2 slots=x\n", 24), 24);
    assert_int_equal(hostfile_read(path, &hosts, &err), -1);
    expected = xasprintf("%s:2:11: slots= needs a number", path);
    assert_string_equal(err.text, expected);
    free(expected);
    assert_int_equal(ftruncate(fd, 12), 0);
    close(fd);
    assert_int_equal(hostfile_read(path, &hosts, &err), 0);
    assert_int_equal(hosts.count, 1);
    assert_int_equal(hosts.host[0].line, 1);
    hostlist_clear(&hosts);
    unlink(path);
    assert_int_equal(hostfile_read("/nonexistent/hosts", &hosts, &err), -1);
    assert_string_equal(err.text, "/nonexistent/hosts: No such file or directory");
    assert_int_equal(hosts.count, 0);
}

/* The installed example must be what it says it is. */
static void example(void **state)
{
    struct hostlist hosts;
    struct error    err = { "" };

    (void)state;
    warnings[0] = '\0';
    assert_int_equal(hostfile_read(TOP_SRCDIR "/conf/hostfile", &hosts, &err), 0);
    assert_string_equal(warnings, "");
    assert_true(hosts.count > 1);
    hostlist_clear(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepspeed_lines),
        cmocka_unit_test(deepspeed_refusals),
        cmocka_unit_test(users_and_addresses),
        cmocka_unit_test(words),
        cmocka_unit_test(ranges),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(bounds),
        cmocka_unit_test(arguments),
        cmocka_unit_test(prices),
        cmocka_unit_test(discovery),
        cmocka_unit_test(files),
        cmocka_unit_test(example),
    };

    log_sink(keep_warning, NULL);
    return cmocka_run_group_tests_name("hostfile", tests, NULL, NULL);
}
