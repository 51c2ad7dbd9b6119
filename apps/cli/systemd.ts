import { spawn } from 'node:child_process';

/**
 * Creates a function that reports a state of the server to systemd. After `READY=1`, the watchdog is notified
 * periodically. Has no effect without `NOTIFY_SOCKET`, as below other supervisors. The program `systemd-notify` sends
 * the messages, because Node.js has no datagram sockets of the system.
 *
 * @param onFailure - Called once with a line if the program cannot run.
 */
export function createSystemdNotifier(
  env: Readonly<Record<string, string | undefined>>,
  onFailure: (message: string) => void,
): (state: 'READY=1' | 'STOPPING=1') => void {
  if (!env['NOTIFY_SOCKET']) return () => {};
  let isReported = false;

  // Not given up: without a descriptor for a moment the program cannot run, and the watchdog would end the server.
  const report = (error: unknown) => {
    if (!isReported) onFailure(`systemd cannot be notified: ${(error as Error).message}`); // thrown by Node.js
    isReported = true;
  };
  function send(state: string): void {
    try {
      spawn('systemd-notify', [state], { stdio: 'ignore' }).on('error', report);
    } catch (error) {
      report(error);
    }
  }

  return (state) => {
    send(state);
    const microseconds = Number(env['WATCHDOG_USEC']);
    if (state !== 'READY=1' || !(microseconds > 0)) return;
    // The event loop runs as long as the timer does.
    setInterval(() => send('WATCHDOG=1'), microseconds / 2000).unref();
  };
}
