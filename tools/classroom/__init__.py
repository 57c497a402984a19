"""What a teacher needs; docs/instructor.md says how to use it, docs/grading.md what grading trusts.

| file | one idea |
|---|---|
| release.py | `make classroom`: an nbgrader course of the lessons' exercises |
| assignment.py | an assignment, cut out of a lesson |
| grade.py | `make grade`: what was handed in, several at once |
| one.py | one submission, with nbgrader's own steps |
| places.py | where it lies |
| results.py | what was found in it, in a line |
| nbgrader_config.py, settings.py | what that needs of nbgrader, as: |
| rebuild.py | a submission, put together anew |
| mend.py | a damaged file, read as far as it can be |
| execute.py | the step that runs it |
| verdicts.py, judge.py | another process, which checks the answers |
| wire.py | an answer's way there |
| sandbox.py, sandbox.sh, watch.py | where it can do no harm, and takes no more than its share |
| feedback.py | pages in which nothing runs |
| marks.py, wide.py | the tables grades.csv and grades_wide.csv |
| progress.py, tries.py | what a group has solved and how hard it was, from its files of progress |
| wheelhouse.py | `make wheelhouse`: the packages as files |
"""
