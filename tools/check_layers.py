#!/usr/bin/env python3
"""Checks that rooms include only what ARCHITECTURE.md allows.

The allowed includes are listed in one place: the table under `## Rooms` in ARCHITECTURE.md, with the
columns room, question, may include. A cell of the last column lists rooms and outside libraries,
separated by commas; `everything` turns the check off for a room. A folder below a room may have its own
row (`kernels/cuda`), which then replaces the room's. `base` allows the files directly in that folder,
`base/*` also those of its sub-rooms.

usage: check_layers.py [ROOT]      prints file:line messages; exit status 1 if there are any
"""

import pathlib
import re
import sys

# Headers that mark an outside library. Headers that match none (the standard library, POSIX, fmt,
# tl::expected) may be included anywhere.
LIBRARIES = {
    "boost": r"boost/",
    "cli11": r"CLI/",
    "cuda": r"cuda|cublas|thrust/|cub/",
    "eigen": r"Eigen/",
    "faiss": r"faiss/",
    "nghttp2": r"nghttp2/",
    "hdf5": r"(hdf5|H5)",
    "intrinsics": r"([a-z0-9]*intrin\.h|cpuid\.h|arm_neon\.h|arm_sve\.h)$",
    "libstemmer": r"(libstemmer/)?libstemmer\.h",
    "openssl": r"openssl/",
    "protobuf": r"google/protobuf/",
    "rocksdb": r"rocksdb/",
    "roaring": r"roaring/",
    "simdjson": r"simdjson",
    "spdlog": r"spdlog/",
    "tomlplusplus": r"toml\+\+/",
    "utf8proc": r"utf8proc\.h",
    "xxhash": r"(xxhash|xxh3)\.h",
    "zlib": r"zlib\.h",
    "zstd": r"zstd",
}
ALIASES = {
    "asio": "boost", "beast": "boost", "boost.asio": "boost", "boost.beast": "boost",
    "croaring": "roaring", "immintrin.h": "intrinsics", "toml++": "tomlplusplus",
}
FREE = {"std", "fmt", "tl::expected", "-", ""}
EVERYTHING = {"everything", "anything"}
# Top-level folders that may hold sources and are not rooms.
NO_ROOMS = {"interop", "tests", "bench", "tools", "examples", "build", "cmake"}
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class TableError(Exception):
    """The table is missing or wrong."""


def plain(cell):
    """Strips Markdown from a name: [`base/`](base) -> base."""
    cell = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)
    return re.sub(r"(?<!/)\*", "", cell.replace("`", "")).strip().rstrip("/").lower()


def table_rows(text):
    """Yields the cells of each row of the table below `## Rooms`, without its heading."""
    section = re.search(r"^## Rooms[ \t]*$(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not section:
        raise TableError("no section `## Rooms`")
    lines = [line.strip() for line in section.group(1).splitlines() if line.strip().startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if len(rows) < 3:
        raise TableError("no table under `## Rooms`")
    head = [plain(cell) for cell in rows[0]]
    if head[0] != "room" or head[-1] != "may include":
        raise TableError(f"columns are {head}: wanted `room` first and `may include` last")
    yield from rows[2:]


def expand(name, rooms):
    """Expands `base/*` to base and every room below it; returns any other name alone."""
    if not name.endswith("/*"):
        return [name]
    top = name[:-2]
    return [top, *(room for room in rooms if room.startswith(top + "/"))]


def read_rooms(text):
    """Maps each room to the names that it may include; None means everything."""
    cells = {plain(row[0]): row[-1] for row in table_rows(text)}
    rooms = {}
    for room, cell in cells.items():
        names = [plain(name) for name in re.sub(r"\([^)]*\)", "", cell).split(",")]
        names = [ALIASES.get(name, name) for name in names]
        if EVERYTHING & {name.split(" ")[0] for name in names}:
            rooms[room] = None
            continue
        names = [found for name in names for found in expand(name, cells) if found != room]
        for name in names:
            if name not in cells and name not in LIBRARIES and name not in FREE:
                raise TableError(f"room `{room}` may include `{name}`: no such room or library")
        rooms[room] = set(names)
    check_acyclic(rooms)
    return rooms


def check_acyclic(rooms):
    """Raises TableError if a room can reach itself."""
    finished = set()

    def visit(room, path):
        if room in path:
            raise TableError("rooms include one another: " + " -> ".join([*path, room]))
        if room in finished:
            return
        for name in sorted(rooms[room] or ()):
            # A sub-room is part of its room, neither above nor below it.
            if name in rooms and not room.startswith(name + "/"):
                visit(name, [*path, room])
        finished.add(room)

    for room in rooms:
        visit(room, [])


def room_of(path, rooms):
    """Returns the most specific row for `path` ("kernels/cuda/dot.h"), or None."""
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in rooms:
            return "/".join(parts)
        parts.pop()
    return None


def library_of(header):
    for library, pattern in LIBRARIES.items():
        if re.match(pattern, header):
            return library
    return None


def check_include(room, header, is_quoted, rooms, root):
    """Returns the error of one include in `room`, or None."""
    allowed = rooms[room]
    target = room_of(header, rooms)
    if is_quoted and target is None and not library_of(header):
        if (root / header).is_file():
            return f"`{room}` may not include `{header}`, which is in no room"
        return f"`{header}` is not a path from the repository root"
    name = target if is_quoted and target else library_of(header)
    if name is None or name == room or allowed is None or name in allowed:
        return None
    return f"`{room}` may not include `{name}` ({header})"


def source_files(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file())


def check_file(path, root, rooms):
    relative = path.relative_to(root).as_posix()
    room = room_of(relative, rooms)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        found = INCLUDE.match(line)
        if not found:
            continue
        message = check_include(room, found.group(2), found.group(1) == '"', rooms, root)
        if message:
            yield f"{relative}:{number}: {message}"


def check_tree(root, rooms):
    """Yields all messages. A folder below one of NO_ROOMS is a room if it has a row (`bench/ann`)."""
    for folder in sorted(p for p in root.iterdir() if p.is_dir() and p.name[0] != "."):
        if folder.name in rooms or folder.name in NO_ROOMS:
            for path in source_files(folder):
                if room_of(path.relative_to(root).as_posix(), rooms):
                    yield from check_file(path, root, rooms)
        elif source_files(folder):
            yield f"{folder.name}/:1: holds sources but is no room of ARCHITECTURE.md"


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    table = root / "ARCHITECTURE.md"
    try:
        rooms = read_rooms(table.read_text(encoding="utf-8"))
    except (OSError, TableError) as error:
        print(f"ARCHITECTURE.md:1: {error}")
        return 1
    messages = list(check_tree(root, rooms))
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
