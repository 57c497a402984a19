// The licence of each package that is in the bundle, as the package brings it: `node licences.mjs FOLDER_OF_THE_BUILD`.

import { readFileSync, readdirSync } from "node:fs";

const folder = process.argv[2];
const { inputs } = JSON.parse(readFileSync(`${folder}/made.json`, "utf-8"));
const found = Object.keys(inputs).map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
for (const name of [...new Set(found.filter(Boolean))].sort()) {
  const place = `${folder}/node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${place}/package.json`, "utf-8"));
  const file = readdirSync(place).find((each) => /^licen[cs]e/i.test(each));
  process.stdout.write(`${name} ${version} (${license})\n\n${readFileSync(`${place}/${file}`, "utf-8").trim()}\n\n\n`);
}
