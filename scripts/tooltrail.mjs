#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

// This file is plain JavaScript, because any version of Node may start it. The program itself is TypeScript in a
// checkout, and JavaScript in the package.
const own = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
const source = new URL('../functions/cli/tooltrail.ts', import.meta.url)
const compiled = new URL('../functions/cli/tooltrail.js', import.meta.url)

// Same condition as in `require-node.mjs`.
const [major, minor] = process.versions.node.split('.').map(Number)
const isOld = major < 24 || (major === 24 && minor < 7)
if (isOld && existsSync(own)) {
  const child = spawn(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal sends Ctrl-C to both processes, so the child handles the signal itself. Any other sender signals only
  // this process, which forwards the signal.
  const isAtTerminal = [0, 1, 2].some((file) => isatty(file))
  process.on('SIGINT', () => void (isAtTerminal || child.kill('SIGINT')))
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exitCode = code ?? 1
    else {
      // Without listeners, the signal ends this process, and the parent process sees the signal.
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
} else if (isOld && !existsSync(source)) {
  console.error(`Tooltrail runs on Node 24.7 or newer, but this is ${process.version}. Install Node 24.7 or newer.`)
  process.exitCode = 1
} else {
  await import('./require-node.mjs')
  await import(existsSync(source) ? source.href : compiled.href)
}
