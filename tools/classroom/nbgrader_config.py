# The settings of this nbgrader course. `make classroom` writes this file anew each time.
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))  # the course, for tools/classroom
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
)  # for alembic

from nbgrader.converters import Autograde  # noqa: E402
from nbgrader.preprocessors import Execute  # noqa: E402

from tools.classroom import sandbox  # noqa: E402
from tools.classroom.execute import SandboxedExecute  # noqa: E402
from tools.classroom.feedback import without_scripts  # noqa: E402

c = get_config()  # noqa: F821
c.CourseDirectory.root = str(HERE)
c.CourseDirectory.course_id = "hiding-latency"
c.ClearSolutions.enabled = False  # the cells hold the lessons' own gaps
c.LimitOutput.max_lines = 200
c.GenerateFeedback.post_convert_hook = lambda **_: without_scripts(HERE)

steps = Autograde.class_traits()["autograde_preprocessors"].default()
c.Autograde.autograde_preprocessors = [SandboxedExecute if step is Execute else step for step in steps]
if "autograde" in sys.argv and sandbox.refusal():
    sys.exit(sandbox.refusal())
