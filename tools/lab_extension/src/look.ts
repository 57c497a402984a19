/** What one sees of a string with CUDA: lines counted from 1, CUDA's words, gaps to fill, marks beside lines. */

import { syntaxTree } from '@codemirror/language';
import { EditorState, Extension, Facet, Prec, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView, GutterMarker, ViewPlugin, ViewUpdate, gutter } from '@codemirror/view';
import { CudaString, cudaStrings } from './strings';

/** Whether a document is CUDA C++ and nothing else, and no Python. */
const alone = Facet.define<boolean, boolean>({ combine: values => values.includes(true) });

function cudaOf(state: EditorState): CudaString[] {
  const text = state.doc.toString();
  return state.facet(alone) ? [{ from: 0, to: text.length, text }] : cudaStrings(text);
}

const strings = StateField.define<CudaString[]>({
  create: cudaOf,
  update: (value, change) => (change.docChanged ? cudaOf(change.state) : value)
});

// ---- words

const QUALIFIER =
  '__(?:global|device|host|shared|constant|restrict|forceinline|noinline|launch_bounds|align|grid_constant|cluster_dims)__|alignas|asm|volatile';
const BUILTIN =
  'threadIdx|blockIdx|blockDim|gridDim|warpSize|__(?:sync|shfl|ballot|any|all|ld|st|cvta|activemask|popc|float|half|int_as|fma)\\w*|(?:float|int|uint|half|short)[234]|__half2?|__nv_bfloat162?';
const WORDS = new RegExp(`\\b(?:(${QUALIFIER})|(${BUILTIN})|(____))(?!\\w)`, 'g');
const KINDS = ['cm-cuda-qualifier', 'cm-cuda-builtin', 'cm-cuda-gap'].map(name => Decoration.mark({ class: name }));

/** Colours for CUDA's own words, which C++'s tree does not have, and for gaps; not in comments and strings of C++. */
function words(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const tree = syntaxTree(view.state);
  for (const string of view.state.field(strings)) {
    for (const visible of view.visibleRanges) {
      const from = Math.max(visible.from, string.from);
      const to = Math.min(visible.to, string.to);
      if (from >= to) continue;
      for (const match of view.state.sliceDoc(from, to).matchAll(WORDS)) {
        const at = from + match.index;
        const node = tree.resolveInner(at, 1);
        if (node.from >= string.from && /Comment|String/.test(node.name)) continue;
        builder.add(at, at + match[0].length, KINDS[match.slice(1).findIndex(Boolean)]);
      }
    }
  }
  return builder.finish();
}

const cudaWords = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = words(view);
    }

    update(update: ViewUpdate) {
      if (update.docChanged || update.viewportChanged || syntaxTree(update.startState) !== syntaxTree(update.state))
        this.decorations = words(update.view);
    }
  },
  { decorations: plugin => plugin.decorations }
);

// ---- marks

/** Lines of the document, and what was found in each. They take the place of all marks before. */
export const setMarks = StateEffect.define<Map<number, string>>();

/** Marks move with their lines, and go when these are edited. */
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (value, change) => {
    if (change.docChanged) {
      const edited = (at: number) => change.changes.touchesRange(at, change.startState.doc.lineAt(at).to);
      value = value.update({ filter: at => !edited(at) }).map(change.changes);
    }
    for (const effect of change.effects) {
      if (!effect.is(setMarks)) continue;
      const lines = [...effect.value].filter(([line]) => line <= change.state.doc.lines);
      const mark = (said: string) => Decoration.line({ class: 'cm-cuda-found', attributes: { title: said }, said });
      value = Decoration.set(
        lines.map(([line, said]) => mark(said).range(change.state.doc.line(line).from)),
        true
      );
    }
    return value;
  },
  provide: field => EditorView.decorations.from(field)
});

/** What was found in the line that begins here; undefined if it has no mark. */
function found(state: EditorState, at: number): string | undefined {
  let said: string | undefined;
  state.field(marks).between(at, at, (_from, _to, mark) => {
    said = mark.spec.said;
  });
  return said;
}

