"""The columns of blocks, read as docs/format.md says."""

import re

from format_decoder import DATE_MAX, DATE_MIN, VALUE_BYTES_MAX, Bytes, checked_double, decoded, require

NIBBLES = "0123456789.v-/:"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?Z", re.A)


class Bits:
    """Bits that fill bytes from the lowest up; nothing of the source is used before `close`."""

    def __init__(self, source):
        self.source, self.at = source, source.at * 8

    def take(self, count):
        first, last = self.at >> 3, self.at + count + 7 >> 3
        require(last <= len(self.source.data), "bits are missing")
        value = int.from_bytes(self.source.data[first:last], "little") >> (self.at & 7)
        self.at += count
        return value & (1 << count) - 1

    def close(self):
        rest = -self.at & 7
        require(self.take(rest) == 0, "the bits after a column's last are not zero")
        self.source.at = self.at >> 3


def read_ints(source, count):
    encoding = source.u8()
    require(encoding <= 4, "a column of integers has an encoding that is not known")
    if encoding == 0:
        return [source.zigzag()] * count
    if encoding == 1:
        require(count <= source.left, "bytes are missing")
        return [source.zigzag() for _ in range(count)]
    smallest, width = source.zigzag(), source.u8()
    least, most = {2: (1, 64), 3: (0, 56), 4: (1, 7)}[encoding]
    require(least <= width <= most, "a column of integers has a width that cannot be")
    require(count <= source.left * 8, "bits are missing")
    bits = Bits(source)
    values = []
    for _ in range(count):
        if encoding == 2:
            u = bits.take(width)
        elif encoding == 3:
            quotient = 0
            while quotient < 24 and bits.take(1):
                quotient += 1
            u = bits.take(64) if quotient == 24 else quotient << width | bits.take(width)
        else:
            length = bits.take(width)
            require(length <= 64, "a number has more than 64 bits")
            u = 1 << length - 1 | bits.take(length - 1) if length else 0
        require(smallest + u < 1 << 63, "a number is past its limits")
        values.append(smallest + u)
    bits.close()
    return values


def days(year, month, day):
    """Days since 1970-01-01 in the Gregorian calendar, the year 0 too."""
    year -= month <= 2
    within = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + within - 719_468


def date_milliseconds(text):
    """Of a date and time to the second or to the millisecond; None where it is none."""
    found = DATE.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59 or not day:
        return None
    if days(year, month, day) >= days(year + month // 12, month % 12 + 1, 1):
        return None
    return ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + int(found[7] or 0)


def date_text(milliseconds, has_fraction=True):
    require(DATE_MIN <= milliseconds <= DATE_MAX, "a date is past the year 9999 or before the year 0")
    day, rest = divmod(milliseconds, 86_400_000)
    year = day * 400 // 146_097 + 1969
    while days(year + 1, 1, 1) <= day:
        year += 1
    month = 12
    while days(year, month, 1) > day:
        month -= 1
    text = "%04d-%02d-%02dT%02d:%02d:%02d" % (
        year, month, day - days(year, month, 1) + 1, rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60)
    return text + (".%03dZ" % (rest % 1000) if has_fraction else "Z")


def read_strings(source, count, is_nested=False):
    encoding = source.u8()
    if encoding in (2, 3):
        texts = []
        for _ in range(count):
            digits = source.take(16).hex()
            texts.append("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))
        return texts if encoding == 2 else [text.upper() for text in texts]
    if encoding in (4, 5):
        scale = 1000 if encoding == 4 else 1
        return [date_text(value * scale, encoding == 5) for value in read_ints(source, count)]
    if encoding == 1:
        bits, texts = Bits(source), []
        for _ in range(count):
            text = ""
            while (nibble := bits.take(4)) < 15:
                text += NIBBLES[nibble]
            texts.append(text)
        bits.close()
        return texts
    if encoding == 6:
        require(not is_nested, "repeated strings within repeated strings")
        distinct = source.varint(1, count)
        texts = read_strings(source, distinct, True)
        places = read_ints(source, count)
        check_first_use(places, distinct)
        return [texts[place] for place in places]
    require(encoding == 0, "a column of strings has an encoding that is not known")
    part = Bytes(source.take(source.varint()))
    lengths = read_ints(part, count)
    part.end()
    require(all(0 <= length <= VALUE_BYTES_MAX for length in lengths), "a string has a length that cannot be")
    return [decoded(source.take(length)) for length in lengths]


def check_first_use(places, count):
    """Places from 0 in a table that was filled by first use: each is at most one more than the highest before."""
    seen = 0
    for place in places:
        require(0 <= place <= seen, "a place in a table is out of order")
        seen = max(seen, place + 1)
    require(seen == count, "a table has entries that nothing uses")


def read_doubles(source, count):
    encoding = source.u8()
    if encoding == 0:
        return [checked_double(source.number("d")) for _ in range(count)]
    require(encoding == 1, "a column of doubles has an encoding that is not known")
    exponent = source.u8()
    require(1 <= exponent <= 17, "a column of doubles has an exponent that cannot be")
    integers = read_ints(source, count)
    require(all(abs(m) <= 1 << 53 for m in integers), "a decimal fraction has more than 53 bits")
    return [checked_double(float(m) / 10.0**exponent) for m in integers]


def read_kinds(source, count):
    heads = [source.u8() for _ in range(source.u8())]
    places = read_ints(source, count)
    require(all(0 <= place < len(heads) for place in places), "a kind is out of its table")
    return [heads[place] for place in places]
