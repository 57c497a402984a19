"""What more than one test looks for in a file."""

import re

FOLDERS = "home|root|work|tmp|opt|mnt|Users|private|scratch"
ABSOLUTE = re.compile(rf"(?:(?<![\w.~$}}>*-])|(?<=-[IL]))/(?:{FOLDERS})/\w|(?<!\w)[A-Z]:\\\\?\w")
"""A path that exists on one machine only."""
