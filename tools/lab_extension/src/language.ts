/** Lab's entries for Python learn what CUDA C++ in a string is. */

import type { LRLanguage, LanguageSupport } from '@codemirror/language';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { withCuda } from './cuda';

/** Lab's registry refuses a second language of a name. Its own entries stay as they are: Lab may still be loading one,
 *  and what it puts there last would win. */
export function teachPython(registry: IEditorLanguageRegistry): void {
  const find = registry.getLanguage.bind(registry);
  const made = new Map<string, Promise<LanguageSupport>>();
  registry.getLanguage = async which => {
    const entry = await find(which);
    if (!entry || !['ipython', 'python'].includes(entry.name)) return entry;
    if (!made.has(entry.name)) {
      const python = entry.support!;
      made.set(entry.name, find('C++').then(cpp => withCuda(python, cpp!.support!.language as LRLanguage)));
    }
    return { ...entry, support: await made.get(entry.name) };
  };
}
