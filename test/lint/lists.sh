#!/bin/sh
# What is a list in the sources is whole where it has to be repeated: constants of
# the public headers in the table of their bodies, names on the pages that explain
# them. The compiler checks the rest.
set -eu
failed=0

# constants PREFIX: the rest of the names of the headers' constants that begin so.
constants()
{
    sed -n "s/^#define $1\([A-Z0-9_]*\) .*/\1/p" include/exatrkx/*.h
}

# entries FILE MACRO K: argument K of each X(...), or COLUMN(...), of a list.
entries()
{
    awk -v start="#define $2(" 'index($0, start) == 1 { on = 1 }
        on { print }
        on && !/\\$/ { exit }' "$1" |
        sed -n -e 's/^#define [^ ]*//' -e 's/^ *[A-Z]*(\([^)]*\)).*/\1/p' |
        cut -d, -f"$3" | tr -d ' "'
}

# fields NAME: of the struct etx_NAME_options.
fields()
{
    sed -n "/define S etx_$1_options/,/undef S/s/.*FIELD[A-Z_]*(S, \([a-z0-9_]*\),.*/\1/p" \
        src/stage/options.c
}

# same WHAT LIST FILE LIST: the same words in the same order.
same()
{
    first=$(echo "$2" | xargs)
    second=$(echo "$4" | xargs)
    [ -n "$first" ] && [ "$first" = "$second" ] && return
    echo "$1: $first - but in $3: $second" >&2
    failed=1
}

# documented WHAT PAGE LIST: each word stands there, as code or as a key.
documented()
{
    [ -n "$3" ] || { echo "$1: none was found" >&2; failed=1; }
    for name in $3; do
        grep -q "[\`\"]\(label\.\)\?${name}[\`\"]" "$2" && continue
        echo "$1 $name: no word of it in $2" >&2
        failed=1
    done
}

same 'status codes' "$(constants ETX_ERR_)" src/api/version.c \
    "$(sed -n 's/^    "ETX_ERR_\([A-Z0-9_]*\)",$/\1/p' src/api/version.c)"
python=bindings/python/exatrkx
same 'status codes' "$(constants ETX_ERR_)" $python/_errors.py \
    "$(sed -n 's/^    status = _declarations.ETX_ERR_//p' $python/_errors.py)"
# What `make declarations` writes of the headers.
same constants "$(sed -n 's/^#define ETX_\([A-Z0-9_]*\) *(*-*[0-9].*/\1/p' \
    include/exatrkx/[!d]*.h | sort)" $python/_declarations.py \
    "$(sed -n 's/^ETX_\([A-Z0-9_]*\) = .*/\1/p' $python/_declarations.py | sort)"
same functions "$(sed -n 's/^ *etx_\([a-z0-9_]*\);$/\1/p' lib/exatrkx.map | sort)" \
    $python/_declarations.py \
    "$(sed -n 's/^    "etx_\([a-z0-9_]*\)": (.*/\1/p' $python/_declarations.py | sort)"
for struct in $(entries src/stage/options.h ETX_OPTIONS_TYPES 1); do
    same "options of $struct" "struct_size $(fields "$struct")" \
        $python/_declarations.py "$(sed -n "/^class etx_${struct}_options(/,/\]/{
            s/^ *(\"\([a-z0-9_]*\)\", .*/\1/p
        }" $python/_declarations.py)"
done
errors=$(sed -n 's/^class \([A-Za-z]*Error\)(Error.*/\1/p' $python/_errors.py)
same exceptions "$(echo "$errors" | sort)" $python/__init__.py \
    "$(sed -n 's/^    from ._errors import \([A-Za-z]\{6,\}\) as.*/\1/p' \
        $python/__init__.py | sort)"
imported=$(sed -n 's/^    from \.[a-z_.]* import \([A-Za-z_]*\) as.*/\1/p' \
    $python/__init__.py)
same 'names of the package' "$(echo "$imported" | sort)" "$python/__init__.py" \
    "$(sed -n '/^_NAMES_OF/,/^}/s/^    \("[a-z_.]*": \)\?"\(.*\)",\?$/\2/p' \
        $python/__init__.py | tr ' ' '\n' | grep . | sort)"
documented exception docs/python.md "$errors"

tracks=src/stage/track_building
methods=$(entries $tracks/track_building.h ETX_LABEL_METHODS 1)
same 'label methods' "$(constants ETX_LABEL_)" $tracks/track_building.h "$methods"
for method in $methods; do
    grep -q "ETX_LABEL_$method\>" test/unit/test_*.c && continue
    echo "label method $method: no test of its rule in test/unit" >&2
    failed=1
done
methods=$(entries $tracks/track_building.h ETX_LABEL_METHODS 2)
documented 'label method' $tracks/README.md "$methods"
documented 'label method' docs/model_format.md "$methods"

# levels FIELD: of all architectures, in the order of their names.
levels()
{
    for list in X86 ARM; do
        entries src/base/cpu.h ETX_CPU_LEVELS_$list "$1"
    done | sort
}
same 'CPU levels' "$(constants ETX_CPU_ | grep -vx -e BEST -e REF | sort)" \
    src/base/cpu.h "$(levels 1)"
same 'CPU levels' "$(levels 2)" examples/program.c \
    "$(sed -n '/^static int cpu_level/,/};/p' examples/program.c |
        grep -oE '"[a-z0-9]+"' | tr -d '"' | grep -vx ref | sort)"
