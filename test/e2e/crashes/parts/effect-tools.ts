import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tool, ToolContext, ToolOutput } from '../../../../functions/ports/tool.ts'

/** Bytes of a result of `big`. A result of this size is offloaded. */
const BIG = 60_000
/** Default duration of `slow`. */
const SLOW_MS = 400

type Execute = (mark: string, context: ToolContext) => Promise<ToolOutput>

/**
 * Tools that durably append a line to `file` for each execution, before they return. After a crash, the file shows how often each
 * call was executed. The argument `mark` names the call. `slowMs` is the duration of `slow`.
 */
export function effectTools(file: string, slowMs = SLOW_MS): Tool[] {
  const effect = (name: string, { session, toolCallId }: ToolContext, mark: string): void => {
    const opened = openSync(file, 'a')
    writeSync(opened, `${name}\t${session}\t${mark}\t${toolCallId}\n`)
    fsyncSync(opened)
    closeSync(opened)
  }
  const tool = (name: string, traits: Partial<Tool>, execute: Execute): Tool => ({
    name,
    description: `leaves a line: ${name}`,
    parameters: { type: 'object', properties: { mark: { type: 'string' } }, required: ['mark'] },
    idempotent: false,
    timeoutMs: 20_000,
    needsApproval: false,
    ...traits,
    async execute(input, context) {
      const mark = String((input as { mark?: unknown }).mark)
      effect(name, context, mark)
      return execute(mark, context)
    },
  })
  const result: Execute = async (mark) => ({ text: `result of ${mark}` })
  return [
    tool('record', {}, result),
    tool('lookup', { idempotent: true }, result),
    tool('found', { idempotent: true }, async (mark) => ({
      text: `result of ${mark}`,
      sources: ['one', 'other'].map((which) => ({ title: `${which} of ${mark}` })),
    })),
    tool('guarded', { needsApproval: true }, result),
    tool('big', { idempotent: true }, async (mark) => ({
      text: `${'0123456789\n'.repeat(BIG / 11)}result of ${mark}`,
    })),
    tool('slow', {}, async (mark, { signal }) => {
      await sleep(slowMs, undefined, { signal })
      return { text: `result of ${mark}` }
    }),
    // This tool continues after its timeout.
    tool('tardy', { timeoutMs: 200 }, async (mark) => {
      await sleep(600)
      return { text: `result of ${mark}` }
    }),
    tool('endless', {}, async (mark, { signal }) => {
      await sleep(60_000, undefined, { signal })
      return { text: `result of ${mark}` }
    }),
  ]
}
