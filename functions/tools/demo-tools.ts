import { z } from 'zod'
import type { Tool } from '../ports/tool.ts'
import { defineTool } from './define-tool.ts'

const publish = defineTool({
  name: 'demo_publish',
  description: 'Shows an approval: somebody must allow this call before it happens. It publishes nothing.',
  input: z.strictObject({ what: z.string().max(1_000) }),
  idempotent: false,
  needsApproval: true,
  execute: async ({ what }) => ({ text: `Published (not really): ${what}` }),
})

const report = defineTool({
  name: 'demo_report',
  description: 'Shows a large output: a report of many lines, of which the model is shown the beginning.',
  input: z.strictObject({ lines: z.int().min(1).max(20_000).default(5_000) }),
  idempotent: true,
  execute: async ({ lines }) => ({
    text: Array.from({ length: lines }, (_, line) => `line ${line + 1}: ${(line * 7_919) % 10_007} crates`).join('\n'),
  }),
})

const wait = defineTool({
  name: 'demo_wait',
  description: 'Shows a slow call, to cancel or to steer: it waits for some seconds.',
  input: z.strictObject({ seconds: z.number().min(0).max(50).default(20) }),
  idempotent: true,
  async execute({ seconds }, { signal }) {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1_000)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason as Error)
      })
    })
    return { text: `waited ${seconds} s` }
  },
})

const sources = defineTool({
  name: 'demo_sources',
  description: 'Shows sources, which a completion can cite: says the same of every topic.',
  input: z.strictObject({ topic: z.string().max(1_000) }),
  idempotent: true,
  execute: async ({ topic }) => ({
    text: `Two places say something about ${topic}`,
    sources: [
      { title: 'Opening hours', url: 'https://example.com/hours', text: 'Open from 9 to 5.' },
      { title: 'The menu', url: 'https://example.com/menu', text: 'Soup on Mondays.' },
    ],
  }),
})

/** Tools that the demo model calls to show the features of a run. Only agents with that model have these tools. */
export const demoTools: readonly Tool[] = [publish, report, wait, sources]
