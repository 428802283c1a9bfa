"""Machines for the nodes of a cluster on this one: addresses between which packets can be dropped, and disks that can be
full or lose their power. Needs root, `ip`, `iptables` and `mkfs.ext4`."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

TOOLS = ("ip", "iptables", "mkfs.ext4", "mount", "losetup")


def why_none():
    """Why machines cannot be made here; None if they can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    probe = run("ip", "netns", "add", "quiver-probe", check=False)
    run("ip", "netns", "delete", "quiver-probe", check=False)
    return None if probe.returncode == 0 else "network namespaces cannot be made"


def run(*command, check=True):
    return subprocess.run(list(map(str, command)), check=check, capture_output=True, text=True)


class Network:
    """A namespace for each of `n` machines, joined by a bridge that this process reaches."""

    def __init__(self, n):
        self.tag = f"qv{os.getpid() % 100000}"
        self.net = f"10.{os.getpid() % 200 + 20}.{os.getpid() // 200 % 200 + 20}"
        self.addresses = [f"{self.net}.{i + 1}" for i in range(n)]
        run("ip", "link", "add", self.tag, "type", "bridge")
        run("ip", "address", "add", f"{self.net}.254/24", "dev", self.tag)
        run("ip", "link", "set", self.tag, "up")
        for i, address in enumerate(self.addresses):
            space, outer, inner = self._names(i)
            run("ip", "netns", "add", space)
            run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
            run("ip", "link", "set", inner, "netns", space)
            run("ip", "link", "set", outer, "master", self.tag, "up")
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", inner)
            run("ip", "-n", space, "link", "set", inner, "up")
            run("ip", "-n", space, "link", "set", "lo", "up")

    def _names(self, i):
        return f"{self.tag}-{i}", f"{self.tag}o{i}", f"{self.tag}i{i}"

    def command_prefix(self, i):
        """What runs a command on machine `i`."""
        return ["ip", "netns", "exec", self._names(i)[0]]

    def drop(self, sender, receiver, ports=None):
        """No packet of `sender` reaches `receiver`; with `ports`: none of connections to or from these."""
        rule = ["-s", self.addresses[sender], "-j", "DROP"]
        rules = [rule] if ports is None else [
            ["-p", "tcp", "-m", "multiport", "--ports", ",".join(map(str, ports)), *rule]]
        for each in rules:
            run(*self.command_prefix(receiver), "iptables", "-A", "INPUT", *each)

    def cut(self, one, others, ports=None):
        """Drops both ways between `one` and each of `others`."""
        for other in others:
            self.drop(one, other, ports)
            self.drop(other, one, ports)

    def heal(self):
        for i in range(len(self.addresses)):
            run(*self.command_prefix(i), "iptables", "-F", "INPUT")

    def close(self):
        for i in range(len(self.addresses)):
            run("ip", "netns", "delete", self._names(i)[0], check=False)
        run("ip", "link", "delete", self.tag, check=False)


class Disk:
    """An ext4 image, mounted at `folder`. What a power cut leaves is what had reached the image's file."""

    def __init__(self, folder, size_mb):
        self.folder = Path(folder)
        self.image = self.folder.with_name(self.folder.name + ".img")
        self.folder.mkdir(parents=True)
        with open(self.image, "wb") as file:
            file.truncate(size_mb << 20)
        run("mkfs.ext4", "-q", "-F", self.image)
        self.mount()

    def mount(self):
        run("mount", "-o", "loop", self.image, self.folder)

    def unmount(self):
        run("umount", self.folder, check=False)

    def photograph(self):
        """Keeps the image as it is now, for `cut_power`."""
        run("cp", "--sparse=always", self.image, self._photo())

    def cut_power(self):
        """Everything since `photograph` has never been. Nobody may use the disk."""
        run("umount", self.folder)
        self._photo().replace(self.image)
        self.mount()

    def _photo(self):
        return self.image.with_suffix(".photo")

    def fill(self):
        """Leaves no byte free."""
        free = os.statvfs(self.folder)
        size = free.f_bavail * free.f_frsize
        with open(self.folder / "filler", "wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError:  # there were fewer bytes than it said
                while file.write(b"0" * 4096):
                    file.flush()

    def free(self):
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self):
        self.unmount()
        self.image.unlink(missing_ok=True)
        self._photo().unlink(missing_ok=True)


def signal_all(processes, number=signal.SIGSTOP):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass
