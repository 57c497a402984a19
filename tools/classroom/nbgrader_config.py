# The settings of this nbgrader course. Write yours at the end: `make classroom` keeps a file that you have changed.
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))  # the course, for tools/classroom
from tools.classroom import settings  # noqa: E402

c = get_config()  # noqa: F821
settings.apply(c, HERE)  # the sandbox and the assignments need it

# Yours, for example: c.CourseDirectory.course_id = "gpu-2027"
