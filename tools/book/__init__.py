"""The book: the lessons as they ran, as pages that need no server and no network.

| file | one idea |
|---|---|
| build.py | all pages from notebooks in memory, a whole book or nothing |
| pages.py | a lesson as pages, one a sitting |
| lesson.py | each of them as a chapter: levels of headings, marks on solutions |
| linked.py | what the chapters link to comes along: headers, notes, the card |
| front.py, front.md | the first page |
| playground.md | the page for any kernel, where cells run in pages |
| glyphs.py | its small pictures of pipelines |
| conf.py | settings of Sphinx, and these extensions of it: |
| about.py | description, version and day of each page |
| alt_text.py | figures keep their description |
| came_out.py | a fold over outputs says that they are what came out |
| cuda_lexer.py | CUDA inside a Python string in CUDA's colours |
| cuda_lines.py | a line in a report leads to that line of the kernel |
| excerpts.py | the search page shows where a word stands |
| scorer.js | what a search finds first |
| glossary.py | the first use of a word leads to the glossary |
| live.py | what a page says to the scripts that run its cells |
| static/, templates/ | looks and type, the rule that a page loads nothing from elsewhere |

`python -m tools.book` makes a book of the committed outputs in build/preview, without running a lesson.
"""
