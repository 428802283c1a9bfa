#!/usr/bin/env python3
"""Copies the pages of the documentation, and the files that they link to, into a folder for mkdocs.

    tools/stage_site.py FOLDER

The copy has the folders of the repository, so links keep their meaning. A link to a folder leads to a page that lists
it. Exit status 1, with a line for each, if a link leads nowhere in the repository.
"""
import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST_PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
LISTED_FOLDERS = ["docs/decisions", "docs/formats"]  # even if no page links to them
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def title_of(page):
    first = page.read_text(encoding="utf-8").split("\n", 1)[0]
    return first.lstrip("# ").strip() or page.stem


def listing_of(folder):
    """A page with a link to each file in `folder`, by the titles of pages."""
    lines = [f"# {folder.relative_to(ROOT).as_posix()}", ""]
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        lines.append(f"- [{title_of(path) if path.suffix == '.md' else path.name}]({path.name})")
    return "\n".join(lines) + "\n"


def front_page(name):
    """The page of a folder: its own README.md, else index.md, which may be a listing."""
    return "README.md" if (ROOT / name / "README.md").exists() else "index.md"


class Stage:
    def __init__(self, target):
        self.target, self.done, self.broken = Path(target), set(), []

    def add(self, name):
        """Copies a file or the listing of a folder, and all that it links to. `name` is a path in the repository."""
        if name in self.done:
            return
        self.done.add(name)
        source = ROOT / name
        if source.is_dir() and front_page(name) in (p.name for p in source.iterdir()):
            self.add(f"{name}/{front_page(name)}")
        elif source.is_dir():
            self.add_text(name + "/index.md", listing_of(source))
        elif source.suffix == ".md":
            self.add_text(name, source.read_text(encoding="utf-8"))
        else:
            copy = self.target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)

    def add_text(self, name, text):
        copy = self.target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(self.with_links(name, text), encoding="utf-8")

    def with_links(self, page, text):
        """The text of a page, in which links to folders name their listings. Code stays as it is."""
        parts, at = [], 0
        for code in CODE.finditer(text):
            # A link's own text may be code: `](` then stands right behind it, in the next part.
            parts += [self.links_of(page, text[at:code.start()]), code.group()]
            at = code.end()
        return "".join(parts) + self.links_of(page, text[at:])

    def links_of(self, page, text):
        return LINK.sub(lambda m: m[1] + self.link(page, m[2]) + m[3], text)

    def link(self, page, link):
        path, hash_mark, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return link
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if name.startswith("..") or not (ROOT / name).exists():
            self.broken.append(f"{page}: {link} leads nowhere")
            return link
        self.add(name)
        return f"{path.rstrip('/')}/{front_page(name)}" if (ROOT / name).is_dir() else path + hash_mark + anchor


def main(target):
    shutil.rmtree(target, ignore_errors=True)
    stage = Stage(target)
    pages = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md"))
    for name in FIRST_PAGES + LISTED_FOLDERS + pages:
        stage.add(name)
    for line in stage.broken:
        print(line, file=sys.stderr)
    return 1 if stage.broken else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
