// What one page leaves for another, within the tab: a filter, a request.

const stored = new Map();

export function leave(name, value) {
  stored.set(name, value);
}

/** The value, which is forgotten then; undefined if there is none. */
export function take(name) {
  const value = stored.get(name);
  stored.delete(name);
  return value;
}
