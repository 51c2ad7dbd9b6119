/** Removes the members of an object that are undefined. */
export function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> }; // a subset of the members
}
