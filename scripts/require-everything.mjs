import { existsSync, readFileSync } from 'node:fs'
import './require-node.mjs'

// Runs before the npm scripts that need the development packages, which `npm ci --omit=dev` does not install. Scripts
// that only run the program do not need these packages.
const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const missing = Object.keys(devDependencies).find(
  (name) => !existsSync(new URL(`../node_modules/${name}/package.json`, import.meta.url)),
)
if (missing !== undefined) {
  console.error(`This needs packages that running the program does not, such as ${missing}. Install everything: npm ci`)
  process.exit(1)
}
