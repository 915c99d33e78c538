import { existsSync, readFileSync } from 'node:fs'
import './require-node.mjs'

// Before everything but running the program: `npm ci --omit=dev` installs no more than that takes.
const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const missing = Object.keys(devDependencies).find(
  (name) => !existsSync(new URL(`../node_modules/${name}/package.json`, import.meta.url)),
)
if (missing !== undefined) {
  console.error(`This needs packages that running the program does not, such as ${missing}. Install everything: npm ci`)
  process.exit(1)
}
