import { z } from 'zod'
import { defineTool } from '../../functions/tools/define-tool.ts'

/** Tools that a team adds through `toolsFile`. */
export const tools = [
  defineTool({
    name: 'stock_level',
    description: 'Tells how many of an article are in stock.',
    input: z.strictObject({ article: z.string().min(1) }),
    idempotent: true,
    execute: ({ article }) => Promise.resolve({ text: `42 of ${article}` }),
  }),
]
