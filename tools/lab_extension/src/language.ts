/** Python whose strings may hold CUDA C++: a nested tree, so that brackets, indents and folds are C++'s, too. */

import { HighlightStyle, LRLanguage, LanguageSupport, syntaxHighlighting } from '@codemirror/language';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { Input, Parser, PartialParse, parseMixed } from '@lezer/common';
import { tags } from '@lezer/highlight';
import { looksLikeCuda } from './strings';

/** What C++'s grammar does not know, and takes for a mistake from which it does not always recover. */
const NOT_CPP =
  /__(?:global|device|host|shared|constant|managed|restrict|forceinline|noinline|grid_constant)__|(?:__(?:launch_bounds|align|cluster_dims)__|\balignas)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|\b[A-Z]+_ARG\b|(?<=(?:\.|->|::) ?)template(?= )/g;

/** Of `asm volatile("..." : "=r"(x) : "r"(y) : "memory")`: the two words, and the colons between its parts. */
const ASM = /\basm\s+volatile\b|(?<=["\)]\s*)(?<!:):{1,3}(?!:)(?=\s*["\)])/g;

/** As many characters, in a form that C++'s grammar knows: blanks for CUDA's words, a plain call for `asm`. */
function asCpp(cuda: string): string {
  return cuda
    .replace(NOT_CPP, words => words.replace(/[^\n]/g, ' '))
    .replace(ASM, part => (part[0] === ':' ? ','.padEnd(part.length) : part.replace(/\s/g, '_')));
}

/** The text of an editor, in which `from` to `to` is read as C++. */
class AsCpp implements Input {
  readonly lineChunks = false;
  private readonly text: string;

  constructor(whole: Input, from: number, to: number) {
    this.text = whole.read(0, from) + asCpp(whole.read(from, to)) + whole.read(to, whole.length);
  }

  get length(): number {
    return this.text.length;
  }

  chunk(from: number): string {
    return this.text.slice(from);
  }

  read(from: number, to: number): string {
    return this.text.slice(from, to);
  }
}

class CudaParser extends Parser {
  constructor(private readonly cpp: Parser) {
    super();
  }

  createParse(
    input: Input,
    fragments: Parameters<Parser['createParse']>[1],
    ranges: Parameters<Parser['createParse']>[2]
  ): PartialParse {
    const string = new AsCpp(input, ranges[0].from, ranges[ranges.length - 1].to);
    return this.cpp.createParse(string, fragments, ranges);
  }
}

function withCuda(python: LanguageSupport, cpp: LRLanguage): LanguageSupport {
  const cuda = new CudaParser(cpp.parser);
  const mixed = (python.language as LRLanguage).configure({
    wrap: parseMixed((node, input) => {
      if (node.name !== 'String') return null;
      const text = input.read(node.from, node.to);
      const open = /^[rR]?"""/.exec(text)?.[0];
      if (!open || text.length < open.length + 3 || !looksLikeCuda(text)) return null;
      const to = text.endsWith('"""') ? node.to - 3 : node.to; // it has no end while one types
      return { parser: cuda, overlay: [{ from: node.from + open.length, to }] };
    })
  });
  // Lab's style leaves names of types black.
  const types = HighlightStyle.define([{ tag: tags.typeName, color: 'var(--jp-mirror-editor-variable-3-color)' }], {
    scope: cpp
  });
  return new LanguageSupport(mixed, [python.support, syntaxHighlighting(types)]);
}

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
