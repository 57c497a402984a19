"""What grading needs of nbgrader: build/classroom/nbgrader_config.py calls this, and a teacher's own lines follow."""

import os
import sys
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute
from traitlets.config import Config

from tools.classroom import sandbox
from tools.classroom.execute import SandboxedExecute
from tools.classroom.feedback import SafePages
from tools.classroom.marks import Marks
from tools.classroom.rebuild import Rebuild

SHOWN = ["text/html", "text/markdown", "image/png", "image/jpeg", "text/latex", "text/plain"]
"""The forms of an output that a feedback page shows, the first one there is: none that could hold a program."""


def apply(c: Config, course: Path) -> None:
    """Set all of it; ends the program where submissions would be run without a sandbox."""
    programs = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    os.environ["PATH"] = os.pathsep.join(programs)  # nbgrader looks for alembic there
    c.CourseDirectory.root = str(course)
    c.CourseDirectory.course_id = "hiding-latency"
    c.ClearSolutions.enabled = False  # the cells hold the lessons' own gaps
    c.LimitOutput.max_lines = 200
    c.GenerateFeedback.exporter_class = SafePages
    c.WidgetsDataTypeFilter.display_data_priority = SHOWN
    c.ExportApp.plugin_class = Marks
    traits = Autograde.class_traits()
    c.Autograde.sanitize_preprocessors = [Rebuild, *traits["sanitize_preprocessors"].default()]
    steps = traits["autograde_preprocessors"].default()
    c.Autograde.autograde_preprocessors = [SandboxedExecute if step is Execute else step for step in steps]
    if "autograde" in sys.argv and sandbox.refusal():
        sys.exit(sandbox.refusal())
