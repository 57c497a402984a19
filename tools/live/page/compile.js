// Who compiles a text that does not ship: the host that serves the page, or the compile service that belongs to this book;
// or, where the reader allows it, Compiler Explorer.
//
// Python waits for the answer, so these requests are synchronous; a worker may. Nothing else here asks another host.

let allowed = null;  // the address of Compiler Explorer, once the reader said yes
let service = "";  // the address of the book's compile service, where it has one
let serving = null;  // the address that compiles: "" is this host; null: nobody was asked yet

const NOBODY = false;

function send(method, address, body) {
  const request = new XMLHttpRequest();
  request.open(method, address, false);
  request.setRequestHeader("Accept", "application/json");
  if (body) request.setRequestHeader("Content-Type", "application/json");
  try {
    request.send(body && JSON.stringify(body));
    return [request.status, JSON.parse(request.responseText)];
  } catch {
    return [request.status || 0, null];  // nobody is there, or the answer is no JSON
  }
}

function compile({ whole, ...asked }) {
  serving ??= [...new Set(["", service])].find((host) => send("GET", `${host}/api/compile`)[1]?.compiler) ?? NOBODY;
  if (serving !== NOBODY) {
    const [status, answer] = send("POST", `${serving}/api/compile`, asked);
    return answer ? [status, answer] : [503, { error: `The compile service of ${serving || "this host"} does not answer any more.` }];
  }
  if (allowed) return atCompilerExplorer(asked, whole);
  return [503, { error: "This text does not ship with the course, and a browser has no CUDA compiler." }];
}

// Its API: docs/API.md in its repository. `ids`: its compilers of CUDA, newest last.
let ids = null;

function newest() {
  const list = send("GET", `${allowed}/api/compilers/cuda?fields=id,name,semver`)[1] ?? [];
  const nvcc = list.filter(({ id, semver }) => /^nvcc/.test(id) && Number.parseInt(semver) >= 12);
  nvcc.sort((a, b) => a.semver.localeCompare(b.semver, undefined, { numeric: true }));
  return nvcc.at(-1)?.id;
}

function atCompilerExplorer({ options, arch, names = [], kind = "ptx" }, whole) {
  if (names.length) return [503, { error: "Compiler Explorer does not say the names of templates: only a kernel with extern \"C\" can be compiled there." }];
  if (kind !== "ptx") return [503, { error: "Compiler Explorer is asked for PTX alone; registers and machine code need a compiler of NVIDIA's here." }];
  ids ??= newest();
  if (!ids) return [503, { error: "Compiler Explorer does not answer, or has no CUDA 12." }];
  const off = ["binary", "commentOnly", "directives", "labels", "libraryCode", "trim", "execute", "demangle"];
  const flags = [...options.filter((each) => !each.startsWith("-I")), "-lineinfo", `-arch=${arch.replace("sm_", "compute_")}`];
  const [status, answer] = send("POST", `${allowed}/api/compiler/${ids}/compile`, {
    source: whole, lang: "cuda",
    options: { userArguments: flags.join(" "), filters: Object.fromEntries(off.map((name) => [name, false])) },
  });
  if (!answer) return [503, { error: `Compiler Explorer gave no answer (status ${status}).` }];
  const device = Object.entries(answer.devices ?? {}).find(([name]) => name.startsWith("PTX"))?.[1];
  const text = (lines) => (lines ?? []).map((line) => line.text).join("\n");
  if (answer.code !== 0 || !device) return [422, { error: text(answer.stderr) || "Compiler Explorer made no PTX." }];
  return [200, { ptx: text(device.asm), log: text(answer.stderr), lowered: {} }];
}
