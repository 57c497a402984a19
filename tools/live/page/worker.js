// Python with the course in it, in a thread of its own: the page stays alive meanwhile, and Stop ends the worker.
//
// Asked: {id, what, data, lessons}. Answered: {id, answer} or {id, failed}; before that {step} and {bytes} as it loads.

const PACKED = ".packed";
const say = (message) => postMessage(message);

// Fetch and count, so that the page can say how far it is.
async function counted(name) {
  const reply = await plainFetch(name);
  if (!reply.ok) throw new Error(`${name} cannot be loaded (${reply.status})`);
  const count = new TransformStream({ transform(part, out) { say({ bytes: part.byteLength }); out.enqueue(part); } });
  return new Response(reply.body.pipeThrough(count), { headers: reply.headers });
}

async function unpacked(name, type) {
  const { body } = await counted(name + PACKED);
  return new Response(body.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": type } });
}

const plainFetch = self.fetch.bind(self);
const early = new Map();  // by address: what Pyodide asks for only when Python runs
// Pyodide fetches its parts by itself.
self.fetch = (what, options) => {
  const address = String(what.url ?? what);
  if (early.has(address)) return early.get(address).then((data) => new Response(data));
  if (address.endsWith(".wasm")) return unpacked(address, "application/wasm");
  return /\.(whl|zip)$/.test(address) ? unpacked(address, "application/zip") : plainFetch(what, options);
};

async function bringEarly(name) {
  const { packages } = await (await plainFetch("pyodide/pyodide-lock.json")).json();
  const address = new URL(`pyodide/${packages[name].file_name}`, location).href;
  early.set(address, unpacked(address, "application/zip").then((reply) => reply.arrayBuffer()));
}

async function start() {
  const numpy = bringEarly("numpy");
  const course = unpacked("course.zip", "application/zip").then((reply) => reply.arrayBuffer());
  const machine = unpacked("pyodide/pyodide.asm.js", "text/javascript").then((reply) => reply.text());
  importScripts("compile.js", "pyodide/pyodide.js");
  (0, eval)(await machine);
  await numpy;  // it is asked for, not yet here
  const python = await loadPyodide({ indexURL: "pyodide/", lockFileURL: "pyodide/pyodide-lock.json", packages: ["numpy"] });
  say({ step: "Python is here" });
  python.unpackArchive(await course, "zip", { extractDir: "/course" });
  python.runPython("import os, sys; os.environ['COURSE_BACKEND'] = 'simulator'; sys.path.insert(0, '/course'); os.chdir('/course')");
  const bridge = python.pyimport("inside.bridge");
  bridge.ask_by((question) => JSON.stringify(compile(JSON.parse(question))));
  say({ step: "ready" });
  return { python, bridge };
}

// What the compiler made of a lesson's kernels.
const brought = new Map();
function bring(python, lesson) {
  if (!brought.has(lesson)) brought.set(lesson, (async () => {
    const reply = await plainFetch(`lessons/${lesson}.zip`);
    if (!reply.ok) return;  // nothing is compiled there
    const place = `/course/course_lib/compiled/${lesson}.zip`;
    python.FS.mkdirTree(place.slice(0, place.lastIndexOf("/")));
    python.FS.writeFile(place, new Uint8Array(await reply.arrayBuffer()));
  })());
  return brought.get(lesson);
}

const FIGURES = ["matplotlib", "contourpy", "cycler", "kiwisolver", "packaging", "pillow", "pyparsing", "python-dateutil", "six"];

async function answer({ id, what, data, lessons = [] }) {
  const { python, bridge } = await ready;
  await Promise.all(lessons.map((lesson) => bring(python, lesson)));
  const tell = (step) => say({ id, step });
  const ask = () => JSON.parse(bridge.ask(what, JSON.stringify(data), tell));
  let found = ask();
  if (found.later) {
    tell("figures are loading");
    await python.loadPackage(FIGURES, { messageCallback() {} });
    found = ask();
  }
  return found;
}

const ready = start();
ready.catch((error) => say({ broken: String(error.message ?? error) }));

let queue = Promise.resolve();
onmessage = ({ data: question }) => {
  if (question.what === "allow") { allowed = question.data.address; return; }
  if (question.what === "service") { ready.then(() => { service = question.data.address; }); return; }
  queue = queue.then(() => answer(question)).then(
    (found) => say({ id: question.id, answer: found }),
    (error) => say({ id: question.id, failed: String(error.message ?? error) }),
  );
};
