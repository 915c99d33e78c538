import type { AssistantMessage, ToolMessage } from '../../../domain/messages/message.ts'
import { textOf } from '../../../domain/messages/message.ts'
import type { WaitingCall } from '../../v1/runs/resource.ts'
import { ownName } from './request/request-tools.ts'
import { clientCallId } from '../../run-steps/call-id.ts'

/** An item of a Response's output. */
export type OutputItem = MessageItem | ReasoningItem | CallItem | CallOutputItem
type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
interface MessageItem {
  readonly id: string
  readonly type: 'message'
  readonly status: ItemStatus
  readonly role: 'assistant'
  readonly content: readonly ContentPart[]
}
interface ReasoningItem {
  readonly id: string
  readonly type: 'reasoning'
  readonly status: ItemStatus
  readonly summary: readonly never[]
  readonly content: readonly ContentPart[]
}
interface CallItem {
  readonly id: string
  readonly type: 'function_call'
  readonly status: ItemStatus
  readonly call_id: string
  readonly name: string
  readonly namespace?: string
  readonly arguments: string
}
interface CallOutputItem {
  readonly id: string
  readonly type: 'function_call_output'
  readonly status: ItemStatus
  readonly call_id: string
  readonly output: string
}

export type BlockKind = 'text' | 'reasoning'
type ContentPart =
  | {
      readonly type: 'output_text'
      readonly text: string
      readonly annotations: readonly never[]
      readonly logprobs: readonly never[]
    }
  | { readonly type: 'reasoning_text'; readonly text: string }

/** A text or reasoning block of a completion. */
export interface Block {
  readonly kind: BlockKind
  readonly id: string
  readonly text: string
}

export const contentPart = ({ kind, text }: Pick<Block, 'kind' | 'text'>): ContentPart =>
  kind === 'text' ? { type: 'output_text', text, annotations: [], logprobs: [] } : { type: 'reasoning_text', text }

/** Converts a block to an item. The item has no content while the block is empty. */
export function blockItem(block: Block, status: ItemStatus): MessageItem | ReasoningItem {
  const { id, kind } = block
  const content = status === 'in_progress' ? [] : [contentPart(block)]
  return kind === 'text'
    ? { id, type: 'message', status, role: 'assistant', content }
    : { id, type: 'reasoning', status, summary: [], content }
}

interface BlockPlace {
  readonly kind: BlockKind
  readonly runId: string
  readonly round: number
  readonly attempt: number
  /** The index among the blocks of the attempt. */
  readonly place: number
}

/** The id of a block. The id contains the number of the attempt, unless it is the round's first attempt. */
export const blockId = ({ kind, runId, round, attempt, place }: BlockPlace): string =>
  `${kind === 'text' ? 'msg' : 'rs'}_${runId}_${round}_${place}${attempt === 0 ? '' : `r${attempt}`}`

/** The blocks of a completion, in order. Consecutive parts of one kind without a call between them form one block. */
export function blocksOf(message: Pick<AssistantMessage, 'runId' | 'round' | 'attempt' | 'parts'>): Block[] {
  const blocks: { kind: BlockKind; text: string }[] = []
  let isOpen = false
  for (const part of message.parts) {
    if (part.type !== 'text' && part.type !== 'reasoning') {
      isOpen = false
      continue
    }
    const last = blocks.at(-1)
    if (isOpen && last?.kind === part.type) last.text += part.text
    else if (part.text !== '') blocks.push({ kind: part.type, text: part.text })
    isOpen = blocks.length > 0
  }
  const { runId, round, attempt = 0 } = message
  return blocks.map((block, place) => ({ ...block, id: blockId({ kind: block.kind, runId, round, attempt, place }) }))
}

const callPlace = ({ id, runId, round, sequence, parentMessageId }: ToolMessage): string =>
  parentMessageId === undefined ? `${runId}_${round}_${sequence}` : id

/** Converts a call to an item, wherever it is executed. */
export const callItem = ({ message, arguments: text }: WaitingCall): CallItem => ({
  id: `fc_${callPlace(message)}`,
  type: 'function_call',
  status: 'completed',
  call_id: clientCallId(message),
  ...nameOf(message),
  arguments: text,
})

const nameOf = ({ toolName, namespace }: ToolMessage): Pick<CallItem, 'name' | 'namespace'> =>
  namespace === undefined ? { name: toolName } : { name: ownName(namespace, toolName), namespace }

/** The result of a call that has ended. */
export const callOutputItem = (message: ToolMessage): CallOutputItem => ({
  id: `fco_${callPlace(message)}`,
  type: 'function_call_output',
  status: 'completed',
  call_id: clientCallId(message),
  output: textOf(message.parts),
})
