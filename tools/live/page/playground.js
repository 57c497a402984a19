// The playground: any kernel, its launch, a report, and a link that brings others to it.

const FIELDS = {
  gemm: [["dtype", "Type"], ["tile", "Tile: M, N, K of a block"], ["threads", "Threads of a block"], ["blocks", "Blocks (0: one a tile)"], ["shared_mem", "Dynamic shared memory, bytes"]],
  plain: [["grid", "Grid"], ["block", "Block"], ["shared_mem", "Dynamic shared memory, bytes"], ["args", "Arguments, one a line"]],
};
const BUTTONS = { run: "Run", check: "Check all sizes", link: "Link to this", stop: "Stop", back: "As it was", again: "" };
const NUMBERS = ["blocks", "shared_mem"];
const OWN = {
  lesson: "", texts: [], name: "mine", title: "your own",
  launch: { kind: "plain", grid: "1", block: "64", shared_mem: 0, args: "float32 64 arange\nfloat32 64 zeros" },
  source: `
extern "C" __global__ void mine(const float* in, float* out)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
`,
};

class Playground {
  constructor(root, kernels) {
    this.root = root;
    this.all = [...kernels, OWN];
    this.furnish();
  }

  furnish() {
    this.which = make("select", { id: "which" });
    for (const lesson of new Set(this.all.map((each) => each.lesson))) {
      const group = make("optgroup", { label: lesson || "Without a lesson" });
      this.all.forEach((each, at) => each.lesson === lesson && group.append(new Option(each.title, at)));
      this.which.append(group);
    }
    this.which.addEventListener("change", () => {
      kept.write("playground-start", this.all[this.which.value].title);
      this.take(this.all[this.which.value]);
    });
    this.name = make("input", { id: "kernel-name", spellcheck: false, autocapitalize: "off" });
    this.kind = make("select", { id: "launch-kind" }, new Option("a GEMM problem", "gemm"), new Option("grid, block, arguments", "plain"));
    this.kind.addEventListener("change", () => this.fill({ ...this.launch(), kind: this.kind.value }));
    this.fields = make("div", { className: "live-fields" });
    this.editor = new Editor("", "CUDA source of the kernel", () => { this.made = null; this.follow(); this.keep(); }, true);
    this.buttons = Object.fromEntries(Object.entries(BUTTONS).map(
      ([name, words]) => [name, make("button", { type: "button", className: "live-button", textContent: words })]));
    this.buttons.run.classList.add("live-run");
    this.buttons.stop.hidden = true;
    this.state = make("span", { className: "live-state", role: "status" });
    this.report = make("div", { className: "live-output cell_output" });
    this.report.setAttribute("role", "region");
    this.report.setAttribute("aria-label", "Report");
    this.report.hidden = true;
    this.buttons.run.addEventListener("click", () => this.run(false));
    this.buttons.check.addEventListener("click", () => this.run(true));
    this.buttons.link.addEventListener("click", () => this.share());
    this.buttons.stop.addEventListener("click", () => python.stop());
    this.buttons.back.addEventListener("click", () => { this.mine.putBack(); this.take(this.start); });
    this.buttons.again.addEventListener("click", () => { this.mine.showNext(); this.take(this.start); });
    this.root.addEventListener("input", ({ target }) => target !== this.which && this.keep());
    python.listeners.add(() => this.say());
    this.whose = make("span", { className: "live-whose" });
    this.bar = make("div", { className: "live-bar" }, ...Object.values(this.buttons), this.whose, this.state);
    this.root.append(
      make("div", { className: "live-fields" }, labelled("Start from", this.which), labelled("Kernel's name", this.name), labelled("Launch", this.kind)),
      this.fields, this.editor.box,
      this.bar, this.report,
    );
  }

  say() {
    if (this.working) this.state.textContent = python.progress();
    else if (!python.worker && !this.state.textContent) this.state.textContent = `Run loads Python first: ${MB(first)}, once.`;
  }

  // One to start from, as the reader left it where they changed it before. `link`: what a link brings in its place.
  take(start, link = null) {
    this.start = start;
    this.lesson = link ? "" : start.lesson;
    this.texts = link ? [] : start.texts;  // a text of a link may come from any lesson
    this.put(start);
    this.mine = new Mine(`playground/${start.lesson}/${start.title}`, this.asText());
    if (link) this.mine.at = -1;
    if (link ?? this.mine.text) this.put(link ?? readText(this.mine.text) ?? start);
    this.made = link?.ptx ? { source: link.source, ptx: link.ptx } : null;
    this.report.hidden = true;
    this.state.textContent = "";
    this.say();
    this.sayWhose();
  }

