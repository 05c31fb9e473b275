"""Every operator of expressions on arguments of its kind and at their edges, one at a time: each case brings its own document."""

import random

from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.datetime_ms import DatetimeMS

# Stands for an argument that is not there at all.
MISSING = object()

# Without decimals, which some functions compute with the precision of doubles, and MongoDB's `$pow` not to the last digit.
REALS = [0, 1, -1, 2, 7, 10, 100, 2**31 - 1, Int64(3), Int64(2**53 + 1), Int64(2**63 - 1), 0.0, -0.0, 0.5, 2.5, 1e10, 1e300, 5e-324, float("nan"), float("inf"), float("-inf")]
NUMBERS = [
    0, 1, -1, 2, 3, 7, -7, 10, 100, 12, 2**31 - 1, -(2**31), Int64(0), Int64(1), Int64(-3), Int64(2**31), Int64(2**53 + 1), Int64(2**63 - 1),
    Int64(-(2**63)), 0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 1.0, 3.0, 0.1, 1e10, 1e18, 1e19, -1e19, 9.3e18, 1e300, 5e-324, float("nan"),
    float("inf"), float("-inf"), 2147483647.5, 1.005, 123456.789, Decimal128("0"), Decimal128("-0"), Decimal128("1"), Decimal128("1.50"),
    Decimal128("-2.5"), Decimal128("0.1"), Decimal128("1E+3"), Decimal128("1E-6176"), Decimal128("9.999999999999999999999999999999999E+6144"),
    Decimal128("NaN"), Decimal128("Infinity"), Decimal128("-Infinity"), Decimal128("9223372036854775807"), Decimal128("9223372036854775808"),
    Decimal128("2147483648.5"),
]  # fmt: skip
SMALL = [0, 1, 2, 3, -1, -2, 5, Int64(2), 1.0, 2.0, -0.0, Decimal128("1"), Decimal128("2"), 1.5, Int64(2**31), 100]
TEXTS = [
    "", "a", "b", "ab", "abc", "ABC", "aXbXc", "X", "äöü", "é", "日本語", "😀x", " a ", "\t\na\r", "a\0b", "\0", "1", "-1", "+1", " 1", "1 ", "1.5",
    "1e3", "0x1A", "nan", "NaN", "inf", "Infinity", "-0", "true", "9223372036854775808", "2147483648", "1.50", "0.1", ".5", "5.", "1_000",
    "507f1f77bcf86cd799439011", "ß", "İ", "a.b", "$a", "a b c",
]  # fmt: skip
DAY_TEXTS = [
    "2020-01-01", "2020-02-29T12:30:45.123Z", "2020-02-29T12:30:45+02:00", "2020-02-30", "2021-02-29", "20200101", "2020-01-01 10:11:12", "not a date",
    "2020-01-01T10", "1969-12-31T23:59:59.999Z", "0001-01-01", "9999-12-31T23:59:59Z", "2020-01-01T10:00:00 America/New_York", "12:30", "Jan 5 2020",
    "2020-W01-1", "01/02/2020", "", "2020", "2020-06",
]  # fmt: skip
DAYS = [
    DatetimeMS(0), DatetimeMS(-1), DatetimeMS(1), DatetimeMS(1_582_979_445_123), DatetimeMS(1_577_836_800_000), DatetimeMS(1_609_459_199_999),
    DatetimeMS(-62_135_596_800_000), DatetimeMS(253_402_300_799_999), DatetimeMS(1_603_594_800_000), DatetimeMS(1_616_893_200_000),
    DatetimeMS(1_604_206_800_000), DatetimeMS(951_782_400_000), DatetimeMS(1_230_768_000_000), DatetimeMS(1_262_304_000_000), DatetimeMS(-2_208_988_800_000),
]  # fmt: skip
ZONES = ["UTC", "GMT", "America/New_York", "Europe/London", "Asia/Kolkata", "+01:00", "-0530", "+03", "Australia/Lord_Howe", "America/Sao_Paulo"]
BAD_ZONES = ["Mars/Phobos", "", "+25:00", "1:00", 5, None, "utc"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"]
IDS = [ObjectId(b"\0" * 12), ObjectId("507f1f77bcf86cd799439011")]
RARE = [MinKey(), MaxKey(), Timestamp(1, 1), Timestamp(4294967295, 2), Binary(b"\x01"), Binary(b"abc", 5), Binary(b""), Regex("a", "i"), Code("f")]
ODD = [None, MISSING, True, False, {}, [], {"a": 1}, [1], *IDS, *RARE]


def number(rng):
    return rng.choice(NUMBERS)


def real(rng):
    return rng.choice(REALS)


def small(rng):
    return rng.choice(SMALL)


def text(rng):
    return rng.choice(TEXTS)


def day(rng):
    pick = rng.random()
    return rng.choice(DAYS) if pick < 0.8 else rng.choice([Timestamp(1_577_836_800, 1), IDS[1], DatetimeMS(rng.randrange(-(10**13), 10**13))])


def whole_day(rng):
    """One to count from: before 1970 MongoDB 6.0 is a second off where there are milliseconds."""
    made = rng.choice(DAYS)
    return DatetimeMS(int(made) // 1000 * 1000) if int(made) < 0 else made


def anything(rng):
    return rng.choice([number, text, day, lambda r: r.choice(ODD), listing, mapping])(rng)


def plain(rng):
    """A scalar that often meets its like."""
    return rng.choice([None, 1, 1.0, Int64(1), Decimal128("1.0"), 2, "a", "b", "A", True, DAYS[0], [1], {"a": 1}, {"a": 1.0}, float("nan"), 0, -0.0])


def listing(rng):
    return [plain(rng) for _ in range(rng.choice([0, 1, 2, 3, 3, 4]))]


def numbers(rng):
    return [number(rng) if rng.random() < 0.9 else plain(rng) for _ in range(rng.choice([0, 1, 2, 3, 4]))]


def texts(rng):
    return [text(rng) for _ in range(rng.randrange(4))]


def mappings(rng):
    return [mapping(rng) for _ in range(rng.randrange(4))]


def listings(rng):
    return [listing(rng) for _ in range(rng.randrange(4))]


def mapping(rng):
    names = rng.sample(["a", "b", "c", "k", "v", "$x", ""], rng.randrange(4))
    return {name: plain(rng) for name in names}


def pairs(rng):
    """What $arrayToObject takes, or nearly."""
    form = rng.choice(["list", "kv", "kv", "odd"])
    made = []
    for _ in range(rng.randrange(4)):
        key = rng.choice(["a", "b", "a", "", "a.b", "x\0y", 5]) if rng.random() < 0.3 else rng.choice("abc")
        value = plain(rng)
        made.append([key, value] if form == "list" else {"k": key, "v": value} if form == "kv" else rng.choice([[key], {"k": key}, [key, 1, 2], 5, {"v": 1, "k": "a"}]))
    return made


def unit(rng):
    return rng.choice(UNITS) if rng.random() < 0.95 else rng.choice(["", "years", "Day", 5, None])


def zone(rng):
    return rng.choice(ZONES) if rng.random() < 0.85 else rng.choice(BAD_ZONES)


def one_of(*values):
    return lambda rng: rng.choice(values)


def logical(rng):
    return rng.choice([True, False, 0, 1, None, "", "a", float("nan"), [], -0.0, Decimal128("0"), MISSING])


pattern = one_of("a", "^a", "(a)(b)?", "b$", "[", "", "A", "(?i)a", "x|", "\\d+", ".", Regex("a", "i"), Regex("(b)", ""), None, 5, "(é|ö)", "a\0")
# MongoDB 7.0 reads and shows more than 6.0: %j, %b, %B.
part = one_of("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%LZ", "%G-W%V-%u", "%w %u %U", "%z", "%Z", "%%", "", "%", "%q", "%d/%m/%Y %H:%M", "%Y%", "x")
to_type = one_of("double", "string", "objectId", "bool", "date", "int", "long", "decimal", 1, 2, 7, 8, 9, 16, 18, 19, "number", "array", 3, 99, None, "foo", 1.5, -1)

# What every operator with arguments in a row is given, the last ones not always.
ROWS = {
    "$abs": [number], "$ceil": [number], "$floor": [number], "$sqrt": [real], "$exp": [real], "$ln": [real], "$log10": [real],
    "$log": [real, real], "$pow": [real, real], "$mod": [number, number], "$divide": [number, number], "$subtract": [number, number],
    "$round": [number, one_of(0, 1, -1, 2, -3, 20, 100, 101, -20, -21, 1.0, 1.5, None, Int64(2), Decimal128("1"))],
    "$trunc": [number, one_of(0, 1, -1, 2, -3, 20, 100, 101, -20, 1.0, 1.5, None)], "$add": [number, number, number],
    "$multiply": [number, number, number], "$cmp": [anything, anything], "$eq": [plain, plain], "$ne": [plain, plain],
    "$gt": [anything, anything], "$gte": [plain, plain], "$lt": [anything, anything], "$lte": [plain, plain], "$and": [logical, logical], "$or": [logical, logical],
    "$not": [logical], "$cond": [logical, plain, plain], "$ifNull": [plain, plain, plain], "$concat": [text, text, text], "$toLower": [anything],
    "$toUpper": [anything], "$strcasecmp": [anything, anything], "$strLenBytes": [text], "$strLenCP": [text], "$split": [text, one_of("", "a", "X", " ", ".", "aX", None)],
    "$substr": [text, small, small], "$substrBytes": [text, small, small], "$substrCP": [text, small, small],
    "$indexOfBytes": [text, text, small, small], "$indexOfCP": [text, text, small, small], "$indexOfArray": [listing, plain, small, small],
    "$size": [listing], "$isArray": [anything], "$isNumber": [anything], "$type": [anything], "$arrayElemAt": [listing, small], "$concatArrays": [listing, listing],
    "$in": [plain, listing], "$reverseArray": [listing], "$slice": [listing, small, small], "$range": [small, small, one_of(1, 2, -1, 0, 3, 1.5)],
    "$setUnion": [listing, listing], "$setIntersection": [listing, listing], "$setDifference": [listing, listing], "$setEquals": [listing, listing],
    "$setIsSubset": [listing, listing], "$allElementsTrue": [listing], "$anyElementTrue": [listing], "$arrayToObject": [pairs], "$objectToArray": [mapping],
    "$mergeObjects": [mapping, mapping], "$first": [listing], "$last": [listing], "$sum": [numbers], "$avg": [numbers], "$min": [numbers], "$max": [numbers],
    "$stdDevPop": [numbers], "$stdDevSamp": [numbers], "$bsonSize": [mapping], "$binarySize": [anything], "$toBool": [anything], "$toString": [anything],
    "$toInt": [anything], "$toLong": [anything], "$toDouble": [anything], "$toDecimal": [anything], "$toDate": [anything], "$toObjectId": [anything],
    "$tsSecond": [anything], "$tsIncrement": [anything], "$year": [day], "$month": [day], "$week": [day], "$dayOfYear": [day], "$dayOfMonth": [day],
    "$dayOfWeek": [day], "$isoWeek": [day], "$isoWeekYear": [day], "$isoDayOfWeek": [day], "$hour": [day], "$minute": [day], "$second": [day], "$millisecond": [day],
}  # fmt: skip

# What every operator with named arguments is given; a name with a question mark may be left out.
NAMED = {
    "$convert": {"input": anything, "to": to_type, "onError?": plain, "onNull?": plain},
    "$dateAdd": {"startDate": whole_day, "unit": unit, "amount": small, "timezone?": zone},
    "$dateSubtract": {"startDate": whole_day, "unit": unit, "amount": small, "timezone?": zone},
    "$dateDiff": {"startDate": day, "endDate": day, "unit": unit, "timezone?": zone, "startOfWeek?": one_of("monday", "sun", "Friday", "x", None)},
    "$dateTrunc": {"date": day, "unit": unit, "binSize?": one_of(1, 2, 3, 7, 0, -1, 1.5, None), "timezone?": zone, "startOfWeek?": one_of("monday", "sat", "x", None)},
    "$dateToParts": {"date": day, "timezone?": zone, "iso8601?": one_of(True, False, None, 1)},
    "$dateToString": {"date": day, "format?": part, "timezone?": zone, "onNull?": plain},
    "$dateFromString": {"dateString": one_of(*DAY_TEXTS, None, 5), "format?": part, "timezone?": zone, "onError?": plain, "onNull?": plain},
    "$dateFromParts": {
        "year": one_of(2020, 1, 9999, 0, 10000, 2021.0, 2020.5, None, "x", Int64(1970)), "month?": one_of(1, 12, 13, 0, -1, 14, None, 40000), "day?": one_of(1, 31, 32, 0, -40, 29),
        "hour?": one_of(0, 23, 24, -1, 100), "minute?": one_of(0, 59, 60, 1.0), "second?": one_of(0, 61, -1), "millisecond?": one_of(0, 999, 1000, -1, 2**31), "timezone?": zone,
    },
    "$trim": {"input": text, "chars?": one_of("a", " ", "aX", "", "ä", None, 5)},
    "$ltrim": {"input": text, "chars?": one_of("a", " ", "aX", "", None)},
    "$rtrim": {"input": text, "chars?": one_of("c", " ", "cX", "", None)},
    "$regexMatch": {"input": text, "regex": pattern, "options?": one_of("i", "", "m", "ix", "z", None)},
    "$regexFind": {"input": text, "regex": pattern, "options?": one_of("i", "", "m", "s", None)},
    "$regexFindAll": {"input": text, "regex": pattern, "options?": one_of("i", "", "x", None)},
    "$replaceOne": {"input": text, "find": text, "replacement": text},
    "$replaceAll": {"input": text, "find": text, "replacement": text},
    "$firstN": {"input": listing, "n": small}, "$lastN": {"input": listing, "n": small}, "$minN": {"input": listing, "n": small}, "$maxN": {"input": listing, "n": small},
    "$zip": {"inputs": listings, "useLongestLength?": one_of(True, False, 1), "defaults?": one_of([0, 0], [], [None], None)},
}  # fmt: skip


def argument(rng: random.Random, make):
    """An argument of its kind, seldom of another."""
    pick = rng.random()
    if pick < 0.05:
        return rng.choice([None, MISSING])
    odd = pick < 0.1 and make is not real
    return anything(rng) if odd else make(rng)


def row(rng: random.Random) -> tuple[dict, dict]:
    name = rng.choice(list(ROWS))
    makers = ROWS[name]
    keep = rng.randrange(1, len(makers) + 1) if rng.random() < 0.15 else len(makers)
    given = {f"f{at}": argument(rng, make) for at, make in enumerate(makers[:keep])}
    return {name: ["$" + field for field in given]}, given


def named(rng: random.Random) -> tuple[dict, dict]:
    name = rng.choice(list(NAMED))
    inner, given = {}, {}
    for at, (word, make) in enumerate(NAMED[name].items()):
        if word.endswith("?") and rng.random() < 0.5:
            continue
        word = word.rstrip("?")
        made = argument(rng, make)
        if word in ("useLongestLength", "defaults", "inputs"):
            if word == "inputs":
                made = [{"$literal": one} for one in made] if isinstance(made, list) else None if made is MISSING else {"$literal": made}
            if made is not MISSING:
                inner[word] = made
            continue
        given[f"f{at}"] = made
        inner[word] = f"$f{at}"
    return {name: inner}, given


def shaped(rng: random.Random) -> tuple[dict, dict]:
    """The operators that bring variables, branches or orders of their own."""
    given = {"f0": argument(rng, rng.choice([listing, numbers, mappings])), "f1": argument(rng, plain)}
    compare = rng.choice(["$gt", "$lte", "$eq", "$ne"])
    made = [
        {"$filter": {"input": "$f0", "as": "x", "cond": {compare: ["$$x", "$f1"]}, **rng.choice([{}, {"limit": rng.choice([1, 2, 0, -1, None, 1.5])}])}},
        {"$map": {"input": "$f0", "in": {rng.choice(["$type", "$isNumber", "$toString", "$toInt"]): "$$this"}}},
        {"$reduce": {"input": "$f0", "initialValue": rng.choice([0, "", None, []]), "in": {rng.choice(["$add", "$concat", "$max"]): ["$$value", "$$this"]}}},
        {"$sortArray": {"input": "$f0", "sortBy": rng.choice([1, -1, {"a": 1}, {"a": -1, "b": 1}, {"a.b": 1}, 2, {}, "a"])}},
        {"$switch": {"branches": [{"case": {compare: ["$f1", 1]}, "then": "one"}, {"case": "$f0", "then": "two"}], **rng.choice([{}, {"default": "none"}])}},
        {"$let": {"vars": {"x": "$f0", "y": {"$type": "$f1"}}, "in": [{"$ifNull": ["$$x", "nothing"]}, "$$y", "$$x.a"]}},
        {"$getField": rng.choice(["f0", {"field": "f1", "input": "$$ROOT"}, {"field": "a", "input": "$f0"}, {"field": {"$literal": "$x"}, "input": "$f1"}])},
        {"$setField": {"field": rng.choice(["a", "a.b", {"$literal": "$x"}]), "input": "$f1", "value": rng.choice(["$f0", "$$REMOVE", 5])}},
        {"$unsetField": {"field": rng.choice(["a", "b"]), "input": "$f1"}},
        ["$f0", "$f1", "$f2", {"$ifNull": ["$f2", "$f1"]}],
        "$f0.a", "$f0.a.b", {"a": "$f0.a", "b": {"c": "$f1"}},
        {"$arrayElemAt": ["$f0.a", rng.choice([0, -1, 5])]}, {"$indexOfArray": ["$f0", "$f1"]},
        {rng.choice(["$max", "$min", "$sum", "$avg"]): ["$f0", "$f1", rng.choice([1, 2.5, None, "a"])]},
    ]  # fmt: skip
    return rng.choice(made), given


def expression(rng: random.Random) -> list[dict]:
    """One operator on arguments that come from fields, or stand in the expression itself."""
    made, given = rng.choice([row, row, named, named, shaped])(rng)
    document = {"_id": 0, **{name: value for name, value in given.items() if value is not MISSING}}
    return [{"aggregate": 1, "pipeline": [{"$documents": [{"$literal": document}]}, {"$project": {"x": made}}], "cursor": {}}]
