#!/bin/sh
# Row 70: muster bcast, where the receiving tree has symbolic links that lead elsewhere, and where
# the sender is not muster: absolute names, "..", files below a link that it has just sent. It is
# refused, and nothing outside the directory that was named changes. Once with openat2, once with
# the walk for kernels without it. And where the receiver is no agent: it gets nothing that it
# was not meant to have.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# What must stay as it is: with names, modes, times and contents.
mkdir -p outside/d
echo precious >outside/f
echo precious >outside/d/f
outside() {
    (cd outside && find . -exec stat -c '%n %f %i %Y %Z %s' {} + | sort && cat f d/f)
}
untouched=$(outside)

fresh() {
    rm -rf there
    mkdir there
}

# bcast ARGUMENTS...: from ./tree to ./there
bcast() {
    run muster bcast -H node1 tree --to there "$@"
}

# It plays the launcher to a real agent. Each case sends something bad into there/, which has a
# directory "real" and links "link" and "real/link" to the outside; exit status 0 if it was
# refused as it should be.
cat >sender.py <<'END_OF_PYTHON'
import os, struct, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + '/tests/run/agent')
from agent_driver import Agent
case, there = sys.argv[2], os.getcwd() + '/there'

def entry(kind, path, mode=0o644, size=0, target=b'', nsec=0):
    path, target = os.fsencode(path), os.fsencode(target)
    return struct.pack('>B3xIQqIHH', ord(kind), mode, size, 5, nsec, len(path),
                       len(target)) + path + target

agent = Agent(generation=1)

# An agent that has refused us may be gone before we have said all.
def send(name, body):
    try:
        agent.send(name, body)
    except ConnectionError:
        pass

def tree(root=there):
    send('TREE', {'root': agent.send_blob(os.fsencode(root))})

def entries(*list):
    send('ENTRIES', b''.join(list))

def file(path, number=0, body=b'evil', **more):
    send('FILE', struct.pack('>I', number) + entry('f', path, size=len(body), **more))
    if body:
        send('DATA', body)

def refused():
    error = agent.wait('ERROR').body
    assert error['code'] == 76 and 'refused' in error['text'], error
    agent.finish()

def failed(text):
    failure = agent.wait('FAILED').body
    assert text in failure['text'], failure
    agent.send('STOP', {'grace_s': 0})
    agent.finish()

def dropped():
    try:
        while agent.take() is not None:
            pass
    except (EOFError, ConnectionError):
        pass
    assert agent.process.wait(30) != 0 or agent.all('ERROR') == []

top = entry('d', 'real', 0o755)
bad = {
    'absolute': [entry('f', there + '/../outside/new')],
    'dots': [entry('f', '../outside/new')],
    'dots-below': [top, entry('f', 'real/../../outside/new')],
    'dots-alone': [entry('d', '..')],
    'dot': [entry('f', './new')],
    'empty': [entry('f', '')],
    'empty-part': [top, entry('f', 'real//new')],
    'slash-at-end': [entry('d', 'real/')],
    'nul': [entry('f', 'new\0evil')],
    'long-name': [entry('f', 'n' * 256)],
    'long-path': [entry('f', 'n/' * 2048 + 'n')],
    'below-a-sent-link': [top, entry('l', 'real/new', target='..'), entry('f', 'real/new/f')],
    'below-a-file': [entry('f', 'new'), entry('f', 'new/f')],
    'below-nothing': [entry('f', 'new/f')],
    'below-another': [top, entry('d', 'realm', 0o755), entry('f', 'real/f')],
    'absolute-link': [top, entry('l', 'real/new', target='/etc')],
    'leaving-link': [top, entry('l', 'real/new', target='../../outside')],
    'winding-link': [top, entry('l', 'real/new', target='d/../../../outside')],
    'lonely-link': [entry('l', 'new', target='outside')],
    'device': [entry('c', 'new')],
    'pipe': [entry('p', 'new')],
    'mode': [entry('f', 'new', mode=0o104755)],
    'time': [entry('f', 'new', nsec=2000000000)],
    'cut': [entry('f', 'new')[:-1]],
    'garbage': [os.urandom(4096).replace(b'f', b'x')],
}
if case == 'list':
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    print(*bad)
elif case in bad:
    tree()
    entries(*bad[case])
    refused()
elif case == 'file-elsewhere':       # promised one thing, sends another
    tree()
    entries(entry('f', 'new'))
    agent.wait('WANTED')
    file('../outside/f')
    refused()
elif case == 'file-absolute':
    tree()
    entries(entry('f', 'new'))
    file(there + '/new')
    refused()
elif case == 'file-unspoken':
    tree()
    file('new')
    refused()
elif case == 'file-too-long':
    tree()
    entries(entry('f', 'new', size=4))
    send('FILE', struct.pack('>I', 0) + entry('f', 'new', size=4))
    send('DATA', b'evil!')
    refused()
elif case == 'file-in-file':
    tree()
    entries(entry('f', 'new', size=4))
    send('FILE', struct.pack('>I', 0) + entry('f', 'new', size=4))
    file('new')
    refused()
elif case == 'data-alone':
    tree()
    send('DATA', b'evil')
    refused()
elif case == 'no-tree':
    entries(entry('f', 'new'))
    dropped()
elif case == 'relative-root':
    tree('outside')
    dropped()
elif case == 'file-below-link':      # the link was there before
    tree()
    entries(entry('f', 'new'))
    file('link/f')
    failed('symbolic link')
elif case == 'dir-is-link':
    tree()
    entries(entry('d', 'link'), entry('f', 'link/f'))
    failed('symbolic link')
elif case == 'link-on-the-way':
    tree()
    entries(top, entry('d', 'real/link'), entry('d', 'real/link/d'), entry('f', 'real/link/d/f'))
    failed('symbolic link')
