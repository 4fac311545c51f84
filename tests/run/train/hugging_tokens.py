# hugging_tokens.py - texts, and their tokens as Hugging Face's tokenizers make them
#
#     strings COUNT SEED [TOKEN...]   JSON strings, a line each: random ones, and hard cases; TOKEN:
#                                     special tokens that some of them contain
#     encode FILE                     the tokens of each line of standard input, by this tokenizer.json
#     train KIND FILE                 makes a small tokenizer.json from the text of standard input
#     speed FILE TEXT                 seconds to encode the lines of a text, by all threads
#
# The random characters are of Unicode 12, so that all libraries know them.
# SPDX-License-Identifier: Apache-2.0
import json
import random
import sys
import time
import unicodedata

HARD = [
    '', ' ', '  ', '\n', '\r\n', '\t\t x', 'a\r\n\r\nb', 'x   \n\n  y', '   lead', 'trail   ', "it's IT'S don'T",
    "'\u017f '\u017f\u017f \u212a", 'e\u0301 \u00e9 \u1e9b\u0323 \u0344', 'a\u0315\u0300\u05ae\u0300b',
    '\u1100\u1161\u11a8 \uac00\u11a8', '\u0928\u093f\u0902 \u0915\u094d\u0937', '\u304b\u3099\u30ab\u3099',
    '\U0001f468\u200d\U0001f469\u200d\U0001f467', '\U0001f1e9\U0001f1ea\U0001f1eb', '\u2764\ufe0f \u263a',
    '\u4f60\u597d\uff0c\u4e16\u754c\u3002', '\u0967\u0968\u0969 \u06f1\u06f2\u06f3 \uff11\uff12 \u00bd \u2167',
    '12345678901234567890', '1,234.56', 'x=y+1;//c', '\u00a0\u2003\u3000\u1680x\u180ey', '\u0085\u2028\u2029z',
    '\u200b\u200c\u200d\ufeff', 'ABCdef GHIjkl \u01c5 \u02b0 \u2160', '\u0000\u0001\u007f', 'a' * 3000,
    'ab' * 2000, '-' * 1000, '\n' * 500, ' ' * 700 + 'x', '\U00010348\U0001d54f\U0002f81a',
    '\u03b1\u0345\u0301', '\u212b \u2126 \ufb01 \uff76\uff9e', '_snake_case __init__ \u203f\u2040',
]


def assigned():
    ranges = [(0, 0x2fff), (0x3000, 0x4000), (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xf900, 0xffff),
              (0x10000, 0x11fff), (0x1d000, 0x1d7ff), (0x1f000, 0x1fa00), (0x2f800, 0x2fa1d)]
    return [chr(c) for a, b in ranges for c in range(a, b)
            if unicodedata.category(chr(c)) not in ('Cn', 'Cs', 'Co')]


def strings(count, seed, specials):
    pick = random.Random(seed)
    every = assigned()
    marks = [c for c in every if unicodedata.category(c)[0] == 'M']
    digits = [c for c in every if unicodedata.category(c)[0] == 'N']
    spaces = ['\t', '\n', '\v', '\f', '\r', ' ', '\x85', '\xa0', '\u1680', '\u2003', '\u2028', '\u202f', '\u3000']
    plain = [chr(c) for c in range(32, 127)]
    words = ['the', 'Hello', "'s", "'LL", 'return', 'function', '\u00fcber', '\u0434\u043e\u043c',
             '\u65e5\u672c\u8a9e', '123', '4567', '==', '://', '\r\n', '\n\n', '  ']
    for one in HARD + [s + t + s for s in HARD[:12] for t in specials]:
        yield one
    for _ in range(count):
        pools = pick.choices([plain, every, marks, digits, spaces, words, specials or plain],
                             weights=[8, 6, 2, 2, 3, 8, 1], k=pick.randint(1, 24))
        yield ''.join(pick.choice(pool) for pool in pools)


def encode(path):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(path)
    for line in sys.stdin:
        print(json.dumps(tokenizer.encode(json.loads(line)).ids))


def train(kind, path):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from tokenizers import AddedToken, Regex
    text = sys.stdin.read().splitlines()
    if kind == 'llama2':
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token='<unk>'))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend('\u2581'), normalizers.Replace(' ', '\u2581')])
        tokenizer.train_from_iterator(text, trainers.BpeTrainer(
            vocab_size=900, special_tokens=['<unk>', '<s>', '</s>'] + ['<0x%02X>' % i for i in range(256)]))
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+"
                                       r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), 'isolated'),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.train_from_iterator(text, trainers.BpeTrainer(
            vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=['<|endoftext|>']))
        tokenizer.add_tokens([AddedToken('<|left|>', lstrip=True), AddedToken('<|right|>', rstrip=True),
                              AddedToken('word', single_word=True, normalized=True),
                              AddedToken('<|both|>', lstrip=True, rstrip=True, normalized=False, special=True)])
        tokenizer.post_processor = processors.TemplateProcessing(
            single='<|endoftext|> $A <|both|>', special_tokens=[
                (t, tokenizer.token_to_id(t)) for t in ('<|endoftext|>', '<|both|>')])
    tokenizer.save(path)
    with open(path, encoding='utf-8') as file: # bytes are no added tokens in the files of Llama 2
        parts = json.load(file)
    parts['added_tokens'] = [t for t in parts['added_tokens'] if not t['content'].startswith('<0x')]
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(parts, file, separators=(',', ':'))


def speed(path, text):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(path)
    lines = open(text, encoding='utf-8', newline='').read().splitlines(keepends=True)
    start = time.monotonic()
    count = sum(len(e) for e in tokenizer.encode_batch_fast(lines, add_special_tokens=False))
    print(time.monotonic() - start, count)


def main():
    command, *rest = sys.argv[1:]
    if command == 'strings':
        for one in strings(int(rest[0]), int(rest[1]), rest[2:]):
            print(json.dumps(one))
    elif command == 'encode':
        encode(rest[0])
    elif command == 'train':
        train(rest[0], rest[1])
    else:
        speed(rest[0], rest[1])


main()
