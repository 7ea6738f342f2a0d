"""Values for the SQL fuzzer, by type of parameter, as the bytes of a literal; None is NULL. Most are wrong."""

TOKENS = [b"5f0c2f60-0000-4000-8000-%012d" % n for n in range(1, 7)]
NAMES = [b"job", b"dispatch", b"other", b"A", b"w", b"a", b"b", b"c", b"d", b"req", b"item", b"act", b"zz"]
WORDS = [b"claimed", b"available", b"retry", b"manual", b"resolved", b"succeeded", b"failed", b"unknown", b"not_sent",
         b"released", b"running", b"lost", b"synchronous", b"drained", b"runtime", b"observer", b"operator"]
ODD_TEXTS = [
    b"", b" ", b"\t\n", b"x" * 63, b"x" * 64, b"x" * 128, b"x" * 129, b"x" * 255, b"x" * 256, b"x" * 2049, b"x" * 70000,
    "é".encode(), ("é" * 128).encode(), "\U0001f600".encode(), "e\u0301".encode(), "\u200b".encode(), b"\xff\xfe", b"\xc3",
    b"\xe9", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\x01b", b"\x7f", b"'; DROP TABLE ql3.dispatches; --", b"a\\'b", b'a"b',
    b"$$", b"%s%n", b"NULL", b"null", b"-1", b"A" * 127 + b"\xff", b"x" * 2047 + "é".encode(), TOKENS[0],
]
INTEGERS = [b"0", b"1", b"2", b"16", b"128", b"129", b"-1", b"1000", b"100000", b"100001", b"1000000", b"1000001", b"2147483647",
            b"-2147483648", b"2147483648", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"1e3",
            b"0x10", b" 7 ", b"x", b"", b"NaN", b"1.5"]
INTERVALS = [b"0", b"1 us", b"1 s", b"30 s", b"5 min", b"5 min 1 us", b"1 h", b"24 h", b"25 h", b"-1 s", b"1 month", b"100 years",
             b"infinity", b"-infinity", b"NaN", b"", b"30", b"1e9", b"P1Y", b"P1D", b" 5 s ", b"2147483647 days",
             b"-2147483648 days", b"106751991 days", b"9223372036854775807 us", b"1 day -24 hours", b"178000000 years", b"x"]
UUIDS = TOKENS + [b"00000000-0000-0000-0000-000000000000", b"ffffffff-ffff-ffff-ffff-ffffffffffff",
                  b"5f0c2f60-0000-1000-8000-000000000001", b"5f0c2f60-0000-7000-8000-000000000001",
                  b"{5f0c2f60-0000-4000-8000-000000000001}", b"5f0c2f6000004000800000000000001", b"x", b""]
DOCUMENTS = [b"{}", b'{"a": 1}', b'{"a": null}', b'{"a": 1, "a": 2}', b"[]", b"1", b"null", b'"x"', b'{"a": "\\u0000"}',
             b'{"a": "\\ud800"}', b'{"a": NaN}', b"[" * 20000, b"[" * 20000 + b"]" * 20000, b'{"a": "' + b"x" * 8200 + b'"}',
             b'{"a": "' + b"x" * 65530 + b'"}', b'{"a": "' + b"x" * 300000 + b'"}', b'{"a": 1e400}', b'{"a": 1e131071}',
             b'{"\xff": 1}', '{"é": "\U0001f600"}'.encode(), b"", b"{", b'{"a": "\\ud83d\\ude00"}']
RELATIONS = [b"lost", b"jobs", b"public.lost", b"nothing", b"pg_class", b"0", b"1259", b"4294967295", b"-1", b"", b'"', b"a.b.c.d",
             b"lost_pkey", b"ql3.run_recovery_controls", b"\xff"]
ROUTINES = [b"job_lost(text,text,jsonb)", b"job_lost", b"now()", b"now", b"nothing(text)", b"0", b"x(", b"", b"4294967295",
            b"ql3.ql3_claim(text,integer,interval,uuid,text[])", b"\xff()"]
ROLES = [b"postgres", b"fuzzed", b"nobody_at_all", b"public", b"0", b"4294967295", b"", b'"', b"a.b"]
BOOLEANS = [b"true", b"false", b"x", b"", b"1"]

SCALARS = {"text": NAMES * 3 + WORDS * 2 + ODD_TEXTS, "integer": INTEGERS, "bigint": INTEGERS, "interval": INTERVALS, "uuid": UUIDS,
           "jsonb": DOCUMENTS, "regclass": RELATIONS, "regprocedure": ROUTINES, "regrole": ROLES, "boolean": BOOLEANS}


def scalar(random, kind):
    """A value of the kind, or of another kind, or NULL."""
    if random.random() < 0.08:
        return None
    if random.random() < 0.04:
        kind = random.choice(list(SCALARS))
    return random.choice(SCALARS[kind])


def element(value):
    if value is None:
        return b"NULL"
    return b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def array(random, kind):
    if random.random() < 0.06:
        return None
    if random.random() < 0.12:
        return random.choice([b"{}", b"{", b"x", b"{{1,2},{3,4}}", b"{{{a}}}", b"[5:6]={1,2}", b"[0:0]={a}", b"{NULL}",
                              b"{" + b",".join([b"1"] * 129) + b"}", b"{" + b",".join([b"1"] * 100000) + b"}", b"{a,,b}"])
    size = random.choice([1, 1, 1, 1, 2, 3, 5, 128])
    return b"{" + b",".join(element(scalar(random, kind)) for _ in range(size)) + b"}"


def value(random, kind):
    return array(random, kind[:-2]) if kind.endswith("[]") else scalar(random, kind)


def literal(given):
    if given is None:
        return b"NULL"
    return b"E'" + given.replace(b"\\", b"\\\\").replace(b"'", b"''") + b"'"
