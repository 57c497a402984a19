/**
 * From a finding to the line that it names: `<a href="#cuda-line/KERNEL/LINE" title="what was found">`.
 *
 * ptxsim/report.py writes these links, and says what they hold. A click puts the cursor on the line; after a cell ran,
 * the lines that its output names are marked, those of an error too, which is text. A link of this form passes Lab's sanitizer and needs no trust, and Lab
 * asks nothing before it is followed.
 */

import type { EditorView } from '@codemirror/view';
import type { Cell, CodeCell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import { INotebookTracker, Notebook, NotebookActions } from '@jupyterlab/notebook';
import { setMarks } from './look';
import { CudaString, cudaStrings } from './strings';

interface Link {
  kernel: string;
  line: number;
  /** The line itself where the link stands beside it, else empty. */
  text: string;
  said: string;
}

interface Place {
  cell: Cell;
  /** Of the cell, from 1. */
  line: number;
}

function read(link: Element): Link | null {
  const parts = /^#cuda-line\/(\w+)\/(\d+)$/.exec(link.getAttribute('href') ?? '');
  const text = link.parentElement?.querySelector('b')?.textContent?.trim() ?? '';
  return parts && { kernel: parts[1], line: Number(parts[2]), text, said: link.getAttribute('title') ?? '' };
}

function definesKernel(string: CudaString, name: string): boolean {
  return string.text.includes('__global__') && new RegExp(`\\b${name}\\s*\\(`).test(string.text);
}

/**
 * Where the line stands: in the nearest string at or above the output, else below, that defines the kernel. The text of
 * the line counts for more than its number, because a report may be on an edited source with lines more or less; it may
 * also stand in a string without a kernel, from which the source was put together.
 */
function find(notebook: Notebook, output: Cell, { kernel, line, text }: Link): Place | null {
  const cells = notebook.widgets;
  const at = cells.indexOf(output);
  const order = [...cells.keys()].sort((a, b) => Number(a > at) - Number(b > at) || Math.abs(a - at) - Math.abs(b - at));
  const strings = order
    .map(number => cells[number])
    .filter(cell => cell.model.type === 'code')
    .flatMap(cell => {
      const source = cell.model.sharedModel.getSource();
      return cudaStrings(source).map(string => {
        const above = source.slice(0, string.from).split('\n').length - 1;
        return { ...string, cell, above, lines: string.text.split('\n') };
      });
    });
  const home = strings.find(string => definesKernel(string, kernel));
  if (!home) return null;

  const withText = ({ cell, above, lines }: (typeof strings)[number]): Place | null => {
    const same = text ? [...lines.keys()].filter(each => lines[each].trim() === text) : [];
    same.sort((a, b) => Math.abs(a + 1 - line) - Math.abs(b + 1 - line));
    return same.length ? { cell, line: above + same[0] + 1 } : null;
  };
  const parts = strings.filter(string => !string.text.includes('__global__'));
  const places = [home, ...parts].map(withText).filter(place => place !== null);
  return places[0] ?? (line <= home.lines.length ? { cell: home.cell, line: home.above + line } : null);
}

/** The cell's editor, when Lab has made it: it makes those far from the screen later. */
async function editorOf(cell: Cell): Promise<EditorView | undefined> {
  await cell.ready;
  return (cell.editor as CodeMirrorEditor | null)?.editor;
}

async function go(notebook: Notebook, { cell, line }: Place): Promise<void> {
  const index = notebook.widgets.indexOf(cell);
  cell.inputHidden = false;
  notebook.activeCellIndex = index;
  await notebook.scrollToItem(index, 'smart');
  const view = await editorOf(cell);
  if (!view) return;
  const { from, text } = view.state.doc.line(line);
  notebook.mode = 'edit';
  view.dispatch({ selection: { anchor: from + text.search(/\S|$/) }, scrollIntoView: true });
  view.focus();
  const shown = view.domAtPos(from).node;
  const row = (shown instanceof Element ? shown : shown.parentElement)?.closest('.cm-line');
  row?.animate({ background: ['var(--jp-warn-color2)', 'transparent'] }, 1500);
}

export function followLinks(notebooks: INotebookTracker): void {
  const click = (event: MouseEvent) => {
    const link = (event.target as Element).closest?.('a[href^="#cuda-line/"]');
    const panel = link && notebooks.find(each => each.node.contains(link));
    const output = panel && panel.content.widgets.find(cell => cell.node.contains(link));
    const named = link && read(link);
    if (!output || !named) return;
    event.preventDefault();
    event.stopPropagation(); // or the click would choose the output's cell
    const place = find(panel.content, output, named);
    if (place) void go(panel.content, place);
  };
  document.addEventListener('click', click, { capture: true });
}

/** The links in what a cell shows. */
function linksOf(cell: CodeCell): Link[] {
  const pages = cell.model.outputs.toJSON().map(output => (output.data as { 'text/html'?: string | string[] })?.['text/html']);
  return pages
    .map(page => (Array.isArray(page) ? page.join('') : page ?? ''))
    .filter(page => page.includes('#cuda-line/'))
    .map(page => new DOMParser().parseFromString(page, 'text/html'))
    .flatMap(page => [...page.querySelectorAll('a[title]')].map(read))
    .filter(link => link !== null);
}

/** The lines that an error of the compiler or of a launch names. */
function namedByErrors(cell: CodeCell): Link[] {
  return cell.model.outputs.toJSON().flatMap(({ ename, evalue }) => {
    const words = String(evalue ?? '');
    if (ename === 'CompileError')
      return [...words.matchAll(/\((\d+)\): error: (.*)/g)].map(([, line, said]) => ({ kernel: '', line: +line, text: '', said }));
    if (ename !== 'HazardError') return [];
    const kernel = /^\w+/.exec(words)?.[0] ?? '';
    return [...words.matchAll(/^(.*? at line (\d+)\b.*)$/gm)].map(([, said, line]) => ({
      kernel,
      line: +line,
      text: new RegExp(`^ *${line} \\| (.*)$`, 'm').exec(words)?.[1].trim() ?? '',
      said
    }));
  });
}

async function mark(cell: Cell, lines: Map<number, string>): Promise<void> {
  (await editorOf(cell))?.dispatch({ effects: setMarks.of(lines) });
}

export function markAfterRuns(): void {
  const marked = new WeakMap<Cell, Cell[]>(); // the cells in which the output of one has marked lines
  NotebookActions.executed.connect((_, { notebook, cell }) => {
    if (cell.model.type !== 'code') return;
    const found = new Map<Cell, Map<number, string>>((marked.get(cell) ?? []).map(before => [before, new Map()]));
    for (const link of [...linksOf(cell as CodeCell), ...namedByErrors(cell as CodeCell)]) {
      const place = find(notebook, cell, link);
      if (place) found.set(place.cell, (found.get(place.cell) ?? new Map()).set(place.line, link.said));
    }
    for (const [where, lines] of found) void mark(where, lines);
    marked.set(cell, [...found.keys()]);
  });
}
