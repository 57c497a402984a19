// What a reader wrote and solved, kept in this browser's storage; and a lesson with it as a notebook.

const OURS = "hiding-latency/";
const PROGRESS = "progress";

const kept = {
  works: true,  // until the browser refuses

  read(name) {
    try {
      return JSON.parse(localStorage.getItem(OURS + name));
    } catch {
      return null;  // no storage here, or another program's text
    }
  },

  write(name, value) {
    try {
      if (value === null) localStorage.removeItem(OURS + name);
      else localStorage.setItem(OURS + name, JSON.stringify(value));
    } catch {
      this.works = false;  // forbidden, or full
    }
  },

  // The names below a place, such as the cells of a notebook.
  names(place) {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(OURS + place)).map((key) => key.slice(OURS.length + place.length));
    } catch {
      return [];
    }
  },
};

// A reader's texts in the place of one that the course gives, the newest first; none is lost when the course's own is put back.
//
// Kept is {texts, at}: each text with what the course gave when it was begun; and which is shown, -1 for the course's own.
class Mine {
  constructor(name, given) {
    Object.assign(this, { name, given });
    Object.assign(this, this.read());
    globalThis.addEventListener?.("storage", ({ key }) => key === OURS + name && this.hear());
  }

  read() {
    const { texts, at } = kept.read(this.name) ?? {};
    const whole = Array.isArray(texts) && texts.every((each) => typeof each?.text === "string");
    return whole ? { texts, at: texts[at] ? at : -1 } : { texts: [], at: -1 };
  }

  // Another window wrote: its texts come along, and what is shown here stays.
  hear() {
    const { shown } = this;
    this.texts = this.read().texts;
    this.at = shown ? this.texts.findIndex(({ text }) => text === shown.text) : -1;
    if (shown && this.at < 0) this.at = this.texts.unshift(shown) && 0;
  }

  get shown() { return this.texts[this.at]; }
  get text() { return this.shown?.text; }  // undefined: the course's own is shown
  get isOfOlder() { return Boolean(this.shown) && this.shown.given !== this.given; }
  get hasMore() { return this.texts.length > this.at + 1; }

  write(text) {
    if (text === (this.text ?? this.given)) return;
    const { given } = this.shown ? this.texts.splice(this.at, 1)[0] : this;
    this.at = -1;
    if (text !== this.given) {
      this.texts.unshift({ given, text });
      this.at = 0;
    }
    this.keep();
  }

  putBack() { this.at = -1; this.keep(); }
  showNext() { this.at += 1; this.keep(); }
  keep() { kept.write(this.name, this.texts.length ? { texts: this.texts, at: this.at } : null); }
}

// --- Progress: the lines of the file that JupyterLab's copies keep.

function noteProgress(lines) {
  kept.write(PROGRESS, [...new Set([...(kept.read(PROGRESS) ?? []), ...lines.split("\n").filter(Boolean)])]);
}

const progressLines = () => (kept.read(PROGRESS) ?? []).join("\n");

// Of the exercises with these numbers: number -> "solved", "tried" or "open"; what was solved stays solved.
function states(exercises) {
  const found = {};
  for (const line of kept.read(PROGRESS) ?? []) {
    try {
      const { exercise, solved } = JSON.parse(line);
      if (found[exercise] !== "solved") found[exercise] = solved === true ? "solved" : "tried";
    } catch { /* a damaged line costs only itself */ }
  }
  return Object.fromEntries(exercises.map(number => [number, found[number] ?? "open"]));
}

// --- To take home.

// The texts of a notebook's cells that a reader put in place of the lesson's: id -> text.
function textsOf(place) {
  const shown = kept.names(`${place}/`).map((cell) => [cell, kept.read(`${place}/${cell}`)]);
  return Object.fromEntries(shown.map(([cell, each]) => [cell, each?.texts?.[each.at]?.text]).filter(([, text]) => typeof text === "string"));
}

// A copy as `make lab` makes it, with these texts; those whose cell this version has not are at its end.
function withTexts(copy, texts) {
  const lines = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const left = { ...texts };
  const cells = copy.cells.map((cell) => {
    if (!(cell.id in left)) return cell;
    const text = left[cell.id];
    delete left[cell.id];
    return { ...cell, source: lines(text), outputs: [], execution_count: null };
  });
  const homeless = Object.entries(left).map(([id, text]) => ({
    cell_type: "code", id, metadata: {}, outputs: [], execution_count: null,
    source: lines(`# Yours: this version of the lesson has not the cell in which you wrote it.\n${text}`),
  }));
  return { ...copy, cells: [...cells, ...homeless] };
}

async function takeHome(notebook) {
  const reply = await fetch(`${BASE}copies/${notebook}.ipynb`);
  if (!reply.ok) throw new Error(`The lesson cannot be loaded (${reply.status}).`);
  const text = `${JSON.stringify(withTexts(await reply.json(), textsOf(notebook)), null, 1)}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
  make("a", { href: address, download: `${notebook.split("/").at(-1)}.ipynb` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
