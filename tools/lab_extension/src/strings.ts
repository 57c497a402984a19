/** Where CUDA C++ stands in a Python text: one rule for colours, line numbers and links. */

const STRING = /(?<![\w"'])[rR]?"""([\s\S]*?)"""/g;
const CUDA =
  /__(?:global|device|shared|host|constant|managed)__|__sync(?:threads|warp)|threadIdx|blockIdx|#include\s*[<"]|#pragma unroll|\basm volatile/;
const C_LINE = /;[ \t]*(?:\/\/.*)?$/m;

export interface CudaString {
  /** Offsets of the first and behind the last character between the quotes. */
  from: number;
  to: number;
  text: string;
}

/** Words of CUDA, or lines as C++ ends them and braces: a part of a kernel may have no word of CUDA. */
export function looksLikeCuda(text: string): boolean {
  return CUDA.test(text) || (C_LINE.test(text) && /[{}]/.test(text));
}

export function cudaStrings(python: string): CudaString[] {
  return [...python.matchAll(STRING)]
    .filter(match => looksLikeCuda(match[1]))
    .map(match => {
      const to = match.index + match[0].length - 3;
      return { from: to - match[1].length, to, text: match[1] };
    });
}
