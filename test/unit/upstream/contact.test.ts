import { expect, test } from 'vitest';
import { createContact } from '../../../src/upstream/follower.ts';

test('a class of calls that fails is reported once until it has succeeded', () => {
  const failures: string[] = [];
  const failing: Record<string, { since: number; reason: string }> = {};
  const upstream = { name: 'other.example', status: () => ({ failing }) } as never; // nothing else is read
  const contact = createContact({ upstream, onFailure: (failure) => failures.push(String(failure)) });
  contact.report();
  failing['read'] = { since: 1, reason: 'refused' };
  contact.report();
  failing['read'] = { since: 1, reason: 'reset' };
  contact.report();
  expect(failures).toEqual(['Error: upstream other.example: read fails: refused']);
  delete failing['read'];
  contact.report();
  failing['read'] = { since: 2, reason: 'refused' };
  failing['write'] = { since: 2, reason: 'cut' };
  contact.report();
  expect(failures.slice(1)).toEqual([
    'Error: upstream other.example: read fails: refused',
    'Error: upstream other.example: write fails: cut',
  ]);
});
