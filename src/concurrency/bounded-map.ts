/** Adds an entry to a map as the newest one. Removes the oldest entry of a map that has more than `maxSize`. */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, maxSize: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxSize && oldest !== undefined) map.delete(oldest);
}
