#!/usr/bin/env python3
"""Archives of torch.export.save for the repository: stack traces keep base file names only.

  strip_paths.py FILE.pt2...     rewrites the files; members keep their order and their alignment of 64 bytes
"""
import os, re, sys, zipfile

PATH = re.compile(rb'(File \\+")/[^"\\]*/([^/"\\]+\\+")')


def strip(path):
    with zipfile.ZipFile(path) as z:
        members = [(info, z.read(info)) for info in z.infolist()]
    new = path + ".new"
    with open(new, "wb") as f, zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as z:
        for info, data in members:
            out = zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0))
            start = f.tell() + 30 + len(out.filename.encode()) + 4  # local header, name, header of the padding field
            pad = -start % 64
            out.extra = b"FB" + pad.to_bytes(2, "little") + b"Z" * pad
            z.writestr(out, PATH.sub(rb"\1\2", data) if info.filename.endswith(".json") else data)
    os.replace(new, path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        strip(name)
