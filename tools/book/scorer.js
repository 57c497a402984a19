// The order of what a search finds: lessons first, then what deepens and exercises them, then the other pages; within
// each, first where the words stand most often. Sphinx puts this text into its search in place of its own numbers.

const BY_PLACE = [[/^notebooks\/\d/, 30_000], [/^notebooks\//, 20_000], [/^docs\/(glossary|how-a-lesson-works)/, 10_000]];

function occurrences(page) {
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const text = (window.EXCERPTS?.[page] ?? []).map(([, title, prose, code]) => `${title} ${prose} ${code}`).join(" ");
  return text.toLowerCase().split(query.trim().toLowerCase()).length - 1;
}

// var, because Sphinx declares it, too.
var Scorer = {
  // The entry that counts is the page's: [page, title, anchor, description, score, file, kind].
  score: ([page, , , , score]) =>
    score + 10 * Math.min(occurrences(page), 900) + (BY_PLACE.find(([where]) => where.test(page))?.[1] ?? 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
