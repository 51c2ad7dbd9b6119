import { spawn } from 'node:child_process';

/** Reports states of the server to systemd. */
export interface SystemdNotifier {
  /** @param state - `READY=1`, after which the watchdog is notified periodically, or `STOPPING=1`. */
  notify(state: 'READY=1' | 'STOPPING=1'): void;
}

/**
 * Creates a notifier, which has no effect without `NOTIFY_SOCKET`, as below other supervisors. The program
 * `systemd-notify` sends the messages, because Node.js has no datagram sockets of the system.
 *
 * @param onFailure - Called once with a line if the program cannot run.
 */
export function createSystemdNotifier(
  env: Readonly<Record<string, string | undefined>>,
  onFailure: (message: string) => void,
): SystemdNotifier {
  if (!env['NOTIFY_SOCKET']) return { notify() {} };
  let isBroken = false;

  function send(state: string): void {
    if (isBroken) return;
    spawn('systemd-notify', [state], { stdio: 'ignore' }).on('error', (error) => {
      if (isBroken) return;
      isBroken = true;
      onFailure(`systemd cannot be notified: ${error.message}`);
    });
  }

  return {
    notify(state) {
      send(state);
      const microseconds = Number(env['WATCHDOG_USEC']);
      if (state !== 'READY=1' || !(microseconds > 0)) return;
      // The event loop runs as long as the timer does.
      setInterval(() => send('WATCHDOG=1'), microseconds / 2000).unref();
    },
  };
}
