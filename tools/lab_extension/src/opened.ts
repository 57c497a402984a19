/**
 * Which hints and solutions a learner unfolds is noted in the learner's own progress, by the notebook's kernel:
 * course_lib/exercises/logbook.py keeps it, and says what nobody learns from it.
 */

import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

const FOLD = /^(hint|solution)\b/i;
const HEADING = /^#+ .*?\b(\d\d\.\d+)\b/gm;

/** The exercise to which a fold belongs: that of the nearest heading at or above it. */
function exerciseOf(panel: NotebookPanel, fold: Element): string | undefined {
  const cells = panel.content.widgets;
  const words = cells
    .slice(0, cells.findIndex(cell => cell.node.contains(fold)) + 1)
    .filter(cell => cell.model.type === 'markdown')
    .map(cell => cell.model.sharedModel.getSource());
  return [...words.join('\n').matchAll(HEADING)].pop()?.[1];
}

export function noteOpened(notebooks: INotebookTracker): void {
  const toggled = ({ target: fold }: Event) => {
    if (!(fold instanceof HTMLDetailsElement) || !fold.open) return;
    const kind = FOLD.exec(fold.querySelector('summary')?.textContent ?? '')?.[1].toLowerCase();
    const panel = kind && notebooks.find(each => each.content.node.contains(fold));
    const name = panel && exerciseOf(panel, fold);
    if (!name) return;
    const code = `__import__("course_lib.exercises.logbook", fromlist=["x"]).keep_opened("${name}", "${kind}")`;
    const noted = panel.sessionContext.session?.kernel?.requestExecute({ code, silent: true, store_history: false });
    noted?.done.catch(() => undefined); // without a kernel nothing is noted, and nobody is bothered
  };
  document.addEventListener('toggle', toggled, { capture: true }); // it does not bubble
}
