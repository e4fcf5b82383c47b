"""The messages of boot/proto and the entries of the boot view, in Python.

The lists of fields are read from the headers, so that a new field needs no change here. The encoding
is that of model/fields.h: a varint mask of the fields that are not zero, then those fields.
"""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MASK = (1 << 64) - 1
ROOT_2, ROOT_3 = 0x6a09e667f3bcc909, 0xbb67ae8584caa73b
ROOT_5, ROOT_7 = 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1


def read(path):
    with open(os.path.join(ROOT, "src", path), encoding="utf-8") as file:
        return file.read()


def field_lists(text, pattern):
    """{NAME: [(kind, field)]} of macros like BOOT_MSG_NAME_FIELDS(F)."""
    joined = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
    return {name: re.findall(r"F\((\w+), (\w+)\)", body)
            for name, body in re.findall(rf"#define {pattern}\(F\)([^\n]*)", joined)}


PROTO = read("boot/proto/boot_proto.h")
MESSAGES = field_lists(PROTO, r"BOOT_MSG_(\w+)_FIELDS")
KINDS = re.findall(r"M\(([A-Z_]+), \w+, ([A-Z_]+), \w+\)", PROTO)
NUMBERS = {name: i + 1 for i, (name, _) in enumerate(KINDS)}
VIEW = read("model/boot_view.h")
ENTRIES = field_lists(VIEW, r"BOOT_(\w+)_FIELDS")
FACTS = re.findall(r"B\(([A-Z]+), \w+\)", VIEW[VIEW.index("#define BOOT_FACTS"):])
SEEN = re.findall(r"X\(\w+, \"([\w-]+)\"\)", PROTO)
SEED = int(re.search(r"BOOT_SEED = (\w+)", read("model/boot_view.c")).group(1), 0)


# -- fields

def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def take_varint(data, at):
    value, shift = 0, 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def encode(fields, values):
    unknown = set(values) - {name for _, name in fields}
    assert not unknown, unknown
    mask, out = 0, b""
    for i, (kind, name) in enumerate(fields):
        value = values.get(name)
        if not value:
            continue
        mask |= 1 << i
        if kind == "I64":
            out += varint(value << 1 if value >= 0 else (-value << 1) - 1)
        elif kind == "U32":
            out += varint(value)
        elif kind != "BOOL":
            data = value.encode() if isinstance(value, str) else value
            out += varint(len(data)) + data
    return varint(mask) + out


def decode(fields, data, at=0):
    values = {name: {"I64": 0, "U32": 0, "BOOL": False, "TEXT": ""}.get(kind, b"")
              for kind, name in fields}
    mask, at = take_varint(data, at)
    for i, (kind, name) in enumerate(fields):
        if not mask >> i & 1:
            continue
        if kind == "BOOL":
            values[name] = True
            continue
        value, at = take_varint(data, at)
        if kind == "I64":
            value = value >> 1 if value % 2 == 0 else -(value + 1 >> 1)
        elif kind != "U32":
            value, at = data[at:at + value], at + value
            if kind == "TEXT":
                value = value.decode()
        values[name] = value
    assert at == len(data), (fields, data)
    return values


# -- messages

def message(kind, **values):
    body = bytes([NUMBERS[kind]]) + encode(MESSAGES[dict(KINDS)[kind]], values)
    return len(body).to_bytes(4, "little") + body


def parse(body):
    kind, shape = KINDS[body[0] - 1]
    return kind, decode(MESSAGES[shape], body[1:])


def items(parts):
    """A list."""
    return b"".join(varint(len(part)) + part for part in parts)


# -- entries

def mac_number(mac):
    return int(mac.replace(":", ""), 16)


def key(fact, number):
    return bytes([FACTS.index(fact)]) + varint(number)


def entry(fact, number, **values):
    """The bytes of an entry; macs and addresses of a machine, initrds of a bootenv are lists."""
    macs, addresses = values.pop("macs", []), values.pop("addresses", [])
    initrds = values.pop("initrds", [])
    out = key(fact, number) + encode(ENTRIES[fact], values)
    if fact == "MACHINE":
        out += varint(len(macs)) + b"".join(varint(m) for m in sorted(map(mac_number, macs)))
        out += varint(len(addresses)) + b"".join(encode(ENTRIES["ADDRESS"], a) for a in addresses)
    if fact == "BOOTENV":
        out += varint(len(initrds)) + items([i.encode() for i in initrds])
    return out


# -- digests (base/hash/hash.c)

def rotate(x, by):
    return (x << by | x >> 64 - by) & MASK


def step(x, y, a, b):
    x, y = x ^ a, y ^ b
    product = x * y
    return (rotate(y, 23) + (product >> 64)) & MASK, rotate(x, 41) ^ product & MASK


def word(data, at, size=8):
    return int.from_bytes(data[at:at + size], "little")


def hash128(data, seed):
    size = len(data)
    x, y = seed ^ ROOT_2, rotate(seed, 32) ^ ROOT_3 ^ size * ROOT_5 & MASK
    if size > 16:
        at = 0
        while size - at > 16:
            x, y = step(x, y, word(data, at), word(data, at + 8))
            at += 16
        x, y = step(x, y, word(data, size - 16), word(data, size - 8))
    elif size >= 8:
        x, y = step(x, y, word(data, 0), word(data, size - 8))
    else:
        assert size >= 4, "no entry is so short"
        x, y = step(x, y, word(data, 0, 4), word(data, size - 4, 4))
    for a, b in ((ROOT_5, ROOT_7), (ROOT_7, ROOT_2), (ROOT_3, ROOT_5)):
        x, y = step(x, y, a, b)
    return x | y << 64


def digest(entries):
    total = sum(hash128(e, SEED) for e in entries) % (1 << 128)
    return total.to_bytes(16, "little")
