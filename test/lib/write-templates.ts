import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { environmentNames } from '../../lib/environments.ts'
import { environmentNamed, STACKS, synthesise } from './synthesise.ts'
import { VARIANTS } from './variants.ts'

/** A program that writes templates into a folder: those of every environment, and of settings that no environment uses. */
const [folder = '.'] = process.argv.slice(2)
for (const environment of [...environmentNames().map(environmentNamed), ...VARIANTS]) {
  const made = synthesise(environment)
  for (const stack of STACKS) {
    const text = JSON.stringify(made[stack].toJSON(), null, 1)
    writeFileSync(join(folder, `${environment.name}-${stack}.template.json`), text)
  }
}
