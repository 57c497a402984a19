// node bytecode.mjs PYODIDE FOLDER: compile every module in FOLDER in place, by the Python that will run it.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [pyodide, folder] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = createRequire(import.meta.url)(`${pyodide}/pyodide.js`);
const python = await loadPyodide({ indexURL: pyodide });
python.mountNodeFS("/site", folder);
python.runPython(`
import compileall, pathlib, py_compile
good = compileall.compile_dir("/site", stripdir="/site", prependdir="/course", legacy=True, force=True, quiet=1,
                              invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
assert good, "not every module could be compiled"
for path in pathlib.Path("/site").rglob("*.py"):
    path.unlink()
`);
