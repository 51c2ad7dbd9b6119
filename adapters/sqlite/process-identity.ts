import { readFileSync } from 'node:fs';

/** A process of this host, as far as it can be told apart from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it was started, in the kernel's own count; `null` where there is no /proc. */
  readonly started: string | null;
}

/** This process. */
export function getOwnIdentity(): ProcessIdentity {
  return { pid: process.pid, started: readStat(process.pid)?.started ?? null };
}

/** Whether a process of this host, other than this one, still runs. In doubt it does. */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, but somebody else's.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
  const stat = readStat(pid);
  if (stat === undefined) return true;
  // A process that was killed keeps its number until its parent has asked after it, which some parents never do.
  if (stat.state === 'Z' || stat.state === 'X') return false;
  return started === null || stat.started === started;
}

/** Reads /proc/<pid>/stat (proc_pid_stat(5)): fields 3 and 22, counted behind the name, which may contain anything. */
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
