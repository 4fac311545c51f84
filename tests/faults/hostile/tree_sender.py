# tree_sender.py CASE - plays the launcher of a bcast to a real agent, and sends something bad
#
# It sends into ./there, which has a directory "real" and links "link" and "real/link" to the
# outside. Exit status 0 if it was refused as it should be. CASE list: the names of the entries.
# SPDX-License-Identifier: Apache-2.0
import hashlib, os, struct, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../../run/agent')
from agent_driver import Agent
case, there = sys.argv[1], os.getcwd() + '/there'

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
    send('TREE', {'root': agent.send_blob(os.fsencode(root)), 'tree': 0})

def entries(*list):
    send('ENTRIES', b''.join(list))

CHUNK = 1 << 20

def row(number=0, body=b'evil', index=0):
    return struct.pack('>III', 0, number, index) + hashlib.sha256(body).digest()

def contents(number=0, body=b'evil', index=0):
    send('FILE', struct.pack('>III', 0, number, index))
    for at in range(0, len(body), 1 << 17):
        send('DATA', body[at:at + (1 << 17)])

def file(number=0, body=b'evil', index=0):
    send('SUMS', row(number, body, index))
    contents(number, body, index)

def link(**other):
    return dict({'link': 1, 'key': 'ab' * 32, 'run': 'cd' * 16, 'callers': ['10.0.0.1'],
                 'addr': '127.0.0.1', 'port': 1}, **other)

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
    'below-a-leaving-link': [top, entry('l', 'real/new', target='../../outside'),
                             entry('f', 'real/new/new')],
    'link-to-nothing': [top, entry('l', 'real/new')],
    'hard-link-to-directory': [top, entry('h', 'real/new', size=0)],
    'hard-link-to-link': [top, entry('l', 'real/l', target='f'), entry('h', 'real/new', size=1)],
    'hard-link-to-itself': [top, entry('h', 'real/new', size=1)],
    'hard-link-to-another-tree': [top, entry('h', 'real/new', size=1 << 32)],
    'hard-link-with-target': [entry('f', 'new'), entry('h', 'also', target='../outside/f')],
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
elif case == 'file-unspoken':
    tree()
    contents()
    refused()
elif case in ('sum-unspoken', 'sum-of-another', 'sum-not-next', 'sum-twice', 'sum-behind', 'sum-cut'):
    tree()
    entries(entry('f', 'new', size=4))
    send('SUMS', {'sum-unspoken': row(1), 'sum-of-another': b'\xff' * 4 + row()[4:],
                  'sum-not-next': row(index=1), 'sum-twice': row() * 2,
                  'sum-behind': row() + row(index=1), 'sum-cut': row()[:-1]}[case])
    refused()
elif case == 'sums-without-end':
    tree()
    entries(entry('f', 'new', size=CHUNK * 5000))
    for n in range(5):
        send('SUMS', b''.join(row(index=n * 1000 + i) for i in range(1000)))
    refused()
elif case == 'file-too-long':
    tree()
    entries(entry('f', 'new', size=4))
    send('SUMS', row())
    contents(body=b'evil!')
    refused()
elif case == 'file-in-file':
    tree()
    entries(entry('f', 'new', size=4))
    send('SUMS', row())
    contents(body=b'ev')
    contents()
    refused()
elif case == 'data-alone':
    tree()
    send('DATA', b'evil')
    refused()
elif case == 'other-contents':       # not what the hash says
    tree()
    entries(entry('f', 'new', size=4))
    send('SUMS', row())
    contents(body=b'good')
    failed('changed')
elif case in ('link-key', 'link-port', 'link-number', 'listen-callers', 'listen-address'):
    tree()
    send(*{'link-key': ('LINK', link(key='ab' * 31)), 'link-port': ('LINK', link(port=65536)),
           'link-number': ('LINK', link(link=0)), 'listen-callers': ('LISTEN', link(callers='a')),
           'listen-address': ('LISTEN', link(callers=[1]))}[case])
    dropped()
elif case.startswith('give-'):       # what an agent that gives files may not be asked for
    def give(paths, links='within'):
        send('GIVE', {'paths': agent.send_blob(paths), 'links': links})
    chunk = struct.pack('>III', 0, 0, 0)
    if case == 'give-no-blob':
        send('GIVE', {'paths': 7, 'links': 'copy'})
    elif case == 'give-links':
        give(b'/etc/x\0', 'all')
    elif case == 'give-open-end':
        give(b'/etc')
    elif case == 'give-many':
        give(b'/etc/x\0' * 1025)
    elif case == 'give-list-first':
        send('LIST', b'')
    elif case == 'give-hash-first':
        send('HASH', chunk)
    else:
        give(os.fsencode(there) + b'\0')
        if case == 'give-twice':
            give(os.fsencode(there) + b'\0')
        send(*{'give-hash-unlisted': ('HASH', chunk), 'give-hash-cut': ('HASH', chunk[:-1]),
               'give-hash-many': ('HASH', chunk * 257), 'give-need-unlisted': ('NEED', chunk),
               'give-twice': ('LIST', b'')}[case])
    dropped()
elif case == 'links-outside':        # they are made, and nothing is done to what they lead to
    tree()
    targets = ['/etc', '../../outside', 'd/../../../outside', '../../outside/nowhere']
    entries(top, *[entry('l', 'real/new%d' % i, target=to) for i, to in enumerate(targets)])
    send('FINISH', b'')
    assert agent.wait('FINISH').body == struct.pack('>4I', 0, 3, 0, 4)
    assert targets == [os.readlink('there/real/new%d' % i) for i in range(4)]
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
elif case == 'hard-link-to-swapped':  # it is not followed
    tree()
    entries(top, entry('f', 'real/f', size=4), entry('h', 'real/new', size=1))
    file(1)
    agent.wait('HAVE')
    os.rename('there/real/f', 'there/away')
    os.symlink('../../outside/f', 'there/real/f')
    send('FINISH', b'')
    failed('in the way')
elif case == 'finish-first':
    send('FINISH', b'')
    dropped()
elif case == 'no-tree':
    entries(entry('f', 'new'))
    dropped()
elif case == 'relative-root':
    tree('outside')
    dropped()
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
    file(1)
    failed('symbolic link')
elif case == 'swapped-meanwhile':    # then it comes into the directory that it was promised for
    tree()
    entries(top, entry('f', 'real/f', size=CHUNK + 4))
    file(1, b'e' * CHUNK)
    while not agent.all('HAVE'):
        agent.take()
    os.rename('there/real', 'there/away')
    os.symlink('../outside', 'there/real')
    file(1, b'evil', 1)
    agent.wait('HAVE')
    with open('there/away/f', 'rb') as came:
        assert came.read()[CHUNK:] == b'evil'
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
else:
    sys.exit('no such case')
