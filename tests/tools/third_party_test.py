"""Notices of bundled libraries: each library's package is found, and nothing is left out in silence."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import third_party  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/third_party.py", *arguments], capture_output=True, text=True)


@unittest.skipUnless(shutil.which("dpkg") and shutil.which("ldd"), "needs dpkg and ldd")
class ThirdPartyTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = shutil.which("grep")  # needs libpcre2-8 in Debian 12
        self.library = next(path for path in third_party.needed_libraries(self.program) if "pcre" in path.name)

    def test_a_bundled_library_brings_its_copyright(self):
        for name in (self.library.name, self.library.name.replace(".so", "-0123abcd.so")):
            (self.folder / name).touch()
            got = run("--bundled", self.folder, self.program)
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertIn("libpcre2-8-0", got.stdout)
            self.assertIn(Path("/usr/share/doc/libpcre2-8-0/copyright").read_text(errors="replace"), got.stdout)
            (self.folder / name).unlink()

    def test_a_library_of_nobody_is_an_error(self):
        (self.folder / "libnobody.so.1").touch()
        got = run("--bundled", self.folder, self.program)
        self.assertNotEqual(got.returncode, 0)
        self.assertIn("libnobody", got.stderr)

    def test_a_file_of_no_package_is_an_error(self):
        with self.assertRaises(SystemExit):
            third_party.packages_of([self.folder / "libmine.so"])

    def test_names(self):
        for name in ("librocksdb.so.7.8", "librocksdb-1a2b3c4d.so.7.8.3", "librocksdb.so"):
            self.assertEqual(third_party.name_without_hash(name), "librocksdb")
        for name in ("libldap-2.5.so.0", "libldap-2-062bb940.5.so.0.1.8"):
            self.assertEqual(third_party.name_without_hash(name), "libldap-2.5")

    def test_packages_of_one_source_share_a_text(self):
        text = "".join(third_party.notices(["libpcre2-8-0", "libpcre2-8-0"]))
        self.assertEqual(text.count(third_party.RULE), 2)


if __name__ == "__main__":
    unittest.main()
