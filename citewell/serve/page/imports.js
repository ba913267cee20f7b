/** Imports files into the library. Each import is a job of the server, shown with a progress bar. */

import { $, counted, h } from "./dom.js";
import { delay } from "./delay.js";
import { announce, showError } from "./notices.js";
import { get, upload } from "./server.js";

const POLL_EVERY = 400;

/** Set up the import area; `added()` is called when papers were added. */
export function setUpImports(added) {
  const area = $("add-area");
  const view = $("library-view"); // files may be dropped anywhere on the view
  const importFiles = (files) => files.length && start([...files], added);
  $("add").addEventListener("click", () => $("add-files").click());
  $("add-files").addEventListener("change", () => {
    importFiles($("add-files").files);
    $("add-files").value = "";
  });
  for (const name of /** @type {const} */ (["dragover", "dragleave", "drop"])) {
    view.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      area.classList.toggle("over", name === "dragover");
      if (name === "drop") importFiles(event.dataTransfer.files);
    });
  }
  resume(added);
}

async function start(files, added) {
  const names = files.length === 1 ? files[0].name : counted(files.length, "file");
  const line = lineFor(names);
  try {
    const { job } = await upload(
      "add",
      files.map((file) => ["files", file]),
    );
    await watch(job, line, added);
  } catch (error) {
    line.fail(error.message);
  }
}

/** Show the imports that were running when the page was opened. */
async function resume(added) {
  try {
    const jobs = await get("jobs");
    for (const job of jobs.filter(({ state }) => state === "waiting" || state === "running")) {
      const line = lineFor("Import");
      watch(job.id, line, added).catch((error) => line.fail(error.message));
    }
  } catch (error) {
    showError(error);
  }
}

async function watch(id, line, added) {
  for (;;) {
    const job = await get(`jobs/${encodeURIComponent(id)}`).catch(whileOffline);
    if (job.state === "done") {
      line.done(job.message || "Done");
      return added();
    }
    if (job.state === "failed") return line.fail(job.message);
    line.progress(job);
    await delay(POLL_EVERY);
  }
}

/** An import continues when the server is back, so keep polling. */
function whileOffline(error) {
  if (error.name !== "OfflineError") throw error;
  return { state: "waiting", message: "Waiting for the server …" };
}

/** One import on the page. */
function lineFor(names) {
  const bar = h("progress", { "aria-label": `Adding ${names}` });
  const status = h("span", { class: "status" }, "Uploading …");
  const close = h(
    "button",
    { type: "button", class: "close", "aria-label": `Close: ${names}`, hidden: true, click: () => line.remove() },
    "×",
  );
  const line = h("li", { class: "job" }, h("strong", {}, names), bar, status, close);
  $("jobs").append(line);
  const end = (text, kind) => {
    bar.remove();
    status.textContent = text;
    line.classList.add(kind);
    close.hidden = false;
    announce(`${names}: ${text}`);
  };
  return {
    progress({ state, done, total, message }) {
      if (total) Object.assign(bar, { max: total, value: done });
      status.textContent =
        message ||
        (state === "waiting"
          ? "Waiting …"
          : total
            ? `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`
            : "Reading …");
    },
    done: (text) => end(text, "done"),
    fail: (text) => end(text, "failed"),
  };
}
