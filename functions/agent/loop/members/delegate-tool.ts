import type { Agent } from '../../../domain/agent.ts'
import type { Json } from '../../../domain/json.ts'
import { DELEGATE_TOOL } from '../../../domain/runs/team.ts'
import type { Tool } from '../../../ports/tool.ts'
import { parseArguments } from '../tools/tool-call.ts'

/** Length, in characters, of the part of a member's instructions that introduces the member to the leader. */
const INTRODUCED = 200

/** The arguments of a delegate call. */
export interface Task {
  readonly member: string
  readonly task: string
}

/**
 * Builds the tool that gives a task to one of these members. The loop executes its calls itself, as threads of the same
 * run.
 */
export function delegateTool(members: readonly Agent[]): Tool {
  const names = members.map(({ name }) => name)
  return {
    name: DELEGATE_TOOL,
    description: [
      'Gives a task to a member of your team and returns the final answer of the member.',
      'The member knows nothing of this conversation: the task must say everything that it needs. Several calls in one round are worked on at the same time.',
      `Members:\n${members.map(introduce).join('\n')}`,
    ].join(' '),
    parameters: {
      type: 'object',
      properties: {
        member: { type: 'string', enum: names },
        task: { type: 'string', minLength: 1, description: 'What to do, complete in itself.' },
      },
      required: ['member', 'task'],
      additionalProperties: false,
    },
    check(input) {
      const given = taskOf(input)
      if (given === undefined)
        return `the arguments of ${DELEGATE_TOOL} must be {"member": "<name>", "task": "<text>"}, the task not blank`
      if (names.includes(given.member)) return undefined
      return `there is no member ${JSON.stringify(given.member)}: the members are ${names.join(', ')}`
    },
    idempotent: true,
    timeoutMs: 0,
    needsApproval: false,
    execute: () => Promise.reject(new Error('a member executes this call')),
  }
}

function introduce({ name, instructions = '' }: Agent): string {
  const [first = ''] = instructions.trim().split('\n')
  return first === '' ? `- ${name}` : `- ${name}: ${Array.from(first).slice(0, INTRODUCED).join('')}`
}

/** Reads the task from a call's raw arguments; undefined if they are not a task. */
export function taskIn(raw: string): Task | undefined {
  const input = parseArguments(raw)
  return input === undefined ? undefined : taskOf(input)
}

function taskOf(input: Json): Task | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  const { member, task, ...rest } = input as { readonly [name: string]: Json | undefined }
  if (typeof member !== 'string' || typeof task !== 'string' || task.trim() === '') return undefined
  return Object.keys(rest).length === 0 ? { member, task } : undefined
}
