#!/usr/bin/env bash
# Writes the documents that are output of edgec: docs/ops.md, docs/passes.md, and in docs/tour.md each block that follows a
# line `<!-- $ command -->`.
#   scripts/gen_docs.sh [--check] [EDGEC]     --check: only compares, exit code 1 when a document is out of date
set -euo pipefail
cd "$(dirname "$0")/.."
check=0
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
edgec=$(realpath "${1:-build/release/bin/edgec}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$edgec" "$work/edgec"

"$edgec" ops --markdown >"$work/ops.md"
"$edgec" passes --markdown >"$work/passes.md"
PATH="$work:$PATH" python3 - >"$work/tour.md" <<'PYTHON'
import re, subprocess, sys
tour = open("docs/tour.md").read()

def block(m):
    shell = subprocess.run(m[1], shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if shell.returncode:
        sys.exit(f"docs/tour.md: {m[1]}: exit code {shell.returncode}: {shell.stdout}")
    return f"<!-- $ {m[1]} -->\n```\n{shell.stdout.rstrip()}\n```\n"

print(re.sub(r"<!-- \$ (.*?) -->\n```\n.*?```\n", block, tour, flags=re.S), end="")
PYTHON

stale=0
for name in ops passes tour; do
  cmp -s "docs/$name.md" "$work/$name.md" && continue
  if [ $check = 1 ]; then
    diff -u "docs/$name.md" "$work/$name.md" >&2 || true
    echo "docs/$name.md is out of date: scripts/gen_docs.sh" >&2
    stale=1
  else
    cp "$work/$name.md" "docs/$name.md"
  fi
done
exit $stale
