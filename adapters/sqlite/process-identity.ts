import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { types } from 'node:util';

export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /**
   * Scope of the process id and start time, separated by a space. The start time distinguishes a process from a later
   * one with the same id. `null` if they are unknown.
   */
  readonly started: string | null;
}

export function getOwnIdentity(): ProcessIdentity {
  const scope = getScope();
  const stat = readStat('self');
  const started = scope === undefined || stat === undefined ? null : `${scope} ${stat.started}`;
  return { host: hostname(), pid: process.pid, started };
}

/** Returns the state of a process. It is unknown if this process cannot see the other one, as in another container. */
export function getProcessState(other: ProcessIdentity): 'running' | 'ended' | 'unknown' {
  const own = getOwnIdentity();
  if (own.started === null || other.started === null) {
    // Without namespaces, a host name is the scope of a process id.
    if (HAS_NAMESPACES || other.host !== own.host || other.pid === own.pid) return 'unknown';
    return exists(other.pid) ? 'running' : 'ended';
  }
  const [scope, time] = splitStarted(other.started);
  // Copies of a virtual machine have the same boot id.
  if (scope !== getScope() || other.host !== own.host) return 'unknown';
  if (other.pid === own.pid) return other.started === own.started ? 'running' : 'ended';
  if (!exists(other.pid)) return 'ended';
  const stat = readStat(String(other.pid));
  if (stat === undefined) return 'unknown';
  // A killed process keeps its id as a zombie until its parent reads its exit status; some parents never do.
  return stat.state !== 'Z' && stat.state !== 'X' && stat.started === time ? 'running' : 'ended';
}

/** Whether the system has namespaces of process ids. */
const HAS_NAMESPACES = process.platform === 'linux';

/**
 * Returns a text that is equal for processes that see each other by the same ids and start times: boot, namespace of
 * process ids and namespace of time. `undefined` if it is unknown.
 */
function getScope(): string | undefined {
  try {
    // The file system may show the processes of another namespace.
    if (readlinkSync('/proc/self') !== String(process.pid)) return undefined;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')} ${readTimeNamespace()}`;
  } catch {
    return undefined;
  }
}

/** Kernels before 5.6 have no namespaces of time. */
function readTimeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time');
  } catch {
    return 'time:none';
  }
}

function splitStarted(started: string): readonly [scope: string, time: string] {
  const end = started.lastIndexOf(' ');
  return [started.slice(0, Math.max(end, 0)), started.slice(end + 1)];
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return !(types.isNativeError(error) && 'code' in error && error.code === 'ESRCH');
  }
}

/** Reads fields 3 and 22 of /proc/<pid>/stat (proc_pid_stat(5)), counted after the name, which may contain any text. */
function readStat(pid: string): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return state === undefined || started === undefined ? undefined : { state, started };
  } catch {
    return undefined;
  }
}
