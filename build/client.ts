import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

/** Builds the client as JavaScript with declarations, because Node does not run TypeScript in `node_modules`. */
export function buildClient(folder: string): void {
  const argv = ['--project', 'build/client.tsconfig.json', '--outDir', folder]
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...argv], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  // The compiler rewrites imports in code, but not in declarations.
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.d.ts'))) {
    const text = readFileSync(join(folder, name), 'utf8')
    writeFileSync(join(folder, name), text.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  }
}