  put({ name, source, launch }) {
    this.name.value = name;
    this.fill(launch);
    this.editor.text = source;
    this.parameters = kernelsOf(source)[0]?.parameters;
  }

  asText() { return JSON.stringify({ name: this.name.value.trim(), source: this.editor.text, launch: this.launch() }); }

  // The next opening shows it, and no link of before.
  keep() {
    this.mine.write(this.asText());
    kept.write("playground-start", this.start.title);
    if (location.hash) history.replaceState(null, "", location.pathname);
    this.sayWhose();
  }

  sayWhose() {
    this.buttons.back.hidden = !this.mine.shown;
    this.buttons.again.hidden = !this.mine.hasMore;
    this.buttons.again.textContent = this.mine.shown ? "Yours before" : "Yours again";
    const stays = kept.works ? "Yours, kept in this browser." : "Yours. This browser keeps nothing here.";
    this.whose.textContent = this.mine.isOfOlder ? "Yours, of an older version of the course." : this.mine.shown ? stays : "";
  }

  // A text pasted over another one brings a kernel of its own: its name, and where its parameters are others, arguments.
  // A reader's own arguments stay while the kernel has its name.
  follow() {
    const [found, ...others] = kernelsOf(this.editor.text), known = this.name.value.trim().replace(/\s*<.*/, "");
    if (!found || others.length) return;
    const isOther = found.name !== known, asMade = this.inputs.args?.value === argumentsOf(this.parameters ?? "");
    const args = found.parameters !== this.parameters && (isOther || asMade) && argumentsOf(found.parameters);
    this.parameters = found.parameters;
    if (isOther) this.name.value = found.name;
    if (args) this.fill({ ...(asMade && this.launch()), kind: "plain", args });
  }

  fill(launch) {
    this.kind.value = launch.kind;
    const given = { dtype: "float32", tile: "128, 128, 8", threads: "256", blocks: 0, grid: "1", block: "64", shared_mem: 0, args: "", ...launch };
    this.inputs = Object.fromEntries(FIELDS[launch.kind].map(([name]) => [name, input(name, given[name])]));
    this.fields.replaceChildren(...FIELDS[launch.kind].map(([name, words]) => labelled(words, this.inputs[name])));
    this.buttons.check.disabled = launch.kind !== "gemm";
  }

  launch() {
    const given = Object.entries(this.inputs).map(([name, { value }]) => [name, NUMBERS.includes(name) ? Number.parseInt(value) || 0 : value]);
    return { kind: this.kind.value, ...Object.fromEntries(given) };
  }

  // PTX, of a link or of a compiler, belongs to exactly the text with which it came.
  content() {
    const source = this.editor.text, ptx = this.made?.source === source && this.made.ptx;
    return { version, title: this.start.title, name: this.name.value.trim(), source, launch: this.launch(), ...(ptx && { ptx }) };
  }

  busy(on) {
    this.working = on;
    for (const name of ["run", "link"]) this.buttons[name].disabled = on;
    this.buttons.check.disabled = on || this.kind.value !== "gemm";
    this.buttons.stop.hidden = !on;
  }

  async run(check) {
    this.busy(true);
    this.say();
    const begin = performance.now(), { source, name, launch, ptx = "" } = this.content();
    try {
      const answer = await python.ask("play", { lesson: this.lesson, source, name, launch, check, ptx }, { lessons: this.texts.length ? this.texts : all(this.all) });
      if (!answer.lent) this.made = answer.ptx ? { source, ptx: answer.ptx } : null;
      this.show(answer, check);
      this.state.textContent = `${((performance.now() - begin) / 1000).toFixed(1)} s`;
    } catch (error) {
      this.state.textContent = error.message;
    }
    this.busy(false);
  }

  show({ outputs, reports, blamed, lent }, check) {
    const pages = reports.map((page) => make("div", { className: "output text_html", innerHTML: page }));
    put(this.report, [...outputs.map(shownOutput), ...pages]);
    if (lent || outputs.some(({ ename }) => ename === "NvrtcMissing")) this.report.append(offer(() => this.run(check)));
    this.report.hidden = false;
    this.editor.mark(new Map(blamed.map(({ line, kinds }) => [line, kinds.join(", ")])));
    for (const link of this.report.querySelectorAll('a[href^="#cuda-line/"]')) {
      const line = Number(link.getAttribute("href").split("/")[2]);
      link.href = "#";
      link.addEventListener("click", (event) => { event.preventDefault(); this.editor.goTo(line); });
    }
    dispatchEvent(new Event("resize"));
    bringIntoView(this.report);
  }

