import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: Vitest requires it.
export default defineConfig({ test: { include: ['*.vitest.js'] } });
