"""Tests of tools/check_hardening.py: programs built with and without each flag."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
#include <cstdio>
#include <cstring>
int main(int n, char** words) { char text[64]; std::strcpy(text, words[n - 1]); return std::printf("%s", text) > 99; }
"""
LINKS = ["-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,now"]
CODE = ["-O2", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong"]


def check(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/check_hardening.py", *map(str, arguments)],
                          capture_output=True, text=True)


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="quiver-hardening-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, *flags):
        source, program = self.folder / "program.cc", self.folder / "program"
        source.write_text(PROGRAM)
        subprocess.run(["g++", *flags, source, "-o", program], check=True, capture_output=True)
        return program

    def test_a_hardened_program(self):
        ran = check(self.build(*LINKS, *CODE))
        self.assertEqual((ran.returncode, ran.stdout), (0, ""))

    def test_each_flag_is_missed(self):
        for flags, wanted in (
                ([*CODE, "-no-pie", "-Wl,-z,relro", "-Wl,-z,now"], "is not position-independent"),
                ([*CODE, "-fPIE", "-pie", "-Wl,-z,norelro", "-Wl,-z,now"], "relocations stay writable"),
                ([*CODE, "-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,lazy"], "bound late"),
                ([*LINKS, *CODE, "-Wl,-z,execstack"], "the stack is executable"),
                ([*LINKS, *CODE, "-Wl,-rpath,/tmp/libraries"], "looks for libraries in `/tmp/libraries`"),
                ([*LINKS, "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-fno-stack-protector"],
                 "has no stack protector"),
                ([*LINKS, "-O2", "-U_FORTIFY_SOURCE", "-fstack-protector-all"], "calls no checked function")):
            with self.subTest(wanted):
                ran = check(self.build(*flags))
                self.assertEqual(ran.returncode, 1)
                self.assertIn(wanted, ran.stdout)
                self.assertEqual(ran.stdout.count("\n"), 1, ran.stdout)

    def test_links_only(self):
        program = self.build(*LINKS, "-O0", "-fno-stack-protector")
        self.assertEqual(check("--links-only", program).returncode, 0)
        self.assertEqual(check(program).returncode, 1)


class Unit(unittest.TestCase):
    def test_the_unit_of_the_package(self):
        ran = check("--unit", ROOT / "deploy/quiver.service")
        self.assertEqual((ran.returncode, ran.stdout), (0, ""))

    def test_what_lacks_is_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".service") as file:
            file.write((ROOT / "deploy/quiver.service").read_text().replace("ProtectHome=yes", "ProtectHome=no")
                       .replace("RestrictRealtime=yes\n", ""))
            file.flush()
            ran = check("--unit", file.name)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("has ProtectHome=no, wanted ProtectHome=yes", ran.stdout)
        self.assertIn("lacks RestrictRealtime, wanted RestrictRealtime=yes", ran.stdout)

    def test_systemd_rates_it_as_safe(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze")
        ran = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20",
                              ROOT / "deploy/quiver.service"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout[-800:] + ran.stderr)


if __name__ == "__main__":
    unittest.main()
