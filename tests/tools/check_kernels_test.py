"""What check_kernels.py accepts and refuses, over texts as the compiler writes them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_kernels  # noqa: E402


def report(name, target="sm_80", stack=0, spilled=0, registers=20, shared=0):
    memory = f", {shared} bytes smem" if shared else ""
    return (f"ptxas info    : Compiling entry function '_ZN3abc{name}Ev' for '{target}'\n"
            f"ptxas info    : Function properties for _ZN3abc{name}Ev\n"
            f"    {stack} bytes stack frame, {spilled} bytes spill stores, {spilled} bytes spill loads\n"
            f"ptxas info    : Used {registers} registers, used 1 barriers{memory}, 504 bytes cmem[0]\n")


def all_kernels(**changed):
    return "".join(report(name, **(changed if name == "finish_pass" else {})) for name in check_kernels.LIMITS)


class CheckKernels(unittest.TestCase):
    def messages(self, text):
        return list(check_kernels.check_log(text))

    def test_good(self):
        self.assertEqual(self.messages(all_kernels()), [])
        self.assertEqual(self.messages(all_kernels(shared=1036)), [])

    def test_over_limits(self):
        for changed, word in (({"spilled": 4}, "spilled"), ({"stack": 8}, "of stack"), ({"registers": 41}, "41 registers"),
                              ({"shared": 4096}, "4096 bytes of shared memory")):
            messages = self.messages(all_kernels(**changed))
            self.assertEqual(len(messages), 1, messages)
            self.assertIn(word, messages[0])

    def test_missing_and_unknown(self):
        self.assertEqual(self.messages(""), ["no kernel in the compiler's output"])
        self.assertIn("set_bars for sm_80: missing", self.messages(report("finish_pass")))
        self.assertIn("not in LIMITS", self.messages(all_kernels() + report("other"))[0])


if __name__ == "__main__":
    unittest.main()