elif case == 'swapped-before':       # somebody on the node helps
    tree()
    entries(top, entry('f', 'real/f', size=4))
    agent.wait('WANTED')
    os.rename('there/real', 'there/away')
    os.symlink('../outside', 'there/real')
    file('real/f', 1)
    failed('symbolic link')
elif case == 'swapped-meanwhile':    # then it comes into the directory that it was promised for
    tree()
    entries(top, entry('f', 'real/f', size=4))
    send('FILE', struct.pack('>I', 1) + entry('f', 'real/f', size=4))
    send('DATA', b'ev')
    for _ in range(3):
        agent.wait('CREDIT')
    os.rename('there/real', 'there/away')
    os.symlink('../outside', 'there/real')
    send('DATA', b'il')
    agent.wait('CREDIT')
    with open('there/away/f', 'rb') as came:
        assert came.read() == b'evil'
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
else:
    sys.exit('no such case')
END_OF_PYTHON

sender() {
    timeout 60 python3 sender.py "$top_srcdir" "$1" >out 2>err
}

mkdir -p tree/d/e
echo new >tree/f
echo new >tree/d/f
echo new >tree/d/e/f

# Without the fault.
fresh
bcast
is "without the fault: 0" "$rc" 0
ok "... and all of it is there" diff -r tree there/tree
is "... and nobody complains" "$(cat err)" ""

MUSTER_AGENT=$test_agent
export MUSTER_AGENT
for way in openat2 walk; do
    MUSTER_TEST_OPENAT=$way
    export MUSTER_TEST_OPENAT

    # The receiver's tree is hostile.
    for link in tree tree/d tree/d/e; do
        fresh
        mkdir -p "there/$link"
        rmdir "there/$link"
        ln -s "$PWD/outside" "there/$link"
        bcast
        is "$way: a link where a directory should be, $link: 73" "$rc" 73
        ok "... is named" grep -q "node1  $PWD/there/$link: cannot make the directory: .*link" err
        is "... and leads nowhere" "$(outside)" "$untouched"
    done
    ok "$way: what does not go through it arrives" test -e there/tree/f -a -e there/tree/d/f
    fresh
    mkdir there/tree
    ln -s "$PWD/outside/f" there/tree/f
    bcast
    is "$way: a link where a file should be: it is replaced, not followed" \
        "$rc $(cat there/tree/f)" "0 new"
    is "... and leads nowhere" "$(outside)" "$untouched"

    # The sender is.
    for case in $(python3 sender.py "$top_srcdir" list) file-elsewhere file-absolute file-unspoken \
        file-too-long file-in-file data-alone no-tree relative-root file-below-link dir-is-link \
        link-on-the-way swapped-before swapped-meanwhile; do
        fresh
        mkdir there/real
        ln -s ../outside there/link
        ln -s ../../outside there/real/link
        ok "$way: $case" sender "$case"
        is "... and nothing outside has changed" "$(outside)" "$untouched"
        is "... and nothing half is left" "$(find there -name '.muster*')" ""
    done
done
unset MUSTER_TEST_OPENAT MUSTER_AGENT

# The receiver wants what there is not, takes what was not sent, or talks without end.
cat >receiver.py <<'END_OF_PYTHON'
#!/usr/bin/env python3
import json, os, struct, sys, time
kind = os.environ['FAKE']

def send(number, body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    sys.stdout.buffer.write(struct.pack('>IBBHII', len(body), number, 0, 0, 1, 0) + body)
    sys.stdout.buffer.flush()

def wanted(*numbers):
    send(31, b''.join(struct.pack('>I', number) for number in numbers))

def failed(number, text='no'):
    send(34, {'entry': number, 'what': 'write', 'text': text})

print(sys.argv[2], flush=True)
send(1, {'protocol': 1, 'now_ns': time.monotonic_ns()})
while len(head := sys.stdin.buffer.read(16)) == 16:
    size, number = struct.unpack('>IB', head[:5])
    body = sys.stdin.buffer.read(size)
    if number != 30:
        continue
    if kind == 'wants-no-such':
        wanted(1000000)
    elif kind == 'wants-directory':
        wanted(0)
    elif kind == 'wants-twice':
        wanted(3, 3)
    elif kind == 'wants-backwards':
        wanted(3, 2)
    elif kind == 'wants-unasked':
        wanted()
        wanted()
    elif kind == 'wants-part':
        send(31, b'123')
    elif kind == 'much-credit':
        send(10, struct.pack('>I', size + 1))
    elif kind == 'no-credit':
        send(10, b'')
    elif kind == 'fails-no-such':
        failed(1000000)
    elif kind == 'fails-no-number':
        send(34, {'what': 'write', 'text': 'no'})
    elif kind == 'floods':
        for i in range(200):
            failed(i % 4, '\x1b[2J\n' + 'x' * 1000000 + str(i))
        send(31, b'123')
END_OF_PYTHON
chmod +x receiver.py
# receiver CODE KIND
receiver() {
    run env FAKE="$2" python3 -c '
import resource, subprocess, sys
rc = subprocess.call(sys.argv[1:])
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(rc)' muster bcast --agent ./receiver.py -H node1 tree --to there
    is "$2: exit status" "$rc" "$1"
    ok "... the node is named" grep -q node1 err
    at_most "... memory" 98304 "$(cat peak)"
}
for kind in wants-no-such wants-directory wants-twice wants-backwards wants-unasked wants-part \
    much-credit no-credit fails-no-such fails-no-number floods; do
    receiver 76 "$kind"
done
ok "... what it says is cut" test "$(wc -c <err)" -lt 200000
ok "... and made harmless" not grep -q "$(printf '\033')" err
rc=0
ended 0
finish
