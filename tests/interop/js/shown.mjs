// What the clients have in common: how they connect, and how they print what the SDK shows its user.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, fetch as undiciFetch } from 'undici';

const names = new Map();

// Made-up ids and times become names, so that two runs can be compared.
const steady = (value, key) => {
  if (Array.isArray(value)) return value.map((one) => steady(one));
  if (value && typeof value === 'object') return Object.fromEntries(Object.keys(value).sort().map((k) => [k, steady(value[k], k)]));
  if (key === 'timestamp') return 'time';
  if (typeof value === 'string' && /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(value)) {
    if (!names.has(value)) names.set(value, `id-${names.size + 1}`);
    return names.get(value);
  }
  return value;
};

export const show = (step, shown) => console.log(JSON.stringify({ step, ...steady(shown) }));

export async function play(step, does) {
  try {
    await does();
  } catch (error) {
    show(step, { error: error.constructor.name, text: error.message });
  }
}

// The certificate of an agent of `semgate up`, or nothing where no directory is given.
export function identity(directory, name) {
  if (!directory) return undefined;
  const up = JSON.parse(readFileSync(join(directory, 'up.json'), 'utf8'));
  const read = (path) => readFileSync(join(directory, path));
  return { ca: read(up.roots), cert: read(up.agents[name].cert), key: read(up.agents[name].key) };
}

export function fetchAs(shown) {
  if (!shown) return fetch;
  const dispatcher = new Agent({ connect: shown });
  return (input, init) => undiciFetch(input, { ...init, dispatcher });
}
