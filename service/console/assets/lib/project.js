// Starts the worker that projects vectors.

/** Browsers that enforce trusted types take a worker's address only from a policy; this one knows one address. */
const kPolicy = globalThis.trustedTypes?.createPolicy("quiver-worker", { createScriptURL: () => new URL("map_worker.js", import.meta.url).href });
const workerAddress = () => (kPolicy ? kPolicy.createScriptURL("") : new URL("map_worker.js", import.meta.url));

/** Calls `receive(message)` for each message of `lib/map_worker.js`, until it is done or `signal` aborts. Throws its error. */
export function projectSample(request, receive, signal) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerAddress(), { type: "module" });
    const end = (settle, value) => { worker.terminate(); settle(value); };
    signal.addEventListener("abort", () => end(resolve), { once: true });
    worker.postMessage(request);
    worker.onerror = (event) => end(reject, Object.assign(new Error(event.message ?? "The worker does not start."), { status: 0 }));
    worker.onmessage = ({ data }) => {
      if (data.error) end(reject, Object.assign(new Error(data.error.message), { status: data.error.status }));
      else if (data.done) end(resolve);
      else receive(data);
    };
  });
}
