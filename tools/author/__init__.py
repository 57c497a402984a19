"""What renews the course after an edit; CONTRIBUTING.md says when.

| file | one idea |
|---|---|
| quick.py | `make quick`: the tests of what changed |
| quick.toml | its table: which tests a file asks for |
| drawn.py | and the notebooks that show what a changed file draws |
| outputs.py | `make outputs`: what the lessons print, and what the compiler makes of them |
| record.py | `make record`: all measurements anew, on a GPU |
| frozen.py | its results of the test kernels, which the simulator is compared with |
| frozen_ncu.py | and what Nsight Compute counts of them |
| sizes.py | its timelines of all kernels at three sizes |
| figures.py | the README's pictures; its table, and that of docs/measurements.md |
| house.py | the picture of the packages, in docs/house.md |
| kinds.py | the simulator's kinds of findings, in its README, and their causes |
| marked.py | where a page takes a table that is made |
| timelines.py | docs/timelines.csv, and its sums in docs/timelines.md |
| clock.py | how near the clock is: the rows beside ptxsim/docs/clock.md |
| card.py | the quick-reference card |
| tune.py | `make tune`: the fastest plans of `matmul` |
| judges.py | `make judges`: all that ever judged the simulator, beside the last time |
| suites.py | its suites of others |
| programs.py | and whole programs of others |
| planted.py | those with a planted fault each: what was found of them |
| bench.py | `make bench`: how fast the course is here |
| problems.py | and random problems for `matmul` |
| sittings.py | the minutes of each sitting |
| short_ways.py | the evening of 90 minutes, and the core of eight sittings |
| numbers.py | measured numbers in prose: bound to what cells print, and written anew |
| quoted.py | numbers in the prose of pages: bound to their record, by docs/numbers.toml |
| colab.py | the cell for Google Colab |
| try_it.py | how to get the course, in README |
| report_picture.py | README's first picture, a report |
| dry_run.py | the steps of a workflow, run here |
"""
