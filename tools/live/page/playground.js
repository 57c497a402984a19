// The playground: any kernel, its launch, a report, and a link that brings others to it.

const FIELDS = {
  gemm: [["dtype", "Type"], ["tile", "Tile: M, N, K of a block"], ["threads", "Threads of a block"], ["blocks", "Blocks (0: one a tile)"], ["shared_mem", "Dynamic shared memory, bytes"]],
  plain: [["grid", "Grid"], ["block", "Block"], ["shared_mem", "Dynamic shared memory, bytes"], ["args", "Arguments, one a line"]],
};
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
    this.which.addEventListener("change", () => this.take(this.all[this.which.value]));
    this.name = make("input", { id: "kernel-name", spellcheck: false, autocapitalize: "off" });
    this.kind = make("select", { id: "launch-kind" }, new Option("a GEMM problem", "gemm"), new Option("grid, block, arguments", "plain"));
    this.kind.addEventListener("change", () => this.fill({ ...this.launch(), kind: this.kind.value }));
    this.fields = make("div", { className: "live-fields" });
    this.editor = new Editor("", "CUDA source of the kernel", () => { this.made = null; this.editor.draw(); });
    this.buttons = Object.fromEntries([["run", "Run"], ["check", "Check all sizes"], ["link", "Link to this"], ["stop", "Stop"]].map(
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
    python.listeners.add(() => this.say());
    this.root.append(
      make("div", { className: "live-fields" }, labelled("Start from", this.which), labelled("Kernel's name", this.name), labelled("Launch", this.kind)),
      this.fields, this.editor.box,
      make("div", { className: "live-bar" }, ...Object.values(this.buttons), this.state), this.report,
    );
  }

  say() {
    if (this.working) this.state.textContent = python.progress();
    else if (!python.worker && !this.state.textContent) this.state.textContent = `Run loads Python first: ${MB(first)}, once.`;
  }

  take(content) {
    this.lesson = content.lesson ?? "";
    this.texts = content.texts ?? [];
    this.made = content.ptx ? { source: content.source, ptx: content.ptx } : null;
    this.name.value = content.name;
    this.fill(content.launch);
    this.editor.area.value = content.source;
    this.editor.draw();
    this.report.hidden = true;
    this.state.textContent = "";
    this.say();
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
    const source = this.editor.area.value, ptx = this.made?.source === source && this.made.ptx;
    return { version, name: this.name.value.trim(), source, launch: this.launch(), ...(ptx && { ptx }) };
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
    this.editor.draw(new Map(blamed.map(({ line, kinds }) => [line, kinds.join(", ")])));
    for (const link of this.report.querySelectorAll('a[href^="#cuda-line/"]')) {
      const line = Number(link.getAttribute("href").split("/")[2]);
      link.href = "#";
      link.addEventListener("click", (event) => { event.preventDefault(); this.editor.goTo(line); });
    }
    dispatchEvent(new Event("resize"));
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
      const known = this.all.find((each) => each.name === content.name);
      this.take({ ...content, lesson: "" });
      this.which.value = this.all.indexOf(known ?? OWN);
      if (content.version !== version) this.state.textContent = `This link was made with version ${content.version} of the course; this is ${version}, which may judge otherwise.`;
    } catch (error) {
      this.take(this.all[this.which.value]);
      this.state.textContent = error.message;
    }
  }
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
    root.append(make("p", { className: "live-hint" }, "The playground runs when a server shows this page: ", make("code", { textContent: serve })));
    return;
  }
  const kernels = await (await fetch(`${BASE}kernels.json`)).json();
  const made = new Playground(root, kernels);
  window.playground = made;
  const begin = kernels.findIndex((each) => each.title.startsWith("early_copy: "));
  made.which.value = begin < 0 ? 0 : begin;
  await made.open();
  addEventListener("hashchange", () => made.open());
});
