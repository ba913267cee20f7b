/** The page of a user study: a judge gives a name, marks the suggestions of one text after the other, and can come back. */

import { $, h } from "../page/dom.js";
import { download } from "../page/download.js";
import { announce, notify, showError } from "../page/notices.js";
import { get, onConnectionChange, post, postRaw, setTokenPrompt, tokenFromAddress } from "../page/server.js";
import { load, store } from "../page/storage.js";
import { switchTheme } from "../page/theme.js";
import { askForToken } from "../page/token.js";
import { showAnswer, showContext, watchHeight } from "./context_view.js";
import { listen } from "./keys.js";
import { nextOpen, showProgress } from "./overview.js";

/** @type {import("./types.js").About} */
let about;
/** @type {import("./types.js").Status[]} */
let statuses = [];
/** @type {import("./types.js").Context & { pending: number, stored: import("./types.js").Answer }} */
let context;
let judge = "";
let sending = Promise.resolve(); // marks reach the server in the order in which they were given

async function start() {
  tokenFromAddress();
  setTokenPrompt(askForToken);
  onConnectionChange((offline) => ($("offline").hidden = !offline));
  switchTheme($("theme"));
  listen();
  watchHeight();
  $("start-form").addEventListener("submit", (event) => (event.preventDefault(), begin(nameField().value)));
  $("back").addEventListener("click", () => go(context.number - 1));
  $("next").addEventListener("click", next);
  $("rest").addEventListener("click", markRest);
  $("skip").addEventListener("click", () => leave("skipped"));
  $("insufficient").addEventListener("click", () => leave("insufficient"));
  $("overview-open").addEventListener("click", () => overview().showModal());
  $("download").addEventListener("click", downloadMarks);
  $("leave").addEventListener("click", changeJudge);
  try {
    about = await get("study");
  } catch (error) {
    showError(error);
    return;
  }
  document.title = `${about.name} – citewell study`;
  const columns = about.columns === 1 ? "one recommender" : `${about.columns} recommenders`;
  $("start-about").textContent =
    `You will see ${about.contexts} texts from papers, each with up to ${about.k} suggestions of ${columns}.`;
  $("judge-field").replaceChildren(nameInput());
  const name = load("study-judge", "");
  if (name && (!about.judges.length || about.judges.includes(name))) await begin(name);
  else showStart();
}

const nameField = () => /** @type {HTMLInputElement | HTMLSelectElement} */ ($("judge"));
const overview = () => /** @type {HTMLDialogElement} */ ($("overview"));

function nameInput() {
  if (!about.judges.length) return h("input", { id: "judge", required: true, maxlength: 80, autocomplete: "name" });
  return h(
    "select",
    { id: "judge", required: true },
    h("option", { value: "" }, "Choose your name"),
    about.judges.map((name) => h("option", { value: name }, name)),
  );
}

function showStart() {
  $("judging").hidden = $("session").hidden = true;
  $("start").hidden = false;
  $("who").textContent = "";
  nameField().focus();
}

/** Go on where this judge has stopped. */
async function begin(name) {
  try {
    const progress = await post("progress", { judge: name });
    judge = progress.judge;
    statuses = progress.contexts;
    store("study-judge", judge);
    $("start").hidden = true;
    $("judging").hidden = $("session").hidden = false;
    $("who").textContent = judge;
    const judged = statuses.filter((status) => status !== "open").length;
    if (judged) notify(`Welcome back, ${judge}. You go on where you stopped.`);
    await go(nextOpen(statuses, 0) || 1);
  } catch (error) {
    showError(error);
    showStart();
  }
}

/** Show a context. */
async function go(number) {
  if (number < 1 || number > about.contexts) return;
  try {
    await sending;
    const loaded = await post("context", { judge, number });
    context = { ...loaded, pending: 0, stored: { status: loaded.status, marks: { ...loaded.marks } } };
  } catch (error) {
    showError(error);
    return;
  }
  if (overview().open) overview().close();
  showContext(context, { about, mark });
  refresh();
  scrollTo(0, 0);
  $("number").focus({ preventScroll: true });
  announce(`${$("number").textContent}. ${$("marked").textContent}.`);
}

/** The next text in order; after the last one, the first that is not judged yet. */
function next() {
  if (context.number < about.contexts) return go(context.number + 1);
  const open = nextOpen(statuses, 0);
  if (open) return go(open);
  notify("You have judged every text. Thank you! You can still change any mark.");
  overview().showModal();
}

/** @param {string} paper @param {import("./types.js").Mark} value */
function mark(paper, value) {
  send({ [paper]: value });
}

function markRest() {
  const open = Object.keys(context.papers).filter((paper) => !context.marks[paper]);
  if (open.length) send(Object.fromEntries(open.map((paper) => [paper, /** @type {const} */ ("irrelevant")])));
}

/**
 * Show marks at once and store them.
 *
 * @param {Record<string, import("./types.js").Mark>} marks
 */
function send(marks) {
  const of = context;
  const wasDone = of.status === "done";
  Object.assign(of.marks, marks);
  of.status = Object.keys(of.marks).length === Object.keys(of.papers).length ? "done" : "begun";
  answered(of);
  if (of.status === "done" && !wasDone) announce("All papers of this text are marked.");
  save(of, "marks", { marks });
}

/** @param {"skipped" | "insufficient"} reason */
async function leave(reason) {
  const of = context;
  of.status = reason;
  answered(of);
  save(of, "leave", { reason });
  await sending;
  if (of === context && of.status === reason && of.number < about.contexts) await go(of.number + 1);
}

/** Store an answer. When nothing more is on its way, show what the server has stored: after an error that is less. */
function save(of, path, body) {
  of.pending += 1;
  sending = sending.then(async () => {
    try {
      of.stored = await post(path, { judge, number: of.number, ...body });
    } catch (error) {
      showError(
        error.name === "OfflineError"
          ? new Error("Your last answer was not stored. Give it again when the server responds.")
          : error,
      );
    }
    of.pending -= 1;
    if (of.pending) return;
    of.marks = { ...of.stored.marks };
    of.status = of.stored.status;
    answered(of);
  });
}

function answered(of) {
  statuses[of.number - 1] = of.status;
  if (of === context) showAnswer(of);
  refresh();
}

function refresh() {
  showProgress(statuses, context.number, go);
  /** @type {HTMLButtonElement} */ ($("back")).disabled = context.number === 1;
  const isLast = context.number === about.contexts;
  $("next").textContent = isLast ? (nextOpen(statuses, 0) ? "To an open text" : "Finish") : "Next";
}

async function downloadMarks() {
  try {
    await sending;
    const response = await postRaw("export", { judge });
    download(`judgements-${judge.replace(/[^\p{L}\p{N}]+/gu, "-")}.jsonl`, await response.blob());
  } catch (error) {
    showError(error);
  }
}

function changeJudge() {
  overview().close();
  store("study-judge", "");
  showStart();
}

start();
