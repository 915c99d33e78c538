import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

// Runs after each install. In a clone, git then uses the hooks in .githooks/. If the clone already has another folder
// for hooks, nothing changes.
const root = new URL('../', import.meta.url)
const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })
if (existsSync(new URL('.git', root)) && existsSync(new URL('.githooks', root))) {
  if (git('config', 'core.hooksPath').status === 1) git('config', '--local', 'core.hooksPath', '.githooks')
}
