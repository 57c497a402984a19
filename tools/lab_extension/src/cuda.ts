/** CUDA C++ in an editor: in Python's strings a nested tree, so that brackets, indents and folds are C++'s, too. */

import { HighlightStyle, LRLanguage, Language, LanguageSupport, syntaxHighlighting } from '@codemirror/language';
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

/** C++'s parser, to which CUDA's words are blanks. */
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

/** The theme's style leaves names of types black. */
const types = (cpp: Language) =>
  syntaxHighlighting(
    HighlightStyle.define([{ tag: tags.typeName, color: 'var(--jp-mirror-editor-variable-3-color)' }], { scope: cpp })
  );

/** A text that is CUDA C++ and nothing else. */
export function cudaAlone(cpp: LRLanguage): LanguageSupport {
  return new LanguageSupport(new Language(cpp.data, new CudaParser(cpp.parser), [], 'cuda'), [types(cpp)]);
}

/** Python whose strings may hold CUDA C++. */
export function withCuda(python: LanguageSupport, cpp: LRLanguage): LanguageSupport {
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
  return new LanguageSupport(mixed, [python.support, types(cpp)]);
}
