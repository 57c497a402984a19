// On the search page: below each hit the sections in which the words stand, each with the text around the first of them.

const MOST = 3, AROUND = 90;

// What to look for, best first: the query as it was typed, then its words, long ones first, as the index has them
// (stemmed: "barriers" finds "barrier").
function patterns(query) {
  const stemmer = new Stemmer();
  const words = splitQuery(query.toLowerCase()).filter((word) => !stopwords.has(word));
  words.sort((a, b) => b.length - a.length);
  const escaped = [query.trim(), ...words.map((word) => stemmer.stemWord(word))].map(_escapeRegExp);
  return [...new Set(escaped)].filter(Boolean).map((text) => new RegExp(text + "\\w*", "i"));
}

// [text before, the word, text after], or null.
function around(text, pattern) {
  const found = pattern.exec(text);
  if (!found) return null;
  const from = Math.max(0, found.index - AROUND), end = found.index + found[0].length, to = end + AROUND;
  const before = from ? "… " + text.slice(from, found.index).replace(/^\S*\s/, "") : text.slice(0, found.index);
  const after = to < text.length ? text.slice(end, to).replace(/\s\S*$/, "") + " …" : text.slice(end);
  return [before, found[0], after];
}

// The best place in a section: the earliest pattern that is in it, in prose before code (of which one line is shown).
function place(prose, code, looked) {
  for (const [rank, pattern] of looked.entries()) {
    const found = around(prose, pattern);
    if (found) return { rank, found };
    const line = code.split("\n").find((one) => pattern.test(one));
    if (line) return { rank, found: around(line.trim(), pattern), code: true };
  }
  return null;
}

function shown(address, title, { found: [before, word, after], code }) {
  const item = document.createElement("li"), text = document.createElement(code ? "code" : "span");
  const link = document.createElement("a"), mark = document.createElement("mark");
  Object.assign(link, { href: address, textContent: title });
  mark.textContent = word;
  text.append(before, mark, after);
  item.append(link, ": ", text);
  return item;
}

// Sphinx lists a page, or a section whose title has the word; of that, its own text.
function explain(hit, looked) {
  const link = hit.querySelector("a");
  const [address, anchor] = link.getAttribute("href").split("#");
  const sections = window.EXCERPTS[address.replace(/\.html.*/, "")] ?? [];
  const places = sections
    .filter(([id]) => !anchor || id === anchor)
    .map(([id, title, prose, code]) => ({ id, title, at: place(prose, code, looked) }))
    .filter(({ at }) => at)
    .sort((a, b) => a.at.rank - b.at.rank);
  if (!places.length) return;
  const list = document.createElement("ul");
  list.className = "excerpts";
  const best = places.filter(({ at }) => at.rank === places[0].at.rank);
  list.append(...best.slice(0, MOST).map(({ id, title, at }) =>
    shown(id ? `${address}#${id}` : address, title || link.textContent, at)));
  hit.append(list);
}

document.addEventListener("DOMContentLoaded", () => {
  const query = new URLSearchParams(location.search).get("q");
  const results = document.getElementById("search-results");
  if (!query || !results) return;
  const looked = patterns(query);
  const look = () => results.querySelectorAll("ul.search > li:not([data-explained])").forEach((hit) => {
    hit.dataset.explained = "";
    explain(hit, looked);
  });
  new MutationObserver(look).observe(results, { childList: true, subtree: true });
  look();
});
