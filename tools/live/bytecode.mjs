// node bytecode.mjs PYODIDE FOLDER PLACES: compile every module in FOLDER in place, by the Python that will run it.
// PLACES: {"a folder in it": {"place": where its modules lie in the page, "docstrings": [beginnings of names]}}, as JSON.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [pyodide, folder] = process.argv.slice(2, 4).map((path) => resolve(path));
const { loadPyodide } = createRequire(import.meta.url)(`${pyodide}/pyodide.js`);
const python = await loadPyodide({ indexURL: pyodide });
python.mountNodeFS("/site", folder);
python.globals.set("places", process.argv[4]);
python.runPython(`
import json, pathlib, py_compile
for name, about in json.loads(places).items():
    top = pathlib.Path("/site", name)
    for path in sorted(top.rglob("*.py")):
        module = path.relative_to(top).as_posix()
        told = module.startswith(tuple(about["docstrings"]))
        py_compile.compile(path, path.with_suffix(".pyc"), f'{about["place"]}/{module}', doraise=True,
                           optimize=0 if told else 2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        path.unlink()
`);
