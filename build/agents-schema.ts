import * as z from 'zod'
import { agentsFile } from '../functions/runtime/settings/agents-file.ts'

/**
 * Returns the JSON Schema of `agents.json`, for editors. It omits conditions that only the program can check, such as
 * the names of tools.
 */
export const agentsSchema = (): string =>
  `${JSON.stringify(z.toJSONSchema(agentsFile, { io: 'input', unrepresentable: 'any' }), null, 2)}\n`
