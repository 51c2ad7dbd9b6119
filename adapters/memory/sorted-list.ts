/** Items per block. An insert moves at most twice as many. */
const BLOCK = 512;

/** List in sorted order, in blocks. Finding a position takes logarithmic time. */
export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  /** No block is empty. */
  readonly #blocks: T[][] = [];
  #length = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get length(): number {
    return this.#length;
  }

  add(item: T): void {
    const [number, offset] = this.#find((other) => this.#compare(other, item) >= 0);
    const block = this.#blocks[number];
    this.#length++;
    if (block === undefined) {
      this.#blocks.push([item]);
      return;
    }
    block.splice(offset, 0, item);
    if (block.length > 2 * BLOCK) this.#blocks.splice(number + 1, 0, block.splice(BLOCK));
  }

  remove(item: T): void {
    const [number, offset] = this.#find((other) => this.#compare(other, item) >= 0);
    const block = this.#blocks[number];
    if (block?.[offset] !== item) return;
    this.#length--;
    block.splice(offset, 1);
    if (block.length === 0) this.#blocks.splice(number, 1);
  }

  /** Returns the first position for which the condition holds. It must hold for all later items as well. */
  firstWhere(holds: (item: T) => boolean): number {
    const [number, offset] = this.#find(holds);
    let before = 0;
    for (let i = 0; i < number; i++) before += (this.#blocks[i] as T[]).length; // within the list
    return before + offset;
  }

  /** Iterates over the items from a position on. */
  *from(index: number): Generator<T> {
    let skipped = index;
    for (const block of this.#blocks) {
      for (let i = skipped; i < block.length; i++) yield block[i] as T; // within the block
      skipped = Math.max(0, skipped - block.length);
    }
  }

  /** Returns the items from a position on, before the position `end`. */
  slice(start: number, end: number): T[] {
    const items: T[] = [];
    for (const item of this.from(start)) {
      if (start + items.length >= end) break;
      items.push(item);
    }
    return items;
  }

  /** Finds the first position for which the condition holds: a block and the offset in it. */
  #find(holds: (item: T) => boolean): [block: number, offset: number] {
    const last = this.#blocks.length - 1;
    // An item after all others belongs to the last block.
    const number = Math.min(
      Math.max(0, last),
      search(this.#blocks, (block) => holds(block[block.length - 1] as T)), // no block is empty
    );
    return [number, search(this.#blocks[number] ?? [], holds)];
  }
}

/** Returns the first index for which the condition holds, or the length. */
function search<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle] as T))
      high = middle; // within the list
    else low = middle + 1;
  }
  return low;
}
