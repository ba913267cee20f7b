/** Files into the library: each import is a job of the server, shown as a bar until it is done. */

import { $, counted, h } from "./dom.js";
import { rest } from "./asking.js";
import { announce, complain } from "./notices.js";
import { get, upload } from "./server.js";

const LOOK_AGAIN = 400;

/** Make the area for files work; `added()` is called when the library has grown. */
export function adding(added) {
  const area = $("add-area");
  const view = $("library-view"); // a file may be dropped anywhere on it
  const take = (files) => files.length && bring([...files], added);
  $("add").addEventListener("click", () => $("add-files").click());
  $("add-files").addEventListener("change", () => {
    take($("add-files").files);
    $("add-files").value = "";
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    view.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      area.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files);
    });
  }
  resume(added);
}

async function bring(files, added) {
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

/** Show the imports that were going on when the page was opened. */
async function resume(added) {
  try {
    const jobs = await get("jobs");
    for (const job of jobs.filter(({ state }) => state === "waiting" || state === "running")) {
      const line = lineFor("Import");
      watch(job.id, line, added).catch((error) => line.fail(error.message));
    }
  } catch (error) {
    complain(error);
  }
}

async function watch(id, line, added) {
  for (;;) {
    const job = await get(`jobs/${encodeURIComponent(id)}`).catch(away);
    if (job.state === "done") {
      line.done(job.message || "Done");
      return added();
    }
    if (job.state === "failed") return line.fail(job.message);
    line.progress(job);
    await rest(LOOK_AGAIN);
  }
}

/** An import outlives the server that does not answer now, and is looked for until one does. */
function away(error) {
  if (error.name !== "AwayError") throw error;
  return { state: "waiting", message: "Waiting for the server …" };
}

/** One import on the page. */
function lineFor(names) {
  const bar = h("progress", { "aria-label": `Adding ${names}` });
  const said = h("span", { class: "said" }, "Sending …");
  const close = h(
    "button",
    { type: "button", class: "close", "aria-label": `Put away: ${names}`, hidden: true, click: () => line.remove() },
    "×",
  );
  const line = h("li", { class: "job" }, h("strong", {}, names), bar, said, close);
  $("jobs").append(line);
  const end = (text, kind) => {
    bar.remove();
    said.textContent = text;
    line.classList.add(kind);
    close.hidden = false;
    announce(`${names}: ${text}`);
  };
  return {
    progress({ state, done, total, message }) {
      if (total) Object.assign(bar, { max: total, value: done });
      said.textContent =
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
