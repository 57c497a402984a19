#!/bin/bash
# Build page/editor.js from editor.ts and what it takes of tools/lab_extension/src: `bash tools/live/editor/build.sh`, with
# Node 20 or later. What it makes is tracked, so that nobody else needs Node; package-lock.json pins every package by its
# hash, and names no registry.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$here/../../.."
work="$root/build/editor"
page="$here/../page"
mkdir -p "$work"
cp "$here/package.json" "$here/package-lock.json" "$work"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved)
NODE_PATH="$work/node_modules" "$work/node_modules/.bin/esbuild" "$here/editor.ts" --bundle --minify --format=iife \
  --target=es2022 --legal-comments=none --metafile="$work/made.json" --outfile="$page/editor.js"
node "$here/licences.mjs" "$work" >"$page/editor.licences.txt"
(cd "$root" && sha256sum tools/live/editor/{build.sh,editor.ts,licences.mjs,package.json,package-lock.json} \
  tools/lab_extension/src/{cuda,look,strings}.ts) >"$here/made_from.sha256"