  async share() {
    const packed = await packLink(this.content());
    history.replaceState(null, "", `#${packed}`);
    const long = location.href.length, words = `${long.toLocaleString("en")} characters`;
    try {
      await navigator.clipboard.writeText(location.href);
      this.state.textContent = `The link is copied, and in the address bar: ${words}.`;
    } catch {
      this.state.textContent = `The address bar has the link: ${words}.`;
    }
    if (long > LONGEST_LINK) this.state.textContent += " Many programs cut links of this length: send the text itself.";
  }

  async open() {
    if (location.hash.length < 2) return this.take(this.all[this.which.value]);
    try {
      const content = await openLink(location.hash.slice(1));
      const start = startOf(this.all, content);
      this.which.value = this.all.indexOf(start);
      this.take(start, content);
      if (content.version !== version) this.state.textContent = `This link was made with version ${content.version} of the course; this is ${version}, which may judge otherwise.`;
    } catch (error) {
      this.take(this.all[this.which.value]);
      this.state.textContent = error.message;
    }
  }
}

// What a link began with, by its title; one without, by its text.
function startOf(all, { title, name, source }) {
  return all.find((each) => each.title === title) ?? all.find((each) => each.name === name && each.source === source) ?? OWN;
}

// A kept text; null where the storage holds something else.
function readText(text) {
  try {
    const content = JSON.parse(text);
    return isOurs({ version: "", ...content }) ? content : null;
  } catch {
    return null;
  }
}

// --- The kernels of a text, and arguments that fit their parameters.

function kernelsOf(source) {
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "").replace(/__(?!global__)\w+__\s*\([^()]*\)/g, "");
  return [...code.matchAll(/__global__[^;{}()]*?(\w+)\s*\(([^()]*)\)/g)].map(([, name, parameters]) => ({ name, parameters }));
}

const DTYPES = {
  float: "float32", double: "float64", half: "float16", __half: "float16", int: "int32", unsigned: "uint32", "unsigned int": "uint32",
  "long long": "int64", "unsigned long long": "uint64", short: "int16", "unsigned short": "uint16", char: "int8", "unsigned char": "uint8",
};

// A line for each parameter: 64 elements, or the number 64. "" where one has a type that no argument has.
function argumentsOf(parameters) {
  const lines = parameters.split(",").filter((each) => each.trim()).map((each) => {
    const words = each.replace(/__restrict__|\bconst\b|\bvolatile\b/g, " ").replaceAll("*", " * ").trim().split(/\s+/);
    const dtype = DTYPES[words.filter((word) => word !== "*").slice(0, -1).join(" ")];
    if (!dtype || words.filter((word) => word === "*").length > 1) return null;
    if (!words.includes("*")) return `${dtype} = 64`;
    return `${dtype} 64 ${/\bconst\b/.test(each) ? "arange" : "zeros"}`;
  });
  return lines.includes(null) ? "" : lines.join("\n");
}

// A text of a link may come from any lesson.
function all(kernels) { return [...new Set(kernels.flatMap((each) => each.texts))]; }

function labelled(words, input) { return make("label", {}, words, input); }

function input(name, value) {
  if (name === "dtype") {
    const made = make("select", { name }, new Option("float32"), new Option("float16"));
    made.value = value;
    return made;
  }
  return name === "args" ? make("textarea", { name, value, rows: Math.min(Math.max(3, value.split("\n").length), 20), spellcheck: false })
    : make("input", { name, value, spellcheck: false, inputMode: NUMBERS.includes(name) ? "numeric" : "text" });
}

document.addEventListener("DOMContentLoaded", async () => {
  const root = document.getElementById("live-playground");
  if (!root) return;
  if (location.protocol === "file:") {
    root.append(make("p", { className: "live-hint" }, "This page was opened as a file, where a browser starts no Python: the playground runs when ", make("code", { textContent: serve }), " shows it."));
    return;
  }
  const kernels = await (await fetch(`${BASE}kernels.json`)).json();
  await bringEditor();
  const made = new Playground(root, kernels);
  window.playground = made;
  const last = kept.read("playground-start");
  const begin = made.all.findIndex((each) => (last ? each.title === last : each.title.startsWith("early_copy: ")));
  made.which.value = begin < 0 ? 0 : begin;
  await made.open();
  addEventListener("hashchange", () => made.open());
});
