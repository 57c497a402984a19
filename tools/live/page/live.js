// The book's cells run in the page: each gets its buttons, and its report below.

const script = document.currentScript;
const BASE = script.src.replace(/[^/]*$/, "");
const { notebook, first, figures, serve, version, service } = script.dataset;
const exercises = JSON.parse(script.dataset.exercises || "[]");  // the numbers of those of this lesson
const MB = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

function make(kind, options = {}, ...inside) {
  const made = Object.assign(document.createElement(kind), options);
  made.append(...inside);
  return made;
}

// One after the other: in a call like `box.replaceChildren(...parts)` each part is an argument, and a browser takes only
// so many.
function put(box, parts) {
  box.replaceChildren();
  for (const part of parts) box.append(part);
}

// --- Python: one worker for all cells of a page.

const python = {
  worker: null, waiting: new Map(), asked: 0, bytes: 0, state: "not started", listeners: new Set(),

  start() {
    this.bytes = 0;
    this.tell("starting");
    this.worker = new Worker(`${BASE}worker.js`);
    this.worker.onmessage = ({ data }) => this.hear(data);
    if (service) this.worker.postMessage({ what: "service", data: { address: service } });
    this.worker.onerror = () => this.stop("Python could not be started.");
  },

  hear({ id, bytes, step, answer, failed, broken }) {
    if (bytes) { this.bytes += bytes; this.tell(this.state); }
    else if (broken) this.stop(broken);
    else if (step !== undefined && id === undefined) this.tell(step);
    else if (step !== undefined) this.waiting.get(id)?.tell(step);
    else {
      const { done, fail } = this.waiting.get(id) ?? {};
      this.waiting.delete(id);
      failed === undefined ? done?.(answer) : fail?.(new Error(failed));
    }
  },

  tell(state) {
    this.state = state;
    for (const listener of this.listeners) listener();
  },

  ask(what, data, { lessons = [], tell = () => {}, answered = true } = {}) {
    if (!this.worker) this.start();
    const id = ++this.asked;
    if (!answered) return this.worker.postMessage({ what, data });
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail, tell });
      this.worker.postMessage({ id, what, data, lessons });
    });
  },

  stop(why = "Stopped. Python starts again with the next run.") {
    this.worker?.terminate();
    this.worker = null;
    const left = [...this.waiting.values()];
    this.waiting.clear();
    this.tell("not started");
    for (const { fail } of left) fail(new Error(why));
  },

  // How far it is, in words.
  progress() {
    if (this.state === "ready") return "at work …";
    const much = Math.min(this.bytes, first);
    return much < first ? `loading Python: ${MB(much)} of ${MB(first)}` : "Python is starting …";
  },
};
window.python = python;

// --- The editor comes when somebody writes: half a megabyte that a first run does without.

let broughtEditor = null;
function bringEditor() {
  return broughtEditor ??= new Promise((done, fail) => document.head.append(make("script", {
    src: `${BASE}editor.js`, onload: done, onerror: () => { broughtEditor = null; fail(new Error("The editor cannot be loaded.")); },
  })));
}

// --- Who compiles a text that does not ship.

const PUBLIC = script.dataset.public;

// Asked once, in words, before anything leaves this machine.
function offer(again) {
  const yes = make("button", { type: "button", className: "live-button", textContent: "Send it to godbolt.org" });
  yes.addEventListener("click", () => { python.ask("allow", { address: PUBLIC }, { answered: false }); again(); });
  return make("div", { className: "live-offer" },
    make("p", {}, "On Linux ", make("code", { textContent: "make serve" }), " serves this book with a compiler: then nothing leaves your network."),
    make("p", {}, "Or Compiler Explorer compiles it, a public service: your text, with the course's headers, goes to godbolt.org, "
      + "and so does every other text of yours that is not compiled yet, until you leave this page."),
    yes);
}

// What a run made is in view: all of it where there is room, else its beginning.
function bringIntoView(box) {
  const { top, height } = box.getBoundingClientRect();
  const margin = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  const lacking = top + Math.min(height, SEEN * innerHeight) - innerHeight;
  if (top < margin) scrollBy({ top: top - margin });
  else if (lacking > 0) scrollBy({ top: Math.min(lacking, top - margin) });
}
const SEEN = 0.6;  // of the window

