import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readEvidence } from './evidence.ts'

writeFileSync(resolve(import.meta.dirname, '../../docs/assurance/evidence.md'), readEvidence())
