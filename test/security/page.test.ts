import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PAGE = fileURLToPath(new URL('../../apps/explorer/page', import.meta.url));
const files = readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(js|html)$/.test(name));

test('explorer page is served', () => expect(files.length).toBeGreaterThan(5));

// Displayed data comes from untrusted sources: documents, symbols, addresses.
test.each(files)('%s creates neither HTML nor code from its input', (name) => {
  const source = readFileSync(`${PAGE}/${name}`, 'utf8');
  const ways =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|javascript:|DOMParser|setHTMLUnsafe|\son\w+=/;
  expect(ways.exec(source)?.[0]).toBeUndefined();
  // The page itself contains neither a script nor a style.
  expect(source).not.toMatch(/<script(?![^>]*\ssrc=)|<style/);
});

test('explorer page is served with a policy that blocks both', () => {
  const adapter = readFileSync(fileURLToPath(new URL('../../apps/explorer/files.ts', import.meta.url)), 'utf8');
  expect(adapter).toMatch(/'content-security-policy': POLICY/);
  expect(adapter).toMatch(/default-src 'none'/);
  expect(adapter).not.toMatch(/unsafe-(?:inline|eval)/);
});
