#!/usr/bin/env python3
"""Writes the tables of package unidata. Run by hand, never in a build.

  gen.py classes OUT VERSION   character classes, e.g. classes16.bin 16.0.0
  gen.py norm OUT TABLES_RS    normalisation, from the crate that engines use
  gen.py lower OUT             lower case

Sources, all pinned; each writes the same bytes whenever it is run:
  classes  PyPI unicodedata2 16.0.0 for Unicode 16; the unicodedata of CPython 3.11
           for Unicode 14. Han comes from PyPI fonttools 4.55.3 (Scripts-16.0.0.txt),
           cut down to what the version assigns.
  norm     src/tables.rs of crates.io unicode-normalization-alignments 0.1.12.
  lower    PyPI tokenizers 0.23.3, asked for every code point: what its compiler's
           standard library knows (Unicode 17) is in no other package.

Formats. n is an unsigned varint (LEB128), d a zigzag one.
  classes  n sets, each set n; then runs to 0x110000: n length, byte set
  norm     ccc:  n runs: n gap from the last end, n length, n class
           canonical, then compatibility: n entries: n code point less the last one,
             n length, then each d code point less the entry's
           pairs: n entries: n first, n second, n composed
  lower    as the decompositions of norm
"""
import re
import sys

SCALARS = 0x110000

# Order of the bits of Class in class.go.
LETTER, NUMBER, SPACE, NEWLINE, UPPER, LOWER, MARK, PUNCT, SYMBOL, HAN, KANA_HAN, NUMERIC = (
    1 << i for i in range(12)
)


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(d):
    return varint(d << 1 if d >= 0 else (-d << 1) - 1)


def database(version):
    import unicodedata

    if unicodedata.unidata_version != version:
        import unicodedata2 as unicodedata
    if unicodedata.unidata_version != version:
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}, not {version}")
    return unicodedata


def han_ranges():
    from fontTools.unicodedata import Scripts

    starts = Scripts.RANGES + [SCALARS]
    return [
        (starts[i], starts[i + 1])
        for i, name in enumerate(Scripts.VALUES)
        if name == "Hani"
    ]


WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
               0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


# What char::is_numeric says beyond \\p{N}: the compilers that built tokenizers 0.23.3
# and 0.21.0 know a later Unicode than its regular expressions do. Measured by asking
# the pre_tokenizer Digits for every code point.
LATER_NUMBERS = {
    "16.0.0": {*range(0x11DE0, 0x11DEA), *range(0x16FF4, 0x16FF7)},
    "14.0.0": {*range(0x11F50, 0x11F5A), *range(0x1D2C0, 0x1D2D4), *range(0x1E4F0, 0x1E4FA)},
}


def class_of(c, category):
    major = category[0]
    bits = {"L": LETTER, "N": NUMBER, "M": MARK, "P": PUNCT, "S": SYMBOL}.get(major, 0)
    if c in WHITE_SPACE:
        bits |= SPACE
    if c in (0x0A, 0x0D):
        bits |= NEWLINE
    if category in ("Lu", "Lt", "Lm", "Lo") or major == "M":
        bits |= UPPER
    if category in ("Ll", "Lm", "Lo") or major == "M":
        bits |= LOWER
    if 0x4E00 <= c <= 0x9FA5 or 0x3040 <= c <= 0x30FF:
        bits |= KANA_HAN
    return bits


def classes(path, version):
    ucd = database(version)
    table = [class_of(c, ucd.category(chr(c))) for c in range(SCALARS)]
    for c in range(SCALARS):
        if table[c] & NUMBER or c in LATER_NUMBERS[version]:
            table[c] |= NUMERIC
    for start, end in han_ranges():
        for c in range(start, end):
            if ucd.category(chr(c)) != "Cn":
                table[c] |= HAN
    sets = sorted(set(table))
    out = bytearray(varint(len(sets)))
    for s in sets:
        out += varint(s)
    start = 0
    for c in range(1, SCALARS + 1):
        if c == SCALARS or table[c] != table[start]:
            out += varint(c - start)
            out.append(sets.index(table[start]))
            start = c
    write(path, out)


def runs(values):
    """(start, length, value) of neighbouring equal values of a dict."""
    out = []
    for c in sorted(values):
        if out and out[-1][0] + out[-1][1] == c and out[-1][2] == values[c]:
            out[-1][1] += 1
        else:
            out.append([c, 1, values[c]])
    return out


def section(source, name):
    found = re.search(r"const %s: [^=]*= &\[\n(.*?)\n\];" % name, source, re.S)
    return found.group(1)


def norm(path, tables):
    with open(tables, encoding="utf-8") as f:
        source = f.read()
    combining = {int(v, 16) >> 8: int(v, 16) & 0xFF
                 for v in re.findall(r"0x([0-9A-Fa-f]+)", section(source, "CANONICAL_COMBINING_CLASS_KV"))}
    combining = {c: v for c, v in combining.items() if v}
    out = bytearray()
    put_runs(out, combining)
    for name in ("CANONICAL_DECOMPOSED_KV", "COMPATIBILITY_DECOMPOSED_KV"):
        put_map(out, decompositions(section(source, name)))
    pairs = [(int(a, 16) >> 16, int(a, 16) & 0xFFFF, int(b, 16)) for a, b in
             re.findall(r"\(0x([0-9A-Fa-f]+), '\\u\{([0-9A-Fa-f]+)\}'\)", section(source, "COMPOSITION_TABLE_KV"))]
    astral = source[source.index("fn composition_table_astral"):].split("\n}\n")[0]
    pairs += [tuple(int(x, 16) for x in t) for t in
              re.findall(r"\('\\u\{(\w+)\}', '\\u\{(\w+)\}'\) => Some\('\\u\{(\w+)\}'\)", astral)]
    out += varint(len(pairs))
    for a, b, c in sorted(pairs):
        out += varint(a) + varint(b) + varint(c)
    write(path, out)


def decompositions(text):
    return {int(c, 16): [int(d, 16) for d in re.findall(r"\\u\{(\w+)\}", ds)]
            for c, ds in re.findall(r"\(0x([0-9A-Fa-f]+), &\[([^\]]*)\]\)", text)}


def put_runs(out, values):
    list_ = runs(values)
    out += varint(len(list_))
    end = 0
    for start, length, value in list_:
        out += varint(start - end) + varint(length) + varint(value)
        end = start + length


def put_map(out, entries):
    out += varint(len(entries))
    last = 0
    for c in sorted(entries):
        out += varint(c - last) + varint(len(entries[c]))
        for d in entries[c]:
            out += zigzag(d - c)
        last = c


def lower(path):
    from tokenizers import __version__, normalizers

    if __version__ != "0.23.3":
        sys.exit(f"needs tokenizers 0.23.3, not {__version__}")
    normalizer = normalizers.Lowercase()
    entries = {}
    for c in range(SCALARS):
        if 0xD800 <= c < 0xE000:
            continue
        small = [ord(s) for s in normalizer.normalize_str(chr(c))]
        if small != [c]:
            entries[c] = small
    out = bytearray()
    put_map(out, entries)
    write(path, out)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def main():
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "classes":
        classes(sys.argv[2], sys.argv[3])
    elif command == "norm":
        norm(sys.argv[2], sys.argv[3])
    elif command == "lower":
        lower(sys.argv[2])
    else:
        sys.exit(__doc__)


main()
