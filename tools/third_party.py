#!/usr/bin/env python3
"""Prints the notices of other people's work in a package: the copyright files of the Debian packages that it came from.

usage: third_party.py [--build FOLDER] [--bundled FOLDER] PROGRAM…

  --system          with the C library and the compiler's own files, which a container has and other packages find
  --build FOLDER    a build folder of ninja: packages whose headers were compiled in; may be given twice
  --bundled FOLDER  packages of the shared libraries in this folder, which PROGRAM needs; `auditwheel` adds a hash to
                    their names

Fails if a package has no copyright
file, so that no package is shipped without its licence. Needs dpkg and ldd.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

SYSTEM = ("libc6", "libc6-dev", "linux-libc-dev", "libstdc++-12-dev", "libgcc-12-dev", "libcrypt-dev")
RULE = "=" * 100


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(program):
    """Paths of the shared libraries that the loader would take."""
    return [Path(path) for path in re.findall(r"=> (/\S+) \(", output_of("ldd", program))]


def name_without_hash(name):
    """`librocksdb-1a2b3c4d.so.7.8.3` and `librocksdb.so.7.8` are both `librocksdb`. The hash precedes the first dot."""
    return re.sub(r"\.so.*", "", re.sub(r"-[0-9a-f]{8}\.", ".", name))


def bundled_libraries(programs, folder):
    names = {name_without_hash(path.name) for path in folder.iterdir()}
    needed = {path.name: path for program in programs for path in needed_libraries(program)}
    found = [path for path in needed.values() if name_without_hash(path.name) in names]
    missing = names - {name_without_hash(path.name) for path in found}
    if missing:
        sys.exit(f"third_party.py: {', '.join(sorted(missing))} in {folder}: no program given needs them")
    return found


def compiled_headers(folder):
    """One header of each folder of /usr/include that a file was compiled with."""
    headers = re.findall(r"^\s+(/usr/include/\S+)$", output_of("ninja", "-C", str(folder), "-t", "deps"), re.M)
    by_folder = {}
    for header in headers:
        parts = Path(header).relative_to("/usr/include").parts
        depth = 2 if parts[0].endswith("-linux-gnu") else 1
        by_folder.setdefault(parts[:depth], Path(header))
    return by_folder.values()


def packages_of(files, left_out=SYSTEM):
    """Names of the Debian packages. /lib is /usr/lib, and dpkg knows a file by one of both."""
    found = set()
    for file in files:
        real = file.resolve()
        for path in (file, real, Path(str(real).removeprefix("/usr")), Path("/usr", *real.parts[1:])):
            asked = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True)
            if asked.returncode == 0:
                found.add(asked.stdout.split(":")[0])
                break
        else:
            sys.exit(f"third_party.py: {file} is of no Debian package: its licence is not known")
    return sorted(found - set(left_out))


def notices(packages):
    """Texts by copyright, each with the packages that it is of: packages of one source share a file."""
    by_text = {}
    for package in packages:
        text = Path("/usr/share/doc", package, "copyright").read_text(errors="replace")
        by_text.setdefault(text, []).append(package)
    yield "This package contains work of others. Below are the copyright files of the Debian packages it came from.\n"
    yield from (f"{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}" for text, names in by_text.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, action="append", default=[])
    parser.add_argument("--bundled", type=Path)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--system", action="store_true")
    arguments = parser.parse_args()
    files = [header for folder in arguments.build for header in compiled_headers(folder)]
    if arguments.bundled:
        files += bundled_libraries(arguments.programs, arguments.bundled)
    print("\n".join(notices(packages_of(files, () if arguments.system else SYSTEM))))


if __name__ == "__main__":
    main()
