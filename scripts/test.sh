#!/usr/bin/env bash
# Everything that CI checks: formatting, a release build with all tests and models, then a sanitizer build with tests, damaged
# archives and fuzzers. The last two lines: '<N> passed, <M> failed' and how many models ran.
#   scripts/test.sh         about 20 minutes on two cores when nothing is built yet
#   scripts/test.sh --all   damaged archives of every model of the repository, all models in the sanitizer build, 10 minutes per fuzzer
# $EDGEC_SHARED is the folder with the large model corpus (default ../shared); without it the repository's own models are used.
set -uo pipefail
cd "$(dirname "$0")/.."
export EDGEC_SHARED="${EDGEC_SHARED:-$PWD/../shared}"

all=0 fuzz_seconds=${EDGEC_FUZZ_SECONDS:-60}
case "${1:-}" in
  "") ;;
  --all) all=1 fuzz_seconds=${EDGEC_FUZZ_SECONDS:-600} ;;
  *) echo "usage: scripts/test.sh [--all]" >&2; exit 2 ;;
esac

passed=0 failed=0 models="no models ran"
logs=build/test-logs
mkdir -p $logs
jobs=$(nproc)

finish() {
  echo
  echo "$passed passed, $failed failed"
  echo "$models"
  [ "$failed" = 0 ]
  exit
}
section() { printf '\n== %s (after %d min)\n' "$1" $((SECONDS / 60)); }
count() { passed=$((passed + $1)); failed=$((failed + $2)); }

# One thing that is right or wrong. Its output appears only when it is wrong.
must() {
  local what=$1 log="$logs/${1//[^a-zA-Z0-9]/_}.log"
  shift
  if "$@" >"$log" 2>&1; then
    count 1 0
  else
    echo "FAIL $what ($log):"
    tail -n 60 "$log"
    count 0 1
    return 1
  fi
}

# ctest of a build: googletest's own counts, plus one for every other test.
tests_of() {
  local log=$logs/$1-tests.log
  ctest --test-dir "build/$1" --verbose -j "$jobs" >"$log" 2>&1
  local code=$? good bad
  read -r good bad < <(awk '
    /\[  PASSED  \] [0-9]+ test/ { for (i = 1; i < NF; ++i) if ($i == "PASSED") good += $(i + 2) }
    /\[  FAILED  \] [0-9]+ test/ { for (i = 1; i < NF; ++i) if ($i == "FAILED") bad += $(i + 2) }
    /^[0-9]+: Test command:/ { ++programs }
    /\[==========\] [0-9]+ tests? from .* ran/ { ++google }
    /tests failed out of/ { wrong = $(NF - 5); }
    END { other = programs - google; wrong_google = bad > 0; other_bad = wrong - wrong_google; if (other_bad < 0) other_bad = 0
          print good + other - other_bad, bad + other_bad }' "$log")
  if [ $code != 0 ] && [ "${bad:-0}" = 0 ]; then bad=1; fi
  echo "$1: ${good:-0} passed, ${bad:-0} failed"
  [ $code = 0 ] || grep -E 'FAILED|Failure|ERROR|rror:|Expected|Actual|Which is|Not Run|\*\*\*' "$log" | head -n 100
  count "${good:-0}" "${bad:-0}"
}

# A runner whose last line is '<good> of <tried> ...'.
runner() {
  local log=$logs/$1.log last
  shift
  "$@" 2>&1 | tee "$log" |
    awk -v log_file="$log" '!/^(ok |[0-9]+ of [0-9]+ )/ && ++n <= 60 { print } END { if (n > 60) print "... and " (n - 60) " more lines in " log_file; fflush() }'
  last=$(tail -n 1 "$log")
  echo "$last"
  if [[ $last =~ ^([0-9]+)\ of\ ([0-9]+)\  ]] && [ "${BASH_REMATCH[2]}" != 0 ]; then
    count "${BASH_REMATCH[1]}" $((BASH_REMATCH[2] - BASH_REMATCH[1]))
  else
    echo "FAIL $*: no result"
    count 0 1
  fi
}

section "packages"
./scripts/deps.sh test || { count 0 1; finish; }

section "formatting"
folders=()
for folder in src include tests examples; do [ -d $folder ] && folders+=($folder); done
mapfile -t sources < <(find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' \) | sort)
must "clang-format" clang-format-14 --dry-run -Werror "${sources[@]}"

section "release build"
{ must "configure release" cmake --preset release -DEDGEC_TESTS=ON && must "build release" cmake --build --preset release; } || finish

section "tests"
tests_of release

section "models"
runner models /usr/bin/python3 tests/models/run_models.py --edgec build/release/bin/edgec
runner bounds /usr/bin/python3 tests/models/run_bounds.py --edgec build/release/bin/edgec
runner models-xnnpack /usr/bin/python3 tests/models/run_models.py --edgec build/release/bin/edgec --backend xnnpack
runner bounds-xnnpack /usr/bin/python3 tests/models/run_bounds.py --edgec build/release/bin/edgec --backend xnnpack
models="$(tail -n 1 $logs/models.log)"

section "sanitizer build"
{ must "configure asan" cmake --preset asan && must "build asan" cmake --build --preset asan; } || finish

section "tests with sanitizers"
export ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
tests_of asan

section "damaged archives"
damaged=()
if [ $all = 1 ]; then for folder in tests/models/data/*/; do damaged+=(--models "$(basename "$folder")"); done; fi
runner hostile /usr/bin/python3 tests/hostile/hostile.py --edgec build/asan/bin/edgec "${damaged[@]}"

if [ $all = 1 ]; then
  section "models with sanitizers"
  runner asan-models /usr/bin/python3 tests/models/run_models.py --edgec build/asan/bin/edgec
fi

section "fuzzers, $fuzz_seconds s each"
fuzz() {
  local name seeds work
  name=$(basename "$1")
  work=$PWD/build/fuzz/$name
  mkdir -p "$work"
  seeds="$PWD/tests/fuzz/seeds/$name"
  [ -d "$seeds" ] || seeds=
  (cd "$work" && mkdir -p corpus && "$1" -max_total_time="$2" -rss_limit_mb=2048 -timeout=20 -verbosity=0 corpus $seeds) \
    >"$3/$name.log" 2>&1
}
export -f fuzz
mapfile -t fuzzers < <(find "$PWD/build/asan/fuzz" -type f -name '*_fuzz' 2>/dev/null | sort)
for ((i = 0; i < ${#fuzzers[@]}; i += jobs)); do
  pids=()
  for fuzzer in "${fuzzers[@]:i:jobs}"; do
    fuzz "$fuzzer" "$fuzz_seconds" "$PWD/$logs" &
    pids+=($!)
  done
  for k in "${!pids[@]}"; do
    name=$(basename "${fuzzers[i + k]}")
    if wait "${pids[k]}"; then
      count 1 0
    else
      echo "FAIL $name:"
      tail -n 40 "$logs/$name.log"
      count 0 1
    fi
  done
done

finish
