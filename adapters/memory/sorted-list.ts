/** List in sorted order. Finding a position takes logarithmic time. */
export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #items: T[] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get length(): number {
    return this.#items.length;
  }

  add(item: T): void {
    this.#items.splice(this.indexOf(item), 0, item);
  }

  remove(item: T): void {
    const index = this.indexOf(item);
    if (this.#items[index] === item) this.#items.splice(index, 1);
  }

  /** Returns the first position whose item does not sort before `item`. */
  indexOf(item: T): number {
    return this.firstWhere((other) => this.#compare(other, item) >= 0);
  }

  /** Returns the first position for which the condition holds. It must hold for all later items as well. */
  firstWhere(holds: (item: T) => boolean): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.#items[middle] as T))
        high = middle; // within the list
      else low = middle + 1;
    }
    return low;
  }

  /** Iterates over the items from a position on. */
  *from(index: number): Generator<T> {
    for (let i = index; i < this.#items.length; i++) yield this.#items[i] as T; // within the list
  }
}