// ---- numbers

class LineNumber extends GutterMarker {
  constructor(readonly line: number, readonly said: string | undefined) {
    super();
  }

  override eq(other: LineNumber): boolean {
    return other.line === this.line && other.said === this.said;
  }

  override toDOM(): Node {
    const box = document.createElement('span');
    box.textContent = String(this.line);
    if (this.said !== undefined) {
      box.className = 'cm-cuda-found-number';
      box.textContent = `▶ ${this.line}`;
      box.title = this.said;
    }
    return box;
  }
}

/** A report counts the lines of the string, and the first one is that of the quotes. */
const numbers = gutter({
  class: 'cm-cuda-lines',
  lineMarker: (view, { from }) => {
    const { doc } = view.state;
    const number = doc.lineAt(from).number;
    for (const string of view.state.field(strings)) {
      const first = doc.lineAt(string.from).number;
      const last = doc.lineAt(string.to).number;
      if (first < last && first <= number && number <= last)
        return new LineNumber(number - first + 1, found(view.state, from));
    }
    return null;
  },
  lineMarkerChange: update => update.docChanged || update.startState.field(marks) !== update.state.field(marks)
});

/** Without CUDA there is no margin at all: a cell of Python looks as before. */
const withCuda = EditorView.editorAttributes.of(view =>
  view.state.field(strings).length ? { class: 'cm-has-cuda' } : null
);

// ---- the rest

/** Ctrl+/ asks for these. The tree alone does not do: it is not there while the parser is still at work. */
const CPP_COMMENTS = [{ commentTokens: { line: '//', block: { open: '/*', close: '*/' } } }];
const comments = Prec.high(
  EditorState.languageData.of((state, at) =>
    state.field(strings).some(string => string.from <= at && at <= string.to) ? CPP_COMMENTS : []
  )
);

const theme = EditorView.baseTheme({
  '.cm-cuda-qualifier': { color: 'var(--jp-mirror-editor-keyword-color)', fontWeight: 'bold' },
  '.cm-cuda-qualifier *': { color: 'inherit' },
  '.cm-cuda-builtin, .cm-cuda-builtin *': { color: 'var(--jp-mirror-editor-builtin-color)' },
  '.cm-cuda-gap': { background: 'var(--jp-warn-color2)', outline: '1px solid var(--jp-warn-color1)' },
  '.cm-cuda-found': { background: 'color-mix(in srgb, var(--jp-error-color1) 12%, transparent)' },
  '.cm-cuda-found-number': { color: 'var(--jp-error-color1)', fontWeight: 'bold' },
  '.cm-cuda-lines': { color: 'var(--jp-ui-font-color2)', minWidth: '2.6em', textAlign: 'right' },
  '.cm-cuda-lines .cm-gutterElement': { padding: '0 6px 0 4px' },
  '&:not(.cm-has-cuda) .cm-cuda-lines': { display: 'none' },
  '&:not(.cm-has-cuda) .cm-gutters:has(> .cm-cuda-lines:only-child)': { display: 'none' }
});

/** Of Lab itself, for a wide screen and a narrow list of files: prose as wide as one reads, names whole; comments in code
 *  with a contrast of 4.5 and more, where Lab's own themes have less. */
export const AROUND = `
body[data-jp-theme-name='JupyterLab Light'] { --jp-mirror-editor-comment-color: #326b6b; }
body[data-jp-theme-name='JupyterLab Dark'] { --jp-mirror-editor-comment-color: #65a8a8; }
.jp-Notebook .jp-MarkdownOutput { max-width: 52rem; }
.jp-DirListing-itemText { white-space: normal; overflow-wrap: anywhere; }
.jp-DirListing-item { height: auto; }
`;

export function look(isCudaAlone = false): Extension {
  return [alone.of(isCudaAlone), strings, cudaWords, marks, numbers, withCuda, comments, theme];
}
