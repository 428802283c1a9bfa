// Requests to the server, for pages and workers.

/** A refused request. `status` 0: it was not sent, because it is none, or no answer came. */
export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const kLongInteger = /[:[,]\s*-?\d{16,}\s*[,}\]]/;

/** Parses JSON. Integers beyond 2^53, which ids may be, become BigInt where the browser can. */
export function parseJson(text) {
  if (!kLongInteger.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) => {
    const exact = typeof value !== "number" || Number.isSafeInteger(value) || !context?.source;
    return exact || !/^-?\d+$/.test(context.source) ? value : BigInt(context.source);
  });
}

/** As `parseJson`, for what a user wrote. Throws ApiError, which says `what` is wrong. */
export function readJson(text, what) {
  try {
    return parseJson(text);
  } catch (error) {
    throw new ApiError(0, `${what} is not JSON: ${error.message}`);
  }
}

/** Writes JSON, with BigInt as the integer that it is. */
export function writeJson(value, indent) {
  const replacer = (_, item) => (typeof item === "bigint" ? JSON.rawJSON?.(String(item)) ?? String(item) : item);
  return JSON.stringify(value, replacer, indent);
}

function errorText(status, text) {
  try {
    return JSON.parse(text).status.error;
  } catch {
    return text || `HTTP status ${status}`;
  }
}

/**
 * Sends a request. `connection` is {base, key}: the server's address with a slash at its end, and the API key.
 * Returns {status, text, elapsed_ms}, whatever the status. Throws ApiError if no answer comes.
 */
export async function exchange(connection, method, path, body, signal) {
  const headers = {};
  if (connection.key) headers["api-key"] = connection.key;
  if (body !== undefined && body !== null) headers["content-type"] = "application/json";
  const started = performance.now();
  try {
    const response = await fetch(connection.base + path.replace(/^\//, ""), {
      method,
      headers,
      body,
      signal,
      cache: "no-store",
    });
    const text = await response.text();
    return { status: response.status, text, elapsed_ms: performance.now() - started };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer.");
  }
}

/** As `exchange`, with JSON in and out. Adds `answer` (the parsed body) and `result`. Throws ApiError for an error. */
export async function send(connection, method, path, body, signal) {
  const text = body === undefined ? undefined : writeJson(body);
  const got = await exchange(connection, method, path, text, signal);
  if (got.status >= 400) throw new ApiError(got.status, errorText(got.status, got.text));
  const answer = parseJson(got.text);
  return { ...got, answer, result: answer.result };
}
