import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeConformance } from 'intentbook/testing';
import { fileStore } from './file-store.js';

const cases = storeConformance({
  traits: fileStore('').traits,
  async create() {
    const folder = await mkdtemp(join(tmpdir(), 'file-store-'));
    return {
      connect: () => fileStore(join(folder, 'orders.log')),
      dispose: () => rm(folder, { recursive: true }),
    };
  },
});
for (const { group, name, skip, run } of cases) test(`${group}: ${name}`, { skip }, run);
