/**
 * The open manuscript: its text, its files, and the server's parse of it. The browser stores it from one visit to the next.
 */

import { $, counted, h } from "./dom.js";
import * as drafts from "./draft.js";
import { Editor } from "./editor.js";
import { load, store } from "./storage.js";
import { announce, showError, notify } from "./notices.js";
import { ParsedDraft } from "./parsed_draft.js";
import { delay } from "./delay.js";

const PARSE_AFTER = 350;
const CHECK_AFTER = 1200;
const STORE_AFTER = 300;
const FORMATS = { latex: "LaTeX", markdown: "Markdown", typst: "Typst", org: "Org", notebook: "Jupyter notebook", docx: "Word", text: "plain text" };
const ENDINGS = { latex: "tex", markdown: "md" };

export class Manuscript {
  /** @type {(edit: any, before: string) => void} */
  edited;
  /** @type {() => void} */
  parsed;
  /** @type {() => void} */
  checked;
  /** @type {(before?: any) => void} */
  opened;

  /**
   * Calls `edited(edit, before)` when the text is edited, `moved()` when the cursor moves, `parsed()` and `checked()` when the server
   * has parsed or checked the text, and `opened(before)` when a text is opened; `before` is the draft that it replaces, if any.
   */
  constructor({ edited, moved, parsed, checked, opened }) {
    Object.assign(this, { edited, parsed, checked, opened });
    this.draft = new ParsedDraft();
    this.name = this.format = this.bibliography = this.entries = this.file = "";
    this.others = {};
    this.about = {};
    this.extra = [];
    this.editor = new Editor($("draft"), $("mirror"), { changed: (edit, before) => this.#edited(edit, before), moved });
    this.#listen();
  }

  get text() {
    return this.editor.text;
  }

  get cursor() {
    return this.editor.cursor;
  }

  get isEmpty() {
    return !this.text.trim();
  }

  /** Everything that the browser stores of it. */
  get state() {
    const { text, name, format, bibliography, entries, cursor, file, others, about } = this;
    return { text, name, format, bibliography, entries, cursor, file, others, about };
  }

  /** Open the draft of the last visit. */
  start() {
    this.open(load("draft", { text: "" }));
  }

  /**
   * Open a text: the stored one, or another that replaces the draft `before`. It is one `file` of the draft, "" for the main file;
   * `others` has the texts of the other files, `about` the title, abstract and authors of the whole draft, and `entries` is the name
   * of its bibliography file.
   */
  open(draft, before) {
    const { text, name = "", format = "", bibliography = "", entries = "", cursor = 0, file = "", others = {}, about = {} } = draft;
    Object.assign(this, { name, format, bibliography, entries, file, others, about, draft: new ParsedDraft() });
    this.editor.open(text, cursor);
    this.#showFiles();
    this.#store();
    this.opened(before);
    this.parseSoon(0);
  }

  /** Open dropped or selected files: a draft, its bibliography, or both. */
  async openFiles(files) {
    try {
      const { draft, bibliographies, rest: others } = await drafts.classify([...files]);
      const texts = await Promise.all(bibliographies.map((file) => file.text()));
      const entries = drafts.nameOf(bibliographies.map((file) => file.name));
      const supplied = texts.length > 0 && { bibliography: texts.join("\n"), entries };
      if (draft) {
        $("name").textContent = `Reading ${draft.name} …`;
        const contents = await drafts.open(draft);
        this.open({ ...contents, name: draft.name, ...supplied }, this.state);
        this.editor.area.focus();
        announce(`${draft.name} is open`);
        if (others.length) notify(`Only ${draft.name} was opened. To open all files of a project, zip them.`);
      } else if (supplied) {
        Object.assign(this, supplied);
        this.#store();
        this.parseSoon(0);
        notify(`This draft's bibliography is now ${entries || `in ${counted(texts.length, "file")}`}.`);
      }
    } catch (error) {
      this.show();
      showError(error);
    }
  }

  /** Show another file of the draft. */
  showFile(file) {
    if (file === this.file || !(file in this.others)) return;
    const { [file]: text, ...rest } = this.others;
    this.open({ ...this.state, text, file, cursor: 0, others: { ...rest, [this.file]: this.text } });
  }

  /** Go to a place in any of its files. */
  go({ file, begin, end }) {
    this.showFile(file);
    $("whole").checked = false;
    this.editor.go(begin, end);
  }

  /** A place in words: its line, and its file if there are several. */
  nameOf({ file, begin }) {
    const line = `line ${this.textOf(file).slice(0, begin).split("\n").length}`;
    return Object.keys(this.others).length ? `${file || "main file"}, ${line}` : line;
  }

  /** The text of one of its files. */
  textOf(file) {
    return file === this.file ? this.text : (this.others[file] ?? "");
  }

  /** Replace the texts of files and the bibliography; the open file changes as if the user had typed it. */
  rewrite(texts, bibliography) {
    this.bibliography = bibliography;
    for (const [file, text] of texts) if (file in this.others) this.others[file] = text;
    this.#store();
    if (texts.has(this.file)) this.editor.retype(texts.get(this.file));
    else this.parseSoon(0);
  }

  /** Go to the next or previous gap or uncited claim. */
  step(forward) {
    const stops = this.draft.stops();
    const at = this.cursor;
    if (!stops.length) return announce("This draft has no gaps and no uncited claims");
    $("whole").checked = false; // show suggestions for this place
    if (forward) this.editor.go((stops.find(({ begin }) => begin > at) ?? stops[0]).begin);
    else this.editor.go((stops.findLast(({ end }) => end < at) ?? stops.at(-1)).begin);
    return undefined;
  }

  /** Let the server parse the text after a pause, and check it after another. */
  async parseSoon(after) {
    this.controller?.abort();
    const { signal } = (this.controller = new AbortController());
    if (this.isEmpty) return;
    try {
      await delay(after, signal);
      const { text, format, bibliography } = this;
      this.draft = ParsedDraft.of(await drafts.parse(text, format, bibliography, signal), text, this.draft, this.about);
      this.parsed();
      await delay(CHECK_AFTER, signal);
      this.draft.addFindings((await drafts.check(text, format, bibliography, signal)).findings, text);
      this.checked();
    } catch (error) {
      showError(error);
    }
  }

  /** Draw the marks and the counts; `extra` marks are shown in addition to those of the draft. */
  show(extra = this.extra) {
    const parsed = this.draft;
    this.extra = extra;
    this.editor.mark([...parsed.marks(), ...extra]);
    const gaps = parsed.citations.filter(({ gap }) => gap).length;
    const claims = parsed.claims.length;
    const counts = [
      counted(gaps, "gap"),
      counted(parsed.citations.length - gaps, "citation"),
      claims && counted(claims, "uncited claim"),
    ];
    const entries = parsed.bibliography;
    const known = entries.filter(({ id }) => id).length;
    $("name").textContent = [this.name || (this.isEmpty ? "No draft yet" : "Untitled draft"), FORMATS[parsed.format]]
      .filter(Boolean)
      .join(" · ");
    $("counts").textContent = parsed.format ? counts.filter(Boolean).join(" · ") : "";
    $("entries").textContent = entries.length
      ? `${counted(entries.length, "bibliography entry", "bibliography entries")}, ${known} in the library`
      : "";
    $("issues").hidden = !parsed.issues.length;
    $("issues-title").textContent = `${counted(parsed.issues.length, "issue")} in the bibliography`;
    $("issues-list").replaceChildren(...parsed.issues.map((issue) => h("li", {}, issue)));
    $("next").disabled = $("previous").disabled = !parsed.stops().length;
    $("clear").hidden = !this.text;
  }

  /** The name for a saved copy of the open file. */
  fileName(added) {
    const shown = this.file.split("/").at(-1) || this.name || "draft";
    const [, stem, own] = /^(.*?)(?:\.([^.]*))?$/.exec(shown);
    const same = ["tex", "md", "qmd", "txt"].includes(own) && own;
    return `${stem}${added}.${same || ENDINGS[this.draft.format] || "txt"}`;
  }

  /** The name of the bibliography file; the draft refers to it by that name. */
  get bibliographyName() {
    return this.entries || `${(this.name || "draft").replace(/\.[^.]*$/, "")}.bib`;
  }

  #listen() {
    $("open").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", () => {
      this.openFiles($("file").files);
      $("file").value = "";
    });
    $("project-file").addEventListener("change", () => this.showFile($("project-file").value));
    $("next").addEventListener("click", () => this.step(true));
    $("previous").addEventListener("click", () => this.step(false));
    for (const name of /** @type {const} */ (["dragover", "dragleave", "drop"])) {
      $("editor-view").addEventListener(name, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        $("sheet").classList.toggle("over", name === "dragover");
        if (name === "drop") this.openFiles(event.dataTransfer.files);
      });
    }
    addEventListener("pagehide", () => this.#store());
  }

  /** List the files of a project if there are several. */
  #showFiles() {
    const names = [...new Set(["", this.file, ...Object.keys(this.others)])].sort();
    $("project-file").hidden = names.length === 1;
    $("project-file").replaceChildren(
      ...names.map((name) => h("option", { value: name, selected: name === this.file }, name || "main file")),
    );
  }

  #edited(edit, before) {
    this.draft.follow(edit);
    if (this.isEmpty) this.draft = new ParsedDraft();
    clearTimeout(this.storing);
    this.storing = setTimeout(() => this.#store(), STORE_AFTER);
    this.edited(edit, before);
    this.parseSoon(PARSE_AFTER);
  }

  #store() {
    const fits = store("draft", this.state);
    if (!fits && !this.warned)
      notify("This draft is too large for the browser's storage. Save a copy before you close the page.");
    this.warned = !fits;
  }
}
