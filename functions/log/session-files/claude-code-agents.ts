import { isRecord, textIn } from './transcript.ts'
import type { Loop } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

/** Tools that start a sub-agent. */
const SPAWNING = new Set(['Task', 'Agent'])

/** A record of a sub-agent, with the call that the sub-agent works for. */
export interface WorkLine {
  readonly line: number
  readonly record: Fields
  readonly call: string
}

/** Tracks the sub-agents of a session by the calls that started them. */
export function createSubAgents() {
  const types = new Map<string, string>()
  /** Ids of the calls without a result. */
  const open: string[] = []
  /**
   * Kept records of sub-agents, by call. In older files, these records are between the call that started the sub-agent and the
   * call's result. The records are kept until the result is read.
   */
  const aside = new Map<string, { readonly line: number; readonly record: Fields }[]>()
  return {
    /** Records a call. */
    note(block: Fields): void {
      const [call] = callOf(block)
      if (call === undefined) return
      open.push(call.id)
      const input = isRecord(block['input']) ? textIn(block['input'], 'subagent_type') : undefined
      if (SPAWNING.has(call.name)) types.set(call.id, input ?? 'subagent')
    },
    end(call: string): void {
      if (open.includes(call)) open.splice(open.indexOf(call), 1)
    },
    loopOf: (call: string): Loop => ({
      agent: (types.get(call) ?? 'subagent').slice(0, 128),
      parentToolCallId: call,
    }),
    /** Keeps a record for the sub-agent that was started last. Returns false if no sub-agent is running. */
    keep(line: number, record: Fields): boolean {
      const call = open.findLast((one) => types.has(one))
      if (call === undefined) return false
      const records = aside.get(call) ?? []
      records.push({ line, record })
      aside.set(call, records)
      return true
    },
    /** Removes and returns the records that were kept for this call. */
    kept(call: string): WorkLine[] {
      const records = aside.get(call) ?? []
      aside.delete(call)
      return records.map((one) => ({ ...one, call }))
    },
    /** Returns the calls whose kept records were not removed, each with the line of its first record. */
    unanswered: () => [...aside].map(([call, [first]]) => ({ call, line: first?.line ?? 0 })),
  }
}

/** Returns the call of a `tool_use` block, or nothing. */
export function callOf(block: Fields): { readonly id: string; readonly name: string; readonly arguments: string }[] {
  const [id, name] = [textIn(block, 'id'), textIn(block, 'name')]
  if (block['type'] !== 'tool_use' || id === undefined || name === undefined) return []
  return [{ id, name, arguments: JSON.stringify(block['input'] ?? {}) }]
}
