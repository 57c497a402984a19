# Every target first makes .venv, or brings it up to date; that takes no time when nothing changed.
# Needed: Python 3.11 or later, and make. `make PYTHON=...` names an interpreter, `make EXTRA=cuda13` (or cuda12, or
# none) chooses CuPy by hand, for example on a login node without a GPU. `make WITH="browser classroom" ...` adds
# what tests in a browser and teachers need, `make WITH=nvcc ...` what whole programs do; what a target needs beyond a learner's packages it adds itself (NEEDS).
# Both stay there. `make lab LAB="--no-browser --port=9000"` hands these to JupyterLab; SERVE is the same for `make serve`;
# LIVE names folders or archives that `make live` takes its files from, instead of PyPI. JUDGES is a
# folder with checkouts of others' suites for `make judges`; PROGRAMS=1 runs whole programs, too, KEEP=1 keeps what got worse.

PYTHON ?=
EXTRA ?=
WITH ?=
LAB ?=
SERVE ?=
LIVE ?=
NEWS ?=
OUTPUTS ?=
AGAIN ?=
TAG ?=
JUDGES ?=
PROGRAMS ?=
KEEP ?=
NEEDS :=
RUN := .venv/bin/python
BELOW := $(if $(PYTHON),99,15)

.DEFAULT_GOAL := help
.PHONY: help course lab news live serve test quick rest long judges outputs record tune calibrate bench release classroom grade wheelhouse clean install

define HELP
To learn
  make lab         open your copies of the lessons in JupyterLab: my_lessons/, made and brought up to date
  make news        what a new version brings to copies that you edited (NEWS="02 --take 1 3" takes it over)
  make course      run the lessons that changed (AGAIN=1: all), write the book build/course/index.html, print one table
  make serve       the book and a compiler for browsers: on this machine, or for a room (SERVE="--host 0.0.0.0")
  make live        from then on the book's cells run in the browser: fetches Python for it, once (LIVE="FOLDER": from there)
  make install     make .venv, or bring it up to date; every other target does that first
  make clean       remove .venv and build; my_lessons/ and, in build/classroom, learners' work and marks stay

To change the course
  make quick       style, import rules, types, and the tests of what changed since the last commit; no proof
  make test        style, library and notebooks
  make rest        behind test: what that samples of and leaves out, all but half an hour that make long adds
  make long        test, with every case and every lesson that it otherwise samples
  make judges      before the simulator judges otherwise: all that it was ever compared with (JUDGES="FOLDER": of others)
  make outputs     after editing a lesson: run the lessons without a GPU and keep what they print (OUTPUTS=01: one)
  make record      after editing a kernel, on a GPU machine: measure, freeze, draw and print all of it anew
  make tune        after editing matmul's kernel, on a GPU machine: find its fastest plans there, in some minutes
  make calibrate   on a GPU machine: measure what instructions cost there, in some seconds; model=True is then that GPU's
  make bench       how fast the simulator is on this machine; 200 random problems for matmul
  make release     behind make course: wheels of the three packages and the book, as files (TAG=v2.0.0)

To teach
  make classroom   assignments for nbgrader, without solutions, in build/classroom
  make grade       grade what was handed in, in a sandbox; feedback and a table of marks
  make wheelhouse  the packages as files, for a room without a network
endef

help:
	@: $(info $(HELP))

course: install
	@$(RUN) -m tools.course $(if $(AGAIN),--again)

lab: install
	@$(RUN) -m hiding_latency lab -- $(LAB)

news: install
	@$(RUN) -m hiding_latency news $(if $(NEWS),--lesson $(NEWS))

serve: install
	@[ -f build/course/index.html ] || $(MAKE) --no-print-directory course
	@$(RUN) -m hiding_latency serve $(SERVE)

live: install
	@$(RUN) -m tools.live.fetch $(LIVE)
	@$(MAKE) --no-print-directory course

test quick rest judges outputs record bench: NEEDS += dev
judges: NEEDS += nvcc

test: install
	@status=0; for step in "ruff check ." "ruff format --check ." "pytest --nbval --numprocesses auto tests notebooks"; do \
	  echo "== $$step"; $(RUN) -m $$step || status=1; done; exit $$status

quick: install
	@$(RUN) -m tools.author.quick

long: export COURSE_EVERY_CASE = 1
rest: export COURSE_EVERY_CASE = rest
long rest: export COURSE_ALL_LESSONS = 1
long rest: export COURSE_NOTHING_MISSING = 1
long rest: NEEDS += browser classroom
long: test

rest: install
	@$(RUN) -m pytest --nbval --numprocesses auto tests notebooks

judges: install
	@$(RUN) -m tools.author.judges $(JUDGES) $(if $(PROGRAMS),--programs) $(if $(KEEP),--keep)

outputs: install
	@$(RUN) -m tools.author.outputs $(OUTPUTS)

record: install
	@$(RUN) -m tools.author.record

tune: install
	@$(RUN) -m tools.author.tune

calibrate: install
	@$(RUN) -m tools.calibrate

bench: install
	@$(RUN) -m tools.author.bench
	@$(RUN) -m tools.author.problems 200

release: install
	@$(RUN) -m tools.release $(TAG)

classroom grade: NEEDS += classroom

classroom: install
	@$(RUN) -m tools.classroom.release

grade: install
	@$(RUN) -m tools.classroom.grade

wheelhouse: install
	@$(RUN) -m tools.classroom.wheelhouse

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name classroom -exec rm -rf {} +
	@if [ -d build/classroom/submitted ]; then echo "build/classroom stays: learners' work and marks are in it."; \
	elif [ -f build/classroom/nbgrader_config.py ] && \
	  ! cmp -s tools/classroom/nbgrader_config.py build/classroom/nbgrader_config.py; then \
	  echo "build/classroom stays: nbgrader_config.py in it is not the course's own."; \
	else rm -rf build; fi

# The first interpreter that is new enough, python3 before the others, and not newer than the locked packages.
install:
	@for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.14 python3.11 python); do \
	  if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, $(BELOW)))' 2>/dev/null; \
	  then exec "$$python" -m tools.install $(EXTRA) $(if $(WITH)$(NEEDS),--with $(WITH) $(NEEDS)); fi; \
	done; \
	echo "No suitable Python found: python3 is $$(python3 --version 2>&1)." >&2; \
	echo "The course needs Python 3.11 or later (its packages are pinned for 3.11 to 3.14)." >&2; \
	echo "Install one of these, or name one that is not on the PATH: make PYTHON=/folder/of/python3.12" >&2; \
	exit 1
