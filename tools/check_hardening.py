#!/usr/bin/env python3
"""Checks that a program was built with what makes mistakes harder to exploit, and that a unit is sandboxed.

usage: check_hardening.py [--links-only] [--unit FILE] [PROGRAM…]      prints what is missing; exit status 1 then

  links        position-independent (PIE), relocations read-only (RELRO) and all at the start (BIND_NOW), no executable
               stack, no relocations in code, no run path that a user could write
  code         stack protector, checked functions of the C library (_FORTIFY_SOURCE); not with --links-only:
               builds with QV_HARDEN=ON have them, as packages do (preset `package`)
  --unit FILE  options of a systemd unit

Needs readelf.
"""
import argparse
import re
import subprocess
import sys

WANTED_OF_UNIT = {
    "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
    "PrivateDevices": "yes", "ProtectKernelTunables": "yes", "ProtectKernelModules": "yes", "ProtectKernelLogs": "yes",
    "ProtectControlGroups": "yes", "ProtectClock": "yes", "ProtectHostname": "yes", "ProtectProc": "invisible",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX", "RestrictNamespaces": "yes", "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes", "LockPersonality": "yes", "MemoryDenyWriteExecute": "yes", "RemoveIPC": "yes",
    "SystemCallArchitectures": "native", "SystemCallFilter": "@system-service", "CapabilityBoundingSet": "",
    "UMask": "0077", "DynamicUser": "yes",
}


def readelf(program, *flags):
    return subprocess.run(["readelf", "-W", *flags, program], capture_output=True, text=True, check=True).stdout


def problems_of_links(program):
    head, segments, dynamic = readelf(program, "-h"), readelf(program, "-l"), readelf(program, "-d")
    if not re.search(r"Type:\s+DYN", head) or not re.search(r"INTERP", segments):
        yield "is not position-independent: link with -pie"
    if "GNU_RELRO" not in segments:
        yield "relocations stay writable: link with -z relro"
    if not re.search(r"BIND_NOW|FLAGS_1\).*\bNOW\b", dynamic):
        yield "functions are bound late, so their table stays writable: link with -z now"
    stack = re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+([RWE ]+?)\s+0x", segments)
    if stack is None or "E" in stack.group(1):
        yield "the stack is executable: link with -z noexecstack"
    if "TEXTREL" in dynamic:
        yield "code has relocations: compile all of it with -fPIE"
    for path in re.findall(r"(?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        for folder in filter(None, path.split(":")):
            if not folder.startswith(("/usr/lib", "/lib", "$ORIGIN")):
                yield f"looks for libraries in `{folder}`"


def problems_of_code(program):
    symbols = readelf(program, "--dyn-syms")
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector: compile with -fstack-protector-strong"
    if not re.search(r"\b__\w+_chk\b(?<!__stack_chk)", symbols):
        yield "calls no checked function: compile with -O2 -D_FORTIFY_SOURCE=3"


def options_of_unit(text):
    """The last value of each option of [Service]; an empty value is one."""
    section = text.split("[Service]", 1)[1].split("\n[", 1)[0]
    return dict(re.findall(r"^(\w+)=(.*)$", section, re.M))


def problems_of_unit(path):
    with open(path, encoding="utf-8") as file:
        found = options_of_unit(file.read())
    for name, value in WANTED_OF_UNIT.items():
        if found.get(name) != value:
            has = f"has {name}={found[name]}" if name in found else f"lacks {name}"
            yield f"{has}, wanted {name}={value}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links-only", action="store_true")
    parser.add_argument("--unit")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    if not options.programs and not options.unit:
        parser.error("name a program or a unit")
    found = [(path, problem) for path in options.programs for problem in problems_of_links(path)]
    if not options.links_only:
        found += [(path, problem) for path in options.programs for problem in problems_of_code(path)]
    if options.unit:
        found += [(options.unit, problem) for problem in problems_of_unit(options.unit)]
    for path, problem in found:
        print(f"{path}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