// --- A cell's outputs, in the form that the book gives them.

function shownText(text, kind = "stream") {
  const code = make("div", { className: "highlight" }, make("pre", { textContent: text }));
  return make("div", { className: `output ${kind} highlight-myst-ansi notranslate` }, code);
}

function shownHtml(text) {
  const box = make("div", { className: "output text_html", innerHTML: text });
  for (const old of box.querySelectorAll("script")) old.replaceWith(make("script", { textContent: old.textContent }));
  return box;
}

function shownPicture(form, data, words) {
  const bytes = (text) => Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  const coded = form.includes("svg") ? btoa(bytes(data)) : data;
  return make("img", { src: `data:${form};base64,${coded}`, alt: words });
}

function shownOutput({ output_type: kind, text, data, metadata = {} }) {
  if (kind === "stream") return shownText(text);
  if (kind === "error") return shownText(text, "error");
  const picture = ["image/svg+xml", "image/png"].find((form) => data[form]);
  if (picture) return shownPicture(picture, data[picture], metadata[picture]?.alt ?? data["text/plain"]);
  return data["text/html"] ? shownHtml(data["text/html"]) : shownText(data["text/plain"], "text_plain");
}

// --- Lines of a kernel that a report blames.

// The listing that is meant: the nearest above the cell that holds the kernel; and there the line with that text.
function place(cells, cell, { kernel, line, text }) {
  const above = cells.slice(0, cells.indexOf(cell) + 1).reverse();
  const holds = above.filter((each) => each.kernel && new RegExp(`\\b${kernel}\\(`).test(each.text()));
  for (const each of [...holds, ...above.filter((other) => other.isPart)]) {
    const lines = each.text().split("\n");
    const same = lines.map((other, at) => [other.trimEnd(), at + 1]).filter(([other]) => other === text.trimEnd());
    if (text.trim() && same.length) {
      same.sort(([, a], [, b]) => Math.abs(a - line) - Math.abs(b - line));
      return [each, same[0][1]];
    }
  }
  return [null, line];
}

function blame(cells, cell, blamed) {
  for (const each of cells) each.unmark();
  for (const found of blamed) {
    const [listing, line] = place(cells, cell, found);
    listing?.mark(line, found.kinds.join(", "));
  }
}

// --- What is the reader's on this page, said once below its title.

const MARKS = { solved: "✓", tried: "~", open: "·" };  // as in JupyterLab
const STAYS = "What you write and solve here stays in this browser, also when the page is closed.";
const LEAVES = "This browser keeps nothing here: take your texts home before you close the page.";

const summary = {
  box: make("div", { className: "live-mine" }),
  button: make("button", { type: "button", className: "live-button", textContent: "Take this lesson home (.ipynb)" }),

  furnish() {
    this.words = make("p");
    this.button.addEventListener("click", () => this.give());
    this.box.append(this.words, this.button);
    document.querySelector("article h1").after(this.box);
    kept.write("nothing", null);  // where storage is forbidden, this is refused
    addEventListener("beforeunload", (event) => { if (!kept.works && Object.keys(edits).length) event.preventDefault(); });
    this.say();
  },

  say() {
    const mine = Object.keys(textsOf(notebook)).length, marks = make("span", { className: "live-marks" });
    for (const [number, state] of Object.entries(states(exercises))) marks.append(make("span", { textContent: `${MARKS[state]} ${number}` }));
    const texts = mine ? `${mine} text${mine > 1 ? "s" : ""} of this lesson ${mine > 1 ? "are" : "is"} yours.` : "";
    put(this.words, [[kept.works ? STAYS : LEAVES, texts].join(" "), marks]);
  },

  async give() {
    try {
      await takeHome(notebook);
      this.button.after(make("p", { className: "live-state", textContent: "In the folder my_lessons/ it takes the place of your copy, and JupyterLab opens it." }));
    } catch (error) {
      this.button.after(make("p", { className: "live-state", textContent: error.message }));
    }
  },
};

