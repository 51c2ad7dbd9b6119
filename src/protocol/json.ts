/** Maximum nesting depth of JSON input. See docs/internals/decisions.md#d1-10. */
export const MAX_JSON_DEPTH = 64;

/** Whether JSON text is nested deeper than `limit`. Counting the opening brackets is a fast check for most texts. */
export function isNestedDeeper(text: string, limit: number): boolean {
  let open = 0;
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0 && open <= limit; at = text.indexOf(bracket, at + 1)) open++;
  }
  return open > limit && jsonDepth(text) > limit;
}

/** Returns the nesting depth of JSON text, ignoring brackets inside strings. */
function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === BRACE_OPEN || code === BRACKET_OPEN) deepest = Math.max(deepest, ++depth);
    else if (code === BRACE_CLOSE || code === BRACKET_CLOSE) depth--;
  }
  return deepest;
}

/** Returns bytes of a size, which the caller overwrites completely. */
export type Allocate = (size: number) => Uint8Array;

/** Joins chunks of JSON text to an array. Each element begins with a comma, which need not be in the same chunk. */
export function joinArray(chunks: readonly Uint8Array[], allocate: Allocate = allocateBytes): Uint8Array {
  let size = chunks.length === 0 ? 2 : 1;
  for (const chunk of chunks) size += chunk.length;
  const array = allocate(size);
  let end = chunks.length === 0 ? 1 : 0;
  for (const chunk of chunks) {
    array.set(chunk, end);
    end += chunk.length;
  }
  array[0] = BRACKET_OPEN; // in place of the first comma
  array[end] = BRACKET_CLOSE;
  return array;
}

/** Allocates bytes that the caller overwrites completely. `Buffer`, where it exists, does not clear them first. */
export const allocateBytes: Allocate =
  Reflect.get(globalThis, 'Buffer')?.allocUnsafeSlow ?? ((size: number) => new Uint8Array(size));

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
