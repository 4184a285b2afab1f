"""Ways to change the text and the values of a JSON object at random, as somebody with the database could.

Loaded by its path, for tests are not a package.
"""

import json

LOOK_ALIKES = {"a": "а", "e": "е", "o": "ο", "c": "с", "p": "р", "x": "х", "1": "１", "0": "０", "-": "‐", "n": "ո"}


# Changing bytes


def flip_bit(raw, rng):
    changed = bytearray(raw)
    changed[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut_or_insert(raw, rng):
    at = rng.randrange(len(raw))
    return raw[:at] + raw[at + 1 :] if rng.random() < 0.5 else raw[:at] + rng.randbytes(1) + raw[at:]


def write_otherwise(raw, rng):
    """The same value in another text: spaces, escapes, order of keys, a key twice."""
    value = json.loads(raw)
    match rng.randrange(5):
        case 0:
            return json.dumps(value, sort_keys=True, indent=rng.randrange(3)).encode()
        case 1:
            return json.dumps(dict(reversed(value.items())), separators=(",", ":")).encode()
        case 2:
            key = rng.choice(sorted(value))
            twice = f"{json.dumps(key)}:{json.dumps(value[key], separators=(',', ':'))},"
            return raw[:1] + twice.encode() + raw[1:]
        case 3:
            place = rng.choice([at for at, byte in enumerate(raw) if chr(byte).isalpha() and chr(byte) not in "tfn"])
            return raw[:place] + f"\\u{raw[place]:04x}".encode() + raw[place + 1 :]
        case _:
            return rng.choice([raw + b"\n", b" " + raw, b"\xef\xbb\xbf" + raw, b"[" + raw + b"]"])


# Changing values


def places(value, path=()):
    """Every leaf of a JSON value, by its path."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from places(below, (*path, key))
    elif isinstance(value, list) and value:
        for index, below in enumerate(value):
            yield from places(below, (*path, index))
    else:
        yield path


def at_path(value, path):
    for key in path:
        value = value[key]
    return value


def with_value(value, path, new):
    value = json.loads(json.dumps(value))
    at_path(value, path[:-1])[path[-1]] = new
    return value


def other(leaf, rng):
    """Another value in the place of a leaf: a near one, one that looks the same, one of another type."""
    if type(leaf) is int:
        return rng.choice([leaf + 1, leaf - 1, leaf * 10, -leaf - 1, 0 if leaf else 1, str(leaf), True, None])
    if isinstance(leaf, str) and leaf:
        at = rng.randrange(len(leaf))
        letter = rng.choice("0123456789abcdef")
        swaps = [
            leaf[:at] + letter + leaf[at + 1 :],
            leaf[:at] + leaf[at + 1 :],
            leaf + "\u200b",
            leaf.upper(),
            leaf + " ",
        ]
        swaps += [leaf.replace(old, new, 1) for old, new in LOOK_ALIKES.items() if old in leaf]
        swaps += [leaf.replace(old, new) for old, new in (("approve", "reject"), ("2026", "2027"), ("ann", "bob"))]
        swaps += [leaf[:at] + leaf[at] + "\u0301" + leaf[at + 1 :]]
        return rng.choice(swaps)
    return rng.choice([0, "", "x", True, [], {}])


def change_leaf(raw, rng):
    value = json.loads(raw)
    path = rng.choice(sorted(places(value), key=str))
    return json.dumps(
        with_value(value, path, other(at_path(value, path), rng)), sort_keys=True, separators=(",", ":")
    ).encode()


def swap_leaves(raw, rng):
    value = json.loads(raw)
    paths = [path for path in places(value) if isinstance(at_path(value, path), int | str)]
    one, two = rng.sample(sorted(paths, key=str), 2)
    swapped = with_value(with_value(value, one, at_path(value, two)), two, at_path(value, one))
    return json.dumps(swapped, sort_keys=True, separators=(",", ":")).encode()


def drop_or_add_key(raw, rng):
    value = json.loads(raw)
    holder = rng.choice([value, *(below for below in value.values() if isinstance(below, dict) and below)])
    if rng.random() < 0.5:
        del holder[rng.choice(sorted(holder))]
    else:
        holder[rng.choice(["extra", "Approver", "decision ", "limits"])] = rng.choice([1, "x", None])
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


TEXT_MUTATIONS = (flip_bit, cut_or_insert, write_otherwise, change_leaf, swap_leaves, drop_or_add_key)