// --- Cells.

const edits = {};

class Cell {
  constructor(box, id, cells) {
    Object.assign(this, { box, id, cells });
    this.input = box.querySelector(".cell_input");
    this.made = box.querySelector(".cell_output");
    this.given = this.textOf();
    this.kernel = /__global__/.test(this.given) && /^\w+ = r"""/.test(this.given);
    this.isPart = /^\w+ = r"""/.test(this.given) && !this.kernel;
    this.exercise = /check_exercise\("([\d.]+)"/.exec(this.given)?.[1];
    this.mine = new Mine(`${notebook}/${id}`, this.given);
  }

  textOf() {
    const code = this.input.querySelector("pre").cloneNode(true);
    code.querySelectorAll(".linenos").forEach((number) => number.remove());
    return code.textContent.replace(/\n$/, "");
  }

  text() { return edits[this.id] ?? this.given; }

  // A kernel, or a number to be written, shows nothing: cells below do.
  get shows() { return Boolean(this.made) || this.box.matches(".tag_exercise"); }

  furnish() {
    this.bar = make("div", { className: "live-bar" });
    if (this.shows) {
      this.go = make("button", { type: "button", className: "live-run" });
      this.go.addEventListener("click", () => this.run());
      this.stop = make("button", { type: "button", textContent: "Stop", hidden: true });
      this.stop.addEventListener("click", () => python.stop());
      this.bar.append(this.go, this.stop);
    }
    this.pen = make("button", { type: "button" });
    this.pen.addEventListener("click", () => this.editor ? this.putBack() : this.edit());
    this.again = make("button", { type: "button" });
    this.again.addEventListener("click", () => { this.mine.showNext(); this.edit(); });
    this.whose = make("span", { className: "live-whose" });
    this.state = make("span", { className: "live-state", role: "status" });
    this.bar.append(this.pen, this.again, this.whose, this.state);
    (this.input.closest("details.hide") ?? this.input).after(this.bar);
    python.listeners.add(() => this.say());
    if (this.mine.text !== undefined) this.edit({ asked: false });
    this.say();
    this.sayWhose();
  }

  say() {
    if (!this.go) return;
    this.go.textContent = python.worker ? "Run here" : `Run here (loads ${MB(first)} once)`;
    if (this.working) this.state.textContent = this.step || python.progress();
  }

  sayWhose() {
    const { mine } = this, solved = this.exercise && states(exercises)[this.exercise] === "solved";
    this.pen.textContent = !this.editor ? "Edit" : mine.isOfOlder ? "The lesson's new text" : "As in the lesson";
    this.again.hidden = !mine.hasMore;
    this.again.textContent = mine.shown ? "Your text before" : "Your text again";
    const yours = mine.isOfOlder ? "Yours; the lesson has a new text here since you wrote it." : mine.shown ? "Yours." : "";
    this.whose.textContent = [solved ? "✓ Solved." : "", yours].filter(Boolean).join(" ");
  }

  // The reader's text, or the lesson's to begin with. `asked`: by a button, and not when the page opens.
  async edit({ asked = true } = {}) {
    if (this.mine.shown) edits[this.id] = this.mine.text;
    try {
      await bringEditor();
    } catch (error) {
      this.state.textContent = error.message;
      return;
    }
    this.editor?.box.remove();
    this.editor = new Editor(this.text(), "The text of this cell", (text) => this.write(text));
    this.input.hidden = true;
    this.input.after(this.editor.box);
    this.sayWhose();
    if (!asked) return;
    this.unfold();
    this.editor.focus();
  }

  write(text) {
    this.mine.write(text);
    edits[this.id] = text;
    if (!this.shows) this.state.textContent = "Cells below take your text when they run.";
    this.sayWhose();
    summary.say();
  }

  putBack() {
    this.mine.putBack();
    delete edits[this.id];
    this.editor.box.remove();
    this.editor = null;
    this.input.hidden = false;
    this.state.textContent = "";
    this.sayWhose();
    summary.say();
    this.pen.focus();
  }

  async run() {
    this.working = true;
    this.step = "";
    this.go.disabled = true;
    this.stop.hidden = false;
    const begin = performance.now();
    const asked = python.ask("run", { notebook, cell: this.id, edits, progress: progressLines() }, {
      lessons: [notebook],
      tell: (step) => { this.step = step && step === "figures are loading" ? `figures are loading (${MB(figures)})` : step; this.say(); },
    });
    this.say();
    try {
      const answer = await asked;
      noteProgress(answer.progress);
      this.cells.forEach((cell) => cell.sayWhose());
      summary.say();
      this.show(answer);
      this.state.textContent = `ran here in ${((performance.now() - begin) / 1000).toFixed(1)} s`;
    } catch (error) {
      this.state.textContent = error.message;
    }
    this.working = false;
    this.go.disabled = false;
    this.stop.hidden = true;
  }

  show({ outputs, reports, blamed }) {
    this.live?.remove();
    if (this.made) (this.made.closest("details.hide") ?? this.made).hidden = true;  // with its fold
    const pages = reports.map((page) => make("div", { className: "output text_html", innerHTML: page }));
    this.live = make("div", { className: "cell_output live-output" });
    put(this.live, [...outputs.map(shownOutput), ...pages]);
    blame(this.cells, this, blamed);
    if (outputs.some(({ ename }) => ename === "NvrtcMissing")) this.live.append(offer(() => this.run()));
    if (!this.live.childElementCount) this.live.append(make("p", { className: "live-state", textContent: "Nothing was printed." }));
    this.bar.after(this.live);
    this.followLines(blamed);
    dispatchEvent(new Event("resize"));  // boxes that scroll are looked at anew
    bringIntoView(this.live);
  }

  // In reports a line is a link `#cuda-line/KERNEL/LINE`.
  followLines(blamed) {
    for (const link of this.live.querySelectorAll('a[href^="#cuda-line/"]')) {
      const [, kernel, line] = link.getAttribute("href").split("/");
      const known = blamed.find((each) => each.kernel === kernel && each.line === Number(line));
      const [listing, at] = place(this.cells, this, { kernel, line: Number(line), text: known?.text ?? link.nextElementSibling?.textContent ?? "" });
      if (!listing) { link.removeAttribute("href"); continue; }
      link.href = `#${listing.anchor(at)}`;
      link.addEventListener("click", (event) => {
        listing.unfold();
        if (!listing.editor) return;
        event.preventDefault();
        listing.editor.goTo(at);
      });
    }
  }

  lines() { return [...this.input.querySelectorAll('span[id^="line-"]')]; }
  anchor(line) { return this.editor ? (this.box.id ||= `cell-${this.id}`) : this.lines()[line - 1]?.id ?? (this.box.id ||= `cell-${this.id}`); }
  unfold() { const fold = this.input.closest("details"); if (fold) fold.open = true; }

  mark(line, kinds) {
    this.marked = (this.marked ?? new Map()).set(line, kinds);
    this.editor?.mark(this.marked);
    const span = this.lines()[line - 1];
    if (span) { span.classList.add("blamed"); span.title = kinds; }
  }

  unmark() {
    this.marked = null;
    this.editor?.mark();
    for (const span of this.lines()) { span.classList.remove("blamed"); span.removeAttribute("title"); }
  }
}

document.addEventListener("DOMContentLoaded", () => {
  if (!notebook) return;
  const found = [...document.querySelectorAll('div.cell[class*="tag_live-"]')];
  if (!found.length) return;
  if (location.protocol === "file:") {
    const words = make("p", { className: "live-hint" }, "This page was opened as a file, where a browser starts no Python: its cells run when ", make("code", { textContent: serve }), " shows it.");
    document.querySelector("article h1").after(words);
    return;
  }
  const cells = [];
  for (const box of found) {
    const id = [...box.classList].find((name) => name.startsWith("tag_live-")).slice("tag_live-".length);
    if (box.querySelector(".cell_input pre")) cells.push(new Cell(box, id, cells));
  }
  summary.furnish();
  cells.forEach((cell) => cell.furnish());
  window.cells = cells;
});
