/** Starts the page: two views, the server's state, and the keys. */

import { Desk } from "./desk.js";
import { $, counted } from "./dom.js";
import { LibraryView } from "./library.js";
import { complain } from "./notices.js";
import { PaperDialog } from "./paper.js";
import { get, tokenFromAddress, tokensFrom, whenAwayOrBack } from "./server.js";
import { shortcuts } from "./shortcuts.js";
import { switchTheme } from "./theme.js";
import { askForToken } from "./token.js";

tokenFromAddress();
tokensFrom(askForToken);
switchTheme($("theme"));

const dialog = new PaperDialog();
const desk = new Desk({ open: (paper) => dialog.open(paper) });
const library = new LibraryView({
  open: (paper) => dialog.open(paper),
  changed: () => {
    lookAtServer();
    desk.askAgain();
  },
});
dialog.acts = {
  cite: (paper) => desk.cite(paper),
  isChosen: (id) => desk.isChosen(id),
  where: () => desk.where(),
  related: (paper) => {
    location.hash = "#desk";
    desk.related(paper);
  },
};
shortcuts({
  step: (forward) => (go("desk"), desk.manuscript.step(forward)),
  suggestions: () => desk.listing.focus(),
  search: () => (go("library"), $("question").focus()),
});

/** Show the view that the address names. */
function show() {
  const name = location.hash === "#library" ? "library" : "desk";
  for (const each of ["desk", "library"]) {
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

/** Say how the server is, and how much it holds. */
async function lookAtServer() {
  try {
    const { papers } = await get("health");
    $("server").textContent = counted(papers, "paper");
    $("no-papers").hidden = papers > 0;
  } catch (error) {
    complain(error);
  }
}

whenAwayOrBack((away) => {
  $("away").hidden = !away;
  if (away) return;
  lookAtServer();
  desk.askAgain();
  if (!$("library-view").hidden) library.show();
});
for (const link of document.querySelectorAll(".skip")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go("desk");
    if (link.hash !== "#suggestions" || !desk.listing.focus())
      $(link.hash === "#suggestions" ? "suggestions" : "draft").focus();
  });
}
addEventListener("hashchange", show);
// A file dropped beside its area must not replace the page; words that are dragged go where they are dropped.
for (const name of ["dragover", "drop"])
  addEventListener(name, (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
show();
desk.manuscript.start();
lookAtServer();
