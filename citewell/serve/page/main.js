/** Starts the page: the two views, the connection to the server, and the shortcuts. */

import { EditorView } from "./editor_view.js";
import { $, counted } from "./dom.js";
import { LibraryView } from "./library_view.js";
import { showError } from "./notices.js";
import { PaperDialog } from "./paper.js";
import { get, tokenFromAddress, setTokenPrompt, onConnectionChange } from "./server.js";
import { shortcuts } from "./shortcuts.js";
import { switchTheme } from "./theme.js";
import { askForToken } from "./token.js";

tokenFromAddress();
setTokenPrompt(askForToken);
switchTheme($("theme"));

const dialog = new PaperDialog();
const editor = new EditorView({ open: (paper) => dialog.open(paper) });
const library = new LibraryView({
  open: (paper) => dialog.open(paper),
  changed: () => {
    updateStatus();
    editor.refresh();
  },
});
dialog.acts = {
  cite: (paper) => editor.cite(paper),
  isChosen: (id) => editor.isChosen(id),
  where: () => editor.where(),
  related: (paper) => {
    location.hash = "#editor";
    editor.related(paper);
  },
};
shortcuts({
  step: (forward) => (go("editor"), editor.manuscript.step(forward)),
  suggestions: () => editor.list.focus(),
  search: () => (go("library"), $("question").focus()),
});

/** Show the view that the address names. */
function show() {
  const name = location.hash === "#library" ? "library" : "editor";
  for (const each of ["editor", "library"]) {
    $(`${each}-view`).hidden = each !== name;
    const link = document.querySelector(`nav a[href="#${each}"]`);
    if (each === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = name === "library" ? "Library · citewell" : "citewell";
  if (name === "library") library.show();
}

function go(name) {
  if ($(`${name}-view`).hidden) {
    history.replaceState(null, "", `#${name}`);
    show();
  }
}

/** Show the number of papers. */
async function updateStatus() {
  try {
    const { papers } = await get("health");
    $("server").textContent = counted(papers, "paper");
    $("no-papers").hidden = papers > 0;
  } catch (error) {
    showError(error);
  }
}

onConnectionChange((offline) => {
  $("offline").hidden = !offline;
  if (offline) return;
  updateStatus();
  editor.feedback.load();
  editor.refresh();
  if (!$("library-view").hidden) library.show();
});
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".skip"))) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go("editor");
    if (link.hash !== "#suggestions" || !editor.list.focus())
      $(link.hash === "#suggestions" ? "suggestions" : "draft").focus();
  });
}
addEventListener("hashchange", show);
// A file that is dropped outside of its area must not replace the page; dragged text is left to the browser.
for (const name of /** @type {const} */ (["dragover", "drop"]))
  addEventListener(name, (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
show();
editor.manuscript.start();
editor.feedback.load();
updateStatus();
