import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../support/postgres-server.ts';

/** Factor by which the times of the rules are shorter. */
const SCALE = 20;
/** Interval and timeout of scrapes. A database that hangs delays a scrape by 7 seconds. */
const INTERVAL = '8s';
const RULES = join(import.meta.dirname, '../../../deploy/prometheus-rules.yaml');

/** The shipped rules in a Prometheus. */
export interface Alerts extends AsyncDisposable {
  /** Returns the names of the alerts that fire, or `undefined` if Prometheus is not installed. */
  firing(): Promise<readonly string[] | undefined>;
}

/** Starts a Prometheus that scrapes the metrics port of a server. */
export async function startAlerts(folder: string, metricsPort: number): Promise<Alerts> {
  if (spawnSync('prometheus', ['--version']).status !== 0) {
    return { firing: async () => undefined, async [Symbol.asyncDispose]() {} };
  }
  // Each scrape opens another connection, as with the intervals of production.
  const front = createServer((_, response) => {
    const options = { host: '127.0.0.1', port: metricsPort, path: '/metrics', agent: false, timeout: 8_000 };
    get(options, (scraped) => void scraped.pipe(response.writeHead(scraped.statusCode ?? 502)))
      .on('timeout', () => response.destroy())
      .on('error', () => response.destroy());
  });
  await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve));
  const shorten = (_: string, before: string, count: string, unit: string) =>
    `${before}${(Number(count) * (unit === 'm' ? 60 : 3600)) / SCALE}s`;
  writeFileSync(join(folder, 'rules.yaml'), readFileSync(RULES, 'utf8').replace(/(for: |\[)(\d+)([mh])/g, shorten));
  const target = `127.0.0.1:${(front.address() as AddressInfo).port}`; // it listens
  const job = { job_name: 'intentbook', static_configs: [{ targets: [target] }] };
  const config = {
    global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [job],
  };
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config)); // JSON is YAML
  const port = await freePort();
  const flags = [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'series')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn('prometheus', flags, { stdio: 'ignore' });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  await untilOpen(port);
  return {
    async firing() {
      const { data } = (await (await fetch(`http://127.0.0.1:${port}/api/v1/alerts`)).json()) as {
        data: { alerts: { state: string; labels: { alertname: string } }[] };
      };
      return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await gone;
      front.closeAllConnections();
      front.close();
    },
  };
}

async function untilOpen(port: number): Promise<void> {
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
  while (!(await isOpen())) await new Promise((resolve) => setTimeout(resolve, 50));
}
