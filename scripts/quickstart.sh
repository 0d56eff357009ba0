#!/usr/bin/env bash
# On a fresh Debian 12: installs what is needed, builds edgec, compiles a real model of the repository (CREPE tiny, a pitch estimator
# with its trained weights), runs the program on the official runtime, compares with torch, shows where time and memory went.
set -euo pipefail
cd "$(dirname "$0")/.."

./scripts/deps.sh build
cmake --preset release -DEDGEC_TESTS=OFF >/dev/null
cmake --build --preset release --target edgec

exec /usr/bin/python3 scripts/quickstart.py
