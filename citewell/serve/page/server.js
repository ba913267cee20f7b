/**
 * Requests to the server. An error response becomes an `Error` with the server's message. If the server does not respond, requests
 * fail with an `OfflineError`, which the page shows as a line of its own, and the page polls until the server is back. The user is
 * asked for a token once; it is stored in the browser.
 */

import { load, store } from "./storage.js";

const POLL_EVERY = 2000;
const listeners = new Set();
let token = load("token", "");
let prompting = null;
let offline = false;
/** @type {(wrong: boolean) => Promise<string>} */
let askForToken = async () => "";

/** Call `listener(offline)` when the connection to the server is lost or restored. */
export function onConnectionChange(listener) {
  listeners.add(listener);
}

/** Set the function that asks the user for a token. */
export function setTokenPrompt(prompt) {
  askForToken = prompt;
}

/** Store the token of an address that ends in #token=..., which `citewell serve` opens, and remove it from the address. */
export function tokenFromAddress() {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (!match) return;
  setToken(decodeURIComponent(match[1]));
  history.replaceState(null, "", `${location.pathname}${location.search}#editor`);
}

/** GET JSON. */
export const get = async (path, signal) => (await request(path, { signal })).json();

/** POST JSON; the response as JSON. */
export const post = async (path, body, signal) => (await postRaw(path, body, signal)).json();

/** DELETE; the response as JSON. */
export const remove = async (path) => (await request(path, { method: "DELETE" })).json();

/** POST JSON; the response as it is. */
export function postRaw(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** POST files as a form; the response as JSON. */
export async function upload(path, files, fields = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [name, file] of files) form.append(name, file, file.name);
  return (await request(path, { method: "POST", body: form })).json();
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(`api/${path}`, { ...options, headers: { ...options.headers, ...bearer() } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    startPolling();
    throw Object.assign(new Error("The server is not responding."), { name: "OfflineError" });
  }
  setOffline(false);
  if (response.status === 401) {
    await newToken();
    return request(path, options);
  }
  if (!response.ok) throw new Error(await errorMessage(response));
  return response;
}

const bearer = () => (token ? { Authorization: `Bearer ${token}` } : {});

function setToken(value) {
  token = value.trim();
  store("token", token);
}

/** Ask the user for a token, once for all requests that need it. */
async function newToken() {
  prompting ??= askForToken(Boolean(token))
    .then(setToken)
    .finally(() => (prompting = null));
  await prompting;
}

async function errorMessage(response) {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
    if (Array.isArray(detail)) return detail.map((each) => `${(each.loc ?? []).slice(1).join(".")}: ${each.msg}`).join("; ");
  } catch {
    // not JSON: use the status
  }
  if (response.status === 413) return "The file is larger than the server allows; split it or use the command line.";
  if (response.status === 429) return "Too many requests; wait a moment and try again.";
  return `The server responded with ${response.status} ${response.statusText}; its log has the details.`;
}

function setOffline(value) {
  if (value === offline) return;
  offline = value;
  for (const listener of listeners) listener(offline);
}

/** Note that the server is offline, and poll it until it responds. */
function startPolling() {
  if (offline) return;
  setOffline(true);
  const poll = async () => {
    try {
      await fetch("api/health", { cache: "no-store" });
      setOffline(false);
    } catch {
      setTimeout(poll, POLL_EVERY);
    }
  };
  setTimeout(poll, POLL_EVERY);
}
