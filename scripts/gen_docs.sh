#!/usr/bin/env bash
# Writes the documents that are output of edgec: docs/ops.md and docs/passes.md.
#   scripts/gen_docs.sh [--check] [EDGEC]     --check: only compares, exit code 1 when a document is out of date
set -euo pipefail
cd "$(dirname "$0")/.."
check=0
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
edgec=${1:-build/release/bin/edgec}
stale=0
for name in ops passes; do
  if [ $check = 1 ]; then
    "$edgec" $name --markdown | diff -u docs/$name.md - >&2 || { echo "docs/$name.md is out of date: scripts/gen_docs.sh" >&2; stale=1; }
  else
    "$edgec" $name --markdown >docs/$name.md
  fi
done
exit $stale
