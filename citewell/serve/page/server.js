/**
 * The server, as the page asks it. An error becomes an `Error` whose message says the fix; a server that does not answer is
 * noticed once (an `AwayError`, which the page shows as a line of its own) and asked again until it does; a token is asked for
 * once and kept.
 */

import { keep, recalled } from "./memory.js";

const AGAIN = 2000;
const listeners = new Set();
let token = recalled("token", "");
let wanted = null;
let away = false;
let askForToken = async () => "";

/** Be told when the server goes away or comes back. */
export function whenAwayOrBack(listener) {
  listeners.add(listener);
}

/** Who asks the user for a token when the server wants one. */
export function tokensFrom(ask) {
  askForToken = ask;
}

/** Take the token out of an address that ends in #token=..., as `citewell serve` prints it, and keep it. */
export function tokenFromAddress() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", `${location.pathname}${location.search}#desk`);
}

/** GET, as JSON. */
export const get = async (path, signal) => (await asked(path, { signal })).json();

/** POST an object as JSON; the answer as JSON. */
export const post = async (path, body, signal) => (await posted(path, body, signal)).json();

/** POST an object as JSON; the answer as it is. */
export function posted(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return asked(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** POST files as a form; the answer as JSON. */
export async function upload(path, files, fields = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [name, file] of files) form.append(name, file, file.name);
  return (await asked(path, { method: "POST", body: form })).json();
}

async function asked(path, options) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, { ...options, headers: { ...options.headers, ...bearer() } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    goneAway();
    throw Object.assign(new Error("The server does not answer."), { name: "AwayError" });
  }
  setAway(false);
  if (answer.status === 401) {
    await newToken();
    return asked(path, options);
  }
  if (!answer.ok) throw new Error(await whatWentWrong(answer));
  return answer;
}

const bearer = () => (token ? { Authorization: `Bearer ${token}` } : {});

function setToken(value) {
  token = value.trim();
  keep("token", token);
}

/** Ask the user for a token, once however many requests want one. */
async function newToken() {
  wanted ??= askForToken(Boolean(token))
    .then(setToken)
    .finally(() => (wanted = null));
  await wanted;
}

async function whatWentWrong(answer) {
  try {
    const { detail } = await answer.json();
    if (typeof detail === "string") return detail;
    if (Array.isArray(detail)) return detail.map((each) => `${(each.loc ?? []).slice(1).join(".")}: ${each.msg}`).join("; ");
  } catch {
    // not JSON: the status has to do
  }
  if (answer.status === 413) return "This is larger than the server takes; split it, or use the command line.";
  if (answer.status === 429) return "Too many requests at once; wait a moment and try again.";
  return `The server answered ${answer.status} ${answer.statusText}; its terminal says more.`;
}

function setAway(value) {
  if (value === away) return;
  away = value;
  for (const listener of listeners) listener(away);
}

/** Note that the server is away, and ask it until it is back. */
function goneAway() {
  if (away) return;
  setAway(true);
  const ask = async () => {
    try {
      await fetch("api/health", { cache: "no-store" });
      setAway(false);
    } catch {
      setTimeout(ask, AGAIN);
    }
  };
  setTimeout(ask, AGAIN);
}
