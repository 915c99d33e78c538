const root = process.env['TOOLTRAIL'] ?? import.meta.dirname + '/../..'
const { defineTool } = await import(root + '/functions/tools/define-tool.ts')
const { z } = await import(root + '/node_modules/zod/index.js')
const text = 'lorem ipsum dolor sit amet consectetur '.repeat(52)
export const tools = [defineTool({ name: 'work', description: 'Works.', input: z.strictObject({ n: z.number() }), idempotent: false, execute: async ({ n }) => ({ text: `result ${n} ` + text }) })]
