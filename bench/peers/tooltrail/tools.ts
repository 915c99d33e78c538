// Tools of the bench, for TOOLTRAIL_TOOLS. The first call of `pay` ends the program.
import fs from 'node:fs'
import path from 'node:path'
import { words, BIG } from '../common.mjs'
const root = process.env['TOOLTRAIL'] ?? path.resolve(import.meta.dirname, '../../..')
const { defineTool } = await import(path.join(root, 'functions/tools/define-tool.ts'))
const { z } = await import(path.join(root, 'node_modules/zod/index.js'))
const input = z.strictObject({ n: z.number() })
export const tools = [
  defineTool({ name: 'work', description: 'Works.', input, idempotent: false, execute: async ({ n }) => ({ text: words(2048, n * 1000) }) }),
  defineTool({ name: 'big', description: 'Returns much.', input, idempotent: false, execute: async () => ({ text: words(BIG, 7) }) }),
  defineTool({ name: 'pay', description: 'Pays.', input, idempotent: false, execute: async () => {
    const file = path.join(process.env['BENCH_EFFECTS'] ?? '.', 'effects.txt')
    const first = !fs.existsSync(file)
    const fd = fs.openSync(file, 'a'); fs.writeSync(fd, 'paid\n'); fs.fsyncSync(fd); fs.closeSync(fd)
    if (first) { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}) }
    return { text: 'paid' }
  } }),
]
