"""How fast the web console is in a headless Chromium: first paint and bytes of each page, and frames of a map of 100,000 points.

usage: bench/console.py URL COLLECTION      a running server, and a collection of it with a dense field
"""
import statistics
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / part) for part in ("e2e", ".")]
from browser import Browser  # noqa: E402

N_RUNS = 5
PAGES = ["collections", "metrics", "requests", "c/{c}/overview", "c/{c}/points", "c/{c}/search", "c/{c}/effort", "c/{c}/map"]
# Draws 100,000 points that move, as fast as the browser shows frames, for three seconds.
FRAMES = """(async () => {
  const { Scatter } = await import('/dashboard/lib/scatter.js');
  const canvas = document.createElement('canvas');
  canvas.style.cssText = 'position:fixed;inset:0;width:1280px;height:800px;z-index:99;background:#fff';
  document.body.append(canvas);
  const scatter = new Scatter(canvas);
  scatter.resize();
  const n = 100000, xy = new Float32Array(2 * n), rgba = new Uint8Array(4 * n);
  for (let i = 0; i < 2 * n; ++i) xy[i] = Math.random() + Math.random();
  for (let i = 0; i < 4 * n; ++i) rgba[i] = i % 4 === 3 ? 200 : 64 * (i % 10 % 4);
  scatter.setPoints(xy, rgba);
  scatter.fit();
  const times = [];
  let busy = 0;
  const end = performance.now() + 3000;
  while (performance.now() < end) {
    times.push(await new Promise(requestAnimationFrame));
    scatter.view = { ...scatter.view, x: scatter.view.x + 1 };
    const from = performance.now();
    scatter.paint();
    busy += performance.now() - from;
  }
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  return [1000 * gaps.length / (times.at(-1) - times[0]), busy / times.length, gaps[Math.floor(gaps.length * .95)]];
})()"""


def loads(browser, url):
    """[first paint in ms, bytes of the console's files] of fresh loads."""
    page = browser.page()
    page.open(url)
    page.wait_for("!!document.querySelector('main h1')")
    paint = page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    size = page.run("performance.getEntriesByType('resource').filter(e => e.name.includes('/dashboard/')).reduce((sum, e) => sum + e.transferSize, 0)")
    problems = page.problems
    page.close()
    return paint, size, problems


def main():
    base, collection = sys.argv[1].rstrip("/"), sys.argv[2]
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        for place in PAGES:
            runs = [loads(browser, f"{base}/dashboard/#/{place.format(c=collection)}") for _ in range(N_RUNS)]
            paints = [paint for paint, _, _ in runs]
            print(f"{place:16} first paint {statistics.median(paints):5.0f} ms (worst {max(paints):.0f}), {runs[0][1] / 1000:.0f} kB, "
                  f"{sum(len(problems) for _, _, problems in runs)} errors")
        page = browser.page()
        page.open(f"{base}/dashboard/")
        page.wait_for("!!document.querySelector('main h1')")
        rate, busy, slow = page.run(FRAMES)
        print(f"map of 100,000 points, 1280 x 800: {rate:.0f} frames a second, {busy:.1f} ms of script each, 95 % within {slow:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