for file in examples/program.[ch] docs/man.awk docs/troubleshooting.md \
    $python/_context.py; do
    for level in $(levels 2); do
        grep -q "\<ref\>[^}]*\<$level\>" "$file" && continue
        echo "CPU level $level: not where $file lists them" >&2
        failed=1
    done
done

# A struct_size is refused below that of the first release that has the struct, or,
# where none has, of today: last_field STRUCT is its last field there.
last_field()
{
    for headers in $(find lib/abi -name exatrkx -type d 2>/dev/null | sort -V) \
        include/exatrkx; do
        grep -q "^} $1;" "$headers"/*.h && break
    done
    cat "$headers"/*.h | sed -n "/^typedef struct $1 {/,/^} $1;/p" | tr '\n' ' ' |
        sed -E 's,/\*[^*]*\*+([^/*][^*]*\*+)*/,,g' | tr ';' '\n' | grep -v '^ *}' |
        grep '[a-z]' | tail -n 1 |
        sed 's/.*(\*\([a-z_]*\))(.*/\1/; s/.*[ *]\([a-z0-9_]*\)$/\1/'
}
sizes=$({
    entries src/stage/options.h ETX_OPTIONS_TYPES 1,3 | sed 's/,/_options /; s/^/etx_/'
    grep -rhoE '(SIZE_UP_TO|offsetof)\(etx_[a-z_]*, [a-z_]*\)' src/api src/dist \
        src/train | sed 's/.*(\(.*\), \(.*\))/\1 \2/'
} | sort -u)
same 'structs with a first size' "$(echo "$sizes" | cut -d' ' -f1)" include/exatrkx \
    "$(cat include/exatrkx/*.h | awk '/^typedef struct/ { name = $3 }
        /uint32_t struct_size;/ { print name }' | sort)"
while read -r struct field; do
    same "first size of $struct" "$field" 'its header' "$(last_field "$struct")"
done <<END
$sizes
END

for column in $(entries src/data/event.h ETX_EVENT_COLUMNS 2); do
    grep -q "event->$column\>" src/data/event*.c && continue
    echo "column of hits $column: nothing sets it in src/data/event*.c" >&2
    failed=1
done
for struct in label completion first_pass; do
    documented "option of $struct" docs/model_format.md "$(fields $struct)"
done
# Python has its own way to cancel, and no stream.
for field in $(fields context | grep -vx -e cancel_user -e stream); do
    grep -q " $field=" $python/_context.py && continue
    echo "context option $field: no argument in $python/_context.py" >&2
    failed=1
done
documented 'edge feature' docs/model_format.md \
    "$(entries src/op/graph.h ETX_EDGE_FEATURES 2)"
documented 'node feature' docs/model_format.md \
    "$(sed -n 's/^    {"\([A-Za-z_]*\)", ETX_HIT_.*/\1/p' src/data/hit_features.c)"
documented 'training option' docs/training_config.md \
    "$(sed -n 's/^    [A-Z]*([a-z_]*, "\([a-z_0-9]*\)".*/\1/p' \
        src/train/config_sections.c)"
documented 'stage of training' docs/training_config.md \
    "$(entries src/train/config.h ETX_TRAIN_STAGES 2)"
same objectives "$(entries src/train/config.h ETX_TRAIN_STAGES 3 | sort -u)" \
    src/train/objective/ \
    "$(basename -a -s _objective.c src/train/objective/*_objective.c)"
for file in src/train/objective/*_objective.c; do
    grep -q "(../$file)" docs/training_objectives.md && continue
    echo "objective: no link to $file in docs/training_objectives.md" >&2
    failed=1
done
# Each public function that fails is stopped by a test, but those that copy, count or
# set, and ranks, which have a deadline.
fallible=$(cat include/exatrkx/[!d]*.h | tr '\n' ' ' |
    grep -oE 'ETX_MUST_CHECK etx_status +etx_[a-z0-9_]+' | sed 's/.* etx_//')
for name in $(echo "$fallible" | grep -vE '^(dist|context|set)_|_(init|options)$' |
    grep -vE '_(set|from)_|_device$|^tracks_(select|resolve)|^trainer_(create|model)$' |
    grep -vxE 'evaluation_rates|gradient_sum|trainer_add_event_of_rank'); do
    grep -q "{\"etx_$name\"," test/unit/test_stop*.c && continue
    echo "etx_$name: not in the tables of test/unit/test_stop*.c" >&2
    failed=1
done
# Each row of the limits in SECURITY.md names its tests.
limits=$(sed -n '/^## Limits/,/^## Work/s/^| .* | \(.*\) |$/\1/p' SECURITY.md)
for name in $(echo "$limits" | tail -n +2 | tr -d '\140,'); do
    grep -q "_TEST(${name}[,)]" test/unit/*.c && continue
    echo "SECURITY.md, limits: no test $name" >&2
    failed=1
done
[ $failed = 0 ] && echo 'lists: whole, and on their pages'
exit $failed
