/**
 * The editor of the live pages: CodeMirror, with what JupyterLab shows of CUDA C++ (tools/lab_extension/src), find, and
 * marks at the lines that a report blames. Tab indents; Escape and then Tab leaves.
 */

import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { cppLanguage } from '@codemirror/lang-cpp';
import { pythonLanguage } from '@codemirror/lang-python';
import { LanguageSupport, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, Extension } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { cudaAlone, withCuda } from '../../lab_extension/src/cuda';
import { look, setMarks } from '../../lab_extension/src/look';
import { cudaStrings } from '../../lab_extension/src/strings';

const COMMON: Extension = [
  history(),
  drawSelection(),
  indentOnInput(),
  indentUnit.of('    '),
  EditorState.tabSize.of(4),
  bracketMatching(),
  closeBrackets(),
  search({ top: true }),
  highlightSelectionMatches(),
  highlightActiveLine(),
  syntaxHighlighting(classHighlighter),
  keymap.of([...closeBracketsKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab])
];

class Editor {
  readonly box = Object.assign(document.createElement('div'), { editor: this });
  private readonly view: EditorView;
  private quiet = false;

  /** `label`: what it is, for who does not see it; `changed` hears each change that a reader makes; `isCuda`: else Python. */
  constructor(text: string, label: string, changed: (text: string) => void, isCuda = false) {
    this.box.className = 'live-editor';
    const numbers = isCuda || cudaStrings(text).length ? [] : lineNumbers();
    this.view = new EditorView({
      parent: this.box,
      state: EditorState.create({
        doc: text,
        extensions: [
          COMMON,
          isCuda ? cudaAlone(cppLanguage) : withCuda(new LanguageSupport(pythonLanguage), cppLanguage),
          look(isCuda),
          numbers,
          EditorView.contentAttributes.of({
            tabindex: '0', // a box that scrolls is reached by keyboard
            'aria-label': `${label}. Tab indents; Escape, then Tab, leaves.`
          }),
          EditorView.updateListener.of(update => {
            if (update.docChanged && !this.quiet) changed(this.text);
          })
        ]
      })
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Another text in its place; nobody hears of it. */
  set text(text: string) {
    this.quiet = true;
    this.paste(text);
    this.quiet = false;
  }

  /** The same, as a reader does it. */
  paste(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  focus(): void {
    this.view.focus();
  }

  /** The end of a line, in the middle of the window. */
  goTo(line: number): void {
    const { to } = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.view.dispatch({ selection: { anchor: to }, effects: EditorView.scrollIntoView(to, { y: 'center' }) });
    this.view.focus();
  }

  /** Number of a line -> what is wrong there; in the place of all marks before. */
  mark(blamed: Map<number, string> = new Map()): void {
    this.view.dispatch({ effects: setMarks.of(blamed) });
  }
}

Object.assign(globalThis, { Editor });
