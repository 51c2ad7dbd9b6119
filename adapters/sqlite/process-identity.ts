import { readFileSync } from 'node:fs';

/** Identity of a process of this host. The start time distinguishes it from a later process with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since boot, as the kernel reports it; `null` on systems without /proc. */
  readonly started: string | null;
}

/** Returns the identity of this process. */
export function getOwnIdentity(): ProcessIdentity {
  return { pid: process.pid, started: readStat(process.pid)?.started ?? null };
}

/** Returns whether another process of this host is still running; true if it cannot be determined. */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
  const stat = readStat(pid);
  if (stat === undefined) return true;
  // A killed process keeps its id as a zombie until its parent reads its exit status; some parents never do.
  if (stat.state === 'Z' || stat.state === 'X') return false;
  return started === null || stat.started === started;
}

/** Reads fields 3 and 22 of /proc/<pid>/stat (proc_pid_stat(5)), counted after the name, which may contain any text. */
function readStat(pid: number): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return state === undefined || started === undefined ? undefined : { state, started };
  } catch {
    return undefined;
  }
}
