"""A fold over outputs says that they are what came out: MyST-NB has one pair of words for all folds of a cell."""

from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.transforms.post_transforms import SphinxPostTransform

WORDS = "What came out"
ABOVE_OUTPUTS = {"below-input", "above-output"}


class SayWhatCameOut(SphinxPostTransform):
    """Behind MyST-NB's own, which makes the folds."""

    default_priority = 200
    formats = ("html",)

    def run(self, **_: object) -> None:
        for fold in self.document.findall(HideCodeCellNode):
            if ABOVE_OUTPUTS & {*fold["classes"]}:
                fold["prompt_show"] = fold["prompt_hide"] = WORDS


def setup(app) -> dict[str, bool]:
    app.add_post_transform(SayWhatCameOut)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
