// Starts the worker that projects vectors.
import { ApiError } from "./http.js";

/** Browsers that enforce trusted types take a worker's address only from a policy; this one knows one address. */
const kPolicy = globalThis.trustedTypes?.createPolicy("quiver-worker", {
  createScriptURL: () => new URL("map_worker.js", import.meta.url).href,
});
const workerAddress = () => (kPolicy ? kPolicy.createScriptURL("") : new URL("map_worker.js", import.meta.url));

/**
 * Calls `receive(message)` for each message of `lib/map_worker.js`, until it is done or `signal` aborts. Throws its
 * error.
 */
export function projectSample(request, receive, signal) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerAddress(), { type: "module" });
    const end = (settle, value) => {
      worker.terminate();
      settle(value);
    };
    signal.addEventListener("abort", () => end(resolve), { once: true });
    worker.postMessage(request);
    worker.onerror = (event) => end(reject, new ApiError(0, event.message ?? "The worker does not start."));
    worker.onmessage = ({ data }) => {
      if (data.error) end(reject, new ApiError(data.error.status, data.error.message));
      else if (data.done) end(resolve);
      else receive(data);
    };
  });
}
