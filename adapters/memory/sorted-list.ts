/** A list kept in order. Finding a place takes logarithmic time. */
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

  /** The first place whose item is not before `item`. */
  indexOf(item: T): number {
    return this.firstWhere((other) => this.#compare(other, item) >= 0);
  }

  /** The first place where `holds` does; it must hold for every item from there on. */
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

  /** The items from a place on. */
  *from(index: number): Generator<T> {
    for (let i = index; i < this.#items.length; i++) yield this.#items[i] as T; // within the list
  }
}
