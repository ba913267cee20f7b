/**
 * The manuscript on the desk: its text, its files, and what the server reads in it. It is kept in this browser from one visit
 * to the next.
 */

import { $, counted, h } from "./dom.js";
import * as drafts from "./draft.js";
import { Editor } from "./editor.js";
import { keep, recalled } from "./memory.js";
import { announce, complain, tell } from "./notices.js";
import { Reading } from "./reading.js";
import { rest } from "./asking.js";

const READ_AFTER = 350;
const AUDIT_AFTER = 1200;
const KEEP_AFTER = 300;
const FORMATS = { latex: "LaTeX", markdown: "Markdown", docx: "Word", text: "plain text" };
const ENDINGS = { latex: "tex", markdown: "md" };

export class Manuscript {
  /** Calls `edited(edit, before)` on typing, `moved()` when the cursor moves, `read()` and `audited()` when the server has, `opened(before)` for a text that was opened, in place of the one `before` where it is another draft's. */
  constructor({ edited, moved, read, audited, opened }) {
    Object.assign(this, { edited, read, audited, opened });
    this.reading = new Reading();
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

  /** Everything that is kept of it. */
  get kept() {
    const { text, name, format, bibliography, entries, cursor, file, others, about } = this;
    return { text, name, format, bibliography, entries, cursor, file, others, about };
  }

  /** Begin where the last visit ended. */
  start() {
    this.open(recalled("draft", { text: "" }));
  }

  /**
   * Put a text on the desk: the one that was kept, or another in place of what was there `before`. It is one `file` of the draft,
   * "" for the main one; `others` has the texts of the rest, `about` what the whole draft says of itself, and `entries` is the name
   * of its bibliography's file.
   */
  open(draft, before) {
    const { text, name = "", format = "", bibliography = "", entries = "", cursor = 0, file = "", others = {}, about = {} } = draft;
    Object.assign(this, { name, format, bibliography, entries, file, others, about, reading: new Reading() });
    this.editor.open(text, cursor);
    this.#showFiles();
    this.#keep();
    this.opened(before);
    this.readSoon(0);
  }

  /** Open what was dropped or picked: a draft, its bibliography, or both. */
  async take(files) {
    try {
      const { draft, bibliographies, rest: others } = await drafts.sorted([...files]);
      const texts = await Promise.all(bibliographies.map((file) => file.text()));
      const entries = drafts.nameOf(bibliographies.map((file) => file.name));
      const brought = texts.length > 0 && { bibliography: texts.join("\n"), entries };
      if (draft) {
        $("name").textContent = `Reading ${draft.name} …`;
        const found = await drafts.opened(draft);
        this.open({ ...found, name: draft.name, ...brought }, this.kept);
        this.editor.area.focus();
        announce(`${draft.name} is open`);
        if (others.length) tell(`Only ${draft.name} was opened. Files of one project open together as a .zip.`);
      } else if (brought) {
        Object.assign(this, brought);
        this.#keep();
        this.readSoon(0);
        tell(`This draft's bibliography is now ${entries || `in ${counted(texts.length, "file")}`}.`);
      }
    } catch (error) {
      this.show();
      complain(error);
    }
  }

  /** Show another file of the draft. */
  turn(file) {
    if (file === this.file || !(file in this.others)) return;
    const { [file]: text, ...rest } = this.others;
    this.open({ ...this.kept, text, file, cursor: 0, others: { ...rest, [this.file]: this.text } });
  }

  /** Go to a place in any of its files. */
  go({ file, begin, end }) {
    this.turn(file);
    $("whole").checked = false;
    this.editor.go(begin, end);
  }

  /** A place as a person names it: its line, and its file where there are several. */
  nameOf({ file, begin }) {
    const line = `line ${this.textOf(file).slice(0, begin).split("\n").length}`;
    return Object.keys(this.others).length ? `${file || "main file"}, ${line}` : line;
  }

  /** The text of one of its files. */
  textOf(file) {
    return file === this.file ? this.text : (this.others[file] ?? "");
  }

  /** Give files new texts, that on the desk as if it had been typed, and the draft the bibliography that goes with them. */
  rewrite(texts, bibliography) {
    this.bibliography = bibliography;
    for (const [file, text] of texts) if (file in this.others) this.others[file] = text;
    this.#keep();
    if (texts.has(this.file)) this.editor.retype(texts.get(this.file));
    else this.readSoon(0);
  }

  /** Go to the next place that wants a citation, or to the one before. */
  step(forward) {
    const stops = this.reading.stops();
    const at = this.cursor;
    if (!stops.length) return announce("No gap and no uncited claim in this draft");
    $("whole").checked = false; // who goes to a place asks for that place
    if (forward) this.editor.go((stops.find(({ begin }) => begin > at) ?? stops[0]).begin);
    else this.editor.go((stops.findLast(({ end }) => end < at) ?? stops.at(-1)).begin);
    return undefined;
  }

  /** Have the server read the text after a rest, and look for claims without citations after that. */
  async readSoon(after) {
    this.reader?.abort();
    const { signal } = (this.reader = new AbortController());
    if (this.isEmpty) return;
    try {
      await rest(after, signal);
      const { text, format, bibliography } = this;
      this.reading = Reading.of(await drafts.read(text, format, bibliography, signal), text, this.reading, this.about);
      this.read();
      await rest(AUDIT_AFTER, signal);
      this.reading.audit((await drafts.audited(text, format, bibliography, signal)).findings, text);
      this.audited();
    } catch (error) {
      complain(error);
    }
  }

  /** Draw the marks and the counts; `extra` marks are shown beside those of the reading. */
  show(extra = this.extra) {
    const { reading } = this;
    this.extra = extra;
    this.editor.mark([...reading.marks(), ...extra]);
    const gaps = reading.citations.filter(({ gap }) => gap).length;
    const claims = reading.claims.length;
    const counts = [
      counted(gaps, "gap"),
      counted(reading.citations.length - gaps, "citation"),
      claims && counted(claims, "uncited claim"),
    ];
    const entries = reading.bibliography;
    const known = entries.filter(({ id }) => id).length;
    $("name").textContent = [this.name || (this.isEmpty ? "No draft yet" : "Untitled draft"), FORMATS[reading.format]]
      .filter(Boolean)
      .join(" · ");
    $("counts").textContent = reading.format ? counts.filter(Boolean).join(" · ") : "";
    $("entries").textContent = entries.length
      ? `${counted(entries.length, "bibliography entry", "bibliography entries")}, ${known} in the library`
      : "";
    $("notes").hidden = !reading.notes.length;
    $("notes-title").textContent = `${counted(reading.notes.length, "note")} on the bibliography`;
    $("notes-list").replaceChildren(...reading.notes.map((note) => h("li", {}, note)));
    $("next").disabled = $("previous").disabled = !reading.stops().length;
    $("clear").hidden = !this.text;
  }

  /** What a file made of it is called. */
  fileName(added) {
    const shown = this.file.split("/").at(-1) || this.name || "draft";
    const [, stem, own] = /^(.*?)(?:\.([^.]*))?$/.exec(shown);
    const same = ["tex", "md", "qmd", "txt"].includes(own) && own;
    return `${stem}${added}.${same || ENDINGS[this.reading.format] || "txt"}`;
  }

  /** What its bibliography is called: as the file that it came in, for which the draft asks. */
  get bibliographyName() {
    return this.entries || `${(this.name || "draft").replace(/\.[^.]*$/, "")}.bib`;
  }

  #listen() {
    $("open").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", () => {
      this.take($("file").files);
      $("file").value = "";
    });
    $("part").addEventListener("change", () => this.turn($("part").value));
    $("next").addEventListener("click", () => this.step(true));
    $("previous").addEventListener("click", () => this.step(false));
    for (const name of ["dragover", "dragleave", "drop"]) {
      $("desk-view").addEventListener(name, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        $("sheet").classList.toggle("over", name === "dragover");
        if (name === "drop") this.take(event.dataTransfer.files);
      });
    }
    addEventListener("pagehide", () => this.#keep());
  }

  /** Name the files of a project, where there are several. */
  #showFiles() {
    const names = [...new Set(["", this.file, ...Object.keys(this.others)])].sort();
    $("part").hidden = names.length === 1;
    $("part").replaceChildren(
      ...names.map((name) => h("option", { value: name, selected: name === this.file }, name || "main file")),
    );
  }

  #edited(edit, before) {
    this.reading.follow(edit);
    if (this.isEmpty) this.reading = new Reading();
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => this.#keep(), KEEP_AFTER);
    this.edited(edit, before);
    this.readSoon(READ_AFTER);
  }

  #keep() {
    const fits = keep("draft", this.kept);
    if (!fits && !this.warned)
      tell("This draft is too large for the browser to keep: save your own copy before you close the page.");
    this.warned = !fits;
  }
}
