import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';

const ROOT = '/sys/fs/cgroup';

/** Control groups with the limits of a small container. */
export interface Container extends Disposable {
  /** Files to which a process writes its id to join. */
  readonly members: readonly string[];
}

/**
 * Creates control groups of Linux, version 1 or 2.
 *
 * @param cores - Processor time per time.
 * @param memory - In bytes.
 * @returns `undefined` if this process may not create them.
 */
export function createContainer(cores: number, memory: number): Container | undefined {
  const name = `intentbook-bench-${process.pid}`;
  const period = 100_000; // microseconds, the default of container engines
  const isUnified = existsSync(`${ROOT}/cgroup.controllers`);
  const limits: readonly (readonly [folder: string, file: string, value: string])[] = isUnified
    ? [
        [name, 'cpu.max', `${cores * period} ${period}`],
        [name, 'memory.max', String(memory)],
      ]
    : [
        [`cpu/${name}`, 'cpu.cfs_quota_us', String(cores * period)],
        [`memory/${name}`, 'memory.limit_in_bytes', String(memory)],
      ];
  const folders = [...new Set(limits.map(([folder]) => `${ROOT}/${folder}`))];
  const remove = () => {
    for (const folder of folders) if (existsSync(folder)) rmdirSync(folder);
  };
  try {
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    for (const [folder, file, value] of limits) writeFileSync(`${ROOT}/${folder}/${file}`, value);
  } catch {
    remove();
    return undefined;
  }
  return { members: folders.map((folder) => `${folder}/cgroup.procs`), [Symbol.dispose]: remove };
}
