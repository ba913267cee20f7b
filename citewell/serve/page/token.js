/** Asks for the token that a server on another address than this machine's wants. */

import { $ } from "./dom.js";

/** The token that was typed; `wrong` says that the one before did not do. */
export function askForToken(wrong) {
  const dialog = $("token");
  $("token-wrong").hidden = !wrong;
  $("token-value").value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    dialog.addEventListener(
      "close",
      () => {
        if (dialog.returnValue === "give" && $("token-value").value.trim()) resolve($("token-value").value);
        else reject(new Error("The server wants its token: reload the page and give the one that “citewell serve” printed."));
        dialog.returnValue = "";
      },
      { once: true },
    );
  });
}
