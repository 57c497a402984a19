#!/bin/bash
# Build labextensions/cuda-in-strings from src: `bash tools/lab_extension/build.sh`, with Node 20 or later. What it makes
# is tracked, so that nobody else needs Node. --before pins what the packages in package.json ask for themselves.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="$here/../../build/lab_extension"
made=labextensions/cuda-in-strings
mkdir -p "$work"
cd "$work"
rm -rf src lib "$made"
cp -r "$here/src" "$here/package.json" "$here/tsconfig.json" .
npm install --before=2026-10-15 --ignore-scripts --no-package-lock --no-audit --no-fund
node node_modules/typescript/bin/tsc
# The builder of Lab would fetch this file from GitHub.
node node_modules/@jupyter/builder/lib/build-labextension.js --core-package-file node_modules/@jupyterlab/core-meta/core.package.json .
(cd "$here" && sha256sum build.sh package.json tsconfig.json src/*.ts) >"$made/made_from.sha256"
chmod -R u+w "$made"
rm -rf "$here/$made"
mkdir -p "$here/labextensions"
cp -r "$made" "$here/$made"
