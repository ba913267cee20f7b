/** Asks the user for the server's token. */

import { $ } from "./dom.js";

/** The token that the user enters; `wrong` says that the one before was not accepted. */
export function askForToken(wrong) {
  const dialog = $("token");
  $("token-wrong").hidden = !wrong;
  $("token-readable").hidden = isSecureContext; // https, or this machine
  $("token-value").value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    dialog.addEventListener(
      "close",
      () => {
        if (dialog.returnValue === "give" && $("token-value").value.trim()) resolve($("token-value").value);
        else reject(new Error("The server requires a token. Reload the page and enter the one that the server was started with."));
        dialog.returnValue = "";
      },
      { once: true },
    );
  });
}
