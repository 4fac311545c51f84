#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""openmetrics.py - is standard input a text of OpenMetrics 1.0? Prints what is wrong; exits with 1.

Checks what promtool does not read: families by type, units, the names of samples, escapes, values,
labels that come twice, and the end.
"""
import re
import sys

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf'({NAME})(?:{{({LABEL}(?:,{LABEL})*)?}})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)')
SUFFIX = {'gauge': '', 'counter': '_total', 'info': '_info'}


def wrong(number, why):
    print(f'line {number}: {why}')
    sys.exit(1)


def head(number, line, families):
    """Reads a line that begins with '#'; returns the family."""
    match = re.fullmatch(rf'# (TYPE|UNIT|HELP) ({NAME}) (.+)', line)
    if match is None:
        wrong(number, f'no line of a family: {line}')
    what, name, value = match.groups()
    family = families.setdefault(name, {'has': set(), 'type': None, 'samples': 0})
    if what in family['has'] or family['samples']:
        wrong(number, f'a second {what} of {name}')
    family['has'].add(what)
    if what == 'TYPE':
        if value not in SUFFIX:
            wrong(number, f'no such type: {value}')
        family['type'] = value
    if what == 'UNIT' and not name.endswith('_' + value):
        wrong(number, f'{name} does not end in its unit {value}')
    return name


def main():
    text = sys.stdin.buffer.read().decode('utf-8')
    if not text.endswith('\n# EOF\n'):
        wrong(0, 'it does not end with # EOF')
    families, seen, now = {}, set(), None
    for number, line in enumerate(text.split('\n')[:-2], 1):
        if line.startswith('#'):
            name = head(number, line, families)
            if name != now and 'TYPE' not in families[name]['has']:
                wrong(number, f'{name} does not begin with its type')
            if name != now and families[name]['samples']:
                wrong(number, f'{name} is interrupted')
            now = name
            continue
        match = SAMPLE.fullmatch(line)
        if match is None:
            wrong(number, f'no sample: {line}')
        name, labels, value = match.groups()
        family = families.get(now)
        if family is None or name != now + SUFFIX[family['type']]:
            wrong(number, f'{name} is no sample of {now}')
        if family['type'] != 'gauge' and (value == 'NaN' or value.startswith('-')):
            wrong(number, f'{value} is no value of a counter')
        names = re.findall(r'(\w+)="', labels or '')
        if (name, labels) in seen or len(set(names)) != len(names):
            wrong(number, f'{name} comes twice')
        seen.add((name, labels))
        family['samples'] += 1


main()
