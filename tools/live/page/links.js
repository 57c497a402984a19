// What a link to the playground holds, behind the # of its address: no server sees it.
//
// JSON {version, title, name, source, launch, ptx}, packed by zlib, written as base64url.

const LONGEST_LINK = 30_000;  // characters; chats and some browsers cut longer ones
const LONGEST_TEXT = 400_000;  // characters of the JSON: a small link must not fill the memory

async function through(bytes, stream, most = Infinity) {
  const parts = [], reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    if ((size += value.length) > most) throw new Error("too long");
    parts.push(value);
  }
}

async function packLink(content) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(content)), new CompressionStream("deflate"));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// Raises an Error whose message a reader understands.
async function openLink(text) {
  let content;
  try {
    if (text.length > 4 * LONGEST_LINK) throw new Error("too long");
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
    content = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate"), LONGEST_TEXT)));
  } catch {
    throw new Error("This link is broken: a part of it is missing, or it was changed on its way. Ask for it again.");
  }
  if (!isOurs(content)) throw new Error("This link was not made by this playground, or by a version of it that had other fields.");
  return content;
}

const TEXTS = { gemm: ["dtype", "tile", "threads"], plain: ["grid", "block", "args"] };

function isOurs(content) {
  const { version, title = "", name, source, launch, ptx = "" } = content ?? {};
  return [version, title, name, source, ptx].every((each) => typeof each === "string")
    && /^\w+$/.test(name) && Array.isArray(TEXTS[launch?.kind])
    && TEXTS[launch.kind].every((field) => typeof launch[field] === "string")
    && Number.isInteger(launch.shared_mem ?? 0) && Number.isInteger(launch.blocks ?? 0);
}
