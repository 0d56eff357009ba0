#!/usr/bin/env bash
# Installs what edgec needs on Debian 12, and unpacks the official runtime below build/deps. Does nothing that is done already.
#   scripts/deps.sh build   to build and run the tool (default)
#   scripts/deps.sh test    and what scripts/test.sh uses: clang, sanitizers, clang-format, googletest
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build libfmt-dev libsimdjson-dev zlib1g-dev libcli11-dev libxxhash-dev
  libflatbuffers-dev flatbuffers-compiler flatbuffers-compiler-dev libsentencepiece-dev
  ca-certificates python3 python3-venv)
case "${1:-build}" in
  build) ;;
  test) packages+=(clang-14 libclang-rt-14-dev clang-format-14 libgtest-dev sentencepiece adb) ;;
  *) echo "usage: scripts/deps.sh [build|test]" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# The wheel is unpacked, not installed: only its headers and libraries are used, never its Python.
deps=build/deps
if [ ! -e $deps/executorch/share/cmake/executorch-config.cmake ]; then
  echo "fetching the runtime: $(grep -o 'executorch==[0-9.]*' scripts/executorch-wheel.txt)"
  rm -rf $deps/executorch $deps/executorch-wheel $deps/download
  mkdir -p $deps/download
  [ -x $deps/venv/bin/pip ] || /usr/bin/python3 -m venv $deps/venv
  $deps/venv/bin/pip --disable-pip-version-check download --quiet --no-deps --only-binary=:all: --python-version 3.11 \
    --platform "manylinux_2_28_$(uname -m)" --require-hashes -r scripts/executorch-wheel.txt -d $deps/download
  /usr/bin/python3 -m zipfile -e $deps/download/executorch-*.whl $deps/executorch-wheel
  rm -rf $deps/download
  ln -s executorch-wheel/executorch $deps/executorch
fi
