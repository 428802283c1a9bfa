// Waiting between two looks at the server.

const kHidden_ms = 1000;

/** Waits so long, or until the page is left. False if it is. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(!signal.aborted);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

/** Waits until the browser's tab is seen. */
export async function whileHidden(signal) {
  while (document.hidden && await pause(kHidden_ms, signal));
}
