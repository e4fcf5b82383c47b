#!/bin/sh
# The remote part of the script jig: executes the scripts of a role on the machine.
#
#   sh script-runner.sh DIR
#
# DIR contains attrs.json (the staged data of the run) and the scripts. The files *.sh are executed
# in the order of their names, with DIR as working directory, until one of them exits with another
# status than 0. The last exit status is the result of the run:
#
#     0  ok
#    16  ok; nothing else runs on this node until an operator retries
#    32  ok; power the machine off
#    64  ok; reboot the machine
#   128  not finished; park the run, for an hour or as park_for says
#   any other: failed
#
# Values that the scripts write with write_attribute are stored in DIR/attrs/PATH/wall.
#
# The scripts find these commands in their PATH. A path inside the data is a/b/c; in a name "%" is
# written %25 and "/" %2F; the elements of a list are 0, 1, ...
#
#   read_attribute PATH         prints the value: a string as it is, anything else as JSON; fails
#                               if it is null or missing
#   get_keys PATH               prints the keys of a map or the indexes of a list, one a line
#   flat_attributes PATH        prints every scalar below PATH as a line "path TAB value"; in the
#                               value, \ TAB and line ends are written \\ \t \n
#   write_attribute PATH VALUE  adds the value to the wall data; VALUE is JSON if it starts with { or [
#   park_for SECONDS            if the run parks: it is resumed after this time (1 to 604800)
#   die TEXT                    prints the text to standard error and fails
#   die_because CODE SUBJECT TEXT
#                               the same; the failure gets that reason code (docs/runbook.md), if
#                               scripts may report it, with the subject that the code is about
set -eu

# A JSON parser in awk, because every machine has awk. It assumes valid JSON.
# shellcheck disable=SC2016 # awk expands it, not the shell
json='
function fail(why) { print "attrs.json: " why > "/dev/stderr"; broken = 1; exit 2 }
# Returns the character at position q. Some implementations of awk scan the whole string in every
# substr(), so characters are taken from a window of 1024 characters.
function at(q) {
    if (q < base || q >= base + 1024) { base = q; w = substr(s, q, 1024) }
    return substr(w, q - base + 1, 1)
}
function skip() { while (index(" \t\r\n", c = at(p)) && c != "") p++ }
function enc(k) { gsub(/%/, "%25", k); gsub(/\//, "%2F", k); return k }
function utf8(n) {
    if (n < 128) return sprintf("%c", n)
    if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
    if (n < 65536)
        return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
    return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64,
        128 + int(n / 64) % 64, 128 + n % 64)
}
function hex(t,   i, n) {
    n = 0
    for (i = 1; i <= 4; i++)
        n = n * 16 + index("0123456789abcdef", tolower(substr(t, i, 1))) - 1
    return n
}
function text(   out, from, n, low, rest) {
    out = ""; from = ++p
    while ((c = at(p)) != "\"") {
        if (c == "") fail("unterminated string")
        if (c != "\\") {
            rest = substr(w, p - base + 1); n = match(rest, /["\\]/)
            p += n ? n - 1 : length(rest); continue
        }
        out = out substr(s, from, p - from); c = substr(s, p + 1, 1); p += 2
        if (c == "n") out = out "\n"
        else if (c == "t") out = out "\t"
        else if (c == "r") out = out "\r"
        else if (c == "b") out = out "\b"
        else if (c == "f") out = out "\f"
        else if (c == "u") {
            n = hex(substr(s, p, 4)); p += 4
            if (n >= 55296 && n < 56320) {
                low = hex(substr(s, p + 2, 4)); p += 6
                n = 65536 + (n - 55296) * 1024 + low - 56320
            }
            out = out utf8(n)
        } else out = out c
        from = p
    }
    return out substr(s, from, p++ - from)
}
function below(path, first) { return path == "" ? first : path "/" first }
function single(path, value) {
    if (mode == "read" && path == want) { found = 1; print value }
    if (mode == "flat" && (want == "" || index(path, want "/") == 1)) {
        gsub(/\\/, "&&", value); gsub(/\t/, "\\t", value); gsub(/\n/, "\\n", value)
        print substr(path, want == "" ? 1 : length(want) + 2) "\t" value
    }
}
function member(path, key) { if (mode == "keys" && path == want) { found = 1; print key } }
function value(path,   from, key, n, v) {
    skip(); from = p
    if (c == "{") {
        p++; skip()
        while (c != "}") {
            key = enc(text()); member(path, key); skip(); p++
            value(below(path, key)); skip()
            if (c == ",") { p++; skip() }
        }
        p++
    } else if (c == "[") {
        p++; skip(); n = 0
        while (c != "]") {
            member(path, n); value(below(path, n++)); skip()
            if (c == ",") { p++; skip() }
        }
        p++
    } else if (c == "\"") { single(path, text()); return }
    else {
        while ((c = at(p)) != "" && !index(",]} \t\r\n", c)) p++
        v = substr(s, from, p - from)
        if (v == "") fail("missing value")
        if (v != "null") single(path, v)
        return
    }
    if (mode == "read" && path == want) { found = 1; print substr(s, from, p - from) }
}
{ s = s $0 "\n" }
END { if (broken) exit 2; p = 1; base = -1024; value(""); exit broken ? 2 : mode == "read" && !found }
'

ask() { # MODE PATH
    want=$2 LC_ALL=C awk -v "mode=$1" "BEGIN { want = ENVIRON[\"want\"] } $json" \
        "$HALLIGAN_RUN_DIR/attrs.json"
}

case ${1:-} in
read_attribute)
    ask read "$2"
    exit ;;
get_keys)
    ask keys "$2"
    exit ;;
flat_attributes)
    ask flat "$2"
    exit ;;
write_attribute)
    case /$2/ in
    */../* | */./* | *//*)
        echo "write_attribute: \"$2\" is not a valid path: it has an empty part, . or .." >&2
        exit 1 ;;
    esac
    mkdir -p "$HALLIGAN_RUN_DIR/attrs/$2"
    printf '%s' "$3" > "$HALLIGAN_RUN_DIR/attrs/$2/wall"
    exit ;;
park_for)
    printf '%d' "$2" > "$HALLIGAN_RUN_DIR/.park"
    exit ;;
die)
    shift
    printf '%s\n' "$*" >&2
    exit 1 ;;
die_because)
    printf '%s %s\t%s' "$2" "$3" "$4" | tr '\n' ' ' > "$HALLIGAN_RUN_DIR/.reason"
    printf '%s\n' "$4" >&2
    exit 1 ;;
esac

if [ $# -ne 1 ] || [ ! -f "$1/attrs.json" ]; then
    echo "usage: $0 DIR" >&2
    exit 1
fi
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
HALLIGAN_RUN_DIR=$(cd "$1" && pwd)
export HALLIGAN_RUN_DIR
cd "$HALLIGAN_RUN_DIR"

mkdir -p bin
for command in read_attribute get_keys flat_attributes write_attribute park_for die die_because; do
    printf '#!/bin/sh\nexec sh '\''%s'\'' %s "$@"\n' "$self" "$command" > "bin/$command"
    chmod 755 "bin/$command"
done
PATH=$HALLIGAN_RUN_DIR/bin:$PATH
export PATH

for script in ./*.sh; do
    [ -f "$script" ] || continue
    echo "== ${script#./}"
    case $(head -n 1 "$script") in
    '#!'*bash*) shell='bash' ;;
    *) shell='sh' ;;
    esac
    code=0
    "$shell" -e "$script" || code=$?
    [ "$code" -eq 0 ] || exit "$code"
done
