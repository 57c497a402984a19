/**
 * CUDA C++ in Python strings, as code: in each editor for Python, and from a report to the line that it names. And what a
 * learner unfolds.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { EditorExtensionRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { teachPython } from './language';
import { followLinks, markAfterRuns } from './links';
import { AROUND, look } from './look';
import { noteOpened } from './opened';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'cuda-in-strings:plugin',
  description: 'CUDA C++ in Python strings: colours, line numbers, links from a report to a line.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
  optional: [INotebookTracker],
  activate: (
    _: JupyterFrontEnd,
    extensions: IEditorExtensionRegistry,
    languages: IEditorLanguageRegistry,
    notebooks: INotebookTracker | null
  ) => {
    teachPython(languages);
    document.head.appendChild(document.createElement('style')).textContent = AROUND;
    extensions.addExtension({
      name: 'cuda-in-strings',
      // A notebook's cell has no type before its kernel is there.
      factory: ({ inline, model }) =>
        inline || model.mimeType.includes('python') ? EditorExtensionRegistry.createImmutableExtension(look()) : null
    });
    if (notebooks) {
      followLinks(notebooks);
      markAfterRuns();
      noteOpened(notebooks);
    }
  }
};

export default plugin;
