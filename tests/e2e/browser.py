"""A headless Chromium for tests, driven through its DevTools protocol over a pipe."""
import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time

from patience import patience

NAMES = ("chromium", "chromium-headless-shell", "google-chrome", "chrome")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
         "--disable-dev-shm-usage", "--remote-debugging-pipe"]


def find_browser():
    """The program: $QUIVER_BROWSER, or the first Chromium in the path; None if there is none."""
    return os.environ.get("QUIVER_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One process. `page()` opens a page in a profile of its own, without storage of others."""

    def __init__(self, profile):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Chromium reads descriptor 3 and writes 4. The shell moves them there, whatever their numbers are.
        command = f"exec \"$0\" \"$@\" 3<&{to_browser} 4>&{from_browser}"
        arguments = [find_browser(), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", command, *arguments], pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last_id = 0
        self.events = []

    def send(self, method, session=None, **params):
        """Calls a method of the protocol and returns its result. Events that come meanwhile are kept in `events`."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            got = self._receive()
            if got.get("id") == self._last_id:
                assert "error" not in got, f"{method}: {got['error']}"
                return got["result"]

    def _receive(self):
        while b"\0" not in self._buffer:
            assert select.select([self._in], [], [], patience(20))[0], "the browser does not answer"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def page(self, **kwargs):
        return Page(self, **kwargs)

    def close(self):
        with contextlib.suppress(AssertionError, OSError):
            self.send("Browser.close")
        try:
            self.process.wait(patience(5))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._out)
        os.close(self._in)


class Page:
    """A page in a fresh context. What the console of the browser reports as an error is in `problems`."""

    def __init__(self, browser, width=1280, height=900, dark=False):
        self.browser = browser
        self.context = browser.send("Target.createBrowserContext")["browserContextId"]
        self.target = browser.send("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.expects_errors = False
        self.resize(width, height)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def open(self, url):
        self.send("Page.navigate", url=url)

    def run(self, script):
        """The value of a JavaScript expression, which may await; errors of the page raise."""
        got = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"].get("exception", {}).get("description", got["exceptionDetails"])
        return got["result"].get("value")

    def wait_for(self, condition, idle_s=10):
        """Waits until a JavaScript expression is true, and returns its value."""
        deadline = time.monotonic() + patience(idle_s)
        while time.monotonic() < deadline:
            with contextlib.suppress(AssertionError):
                if value := self.run(condition):
                    return value
            time.sleep(0.03)
        raise AssertionError(f"never true: {condition}\nthe page shows: {self.run('document.body.innerText')[:2000]}\n{self.problems}")

    def wait_for_text(self, text, idle_s=10):
        return self.wait_for(f"document.body.innerText.includes({json.dumps(text)})", idle_s)

    def click(self, selector, text=""):
        """Clicks the first element that matches and whose text or label contains `text`."""
        found = (f"[...document.querySelectorAll({json.dumps(selector)})].find(e => (e.innerText + (e.ariaLabel ?? ''))"
                 f".includes({json.dumps(text)}) && e.checkVisibility())")
        self.wait_for(f"!!({found})")
        self.run(f"({found}).click()")

    def fill(self, selector, value):
        """Sets the value of a control as a user does, events included."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"!!({element})")
        self.run(f"{{ const e = {element}; e.value = {json.dumps(value)}; e.dispatchEvent(new Event('input', {{bubbles: true}}));"
                 f" e.dispatchEvent(new Event('change', {{bubbles: true}})); }}")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1, **more)

    def press(self, key, code=None, **more):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **more)

    def screenshot(self, path, full=False):
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=full)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def _own(self, method):
        return [e["params"] for e in self.browser.events if e["method"] == method and e.get("sessionId") == self.session]

    @property
    def problems(self):
        """Exceptions, and errors and warnings that the page or the browser logged."""
        self.run("0")  # events until now have arrived
        thrown = [e["exceptionDetails"].get("exception", {}).get("description", str(e["exceptionDetails"])) for e in self._own("Runtime.exceptionThrown")]
        said = [str(e["args"]) for e in self._own("Runtime.consoleAPICalled") if e["type"] in ("error", "warning", "assert")]
        logged = [f"{e['entry']['text']} {e['entry'].get('url', '')}" for e in self._own("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")]
        return thrown + said + logged

    @property
    def requests(self):
        """The addresses of all requests."""
        return [e["request"]["url"] for e in self._own("Network.requestWillBeSent")]

    @property
    def received_bytes(self):
        return sum(e["encodedDataLength"] for e in self._own("Network.loadingFinished"))

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
