import type { ReadOptions } from '../concurrency/abort.ts';
import { nextStep } from '../concurrency/steps.ts';

/** Elements that are rendered in one step. */
const STEP_SIZE = 128;

/** Renders values as JSON, separated by commas. */
const renderValues = (values: readonly unknown[]): string => JSON.stringify(values).slice(1, -1);

/**
 * Renders a JSON array from pages. A single page is text. More pages are a stream: each is sent when it has been read,
 * so that neither memory nor a step of the event loop grows with the number of elements.
 *
 * @param render - Renders elements as JSON, separated by commas. Default: `JSON.stringify`.
 */
export async function renderPages<T>(
  pages: AsyncIterable<readonly T[]>,
  render: (elements: readonly T[]) => string = renderValues,
): Promise<string | AsyncIterable<string>> {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) return '[]';
  const second = await iterator.next();
  if (second.done === true) return `[${render(first.value)}]`;
  return {
    async *[Symbol.asyncIterator]() {
      try {
        yield `[${render(first.value)}`;
        yield `,${render(second.value)}`;
        for (let page = await iterator.next(); page.done !== true; page = await iterator.next()) {
          yield `,${render(page.value)}`;
        }
        yield ']';
      } finally {
        await iterator.return?.();
      }
    },
  };
}

/** Renders a list in steps, because a page of 1000 orders is a megabyte. */
export function renderList<T>(
  elements: readonly T[],
  render?: (elements: readonly T[]) => string,
  work: ReadOptions = {},
): Promise<string | AsyncIterable<string>> {
  return renderPages(divide(elements, work), render);
}

export function renderTexts(
  elements: readonly { readonly json: string }[],
  work?: ReadOptions,
): ReturnType<typeof renderList> {
  return renderList(elements, (part) => part.map(({ json }) => json).join(','), work);
}

/** Divides a list into the parts of one step each. */
export async function* divide<T>(elements: readonly T[], work: ReadOptions): AsyncGenerator<readonly T[]> {
  for (let i = 0; i < elements.length; i += STEP_SIZE) {
    if (i > 0) await nextStep(work);
    yield elements.slice(i, i + STEP_SIZE);
  }
}
