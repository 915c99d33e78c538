import * as z from 'zod'
import { agentsFile } from '../functions/runtime/settings/agents-file.ts'

/** The JSON Schema of `agents.json`, for editors. What only the program can check, such as names of tools, it leaves open. */
export const agentsSchema = (): string =>
  `${JSON.stringify(z.toJSONSchema(agentsFile, { io: 'input', unrepresentable: 'any' }), null, 2)}\n`
