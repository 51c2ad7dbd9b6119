import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('demo: settles an order of the published SDK, and ends with the next steps', () => {
  const file = fileURLToPath(new URL('run.mjs', import.meta.url));
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8' });
  expect(output).toMatch(/order_filled +Your order was filled: 1\.5 WETH for [\d.]+ USDC\n/);
  const [, end = ''] = output.split(/Settled in [\d.]+ s\. Next steps:\n/);
  for (const next of ['npm run demo -- --keep', 'npx intentbook sandbox', 'docs/getting-started.md']) {
    expect(end).toContain(next);
  }
});
