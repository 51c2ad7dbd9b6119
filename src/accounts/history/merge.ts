/** A list of one book, newest first, that is read page by page. */
export interface MergeSource<T> {
  /** Identifies the list. */
  readonly key: string;
  readonly pages: AsyncIterable<readonly T[]>;
}

/** The position of a list that has more elements. */
export interface MergePosition<T> {
  readonly key: string;
  /** The last element that was taken. `undefined`: none. */
  readonly last: T | undefined;
  readonly next: T;
}

/** Lists of several books, merged by time. */
export interface Merge<T> {
  /** Takes the newest elements of all lists. Fewer than `count` if no more are left. */
  take(count: number): Promise<T[]>;
  /** Returns the positions of the lists that have more elements. */
  positions(): Promise<MergePosition<T>[]>;
  /** Ends all reads. */
  close(): Promise<void>;
}

interface OpenList<T> {
  readonly key: string;
  readonly pages: AsyncIterator<readonly T[]>;
  page: readonly T[];
  at: number;
  last: T | undefined;
}

/**
 * Merges lists. Each list is sorted, and keeps its order.
 *
 * @param isBefore - Returns whether `a` is listed before `b`.
 */
export function createMerge<T>(sources: readonly MergeSource<T>[], isBefore: (a: T, b: T) => boolean): Merge<T> {
  let lists: OpenList<T>[] = sources.map(({ key, pages }) => {
    return { key, pages: pages[Symbol.asyncIterator](), page: [], at: 0, last: undefined };
  });

  /** Reads pages until every list has a next element. Removes lists that have ended. */
  async function fill(): Promise<void> {
    const ended = new Set<OpenList<T>>();
    const fillList = async (list: OpenList<T>) => {
      while (list.at === list.page.length) {
        const { done, value } = await list.pages.next();
        if (done === true) {
          ended.add(list);
          return;
        }
        list.page = value;
        list.at = 0;
      }
    };
    await Promise.all(lists.map(fillList));
    if (ended.size > 0) lists = lists.filter((list) => !ended.has(list));
  }

  /** Removes the next element of the list that comes first. */
  function takeNext(): { readonly element: T; readonly isPageRead: boolean } | undefined {
    let best: { readonly list: OpenList<T>; readonly element: T } | undefined;
    for (const list of lists) {
      const element = list.page[list.at];
      if (element === undefined) continue;
      if (best === undefined || isBefore(element, best.element)) best = { list, element };
    }
    if (best === undefined) return undefined;
    const { list, element } = best;
    list.at++;
    list.last = element;
    return { element, isPageRead: list.at === list.page.length };
  }

  return {
    async take(count) {
      const taken: T[] = [];
      let isFilled = false;
      while (taken.length < count) {
        if (!isFilled) await fill();
        const next = takeNext();
        if (next === undefined) break;
        taken.push(next.element);
        isFilled = !next.isPageRead;
      }
      return taken;
    },
    async positions() {
      await fill();
      return lists.flatMap(({ key, last, page, at }) => {
        const next = page[at];
        return next === undefined ? [] : [{ key, last, next }];
      });
    },
    async close() {
      await Promise.all(lists.map(({ pages }) => pages.return?.()));
      lists = [];
    },
  };
}
