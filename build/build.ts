import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { argv } from 'node:process'
import { buildClient } from './client.ts'
import { clientTypes } from './client-types.ts'
import { agentsSchema } from './agents-schema.ts'
import { describedApi } from './described-api.ts'
import { drawFloors } from './floors.ts'
import { buildPage } from './page.ts'

/**
 * `npm run build`: writes the generated files. They are committed, and a test reports outdated ones. With a folder as
 * argument, they are written below that folder.
 */
const to = resolve(argv[2] ?? join(import.meta.dirname, '..'))
const types = join(to, 'functions/client/api-types.ts')
mkdirSync(dirname(types), { recursive: true })
writeFileSync(types, clientTypes(await describedApi()))
rmSync(join(to, 'built'), { recursive: true, force: true })
buildClient(join(to, 'built/client'))
writeFileSync(join(to, 'built/agents.schema.json'), agentsSchema())
mkdirSync(join(to, 'docs/images'), { recursive: true })
for (const [file, text] of Object.entries(drawFloors())) writeFileSync(join(to, 'docs/images', file), text)
await buildPage(join(to, 'built/page'))
