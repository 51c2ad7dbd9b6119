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

/** Joins encoded elements to a JSON array: each part has one or more elements, separated by commas. */
export function joinArray(parts: readonly Uint8Array[], allocate: Allocate = allocateBytes): Uint8Array {
  let size = Math.max(2, parts.length + 1);
  for (const part of parts) size += part.length;
  const array = allocate(size);
  array[0] = BRACKET_OPEN;
  let end = 1;
  for (const part of parts) {
    if (end > 1) array[end++] = COMMA;
    array.set(part, end);
    end += part.length;
  }
  array[end] = BRACKET_CLOSE;
  return array;
}

/** Allocates bytes that the caller overwrites completely. `Buffer`, where it exists, does not clear them first. */
export const allocateBytes: Allocate =
  Reflect.get(globalThis, 'Buffer')?.allocUnsafeSlow ?? ((size: number) => new Uint8Array(size));

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
